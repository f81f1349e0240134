"""What judging the drafts of one translation unit needs from a tree, read once while the tree does not change."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from shared.config import Campaign
from shared.config.schema import Binary
from shared.errors import InstrumentFault, MissingInput
from shared.hashing import digest_json
from shared.oracle.hygiene import AsmMacros, asm_macros
from shared.oracle.surroundings import include_folders, read_headers, surroundings_digest
from shared.target.asmfile import AsmFunction, read_asm
from shared.target.base import Base, Unit
from shared.target.recipe import Recipe, find_recipes
from shared.target.stubs import Stub, find_stubs
from shared.target.symbols import encoded_address, read_symbols

_macros: dict[str, AsmMacros] = {}
_recipes: dict[str, dict[str, Recipe]] = {}
_lock = threading.Lock()


@dataclass(frozen=True)
class Part:
    """One object of the translation unit in one binary, with how it is compiled and what that reads."""

    unit: Unit
    recipe: Recipe
    surroundings: str


class TuContext:
    """One translation unit of one binary at the state of `tree`."""

    def __init__(self, tree: Path, campaign: Campaign, base: Base, tu: str) -> None:
        """Raises MissingInput, InstrumentFault when the unit cannot be compiled here."""
        self.tree, self.base, self.tu = tree, base, tu
        self._binary: Binary = campaign.binaries[base.binary]
        try:
            self.source = (tree / tu).read_bytes()
        except FileNotFoundError as error:
            raise MissingInput(f"MISSING {tree / tu}: the link of {base.binary} has an object made from it") from error
        self.stubs = find_stubs(self.source)
        units = base.tus.get(tu, ())
        if not units:
            raise InstrumentFault(f"{tu} is not in the link of {base.binary}")
        recipes = _find(tree, base.binary, self._binary, units)
        known = frozenset(base.tus)
        self.parts = tuple(
            Part(
                unit,
                recipes[unit.object],
                surroundings_digest(tree, recipes[unit.object], self.source, self.stubs, self._binary.asm, known),
            )
            for unit in units
            if unit.object in recipes
        )
        if len(self.parts) != len(units):
            lost = next(unit.object for unit in units if unit.object not in recipes)
            raise InstrumentFault(
                f"the build of {base.binary} names no command that makes {lost} from {tu}; "
                f"set `compile` in [binary.{base.binary}]"
            )

    def stubs_of(self, function: str) -> list[Stub]:
        """The stubs of that name; one is right."""
        return [stub for stub in self.stubs if stub.function == function]

    @cached_property
    def include_dirs(self) -> tuple[Path, ...]:
        """Folders a draft's `#include` may reach."""
        return tuple(dict.fromkeys(folder for part in self.parts for folder in include_folders(self.tree, part.recipe)))

    @cached_property
    def macros(self) -> AsmMacros:
        """The project's assembly macros a draft may or may not use."""
        key = digest_json([part.surroundings for part in self.parts])
        with _lock:
            known = _macros.get(key)
        if known is None:
            known = asm_macros([*read_headers(self.include_dirs), self.source])
            with _lock:
                _macros[key] = known
        return known

    def asm(self, function: str) -> AsmFunction | None:
        """The stub's own `.s`, None when it cannot be read or found."""
        path = next((self._asm_path(stub) for stub in self.stubs_of(function)), None)
        if path is None:
            return None
        try:
            return read_asm(path, self.base.byte_order).function(function)
        except InstrumentFault:
            return None

    def filed_address(self, name: str) -> int | None:
        """Where the symbol files, or an address in the name itself, put a name the link does not know."""
        known = self._filed.get(name)
        return known if known is not None else encoded_address(name)

    @cached_property
    def _filed(self) -> dict[str, int]:
        try:
            return read_symbols(self.tree, self._binary.symbols)
        except MissingInput:
            return {}

    def asm_data(self, function: str) -> tuple[str, ...]:
        """Data symbols the stub's own `.s` defines."""
        path = next((self._asm_path(stub) for stub in self.stubs_of(function)), None)
        try:
            return read_asm(path, self.base.byte_order).data if path else ()
        except InstrumentFault:
            return ()

    def _asm_path(self, stub: Stub) -> Path | None:
        return find_asm(self.tree, self._binary.asm, stub)


def find_asm(tree: Path, asm: str, stub: Stub) -> Path | None:
    """A stub's `.s`: as spelled from the root, else below the binary's assembly folder (some macros add a prefix)."""
    plain = tree / stub.asm
    if plain.is_file():
        return plain
    name = stub.asm.rsplit("/", 1)[-1]
    tail = stub.asm.strip("/")
    found = [path for path in (tree / asm).rglob(name) if str(path).endswith("/" + tail)]
    return found[0] if len(found) == 1 else None


def _find(tree: Path, name: str, binary: Binary, units: tuple[Unit, ...]) -> dict[str, Recipe]:
    """`find_recipes`, remembered per state of the tree: asking make costs more than a small compile."""
    key = digest_json([str(tree), binary.build, binary.compile, [(u.object, u.tu) for u in units], _state(tree)])
    with _lock:
        known = _recipes.get(key)
    if known is None:
        known = find_recipes(tree, name, binary, units)
        with _lock:
            _recipes[key] = known
    return known


def _state(tree: Path) -> list[object]:
    """What tells two states of a private tree apart: its commit, and the files and folders at its top."""
    rows: list[object] = []
    link = tree / ".git"
    if link.is_file():
        folder = Path(link.read_text("utf-8").partition(":")[2].strip())
        head = (tree / folder / "HEAD").read_text("utf-8")
        rows.append(head)
    for entry in sorted(tree.iterdir()):
        status = entry.lstat()
        rows.append([entry.name, status.st_ino, status.st_size, status.st_mtime_ns if entry.is_file() else 0])
    return rows
