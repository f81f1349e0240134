"""MIPS ELF32 objects and images: sections, symbols, REL relocations.

pyelftools reads and checks the file header; the three tables are unpacked with struct, because building a pyelftools
object per symbol costs 20 µs and a translation unit is judged within milliseconds (docs/decisions/elf-tables.md).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Literal

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from shared.errors import InstrumentFault, MissingInput

ByteOrder = Literal["little", "big"]

SHT_SYMTAB, SHT_RELA, SHT_NOBITS, SHT_REL, SHT_MIPS_REGINFO = 2, 4, 8, 9, 0x70000006
SHF_ALLOC, SHF_EXECINSTR, SHF_MERGE = 0x2, 0x4, 0x10
STB_LOCAL, STB_GLOBAL, STB_WEAK = 0, 1, 2
STT_OBJECT, STT_FUNC, STT_SECTION, STT_FILE = 1, 2, 3, 4
SHN_UNDEF, SHN_LORESERVE, SHN_ABS, SHN_COMMON = 0, 0xFF00, 0xFFF1, 0xFFF2
SHN_MIPS_SCOMMON, SHN_MIPS_SUNDEFINED = 0xFF03, 0xFF04


class BadObject(InstrumentFault):
    """A file that should be a 32-bit MIPS ELF is not one, or is cut short."""


@dataclass(frozen=True, slots=True)
class Section:
    """One section header with its bytes (empty for NOBITS; `size` is the memory size)."""

    index: int
    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    align: int
    data: bytes

    @property
    def allocated(self) -> bool:
        """Takes memory in the image."""
        return bool(self.flags & SHF_ALLOC)

    @property
    def nobits(self) -> bool:
        """Zero-filled, without bytes in the file."""
        return self.type == SHT_NOBITS


@dataclass(frozen=True, slots=True)
class Symbol:
    """One symbol table entry. `section` is the section index or an SHN_ constant."""

    name: str
    value: int
    size: int
    bind: int
    type: int
    section: int

    @property
    def undefined(self) -> bool:
        """Wanted from another object."""
        return self.section in (SHN_UNDEF, SHN_MIPS_SUNDEFINED)

    @property
    def common(self) -> bool:
        """A tentative definition the linker allocates."""
        return self.section in (SHN_COMMON, SHN_MIPS_SCOMMON)


@dataclass(frozen=True, slots=True)
class Reloc:
    """One REL entry: section offset, R_MIPS_ type, symbol index. The addend is in the field it patches."""

    offset: int
    type: int
    symbol: int


@dataclass(frozen=True)
class ObjectFile:
    """A decoded ELF. `relocs` maps the index of a patched section to its entries in table order."""

    byte_order: ByteOrder
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]
    relocs: dict[int, tuple[Reloc, ...]]
    gp0: int

    @cached_property
    def defined(self) -> dict[str, Symbol]:
        """Global and weak symbols with a place in this object (absolute and common ones too)."""
        return {s.name: s for s in self.symbols if s.bind != STB_LOCAL and s.name and not s.undefined}

    @cached_property
    def needed(self) -> frozenset[str]:
        """Undefined symbols a link must find elsewhere; weak ones are not needed."""
        return frozenset(s.name for s in self.symbols if s.undefined and s.bind == STB_GLOBAL and s.name)

    def section_named(self, name: str) -> Section | None:
        """The first section of that name."""
        return next((s for s in self.sections if s.name == name), None)


def load_object(path: Path) -> ObjectFile:
    """`read_object` of a file. Raises MissingInput when it is not there, BadObject otherwise."""
    try:
        return read_object(path.read_bytes())
    except FileNotFoundError as error:
        raise MissingInput(f"MISSING {path}: the build did not leave this object") from error
    except BadObject as error:
        raise BadObject(f"{path}: {error}") from error


def read_object(data: bytes) -> ObjectFile:
    """Decodes `data`. Raises BadObject."""
    try:
        elf = ELFFile(BytesIO(data))
        header = elf.header
        if elf.elfclass != 32 or header.e_machine != "EM_MIPS":
            raise BadObject("is not a 32-bit MIPS ELF")
        return _read(data, "little" if elf.little_endian else "big", header)
    except (ELFError, struct.error, IndexError, UnicodeDecodeError, ValueError) as error:
        raise BadObject(f"is not a readable ELF: {error}") from error


def _read(data: bytes, order: ByteOrder, header: object) -> ObjectFile:
    mark = "<" if order == "little" else ">"
    start: int = header.e_shoff  # type: ignore[attr-defined]
    count: int = header.e_shnum  # type: ignore[attr-defined]
    names: int = header.e_shstrndx  # type: ignore[attr-defined]
    rows = list(struct.Struct(mark + "10I").iter_unpack(data[start : start + 40 * count]))
    if len(rows) != count:
        raise BadObject("is cut short")
    text = data[rows[names][4] : rows[names][4] + rows[names][5]]
    sections = []
    for index, (name, kind, flags, address, offset, size, _link, _info, align, _) in enumerate(rows):
        content = b"" if kind == SHT_NOBITS else data[offset : offset + size]
        if kind not in (0, SHT_NOBITS) and len(content) != size:
            raise BadObject("is cut short")
        sections.append(Section(index, _string(text, name), kind, flags, address, offset, size, max(align, 1), content))
    symbols: tuple[Symbol, ...] = ()
    relocs: dict[int, tuple[Reloc, ...]] = {}
    gp0 = 0
    for section, row in zip(sections, rows, strict=True):
        if section.type == SHT_SYMTAB:
            strings = sections[row[6]].data
            symbols = tuple(
                Symbol(_string(strings, name), value, size, info >> 4, info & 15, index)
                for name, value, size, info, _other, index in struct.iter_unpack(mark + "IIIBBH", section.data)
            )
        elif section.type == SHT_REL:
            entries = struct.iter_unpack(mark + "II", section.data)
            relocs[row[7]] = tuple(Reloc(offset, info & 0xFF, info >> 8) for offset, info in entries)
        elif section.type == SHT_RELA and section.size:
            raise BadObject("has RELA relocations; only the REL form of the o32 ABI is understood")
        elif section.type == SHT_MIPS_REGINFO and section.size >= 24:
            (gp0,) = struct.unpack_from(mark + "I", section.data, 20)
    return ObjectFile(order, tuple(sections), symbols, relocs, gp0)


def _string(table: bytes, offset: int) -> str:
    end = table.index(b"\0", offset)
    return table[offset:end].decode("utf-8", "surrogateescape")
