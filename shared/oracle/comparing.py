"""Word-by-word comparison of a linked object with the image: per function, and for the data beside the code."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property

from shared.target.base import Base, Function
from shared.target.objfile import STT_FUNC, Symbol
from shared.target.reloc import FIELDS, Applied
from shared.target.shape import closeness
from shared.target.vlink import Linked, Placement, link


@dataclass(frozen=True)
class Wrong:
    """One word whose shape is right and whose value is not: a relocation that names something else."""

    section: str
    word: int
    entry: Applied
    mine: int
    target: int
    place: int  # VRAM address of the target's word


@dataclass(frozen=True)
class Code:
    """One function of the new object beside its target. `distance` is 0 when only relocated fields may differ."""

    name: str
    mine: tuple[int, ...]
    fields: tuple[int, ...]
    entries: tuple[Applied | None, ...]
    target: tuple[int, ...]
    address: int
    distance: int
    wrong: tuple[Wrong, ...]

    @property
    def equal(self) -> bool:
        """Same words."""
        return self.distance == 0 and not self.wrong


@dataclass(frozen=True)
class Difference:
    """A run of data words that differ, or a section whose size does. `distance` counts words."""

    section: str
    word: int
    mine: bytes
    target: bytes
    distance: int
    note: str = ""


class Comparison:
    """The comparison of one linked object. `linked` is strict; sizes that moved code are looked at leniently."""

    def __init__(self, base: Base, linked: Linked) -> None:
        self.base = base
        self.strict = linked
        self.unit = linked.unit
        self.linked = link(base, linked.unit, linked.found, lenient=True) if self._shifted(linked) else linked
        self._mark = "<" if base.byte_order == "little" else ">"

    @staticmethod
    def _shifted(linked: Linked) -> bool:
        places = {f.name: (f.part, f.offset) for f in linked.unit.functions}
        sections = {s.index: s.name for s in linked.found.sections}
        return any(
            s.type == STT_FUNC and s.name in places and places[s.name] != (sections.get(s.section), s.value)
            for s in linked.found.symbols
        )

    @cached_property
    def functions(self) -> dict[str, Symbol]:
        """Function symbols of the new object."""
        return {s.name: s for s in self.linked.found.symbols if s.type == STT_FUNC and s.name}

    def code(self, name: str) -> Code | None:
        """One function's comparison; None when the target has no such function."""
        target = self.unit.function(name)
        return None if target is None else self._code(target)

    @cached_property
    def others(self) -> list[str]:
        """Functions the target has, in order."""
        return [function.name for function in self.unit.functions]

    @cached_property
    def added(self) -> list[Symbol]:
        """Functions the target does not have."""
        known = {function.name for function in self.unit.functions}
        return [symbol for name, symbol in self.functions.items() if name not in known]

    def _code(self, target: Function) -> Code:
        want = self._words(self.unit.target(target))
        address = self.unit.address(target)
        symbol = self.functions.get(target.name)
        placement = self._placement(symbol)
        if symbol is None or placement is None:
            return Code(target.name, (), (), (), want, address, len(want), ())
        size = symbol.size or self._reach(symbol, placement)
        mine = self._words(placement.data[symbol.value : symbol.value + size])
        entries: list[Applied | None] = [None] * len(mine)
        for entry in placement.applied:
            index = (entry.offset - symbol.value) // 4
            if 0 <= index < len(mine) and FIELDS.get(entry.type):
                entries[index] = entry
        fields = tuple(FIELDS[entry.type] if entry else 0 for entry in entries)
        distance = closeness(mine, fields, want)
        wrong = []
        if distance == 0:
            for index, (ours, theirs, named) in enumerate(zip(mine, want, entries, strict=True)):
                if ours != theirs and named is not None:
                    wrong.append(Wrong(target.part, index, named, ours, theirs, address + 4 * index))
        return Code(target.name, mine, fields, tuple(entries), want, address, distance, tuple(wrong))

    def _placement(self, symbol: Symbol | None) -> Placement | None:
        if symbol is None:
            return None
        return next((p for p in self.linked.placements.values() if p.section.index == symbol.section), None)

    def _reach(self, symbol: Symbol, placement: Placement) -> int:
        ends = [s.value for s in self.functions.values() if s.section == symbol.section and s.value > symbol.value]
        return min([*ends, placement.section.size]) - symbol.value

    @cached_property
    def data(self) -> tuple[list[Difference], list[Wrong]]:
        """Outside the code: runs of differing words and differing sizes; relocated words that name another place."""
        differences: list[Difference] = []
        wrong: list[Wrong] = []
        for problem in self.strict.problems:
            if (
                problem.kind in ("size", "unplaced")
                and problem.section != "COMMON"
                and not self._is_code(problem.section)
            ):
                size = self._size(problem.section)
                part = self.unit.part(problem.section)
                delta = abs(size - (part.size if part else 0))
                if delta and not any(d.section == problem.section for d in differences):
                    word, mine, want = self._first_difference(problem.section)
                    count = max(1, (delta + 3) // 4)
                    differences.append(Difference(problem.section, word, mine, want, count, problem.note))
        sized = {difference.section for difference in differences}
        for name, placement in self.linked.placements.items():
            if self._is_code(name) or placement.equal or name in sized:
                continue
            self._data_words(name, placement, differences, wrong)
        return differences, wrong

    def _first_difference(self, section: str) -> tuple[int, bytes, bytes]:
        placement = self.linked.placements.get(section)
        if placement is None or placement.part.nobits:
            return 0, b"", b""
        mine, want = placement.data, placement.part.data
        word = next((i for i in range(0, min(len(mine), len(want)), 4) if mine[i : i + 4] != want[i : i + 4]), 0) // 4
        return word, mine[4 * word :], want[4 * word :]

    def _data_words(self, name: str, placement: Placement, differences: list[Difference], wrong: list[Wrong]) -> None:
        mine, want = self._words(placement.data), self._words(placement.part.data)
        entries = {entry.offset // 4: entry for entry in placement.applied if FIELDS.get(entry.type)}
        run = -1
        for index in range(len(mine) + 1):
            entry = entries.get(index)
            differs = index < len(mine) and mine[index] != want[index]
            if differs and entry is not None and not (mine[index] ^ want[index]) & ~FIELDS[entry.type]:
                place = placement.part.address + 4 * index
                wrong.append(Wrong(name, index, entry, mine[index], want[index], place))
                differs = False
            if differs and run < 0:
                run = index
            elif not differs and run >= 0:
                low, high = 4 * run, 4 * index
                ours, theirs = placement.data[low:high], placement.part.data[low:high]
                differences.append(Difference(name, run, ours, theirs, index - run))
                run = -1

    def _is_code(self, section: str) -> bool:
        found = self.linked.found.section_named(section)
        return section.startswith(".text") or bool(found and found.flags & 0x4)

    def _size(self, section: str) -> int:
        return sum(s.size for s in self.linked.found.sections if s.name == section)

    def _words(self, data: bytes) -> tuple[int, ...]:
        whole = data + b"\0" * (-len(data) % 4)
        return struct.unpack(f"{self._mark}{len(whole) // 4}I", whole)
