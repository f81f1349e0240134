"""Writes the splat project: TUs of stubs, Makefile, campaign.toml, checksums, git history."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from shared.demo.forge.flags import EMULATION, assembler_flags, base_flags, binary_flags, defines
from shared.demo.forge.names import Names
from shared.demo.forge.retail import Image
from shared.demo.forge.settings import Compile, Settings
from shared.demo.forge.snippet import rename
from shared.demo.forge.source import BLOCK, Kept
from shared.demo.forge.splitting import GENERATED, Split
from shared.demo.forge.tools import tool
from shared.demo.forge.truth import kept_declarations
from shared.demo.forge.units import Unit
from shared.hashing import digest_file

IGNORED = ("/asm/", "/linker/", "/disk/", "/build/", *(f"/include/{name}" for name in GENERATED))
WHO = {"NAME": "Forge", "EMAIL": "forge@example.invalid"}
FIRST_COMMIT = 1_000_000_000
"""Fixed author, mail and dates: equal sources give equal commit ids."""


def collect_splits(project: Path, splits: Mapping[str, Split]) -> None:
    """Moves what splat generated into the project."""
    for name, split in splits.items():
        shutil.copytree(split.folder / "asm" / name, project / "asm" / name)
        shutil.copytree(split.folder / "linker", project / "linker", dirs_exist_ok=True)
        for generated in GENERATED:
            if (split.folder / "include" / generated).is_file():
                shutil.copy(split.folder / "include" / generated, project / "include" / generated)


def write_units(project: Path, units: Sequence[Unit], names: Names, split: Split) -> None:
    """Writes the TUs of one binary: what is kept of the source, then a stub line for each function and table."""
    for unit in units:
        path = project / unit.tu
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(unit_text(unit, names, split), encoding="utf-8")


def unit_text(unit: Unit, names: Names, split: Split) -> str:
    """The C file of one TU with every function open."""
    renames = names.of(unit)
    declarations = {id(item) for item in kept_declarations(unit, renames)}
    includes, rest = ['#include "include_asm.h"'], []
    for item in unit.items:
        if isinstance(item, Kept) and item.text.startswith("#include"):
            includes.insert(len(includes) - 1, item.text)
        elif isinstance(item, Kept) or id(item) in declarations:
            rest.append(item.text)
    alternatives = {renames[f.name]: rename(f.alternative, renames) for f in unit.functions() if f.alternative}
    stubs = [
        stub_block(unit, kind, name, alternatives.get(name, "")) for kind, name in split.stubs.get(unit.segment, ())
    ]
    return "\n".join(includes) + "\n" + "".join(f"\n{text}\n" for text in [*rest, *stubs])


def stub_block(unit: Unit, kind: str, name: str, alternative: str) -> str:
    """The text that stands for one open function or table."""
    line = f'INCLUDE_{kind}("{unit.asm_dir}", {name});'
    return f"#ifdef {BLOCK}\n{alternative}\n#else\n{line}\n#endif" if alternative else line


def write_makefile(project: Path, settings: Settings, units: Mapping[str, Sequence[Unit]], name: str) -> None:
    """Writes the Makefile; flags and their order are those the retail game was compiled with."""
    table = []
    rules = []
    for binary in settings.binaries.values():
        own = binary.compile
        flags = " ".join(binary_flags(binary))
        table.append(f"{binary.name}_OUTPUT := {binary.output}")
        table.append(f"{binary.name}_CFLAGS := {flags}")
        table.append(f"{binary.name}_CPPFLAGS :={_joined(defines(own))}")
        table.append(f"{binary.name}_ASFLAGS := {' '.join(assembler_flags(settings, binary))}")
        table.append(f"{binary.name}_SHARED :={_joined([u.tu for u in units[binary.name] if u.shared])}")
        for unit in units[binary.name]:
            tu = settings.tus.get(unit.file, Compile())
            target = f"build/{binary.name}/src/{unit.segment}.o"
            drop = " ".join([*own.drop_flags, *tu.drop_flags])
            if drop:
                rules.append(f"{target}: CFLAGS := $(filter-out {drop},$(CFLAGS))")
                rules.append(f"{target}: {binary.name}_CFLAGS := $(filter-out {drop},$({binary.name}_CFLAGS))")
            if tu.flags:
                rules.append(f"{target}: TU_CFLAGS := {' '.join(tu.flags)}")
            if tu.defines:
                rules.append(f"{target}: TU_CPPFLAGS :={_joined(defines(tu))}")
    text = files("shared.demo").joinpath("templates/Makefile.in").read_text(encoding="utf-8")
    values = {
        "NAME": name,
        "CFLAGS": " ".join(base_flags(settings)),
        "DEFINES": _joined(defines(settings.compile)),
        "EMULATION": EMULATION[settings.platform],
        "BINARIES": " ".join(settings.binaries),
        "TABLE": "\n".join(table) + "\n",
        "TU_RULES": "".join(f"{rule}\n" for rule in rules),
    }
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    (project / "Makefile").write_text(text, encoding="ascii")


def _joined(words: Sequence[str]) -> str:
    return "".join(f" {word}" for word in words)


def write_campaign(project: Path, settings: Settings, name: str, extra_toml: str) -> None:
    """Writes campaign.toml and the checksums."""
    inputs = ["asm", "linker", *(f"include/{g}" for g in GENERATED if (project / "include" / g).is_file())]
    lines = ["[project]", f'name = "{name}"', f'platform = "{settings.platform}"', f"inputs = {_array(inputs)}"]
    sums = []
    for binary in settings.binaries.values():
        sources = [f"src/{binary.name}", *(f"src/{f}" for f in binary.files if f in settings.shared)]
        symbols = [f"config/{b}/symbol_addrs.txt" for b in dict.fromkeys([binary.name, settings.resident])]
        lines += [
            "",
            f"[binary.{binary.name}]",
            f'build = ["make", "-j1", "{binary.output}"]',
            f'output = "{binary.output}"',
            'checksums = "config/checksums.sha1"',
            f'map = "build/{binary.name}.map"',
            f'elf = "build/{binary.name}.elf"',
            f'asm = "asm/{binary.name}"',
            f"sources = {_array(sources)}",
            f"symbols = {_array(symbols)}",
            f'lane = "{binary.lane}"',
        ]
        sums.append(f"{digest_file(project / 'disk' / binary.file_name, 'sha1')}  {binary.output}\n")
    text = "\n".join(lines) + "\n" + (f"\n{extra_toml.strip()}\n" if extra_toml.strip() else "")
    (project / "campaign.toml").write_text(text, encoding="utf-8")
    (project / "config" / "checksums.sha1").write_text("".join(sums), encoding="ascii")


def _array(values: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{value}"' for value in values) + "]"


def write_readme(project: Path, name: str, images: Mapping[str, Image]) -> None:
    """Writes README.md and .gitignore."""
    rows = "".join(
        f"| {image.binary.output} | {image.binary.address:#010x} | {len(image.data)} |\n" for image in images.values()
    )
    text = f"""# {name}

A matching decompilation in progress. `make` builds from `asm/` and `src/`; `make check` compares with
`config/checksums.sha1`; `make extract` splits the binaries in `disk/` again.

| image | address | bytes |
|---|---|---|
{rows}"""
    (project / "README.md").write_text(text, encoding="utf-8")
    (project / ".gitignore").write_text("\n".join(IGNORED) + "\n", encoding="ascii")


def commit_history(project: Path) -> None:
    """Makes the repository: branch main, a few commits, fixed author and dates."""
    git = ["git", "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false"]
    base = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    tool([*git, "init", "-q", "-b", "main"], project, env=base)
    for key, value in (("user.name", WHO["NAME"]), ("user.email", WHO["EMAIL"])):
        tool([*git, "config", key, value], project, env=base)
    steps = (
        ("Configuration of the splitter", ["config", ".gitignore"]),
        ("Headers", ["include"]),
        ("Sources: every function a stub", ["src"]),
        ("Build: Makefile and checksums", ["Makefile", "README.md"]),
        ("Settings of the campaign", ["campaign.toml"]),
    )
    for i, (subject, paths) in enumerate(steps):
        date = f"{FIRST_COMMIT + 86_400 * i} +0000"
        env = base | {f"GIT_{who}_{k}": v for who in ("AUTHOR", "COMMITTER") for k, v in WHO.items()}
        env |= {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        tool([*git, "add", "--", *paths], project, env=base)
        tool([*git, "commit", "-q", "--allow-empty", "-m", subject], project, env=env)
