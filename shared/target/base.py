"""What a green build of the base commit says: where everything lies, what it is called, which bytes are expected.

Read once per landing head from the link map, the linked ELF and the objects; kept in one file that loads in
milliseconds. Never made from the all-assembly build: symbols that were migrated into a stub's `.s` vanish when the
stub becomes C, so only the base's own link knows the names a draft may use.
"""

from __future__ import annotations

import struct
from functools import cached_property
from pathlib import Path

import msgspec
from msgspec import Struct

from shared import durable
from shared.config.schema import Binary
from shared.errors import InstrumentFault, MissingInput
from shared.hashing import digest_bytes
from shared.target.linkmap import Placed, load_map
from shared.target.objfile import (
    SHT_MIPS_REGINFO,
    STB_LOCAL,
    STT_FUNC,
    ByteOrder,
    ObjectFile,
    Section,
    load_object,
)
from shared.target.units import object_tus

BASE_FORM = 1
"""Raised when the file form changes; a file of another form is read as absent."""

STUB_MARK = ".NON_MATCHING"
"""Suffix of the symbols splat's macros leave beside a function that is still assembly."""

UNPLACED = frozenset(
    {".reginfo", ".MIPS.abiflags", ".MIPS.options", ".pdr", ".eh_frame", ".note.GNU-stack", ".comment"}
)
"""Sections that describe code and hold none; links discard them, so a draft may change them freely."""


class Part(Struct, frozen=True, array_like=True):
    """One section of one object as the link placed it. `data` is what the image must hold there ("" for NOBITS)."""

    name: str
    output: str
    address: int
    size: int
    align: int
    nobits: bool
    data: bytes
    previous_end: int
    forced: bool  # the output section overrides alignments (SUBALIGN), so a section's own says nothing


class Function(Struct, frozen=True, array_like=True):
    """One function symbol of an object: its part, its offset and its size in bytes."""

    name: str
    part: str
    offset: int
    size: int


class Unit(Struct, frozen=True, array_like=True):
    """One object of the link. `tu` is the C file it was compiled from, "" for assembly and archives."""

    object: str
    tu: str
    parts: tuple[Part, ...]
    functions: tuple[Function, ...]
    defined: dict[str, int]  # global name -> address
    needed: tuple[str, ...]
    unplaced: dict[str, int]  # allocated sections the link left out -> size

    def part(self, name: str) -> Part | None:
        """The placed section of that name."""
        return next((p for p in self.parts if p.name == name), None)

    def function(self, name: str) -> Function | None:
        """The function of that name."""
        return next((f for f in self.functions if f.name == name), None)

    def address(self, function: Function) -> int:
        """VRAM address of one of this unit's functions."""
        part = self.part(function.part)
        return function.offset + (part.address if part else 0)

    def target(self, function: Function) -> bytes:
        """The bytes the image holds for one of this unit's functions."""
        part = self.part(function.part)
        return part.data[function.offset : function.offset + function.size] if part else b""

    def digest(self) -> str:
        """Digest of places and expected bytes of this unit."""
        return digest_bytes(msgspec.msgpack.encode((self.object, self.tu, self.parts, self.functions, self.unplaced)))


class Base(Struct, frozen=True, dict=True):
    """One binary's green build. `symbols` holds every global name of the linked ELF; `gp` is None without `_gp`."""

    binary: str
    byte_order: ByteOrder
    gp: int | None
    symbols: dict[str, int]
    units: tuple[Unit, ...]

    @cached_property
    def digest(self) -> str:
        """Digest of everything in the base; equal digests judge equally."""
        return digest_bytes(msgspec.msgpack.encode(self, order="deterministic"))

    @cached_property
    def symbols_digest(self) -> str:
        """Digest of the names, their addresses and definers alone."""
        return digest_bytes(msgspec.msgpack.encode((self.symbols, self.definers, self.gp), order="deterministic"))

    @cached_property
    def tus(self) -> dict[str, tuple[Unit, ...]]:
        """C file -> its objects in this binary (one, unless the project compiles it several times)."""
        found: dict[str, tuple[Unit, ...]] = {}
        for unit in self.units:
            if unit.tu:
                found[unit.tu] = (*found.get(unit.tu, ()), unit)
        return found

    @cached_property
    def definers(self) -> dict[str, str]:
        """Global name -> object that defines it; names the linker script assigns are absent."""
        return {name: unit.object for unit in self.units for name in unit.defined}

    @cached_property
    def users(self) -> dict[str, tuple[str, ...]]:
        """Global name -> objects that need it from elsewhere."""
        found: dict[str, list[str]] = {}
        for unit in self.units:
            for name in unit.needed:
                found.setdefault(name, []).append(unit.object)
        return {name: tuple(objects) for name, objects in found.items()}

    @cached_property
    def names(self) -> dict[int, tuple[str, ...]]:
        """Address -> global names there."""
        found: dict[int, list[str]] = {}
        for name, address in self.symbols.items():
            found.setdefault(address, []).append(name)
        return {address: tuple(sorted(names)) for address, names in found.items()}

    @cached_property
    def ordered(self) -> list[int]:
        """Every address that has a name, ascending."""
        return sorted(self.names)


def read_base(tree: Path, name: str, binary: Binary) -> Base:
    """The base of a *green* build lying in `tree`.

    Raises MissingInput for an absent map, ELF or object, InstrumentFault when they contradict each other.
    """
    placed = load_map(tree / binary.map)
    elf = load_object(tree / binary.elf)
    if not elf.symbols:
        raise InstrumentFault(f"{tree / binary.elf}: has no symbol table; the build must not strip it")
    image = {section.name: section for section in elf.sections}
    forced = _forced_alignment(tree, placed)
    by_object: dict[str, list[Placed]] = {}
    for row in placed:
        by_object.setdefault(row.object, []).append(row)
    tus = object_tus(tree, list(by_object), binary.sources)
    symbols = {
        symbol.name: symbol.value
        for symbol in elf.symbols
        if symbol.bind != STB_LOCAL and symbol.name and not symbol.undefined and not symbol.name.endswith(STUB_MARK)
    }
    units = tuple(
        _unit(tree, path, tus.get(path, ""), rows, image, forced, symbols) for path, rows in by_object.items()
    )
    return Base(name, elf.byte_order, _gp(elf, symbols), symbols, units)


def save_base(base: Base, path: Path) -> None:
    """Writes `base` whole. Raises DiskFull, OSError."""
    durable.write(path, msgspec.msgpack.encode((BASE_FORM, base)))


def load_base(path: Path) -> Base | None:
    """The base kept at `path`, or None when there is none that this release can read."""
    try:
        raw = path.read_bytes()
        form, _ = msgspec.msgpack.decode(raw, type=tuple[int, msgspec.Raw])
        return msgspec.msgpack.decode(raw, type=tuple[int, Base])[1] if form == BASE_FORM else None
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def _unit(
    tree: Path,
    path: str,
    tu: str,
    rows: list[Placed],
    image: dict[str, Section],
    forced: frozenset[str],
    symbols: dict[str, int],
) -> Unit:
    if path.endswith(")") or not (tree / path).is_file():
        if tu:
            raise MissingInput(f"MISSING {tree / path}: the link map names this object; build it again")
        return Unit(path, "", (), (), {}, (), {})
    found = load_object(tree / path)
    sections = {s.name: s for s in found.sections if s.allocated}
    parts = tuple(_part(row, sections, image, forced, keep=bool(tu)) for row in rows if row.section in sections)
    places = {part.name: part for part in parts}
    indexes = {s.index: s.name for s in found.sections}
    defined = {
        name: symbols[name]
        for name in found.defined
        if name in symbols and not name.endswith(STUB_MARK) and not found.defined[name].common
    }
    unplaced = {name: s.size for name, s in sections.items() if s.size and name not in places and name not in UNPLACED}
    functions = _functions(found, indexes, places) if tu else ()
    return Unit(path, tu, parts, functions, defined, tuple(sorted(found.needed)), unplaced)


def _part(
    row: Placed, sections: dict[str, Section], image: dict[str, Section], forced: frozenset[str], *, keep: bool
) -> Part:
    section, output = sections[row.section], image.get(row.output)
    nobits = section.nobits or output is None or output.nobits
    data = b""
    if keep and output is not None and not output.nobits:
        start = row.address - output.address
        data = output.data[start : start + row.size]
        if len(data) != row.size:
            raise InstrumentFault(f"{row.object}: the link map places {row.section} outside {row.output} of the ELF")
    return Part(
        row.section,
        row.output,
        row.address,
        row.size,
        section.align,
        nobits,
        data,
        row.previous_end,
        row.output in forced,
    )


def _functions(found: ObjectFile, indexes: dict[int, str], places: dict[str, Part]) -> tuple[Function, ...]:
    """Function symbols; one without a size (old macros) reaches to the next one or to the end of its section."""
    marked = sorted(
        (s for s in found.symbols if s.type == STT_FUNC and indexes.get(s.section) in places),
        key=lambda s: (s.section, s.value),
    )
    functions = []
    for position, symbol in enumerate(marked):
        size = symbol.size
        if size == 0:
            ends = (s.value for s in marked[position + 1 :] if s.section == symbol.section and s.value > symbol.value)
            size = next(ends, places[indexes[symbol.section]].size) - symbol.value
        functions.append(Function(symbol.name, indexes[symbol.section], symbol.value, size))
    return tuple(functions)


def _forced_alignment(tree: Path, placed: list[Placed]) -> frozenset[str]:
    """Output sections in which some input lies below its own alignment: only SUBALIGN does that."""
    aligns: dict[str, dict[str, int]] = {}
    forced = set()
    for row in placed:
        if row.output in forced or not row.size or row.object.endswith(")"):
            continue
        if row.object not in aligns:
            path = tree / row.object
            aligns[row.object] = {s.name: s.align for s in load_object(path).sections} if path.is_file() else {}
        if row.address % aligns[row.object].get(row.section, 1):
            forced.add(row.output)
    return frozenset(forced)


def _gp(elf: ObjectFile, symbols: dict[str, int]) -> int | None:
    if "_gp" in symbols:
        return symbols["_gp"]
    for section in elf.sections:
        if section.type == SHT_MIPS_REGINFO and section.size >= 24:
            mark = "<" if elf.byte_order == "little" else ">"
            value: int = struct.unpack_from(mark + "I", section.data, 20)[0]
            return value or None
    return None
