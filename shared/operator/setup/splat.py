"""Reads splat configurations: one per binary, one per version, or one for a whole ROM (the keys: splat's docs)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from shared.errors import ConfigError

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_C_TYPES = {"c", "cpp"}


@dataclass(frozen=True)
class SplatYaml:
    """One splat configuration. All paths are relative to the project root; `sha1` is the *input's*, lower case."""

    path: str
    name: str
    platform: str
    sha1: str
    target: str
    asm: str
    source: str
    units: tuple[str, ...]
    symbols: tuple[str, ...]
    generated: tuple[str, ...]
    build: str
    elf: str
    gp: int | None
    legacy: bool

    @property
    def stem(self) -> str:
        """File name without the ending and a leading `splat.`."""
        return re.sub(r"^splat[._-]", "", Path(self.path).name.rsplit(".", 1)[0])


def looks_like_splat(data: bytes) -> bool:
    """A cheap look before parsing: most YAML files of a repository are something else."""
    return re.search(rb"^segments\s*:", data, re.MULTILINE) is not None and b"options:" in data


def read_splat(root: Path, path: str) -> SplatYaml | None:
    """The configuration at `path`, None when it is not one. Raises ConfigError when it cannot be read."""
    try:
        data = (root / path).read_bytes()
        if not looks_like_splat(data):
            return None
        value = yaml.load(data, Loader=_LOADER)  # a safe loader either way
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        words = " ".join(str(error).split())
        raise ConfigError(f"cannot be read as YAML: {words[:200]}", root / path) from error
    if not isinstance(value, dict) or not isinstance(value.get("options"), dict):
        return None
    options = value["options"]
    base = _join(Path(path).parent.as_posix(), _text(options, "base_path", "."))

    def inside(key: str, default: str) -> str:
        return _join(base, _text(options, key, default))

    basename = _text(options, "basename", Path(path).stem)
    source = inside("src_path", "src")
    generated = [
        inside("ld_script_path", f"{basename}.ld"),
        inside("undefined_funcs_auto_path", "undefined_funcs_auto.txt"),
        inside("undefined_syms_auto_path", "undefined_syms_auto.txt"),
    ]
    generated += [inside(key, "") for key in ("nonmatchings_path", "matchings_path", "data_path") if options.get(key)]
    symbols = options.get("symbol_addrs_path", [])
    build = inside("build_path", "build")
    return SplatYaml(
        path=path,
        name=str(value.get("name", "")),
        platform=_text(options, "platform", "n64"),
        sha1=str(value.get("sha1", "")).lower(),
        target=inside("target_path", ""),
        asm=inside("asm_path", "asm"),
        source=source,
        units=tuple(sorted(set(_units(value.get("segments"), source, "")))),
        symbols=tuple(_join(base, str(s)) for s in ([symbols] if isinstance(symbols, str) else symbols or [])),
        generated=tuple(dict.fromkeys(generated)),
        build=build,
        elf=inside("elf_path", "") if options.get("elf_path") else "",
        gp=options["gp_value"] if isinstance(options.get("gp_value"), int) else None,
        legacy=bool(options.get("use_legacy_include_asm", False)),
    )


def _units(segments: Any, source: str, folder: str) -> Iterator[str]:
    """Paths of the C files that the segments name."""
    for item in segments if isinstance(segments, list) else []:
        if isinstance(item, dict):
            inner = str(item.get("dir", "")) if item.get("dir") else ""
            below = f"{folder}/{inner}".strip("/")
            kind, name = str(item.get("type", "")), str(item.get("name", ""))
            yield from _units(item.get("subsegments"), source, below)
        elif isinstance(item, list) and len(item) >= 3:
            kind, name, below = str(item[1]), str(item[2]), folder
        else:
            continue
        if kind in _C_TYPES and name:
            yield _join(source, f"{below}/{name}.{kind}".strip("/"))


def _text(options: dict[str, Any], key: str, default: str) -> str:
    value = options.get(key, default)
    return value if isinstance(value, str) else default


def _join(base: str, path: str) -> str:
    """`base/path`, normalised without asking the disk; what leads out of the project stays visible as `..`."""
    parts: list[str] = []
    for part in f"{base}/{path}".split("/"):
        if part in ("", "."):
            continue
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)
