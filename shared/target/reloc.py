"""REL relocations of the MIPS o32 ABI, applied the way GNU ld applies them.

Addends lie in the patched fields. Entries are taken in table order. A HI16 takes its low half from the next LO16 *in
the table* with the same symbol index (gas moves a HI16 before its LO16, so offsets may go backwards); several HI16 may
share one LO16, and a LO16 stands for itself.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from shared.target.objfile import STB_LOCAL, ObjectFile, Section, Symbol

R_NONE, R_16, R_32, R_26, R_HI16, R_LO16, R_GPREL16, R_LITERAL, R_PC16, R_GPREL32, R_JALR = (
    0, 1, 2, 4, 5, 6, 7, 8, 10, 12, 37,
)  # fmt: skip

NAMES = {
    R_NONE: "R_MIPS_NONE",
    R_16: "R_MIPS_16",
    R_32: "R_MIPS_32",
    R_26: "R_MIPS_26",
    R_HI16: "R_MIPS_HI16",
    R_LO16: "R_MIPS_LO16",
    R_GPREL16: "R_MIPS_GPREL16",
    R_LITERAL: "R_MIPS_LITERAL",
    R_PC16: "R_MIPS_PC16",
    R_GPREL32: "R_MIPS_GPREL32",
    R_JALR: "R_MIPS_JALR",
}

FIELDS = {
    R_NONE: 0,
    R_16: 0xFFFF,
    R_32: 0xFFFFFFFF,
    R_26: 0x03FFFFFF,
    R_HI16: 0xFFFF,
    R_LO16: 0xFFFF,
    R_GPREL16: 0xFFFF,
    R_LITERAL: 0xFFFF,
    R_PC16: 0xFFFF,
    R_GPREL32: 0xFFFFFFFF,
    R_JALR: 0,
}
"""The bits of the word each type patches."""


@dataclass(frozen=True, slots=True)
class Applied:
    """One relocation after it was applied. `symbol` indexes the object's table, `addend` holds both halves.

    `meant` is the address the code names: symbol plus addend. `error` says why a linker would refuse it, "" if not.
    A LO16 is shown with the high half of the last HI16 of its symbol; its own field does not depend on it.
    """

    offset: int
    type: int
    symbol: int
    addend: int
    meant: int
    error: str = ""


Resolve = Callable[[int, Symbol], int]
"""Address of a symbol, given its index and entry."""


def apply(
    found: ObjectFile, section: Section, address: int, resolve: Resolve, gp: int | None
) -> tuple[bytearray, list[Applied]]:
    """`section`'s bytes as linked at `address`, and what each relocation did, in table order."""
    data = bytearray(section.data)
    word = struct.Struct("<I" if found.byte_order == "little" else ">I")
    entries = found.relocs.get(section.index, ())
    symbols = found.symbols
    original = section.data
    low: dict[int, int] = {}
    lows: list[int | None] = [None] * len(entries)
    for position in range(len(entries) - 1, -1, -1):
        entry = entries[position]
        if entry.type == R_LO16:
            low[entry.symbol] = signed16(word.unpack_from(original, entry.offset)[0])
        elif entry.type == R_HI16:
            lows[position] = low.get(entry.symbol)
    high: dict[int, int] = {}
    addresses: dict[int, int] = {}
    done: list[Applied] = []
    for position, entry in enumerate(entries):
        index, offset, kind = entry.symbol, entry.offset, entry.type
        if index not in addresses:
            addresses[index] = resolve(index, symbols[index])
        base = addresses[index]
        (old,) = word.unpack_from(data, offset)
        error = ""
        if kind == R_HI16:
            half = lows[position]
            high[index] = (old & 0xFFFF) << 16
            addend = high[index] + (half or 0)
            meant = base + addend
            new = (old & 0xFFFF0000) | (((meant + 0x8000) >> 16) & 0xFFFF)
            if half is None:
                error = "has no R_MIPS_LO16 of the same symbol after it"
        elif kind == R_LO16:
            addend = high.get(index, 0) + signed16(old)
            meant = base + addend
            new = (old & 0xFFFF0000) | (meant & 0xFFFF)
        elif kind == R_26:
            addend, meant, new, error = _jump(old, base, address + offset, local=symbols[index].bind == STB_LOCAL)
        elif kind == R_32:
            addend = old
            meant = new = (base + old) & 0xFFFFFFFF
        elif kind in (R_GPREL16, R_LITERAL):
            addend = signed16(old) + (found.gp0 if symbols[index].bind == STB_LOCAL else 0)
            meant = base + addend
            distance = meant - (gp or 0)
            new = (old & 0xFFFF0000) | (distance & 0xFFFF)
            if gp is None:
                error = "needs a gp value and this binary has no _gp"
            elif not -0x8000 <= distance < 0x8000:
                error = "is out of reach of gp"
        elif kind == R_GPREL32:
            addend = old + found.gp0
            meant = base + addend
            new = (meant - (gp or 0)) & 0xFFFFFFFF
        elif kind == R_PC16:
            addend = signed16(old) << 2
            meant = base + addend
            distance = meant - (address + offset)
            new = (old & 0xFFFF0000) | ((distance >> 2) & 0xFFFF)
            if not -0x20000 <= distance < 0x20000:
                error = "branches too far"
        elif kind == R_16:
            addend = signed16(old)
            meant = base + addend
            new = (old & 0xFFFF0000) | (meant & 0xFFFF)
        elif kind in (R_NONE, R_JALR):
            addend, meant, new = 0, base, old
        else:
            addend, meant, new = 0, base, old
            error = f"of type {kind} is not understood"
        if new != old:
            word.pack_into(data, offset, new)
        done.append(Applied(offset, kind, index, addend, meant & 0xFFFFFFFF, error))
    return data, done


def _jump(old: int, base: int, place: int, *, local: bool) -> tuple[int, int, int, str]:
    addend = (old & 0x03FFFFFF) << 2
    region = (place + 4) & 0xF0000000
    if local:
        meant = (base + addend) & 0xFFFFFFFF
    else:
        meant = (base + (addend - 0x10000000 if addend & 0x08000000 else addend)) & 0xFFFFFFFF
    new = (old & 0xFC000000) | ((meant >> 2) & 0x03FFFFFF)
    error = "" if meant & 0xF0000000 == region else "jumps out of its 256 MiB region"
    return addend, meant, new, error


def signed16(value: int) -> int:
    """The low half of `value` as a signed number."""
    return ((value & 0xFFFF) ^ 0x8000) - 0x8000
