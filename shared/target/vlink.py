"""The virtual link: one object placed where the base link placed its forerunner, relocated, compared with the image.

Exact by construction when it passes: same sections at the same addresses with the same bytes, every name known, every
name others need still there; then the real link of the binary can only confirm it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shared.target.base import UNPLACED, Base, Part, Unit
from shared.target.objfile import (
    SHN_ABS,
    STB_LOCAL,
    STB_WEAK,
    STT_FUNC,
    BadObject,
    ObjectFile,
    Section,
    Symbol,
)
from shared.target.reloc import NAMES, Applied, apply

ProblemKind = Literal[
    "unplaced",  # a section the link has no place for
    "size",  # a section grew or shrank
    "alignment",  # a section would be placed elsewhere
    "unresolved",  # a name this link does not know
    "orphan",  # a name another object needs is gone
    "own-orphan",  # the same, needed by another function of this object
    "doubled",  # a name another object defines already
    "moved",  # a global lies elsewhere than the base says
    "relocation",  # a linker would refuse the relocation
]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why the real link would fail or lay the image out differently. `function` uses the symbol, "" when unknown."""

    kind: ProblemKind
    section: str
    symbol: str
    note: str
    function: str = ""
    offset: int = -1


@dataclass(frozen=True)
class Placement:
    """One section of the new object as linked."""

    section: Section
    part: Part
    data: bytes
    applied: tuple[Applied, ...]

    @property
    def equal(self) -> bool:
        """Same bytes as the image; NOBITS sections need only the same size, checked apart."""
        return self.part.nobits or self.data == self.part.data


@dataclass(frozen=True)
class Linked:
    """The outcome for one object."""

    found: ObjectFile
    unit: Unit
    placements: dict[str, Placement]
    problems: tuple[Problem, ...]

    @property
    def equal(self) -> bool:
        """The image would be the same with this object in it."""
        return not self.problems and all(p.equal for p in self.placements.values())

    def function_at(self, section: int, offset: int) -> Symbol | None:
        """The function symbol that covers an offset of the new object."""
        for symbol in self.found.symbols:
            if symbol.type == STT_FUNC and symbol.section == section and 0 <= offset - symbol.value < symbol.size:
                return symbol
        return None


def link(base: Base, unit: Unit, found: ObjectFile, *, lenient: bool = False) -> Linked:
    """Places and relocates `found` as the new object of `unit`.

    `lenient` takes the base's addresses for this object's own functions: when a size changed, everything behind it
    moves, and a comparison for a person should not drown in that. Only a strict link can be `equal`.
    Raises BadObject for an object the comparison is not made for.
    """
    if found.byte_order != base.byte_order:
        raise BadObject(f"{unit.object}: is {found.byte_order}-endian and the image is {base.byte_order}-endian")
    return _Link(base, unit, found, lenient).run()


class _Link:
    def __init__(self, base: Base, unit: Unit, found: ObjectFile, lenient: bool) -> None:
        self.base, self.unit, self.found, self.lenient = base, unit, found, lenient
        self.parts = {part.name: part for part in unit.parts}
        self.problems: list[Problem] = []
        self.unknown: dict[int, str] = {}
        self.here: dict[int, Part] = {}

    def run(self) -> Linked:
        placed = self._place_sections()
        placements = {}
        for section, part in placed:
            data, applied = apply(self.found, section, part.address, self._resolve, self.base.gp)
            placements[section.name] = Placement(section, part, bytes(data), tuple(applied))
        linked = Linked(self.found, self.unit, placements, ())
        self._report_relocations(linked)
        self._check_names()
        return Linked(self.found, self.unit, placements, tuple(self.problems))

    def _place_sections(self) -> list[tuple[Section, Part]]:
        placed: list[tuple[Section, Part]] = []
        seen: set[str] = set()
        for section in self.found.sections:
            if not section.allocated or section.name in UNPLACED:
                continue
            part = self.parts.get(section.name)
            if part is not None:
                self.here[section.index] = part
            if not section.size:
                continue
            if section.name in seen:
                raise BadObject(f"{self.unit.object}: has two sections named {section.name}")
            seen.add(section.name)
            if part is None:
                if self.unit.unplaced.get(section.name) != section.size:
                    note = f"{section.size} bytes of {section.name}, and this object has no {section.name} in the link"
                    self.problems.append(Problem("unplaced", section.name, "", note))
                continue
            if section.size != part.size:
                note = f"{section.name} is {section.size} bytes, the target's is {part.size}"
                self.problems.append(Problem("size", section.name, "", note))
            elif section.nobits != part.nobits and not part.nobits:
                self.problems.append(Problem("size", section.name, "", f"{section.name} has no bytes of its own"))
            elif _moves(section, part):
                note = f"{section.name} is aligned to {section.align}, the target's to {part.align}"
                self.problems.append(Problem("alignment", section.name, "", note))
            placed.append((section, part))
        for part in self.parts.values():
            if part.size and part.name not in seen and part.name not in UNPLACED:
                self.problems.append(
                    Problem("size", part.name, "", f"{part.name} is gone, {part.size} bytes are missing")
                )
        return placed

    def _resolve(self, index: int, symbol: Symbol) -> int:
        name = symbol.name
        if symbol.undefined or symbol.common:
            known = self.base.symbols.get(name)
            if known is not None and (symbol.common or self.base.definers.get(name) != self.unit.object):
                return known
            if symbol.undefined and symbol.bind == STB_WEAK:
                return 0
            self.unknown[index] = "unresolved" if known is None else "own-orphan"
            return known or 0
        if symbol.section == SHN_ABS:
            return symbol.value
        if self.lenient and symbol.type == STT_FUNC:
            function = self.unit.function(name)
            if function is not None:
                return self.unit.address(function)
        part = self.here.get(symbol.section)
        if part is None:
            self.unknown[index] = "unplaced"
            return 0
        if symbol.bind != STB_LOCAL and name not in self.base.definers and name in self.base.symbols:
            return self.base.symbols[name]  # the linker script's assignment wins over an object's definition
        return part.address + symbol.value

    def _report_relocations(self, linked: Linked) -> None:
        reported: set[tuple[int, str]] = set()
        for placement in linked.placements.values():
            for entry in placement.applied:
                kind = self.unknown.get(entry.symbol)
                if kind is None and not entry.error:
                    continue
                symbol = self.found.symbols[entry.symbol]
                owner = linked.function_at(placement.section.index, entry.offset)
                function = owner.name if owner else ""
                if (entry.symbol, function) in reported:
                    continue
                reported.add((entry.symbol, function))
                where, offset = placement.section.name, entry.offset
                if kind == "unresolved":
                    self._problem(
                        "unresolved", where, symbol.name, "no object and no linker script defines it", function, offset
                    )
                elif kind == "own-orphan":
                    note = f"only the stub's own .s defined it ({self.unit.object}), and the draft took that away"
                    self._problem("own-orphan", where, symbol.name, note, function, offset)
                elif kind == "unplaced":
                    section = self.found.sections[symbol.section].name
                    note = f"lies in {section}, which this link does not place"
                    self._problem("unplaced", section, symbol.name, note, function, offset)
                else:
                    note = f"{NAMES.get(entry.type, 'relocation')} {entry.error}"
                    self._problem("relocation", where, symbol.name, note, function, offset)

    def _problem(self, kind: ProblemKind, section: str, symbol: str, note: str, function: str, offset: int) -> None:
        self.problems.append(Problem(kind, section, symbol, note, function, offset))

    def _check_names(self) -> None:
        base, unit, own = self.base, self.unit, self.found.defined
        for name in unit.defined:
            if name in own:
                continue
            users = [user for user in base.users.get(name, ()) if user != unit.object]
            if users:
                note = f"{unit.object} no longer defines it and {users[0]} needs it"
                self.problems.append(Problem("orphan", "", name, note))
        for name, symbol in own.items():
            definer = base.definers.get(name)
            if symbol.common:
                if name not in base.symbols:
                    note = f"a tentative definition of {symbol.size} bytes; declare it extern"
                    self.problems.append(Problem("unplaced", "COMMON", name, note))
                continue
            if definer not in (None, unit.object) and symbol.bind != STB_WEAK:
                self.problems.append(Problem("doubled", "", name, f"{definer} defines it already"))
                continue
            part = self.here.get(symbol.section)
            known = base.symbols.get(name)
            if part is None or known is None or symbol.section == SHN_ABS:
                continue
            if part.address + symbol.value != known:
                note = f"lies at 0x{part.address + symbol.value:08X}, the target's at 0x{known:08X}"
                self.problems.append(Problem("moved", part.name, name, note))


def _moves(section: Section, part: Part) -> bool:
    """Whether another alignment would move the section. Unknown under SUBALIGN, which overrides both."""
    if part.forced or section.align == part.align:
        return False
    if section.align > part.align:
        return part.address % section.align != 0
    gap = part.address - part.previous_end
    natural = -part.previous_end % part.align
    return gap == natural and gap != -part.previous_end % section.align
