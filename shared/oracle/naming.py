"""Addresses and relocations in the words of the project: which name is meant, which is right."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shared.target.base import Base, Unit
from shared.target.objfile import STT_FUNC, STT_SECTION, ObjectFile
from shared.target.reloc import R_26, R_32, R_GPREL16, R_HI16, R_LITERAL, R_LO16, Applied, signed16
from shared.target.vlink import Placement

NEAR = 0x4000
"""An address this far above a name is still called name+offset."""

TEXT_SHOWN = 40


@dataclass(frozen=True)
class Names:
    """Names of one unit's surroundings. `gone` are the names that vanish with the draft and must not be advised."""

    base: Base
    unit: Unit
    gone: frozenset[str] = frozenset()

    def at(self, address: int, hint: str = "") -> str:
        """The name a draft should use for `address`; `hint` is what the stub's own `.s` calls it."""
        symbols = self.base.symbols
        plain = hint.partition("+")[0].partition("-")[0]
        if plain in symbols and plain not in self.gone and symbols[plain] <= address < symbols[plain] + NEAR:
            return _plus(plain, address - symbols[plain])
        here = [name for name in self.base.names.get(address, ()) if name not in self.gone]
        if here:
            return here[0]
        content = self.own_data(address)
        if content:
            return content
        ordered = self.base.ordered
        index = bisect_right(ordered, address) - 1
        while index >= 0 and address - ordered[index] < NEAR:
            near = [name for name in self.base.names[ordered[index]] if name not in self.gone]
            if near:
                return _plus(near[0], address - ordered[index])
            index -= 1
        return f"0x{address:08X}"

    def own_data(self, address: int) -> str:
        """What the unit's own data holds at `address`: a string in quotes or its first word; "" when not its own."""
        for part in self.unit.parts:
            if part.data and part.address <= address < part.address + part.size and not part.name.startswith(".text"):
                return f"{part.name}+0x{address - part.address:X} {show_data(part.data[address - part.address :])}"
        return ""

    def mine(self, found: ObjectFile, placements: Mapping[str, Placement], entry: Applied) -> str:
        """What one of our relocations names."""
        symbol = found.symbols[entry.symbol]
        if symbol.type != STT_SECTION:
            return _plus(symbol.name, entry.addend)
        section = found.sections[symbol.section]
        offset = symbol.value + entry.addend
        if section.name.startswith(".text"):
            function = next(
                (
                    s
                    for s in found.symbols
                    if s.type == STT_FUNC and s.section == section.index and 0 <= offset - s.value < s.size
                ),
                None,
            )
            return _plus(function.name, offset - function.value) if function else f".text+0x{offset:X}"
        data = placements[section.name].data if section.name in placements else section.data
        return f"{section.name}+0x{offset:X} {show_data(data[offset:])}" if 0 <= offset < len(data) else section.name


def show_data(data: bytes) -> str:
    """A string literal when the bytes are text, else their first word in hex."""
    text = data.split(b"\0", 1)[0]
    if text and all(byte in b"\t\n\r" or 0x20 <= byte < 0x7F for byte in text):
        shown = text[:TEXT_SHOWN].decode("ascii").replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")
        shown = shown.replace("\r", "\\r")
        return f'"{shown}{"..." if len(text) > TEXT_SHOWN else ""}"'
    return data[:4].hex(" ")


def target_address(base: Base, place: int, entry: Applied, word: int, partner: int | None) -> int | None:
    """The address the image means in the field `entry` patches.

    `word` is the image's word there, `partner` the image's word at the other half of a HI16/LO16 pair.
    """
    if entry.type == R_26:
        return ((place + 4) & 0xF0000000) | ((word & 0x03FFFFFF) << 2)
    if entry.type == R_32:
        return word
    if entry.type in (R_GPREL16, R_LITERAL):
        return None if base.gp is None else (base.gp + signed16(word)) & 0xFFFFFFFF
    if entry.type in (R_HI16, R_LO16) and partner is not None:
        high, low = (word, partner) if entry.type == R_HI16 else (partner, word)
        return (((high & 0xFFFF) << 16) + signed16(low)) & 0xFFFFFFFF
    return None


def partners(applied: Sequence[Applied]) -> dict[int, int]:
    """Offset of each HI16 or LO16 -> offset of its other half."""
    pairs: dict[int, int] = {}
    last: dict[int, int] = {}
    waiting: dict[int, list[int]] = {}
    for entry in applied:
        if entry.type == R_HI16:
            last[entry.symbol] = entry.offset
            waiting.setdefault(entry.symbol, []).append(entry.offset)
        elif entry.type == R_LO16:
            if entry.symbol in last:
                pairs[entry.offset] = last[entry.symbol]
            for high in waiting.pop(entry.symbol, ()):
                pairs[high] = entry.offset
    return pairs


def _plus(name: str, offset: int) -> str:
    if not offset:
        return name
    return f"{name}{'+' if offset > 0 else '-'}0x{abs(offset):X}"
