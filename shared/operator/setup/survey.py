"""Puts the evidence together: which binaries there are and how each is built, with what was found, assumed, missing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from shared.errors import ConfigError, RepositoryError
from shared.git import Git
from shared.operator.setup import evidence
from shared.operator.setup.evidence import Line, Version
from shared.operator.setup.inputs import choose_inputs
from shared.operator.setup.splat import SplatYaml, read_splat
from shared.target.stubs import find_stubs

_GENERIC = {"splat", "config", "yaml"}


@dataclass
class Told:
    """What a person is told, in three kinds of sentences."""

    found: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class FoundBinary:
    """One binary as campaign.toml will have it; `active` is False when its assembly is not on disk."""

    name: str
    yaml: str
    build: list[str]
    output: str
    checksums: str
    map: str
    elf: str
    asm: str
    sources: list[str]
    symbols: list[str]
    active: bool


@dataclass
class Survey:
    """Everything `campaign init` writes, and what it says."""

    name: str
    platform: str
    branch: str
    inputs: list[str]
    binaries: list[FoundBinary]
    told: Told


def survey(root: Path) -> Survey:
    """Looks a repository over. Raises RepositoryError, ConfigError when there is nothing to work on."""
    Git(root).check()
    told = Told()
    files = evidence.tracked(root)
    yamls = _yamls(root, files, told)
    if not yamls:
        raise ConfigError(
            f"no splat yaml (a tracked .yaml file with `options:` and `segments:`) in {root}; "
            "run `python3 -m splat create_config` first, or write campaign.toml by hand (docs/configuration.md)"
        )
    lines = evidence.checksum_lines(root, files)
    told.found.append(
        f"{len(lines)} checksums in {_some(sorted({line.file for line in lines}))}" if lines else "no checksum file"
    )
    if not lines:
        told.missing.append(
            "a checksum file: write `sha1sum build/OUTPUT > checksums.sha1` of a matching build and commit it"
        )
    versions = evidence.decomp_versions(root)
    if versions:
        told.found.append(f"decomp.yaml with {_some([v.name for v in versions])}")
    if objdiff := evidence.objdiff_file(root):
        told.found.append(f"{objdiff}; `campaign progress` writes its report.json form")
    builder = evidence.builder(root)
    if builder:
        told.found.append(f"the build is {builder}'s")
    else:
        told.missing.append(
            "a Makefile or ninja file: set `build` of each binary to the command that builds its output"
        )
    binaries = _binaries(root, files, yamls, lines, versions, builder, told)
    if binaries and not any(binary.active for binary in binaries):
        told.missing.append(
            f"assembly: {binaries[0].asm} is not there; put the game's files in place, run splat and build once, "
            "then `campaign init --force`"
        )
    _count_stubs(root, binaries, told)
    inputs = choose_inputs(root, evidence.ignored(root), yamls, binaries, told)
    for path, filled in evidence.submodules(root).items():
        if filled:
            told.found.append(f"submodule {path}")
        else:
            told.missing.append(f"submodule {path} is empty: run `git submodule update --init {path}`")
    branch = Git(root).branch()
    if branch is None:
        told.assumed.append('landing.follow = "main": HEAD is detached, so no branch is checked out to follow')
    platform = Counter(splat.platform for splat in yamls).most_common(1)[0][0]
    if platform not in ("psx", "n64"):
        raise ConfigError(f"platform {platform!r} in {yamls[0].path}: only psx and n64 are supported", root)
    return Survey(_project_name(root), platform, branch or "main", inputs, binaries, told)


def _yamls(root: Path, files: Iterable[str], told: Told) -> list[SplatYaml]:
    found, bare = [], []
    for name in files:
        if name.endswith((".yaml", ".yml")) and (root / name).is_file():
            try:
                splat = read_splat(root, name)
            except ConfigError as error:
                told.missing.append(f"{name} was passed over: {error.reason}")
                continue
            if splat is not None and splat.units:
                found.append(splat)
            elif splat is not None:
                bare.append(name)
    if bare:
        told.assumed.append(f"no C file is named by {_some(bare)}: nothing to draft there, left out")
    if found:
        told.found.append(f"{len(found)} splat yaml{'s' if len(found) > 1 else ''}: {_some([y.path for y in found])}")
    if gps := {splat.gp for splat in found if splat.gp is not None}:
        told.found.append("gp value " + ", ".join(f"{gp:#x}" for gp in sorted(gps)))
    symbols = {s for splat in found for s in splat.symbols}
    if symbols:
        told.found.append(f"{len(symbols)} symbol files")
    return found


def _binaries(
    root: Path,
    files: list[str],
    yamls: list[SplatYaml],
    lines: list[Line],
    versions: list[Version],
    builder: str,
    told: Told,
) -> list[FoundBinary]:
    named = {part for splat in yamls for part in splat.path.split("/")}
    folders = {part for line in lines for part in line.path.split("/")[1:-1]} & named
    variable = evidence.version_variable(root, folders) if builder == "make" else None
    names = _names(yamls)
    sources = [name for name in files if name.endswith((".c", ".cpp"))]
    found, orphans, guessed, asked = [], [], list[str](), False
    for splat in yamls:
        paths = _paths_of(splat, versions)
        line = _contract(splat, lines, paths)
        if line is None:
            orphans.append(splat.path)
            continue
        build = _build(builder, line.path, variable, folders)
        known = {key: paths[key] for key in ("map", "elf") if paths.get(key)}
        if "map" not in known or "elf" not in known:
            known = _on_disk(root, splat, line.path) | known
        if ("map" not in known or "elf" not in known) and builder and not asked:
            told_by_build = evidence.link_of(root, build, line.path)
            asked = not told_by_build  # one that does not answer will not answer for 200 others either
            known = told_by_build | known
        name = names[splat.path]
        for key in ("map", "elf"):
            if key not in known:
                known[key] = f"{line.path}.{key}" if key == "map" else str(Path(line.path).with_suffix(".elf"))
                guessed.append(f"{name}.{key} = {known[key]}")
        found.append(
            FoundBinary(
                name=name,
                yaml=splat.path,
                build=build,
                output=line.path,
                checksums=line.file,
                map=known["map"],
                elf=known["elf"],
                asm=splat.asm,
                sources=cover(splat.units, sources) or [splat.source],
                symbols=[s for s in splat.symbols if (root / s).is_file()],
                active=(root / splat.asm).is_dir(),
            )
        )
    if guessed:
        told.assumed.append(
            f"from the names of the outputs: {_some(guessed)}; a first build shows whether they are right"
        )
    if orphans:
        told.missing.append(
            f"a checksum line for {_some(orphans)}: left out, there is nothing to prove a build against"
        )
    if variable:
        told.assumed.append(f"make variable {variable[0]} picks the version (default {variable[1]})")
    active = sum(1 for binary in found if binary.active)
    told.found.append(f"{len(found)} binaries" + (f", {active} with assembly on disk" if active < len(found) else ""))
    return found


def _contract(splat: SplatYaml, lines: list[Line], paths: dict[str, str]) -> Line | None:
    """The checksum line of a binary: by decomp.yaml's output, by equal hash, or by file name with most in common."""
    for line in lines:
        if paths.get("compiled_target") == line.path:
            return line
    same = [line for line in lines if line.hash == splat.sha1]
    if same:
        return max(same, key=lambda line: _common(splat, line))
    target = Path(splat.target).name.lower()
    named = [line for line in lines if Path(line.path).name.lower() == target]
    return max(named, key=lambda line: _common(splat, line), default=None)


def _common(splat: SplatYaml, line: Line) -> int:
    parts = set(splat.path.split("/")) | set(splat.target.split("/"))
    return len(parts & (set(line.path.split("/")) | set(line.file.split("/"))))


def _paths_of(splat: SplatYaml, versions: list[Version]) -> dict[str, str]:
    return next((v.paths for v in versions if v.paths.get("target", "").removeprefix("./") == splat.target), {})


def _build(builder: str, output: str, variable: tuple[str, str] | None, versions: set[str]) -> list[str]:
    if builder == "ninja":
        return ["ninja", output]
    build = ["make", "-j1", output]
    if variable and variable[1] not in output.split("/"):
        version = next((part for part in output.split("/")[1:-1] if part in versions), "")
        if version:
            build.insert(2, f"{variable[0]}={version}")
    return build


def _on_disk(root: Path, splat: SplatYaml, output: str) -> dict[str, str]:
    """A map and an ELF of an earlier build beside the output."""
    found = {"elf": splat.elf} if splat.elf else {}
    stem = str(Path(output).with_suffix(""))
    for key in ("map", "elf"):
        names = [f"{output}.{key}", f"{stem}.{key}", f"{stem}.elf.{key}"]
        if splat.elf and key == "map":
            names.append(str(Path(splat.elf).with_suffix(".map")))
        here = next((name for name in names if (root / name).is_file()), None)
        if here and key not in found:
            found[key] = here
    return found


def _names(yamls: list[SplatYaml]) -> dict[str, str]:
    """A short unlike name for each: its stem, with folders in front where two are alike."""
    names = {}
    for splat in yamls:
        parts = [*Path(splat.path).parts[:-1], splat.stem]
        if parts[-1].lower() in _GENERIC and len(parts) > 1:
            parts.pop()
        names[splat.path] = parts
    depth = dict.fromkeys(names, 1)
    while True:
        short = {path: ".".join(parts[-depth[path] :]) for path, parts in names.items()}
        twice = {name for name, count in Counter(short.values()).items() if count > 1}
        again = [path for path in names if short[path] in twice and depth[path] < len(names[path])]
        if not again:
            return {path: re.sub(r"[^A-Za-z0-9_.-]", "_", name).lstrip(".-")[:64] for path, name in short.items()}
        for path in again:
            depth[path] += 1


def cover(units: Iterable[str], sources: list[str]) -> list[str]:
    """The fewest folders and files that hold exactly the `units` among all `sources`."""
    mine = set(units) & set(sources)
    bad: set[str] = set()
    for name in sources:
        if name not in mine:
            bad.update(parent.as_posix() for parent in Path(name).parents)
    chosen: set[str] = set()
    for name in mine:
        folders = [p.as_posix() for p in Path(name).parents if p.as_posix() not in bad and p.as_posix() != "."]
        chosen.add(folders[-1] if folders else name)
    return sorted(chosen)


def _count_stubs(root: Path, binaries: list[FoundBinary], told: Told) -> None:
    kinds: Counter[str] = Counter()
    seen: set[Path] = set()
    for binary in binaries:
        for place in binary.sources:
            path = root / place
            for source in [path] if path.is_file() else sorted(path.rglob("*.c")):
                if source not in seen and source.is_file():
                    seen.add(source)
                    kinds.update(stub.kind for stub in find_stubs(source.read_bytes()))
    words = {"include_asm": "INCLUDE_ASM", "pragma": "GLOBAL_ASM", "block": "NON_MATCHING blocks"}
    if kinds:
        told.found.append("open stubs: " + ", ".join(f"{n} {words.get(kind, kind)}" for kind, n in kinds.most_common()))
    else:
        told.missing.append("stubs: no INCLUDE_ASM or GLOBAL_ASM in the sources, so there is nothing to draft")


def _project_name(root: Path) -> str:
    name = re.sub(r"[^A-Za-z0-9_.-]", "-", root.resolve().name).strip("-.")[:64]
    if not name:
        raise RepositoryError(f"{root} has no usable folder name; give --name")
    return name


def _some(names: list[str], most: int = 4) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
