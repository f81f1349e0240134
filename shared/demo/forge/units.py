"""The TUs of every binary: parsed sources, their place in the project, the text the retail game is compiled from."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from shared.demo.forge.flags import cpp_command
from shared.demo.forge.settings import Binary, Settings
from shared.demo.forge.snippet import rename, uses
from shared.demo.forge.source import Declaration, Function, Item, Kept, Variable, header_names, read_items, read_source
from shared.demo.forge.tools import CORES, tool
from shared.errors import ConfigError


@dataclass(frozen=True)
class Unit:
    """One TU of one binary. `names` maps the names of its C file to those of the binary's link."""

    binary: str
    file: str  # in the sources folder
    segment: str  # name in splat's yaml: path in src/ without .c
    items: tuple[Item, ...]
    shared: bool
    names: dict[str, str] = field(default_factory=dict)

    @property
    def tu(self) -> str:
        """The project's C file."""
        return f"src/{self.segment}.c"

    @property
    def asm_dir(self) -> str:
        """Folder that its stubs name; a shared TU leaves out the binary, which the include path supplies."""
        return f"nonmatchings/{self.segment}" if self.shared else f"asm/{self.binary}/nonmatchings/{self.segment}"

    def functions(self) -> list[Function]:
        """Functions in order."""
        return [item for item in self.items if isinstance(item, Function)]

    def code_text(self) -> str:
        """The functions as the retail game compiles them: statics are globals, data is only declared.

        Where a compiler sees a definition it uses what a draft cannot know (contents of const tables, a larger
        alignment), so data is compiled apart.
        """
        texts = [i.extern if isinstance(i, Variable) else i.text for i in self.items]
        return self._text(texts)

    def data_text(self) -> str:
        """The data definitions, with prototypes of the functions they may point to."""
        return self._text([i.prototype if isinstance(i, Function) else i.text for i in self.items])

    def _text(self, texts: list[str]) -> str:
        kept = [isinstance(item, Kept) for item in self.items]
        return "".join((t if k else rename(t, self.names)) + "\n" for t, k in zip(texts, kept, strict=True))


def segment_of(settings: Settings, binary: Binary, file: str) -> str:
    """The TU's name in the project: its own place when shared, else a place in its binary's folder."""
    return file.removesuffix(".c") if file in settings.shared else f"{binary.name}/{Path(file).stem}"


def read_units(settings: Settings, stage: Path) -> tuple[dict[str, list[Unit]], frozenset[str]]:
    """All TUs by binary, and the names that stay. `stage` holds include/. Raises ConfigError, InstrumentFault."""
    jobs = [(binary, file) for binary in settings.binaries.values() for file in binary.files]
    texts: dict[tuple[str, str], str] = {}
    if settings.preprocess:
        with ThreadPoolExecutor(CORES) as pool:
            for (binary, file), text in zip(
                jobs, pool.map(lambda job: _preprocessed(settings, job, stage), jobs), strict=True
            ):
                texts[binary.name, file] = text
    parsed: dict[str, list[Item]] = {}
    units: dict[str, list[Unit]] = {name: [] for name in settings.binaries}
    for binary, file in jobs:
        path = settings.sources / file
        if settings.preprocess:
            items = read_items(texts[binary.name, file], path)
        else:
            if file not in parsed:
                parsed[file] = read_items(read_source(path), path)
            items = parsed[file]
        unit = Unit(
            binary.name, file, segment_of(settings, binary, file), tuple(_reachable(items)), file in settings.shared
        )
        units[binary.name].append(unit)
    named = _named(settings, units, stage)
    for name, members in units.items():
        _assign_names(name, members, named)
    return units, named


def _named(settings: Settings, units: dict[str, list[Unit]], stage: Path) -> frozenset[str]:
    if not settings.preprocess:
        return header_names(stage / "include") | frozenset(settings.externals)
    names = set(settings.externals)
    for members in units.values():
        for unit in members:
            for item in unit.items:
                if isinstance(item, Declaration) or (isinstance(item, Function | Variable) and not item.static):
                    names.add(item.name)
    statics = {
        item.name
        for members in units.values()
        for unit in members
        for item in unit.items
        if isinstance(item, Function | Variable) and item.static
    }
    return frozenset(names - statics)


def _preprocessed(settings: Settings, job: tuple[Binary, str], stage: Path) -> str:
    binary, file = job
    command = cpp_command(settings, binary, file)
    ran = tool([*command, str((settings.sources / file).resolve())], stage)
    return ran.stdout.decode("utf-8", "replace")


def _reachable(items: list[Item]) -> list[Item]:
    """Drops static functions and data nobody uses: the compiler would not emit them either."""
    by_name = {item.name: item for item in items if isinstance(item, Function | Variable)}
    reached: set[str] = set()
    stack = [item.name for item in by_name.values() if not item.static]
    owned = {item.name for item in by_name.values() if isinstance(item, Variable) and item.owner}
    while stack:
        name = stack.pop()
        if name in reached:
            continue
        reached.add(name)
        stack += [use for use in uses(by_name[name].text) if use in by_name]
    dropped = by_name.keys() - reached - owned
    return [item for item in items if isinstance(item, Kept) or item.name not in dropped]


def _assign_names(binary: str, units: list[Unit], named: frozenset[str]) -> None:
    owners: dict[str, set[str]] = {}
    for unit in units:
        for item in unit.items:
            if isinstance(item, Function | Variable):
                owners.setdefault(item.name, set()).add(unit.file)
    for unit in units:
        for item in unit.items:
            if not isinstance(item, Function | Variable):
                continue
            if item.name in named:
                if len(owners[item.name]) > 1:
                    first, second = sorted(owners[item.name])[:2]
                    raise ConfigError(
                        f"`{item.name}` is declared in a header but defined in {first} and {second} of {binary}"
                    )
            elif len(owners[item.name]) > 1 and item.static:
                unit.names[item.name] = f"{Path(unit.file).stem}__{item.name}"
