"""forge.toml: how a folder of C sources becomes a game. docs/forge.md is its manual."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec import field as default

from shared.config.load import TableReader
from shared.errors import ConfigError

FORGE_NAME = "forge.toml"
Section = Literal["text", "data", "rodata", "bss", "sdata", "sbss"]

RESIDENT_ORDER: tuple[Section, ...] = ("rodata", "text", "data", "bss")
OVERLAY_ORDER: tuple[Section, ...] = ("data", "rodata", "text", "bss")
N64_ORDER: tuple[Section, ...] = ("text", "data", "rodata", "bss")


class Compile(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[compile] and [tu."PATH"]: what to add to and take out of the compile command."""

    flags: list[str] = default(default_factory=list)
    drop_flags: list[str] = default(default_factory=list)
    defines: dict[str, str] = default(default_factory=dict)


class BinaryTable(Compile, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[binary.NAME] in the file; None = the default that docs/forge.md states."""

    sources: list[str] | None = None
    address: Annotated[int, Meta(ge=0, lt=1 << 32)] | None = None
    order: list[Section] | None = None
    format: Literal["raw", "exe"] | None = None
    pad_sections: bool = True
    small_data: Annotated[int, Meta(ge=0, le=64)] = 0
    lane: Literal["queue", "batch"] = "queue"


class _Top(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    platform: Literal["psx", "n64"] = "psx"
    resident: str = "main"
    preprocess: bool = False
    shared: list[str] = default(default_factory=list)
    externals_base: Annotated[int, Meta(ge=0, lt=1 << 32)] | None = None
    headers: dict[str, str] = default(default_factory=dict)
    externals: dict[str, Annotated[int, Meta(ge=0, lt=1 << 32)]] = default(default_factory=dict)


@dataclass(frozen=True)
class Binary:
    """One binary to forge. `files` are .c paths relative to the sources folder, in link order."""

    name: str
    files: tuple[str, ...]
    address: int
    order: tuple[Section, ...]
    format: Literal["raw", "exe", "rom"]
    pad_sections: bool
    small_data: int
    lane: Literal["queue", "batch"]
    compile: Compile

    @property
    def output(self) -> str:
        """Build output, relative to the project root."""
        return f"build/{self.file_name}"

    @property
    def file_name(self) -> str:
        """File name of the image."""
        return f"{self.name}.{ {'exe': 'exe', 'raw': 'bin', 'rom': 'z64'}[self.format] }"


@dataclass(frozen=True)
class Settings:
    """A checked forge.toml with every default filled in."""

    sources: Path
    platform: Literal["psx", "n64"]
    resident: str
    preprocess: bool
    shared: frozenset[str]
    externals_base: int | None
    headers: dict[str, str]
    externals: dict[str, int]
    compile: Compile
    binaries: dict[str, Binary]
    tus: dict[str, Compile] = field(default_factory=dict)

    @property
    def big_endian(self) -> bool:
        """The target's byte order."""
        return self.platform == "n64"


def load_settings(sources: Path, config: Path | None = None) -> Settings:
    """Reads `config` (default `sources`/forge.toml, which may be missing). Raises ConfigError with file and line."""
    if not sources.is_dir():
        raise ConfigError(f"there is no folder {sources}; give the folder that holds main/*.c")
    path = config or sources / FORGE_NAME
    text = ""
    if config is not None or path.is_file():
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot be read: {error}", path) from error
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"is not valid TOML: {error}", path) from error
    reader = TableReader(path, text)
    binary_tables = reader.named(BinaryTable, tables.pop("binary", {}), "binary")
    tu_tables = tables.pop("tu", {})
    if not isinstance(tu_tables, dict):
        raise reader.error('[tu] wants named tables: [tu."main/x.c"]', ["tu"])
    tus = {name: reader.table(Compile, table, ["tu", name]) for name, table in tu_tables.items()}
    compile_table = reader.table(Compile, tables.pop("compile", {}), ["compile"])
    top = reader.table(_Top, tables, [])
    folders = sorted(p.name for p in sources.iterdir() if p.is_dir() and p.name != "include" and any(p.glob("*.c")))
    if top.platform == "n64" and not binary_tables:
        binary_tables = {"main": BinaryTable(sources=folders)}
    elif top.platform != "n64":
        listed = {entry.split("/")[0] for table in binary_tables.values() for entry in table.sources or ()}
        unlisted = [name for name in folders if name not in listed and name not in binary_tables]
        binary_tables = {name: BinaryTable() for name in unlisted} | binary_tables
    if not folders or not binary_tables:
        raise ConfigError(f"{sources} holds no folder with .c files; docs/forge.md shows the layout")
    if top.platform == "n64" and len(binary_tables) != 1:
        raise reader.error("platform n64 makes one image; name exactly one binary", ["platform"])
    resident = next(iter(binary_tables)) if top.platform == "n64" else top.resident
    if resident not in binary_tables:
        raise reader.error(f"resident binary `{resident}` is not among {', '.join(binary_tables)}", ["resident"])
    binaries = {
        name: _binary(name, table, sources, top.platform, name == resident, reader)
        for name, table in binary_tables.items()
    }
    for name in binaries:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise ConfigError(f"folder {name!r} cannot name a binary; use letters, digits and `_`", sources)
    known = {file for binary in binaries.values() for file in binary.files}
    for keys, names in ((["shared"], top.shared), (["tu"], list(tus))):
        for name in names:
            if name not in known:
                raise reader.error(f"`{name}` is not among the sources of any binary", [*keys, name])
    return Settings(
        sources=sources,
        platform=top.platform,
        resident=resident,
        preprocess=top.preprocess,
        shared=frozenset(top.shared),
        externals_base=top.externals_base,
        headers=top.headers,
        externals=top.externals,
        compile=compile_table,
        binaries=binaries,
        tus=tus,
    )


def _binary(name: str, table: BinaryTable, sources: Path, platform: str, resident: bool, reader: TableReader) -> Binary:
    files: list[str] = []
    for entry in table.sources if table.sources is not None else [name]:
        place = sources / entry
        if place.suffix == ".c" and place.is_file():
            files.append(entry)
        elif place.is_dir() and (found := sorted(p.name for p in place.glob("*.c"))):
            files += [f"{entry.rstrip('/')}/{file}" for file in found]
        else:
            raise reader.error(
                f"`{entry}` is neither a .c file nor a folder with .c files", ["binary", name, "sources"]
            )
    stems = [Path(file).stem for file in files]
    if repeated := sorted({stem for stem in stems if stems.count(stem) > 1}):
        raise reader.error(f"[binary.{name}] has two files named {repeated[0]}.c", ["binary", name, "sources"])
    order = tuple(table.order or (N64_ORDER if platform == "n64" else RESIDENT_ORDER if resident else OVERLAY_ORDER))
    if table.small_data and "sdata" not in order:
        order = (*order[:-1], "sdata", "sbss", "bss")
    if order[-1] != "bss" or len(set(order)) != len(order) or not {"text", "data", "rodata"} <= set(order):
        raise reader.error("order wants text, data and rodata once each, bss last", ["binary", name, "order"])
    kind: Literal["raw", "exe", "rom"] = "rom" if platform == "n64" else table.format or ("exe" if resident else "raw")
    if kind == "exe" and [section for section in order if section not in ("sbss", "bss")][-1] == "text":
        raise reader.error(
            "an exe is padded to whole sectors: end `order` with data, not text", ["binary", name, "order"]
        )
    base = 0x80000400 if platform == "n64" else 0x80010000 if resident else 0x80100000
    return Binary(
        name=name,
        files=tuple(files),
        address=table.address if table.address is not None else base,
        order=order,
        format=kind,
        pad_sections=table.pad_sections,
        small_data=table.small_data,
        lane=table.lane,
        compile=Compile(flags=table.flags, drop_flags=table.drop_flags, defines=table.defines),
    )
