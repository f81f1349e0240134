"""Compiles and links the retail game: the images, and where everything in them lies."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from shared.demo.forge.flags import EMULATION, NO_PAD, compile_command
from shared.demo.forge.settings import Binary, Settings
from shared.demo.forge.tools import CORES, PREFIX, tool
from shared.demo.forge.units import Unit
from shared.errors import ConfigError

EXE_HEADER = 0x800
SECTOR = 0x800
ROM_CODE = 0x1000
NOLOAD = ("sbss", "bss")
GP_BIAS = 0x7FF0


@dataclass(frozen=True)
class Symbol:
    """A function or data object of a linked binary."""

    name: str
    address: int
    size: int
    function: bool


@dataclass(frozen=True)
class Span:
    """Where one section of one TU lies; `end` is exclusive."""

    section: str
    segment: str
    start: int
    end: int


@dataclass(frozen=True)
class Image:
    """One retail binary. `code_offset` is where `address` lies; `pointers` are data with addresses in it."""

    binary: Binary
    data: bytes
    code_offset: int
    symbols: dict[str, Symbol]
    spans: tuple[Span, ...]
    gp: int | None
    pointers: frozenset[str]

    def offset(self, address: int) -> int:
        """File offset of an address."""
        return address - self.binary.address + self.code_offset

    def in_rodata(self, address: int) -> bool:
        """Whether an address lies in read-only data."""
        return any(span.section == "rodata" and span.start <= address < span.end for span in self.spans)

    def read(self, address: int, size: int) -> bytes:
        """Bytes of the image at an address."""
        return self.data[self.offset(address) : self.offset(address) + size]


def build_retail(
    settings: Settings, units: dict[str, list[Unit]], stage: Path
) -> tuple[dict[str, Image], dict[str, int]]:
    """Compiles every TU in `stage` and links each binary.

    Returns the images and the addresses of externals. Raises InstrumentFault when the compiler refuses,
    ConfigError for a name that nothing defines.
    """
    for name in units:
        (stage / "retail" / name).mkdir(parents=True)
        (stage / "retail" / name / "include").symlink_to(stage / "include")
    with ThreadPoolExecutor(CORES) as pool:
        jobs = [unit for members in units.values() for unit in members]
        list(pool.map(lambda unit: _compile(settings, unit, stage), jobs))
    objects = {name: [_objects(unit) for unit in members] for name, members in units.items()}
    undefined = {name: _undefined([stage / o for pair in pairs for o in pair]) for name, pairs in objects.items()}
    externals = dict(settings.externals)
    images: dict[str, Image] = {}
    order = sorted(settings.binaries, key=lambda name: name != settings.resident)
    resident: dict[str, Symbol] = {}
    for name in order:
        missing = sorted(undefined[name] - resident.keys() - externals.keys() - {"_gp"})
        if missing and settings.externals_base is None:
            raise ConfigError(
                f"nothing that {name} may use defines {', '.join(missing[:5])}; "
                "add it to [externals] or set externals_base (docs/forge.md)"
            )
        for external in missing:
            taken = set(externals.values())
            assert settings.externals_base is not None
            address = settings.externals_base
            while address in taken:
                address += 16
            externals[external] = address
        known = {n: resident[n].address if n in resident else externals[n] for n in undefined[name] - {"_gp"}}
        images[name] = _link(settings, settings.binaries[name], units[name], objects[name], known, stage)
        if name == settings.resident:
            resident = images[name].symbols
        written = {unit.names.get(f.name, f.name) for unit in units[name] for f in unit.functions()}
        if strange := sorted(s.name for s in images[name].symbols.values() if s.function and s.name not in written):
            raise ConfigError(
                f"{name} holds the function `{strange[0]}`, which no .c file defines; code in headers wants "
                "`preprocess = true` (docs/forge.md)"
            )
    return images, externals


def _objects(unit: Unit) -> tuple[str, str]:
    """Code and data object of a TU."""
    return f"objects/{unit.binary}/{unit.segment}.code.o", f"objects/{unit.binary}/{unit.segment}.data.o"


def _compile(settings: Settings, unit: Unit, stage: Path) -> None:
    # Each binary has a folder of its own in which a TU lies where the project will have it: __FILE__.
    folder = stage / "retail" / unit.binary
    command = compile_command(settings, settings.binaries[unit.binary], unit.file)
    for text, output, source in zip(
        (unit.code_text(), unit.data_text()), _objects(unit), (unit.tu, f"data/{unit.tu}"), strict=True
    ):
        for path in (folder / source, stage / output):
            path.parent.mkdir(parents=True, exist_ok=True)
        (folder / source).write_text(text, encoding="utf-8")
        tool([*command, NO_PAD, "-o", str(stage / output), source], folder, f"compiling {unit.file}")


def _symtab(stream: BinaryIO) -> SymbolTableSection:
    table = ELFFile(stream).get_section_by_name(".symtab")
    assert isinstance(table, SymbolTableSection)
    return table


def _undefined(objects: list[Path]) -> frozenset[str]:
    wanted: set[str] = set()
    defined: set[str] = set()
    for path in objects:
        with path.open("rb") as stream:
            for symbol in _symtab(stream).iter_symbols():
                if symbol["st_info"]["bind"] != "STB_LOCAL":
                    (wanted if symbol["st_shndx"] == "SHN_UNDEF" else defined).add(symbol.name)
    return frozenset(wanted - defined - {""})


def _link(
    settings: Settings,
    binary: Binary,
    units: list[Unit],
    objects: list[tuple[str, str]],
    known: dict[str, int],
    stage: Path,
) -> Image:
    script = stage / f"{binary.name}.retail.ld"
    script.write_text(_script(binary, objects, known), encoding="ascii")
    elf = stage / f"{binary.name}.retail.elf"
    raw = stage / f"{binary.name}.retail.bin"
    what = f"linking {binary.name}"
    ld = [f"{PREFIX}ld", "-m", EMULATION[settings.platform], "-nostdlib", "--no-check-sections"]
    tool([*ld, "-T", script.name, "-o", elf.name], stage, what)
    tool([f"{PREFIX}objcopy", "-O", "binary", "-j", ".image", elf.name, raw.name], stage, what)
    with elf.open("rb") as stream:
        table = _symtab(stream)
        values = {symbol.name: symbol["st_value"] & 0xFFFFFFFF for symbol in table.iter_symbols()}
        symbols = {
            symbol.name: Symbol(
                symbol.name,
                symbol["st_value"] & 0xFFFFFFFF,
                symbol["st_size"],
                symbol["st_info"]["type"] == "STT_FUNC",
            )
            for symbol in table.iter_symbols()
            if symbol["st_info"]["type"] in ("STT_FUNC", "STT_OBJECT") and symbol["st_shndx"] != "SHN_ABS"
        }
    spans = tuple(
        Span(section, unit.segment, values[f"__s_{section}_{i}"], values[f"__e_{section}_{i}"])
        for section in binary.order
        for i, unit in enumerate(units)
        if values[f"__s_{section}_{i}"] != values[f"__e_{section}_{i}"]
    )
    entry = next((span.start for span in spans if span.section == "text"), binary.address)
    data, offset = _wrap(binary, raw.read_bytes(), entry)
    gp = values.get("_gp") if binary.small_data else None
    pointers = frozenset(name for _, path in objects for name in _pointers(stage / path))
    return Image(binary, data, offset, symbols, spans, gp, pointers)


def _pointers(path: Path) -> set[str]:
    """Objects of a data file that hold relocated words."""
    found: set[str] = set()
    with path.open("rb") as stream:
        elf = ELFFile(stream)
        objects = [s for s in _symtab(stream).iter_symbols() if s["st_info"]["type"] == "STT_OBJECT"]
        for section in elf.iter_sections():
            if not isinstance(section, RelocationSection):
                continue
            for relocation in section.iter_relocations():
                at = relocation["r_offset"]
                for symbol in objects:
                    start = symbol["st_value"]
                    if symbol["st_shndx"] == section["sh_info"] and start <= at < start + symbol["st_size"]:
                        found.add(symbol.name)
    return found


def _script(binary: Binary, objects: list[tuple[str, str]], known: dict[str, int]) -> str:
    def sections(names: Sequence[str]) -> str:
        lines = []
        for section in names:
            if section == "sdata":
                lines.append(f"    _gp = . + {GP_BIAS:#x};")
            # The assembler pads sections to 16 bytes by itself, the small ones apart; splat's scripts pad their ends.
            align = 16 if binary.pad_sections and section not in ("sdata", "sbss") else 4
            for i, (code, data) in enumerate(objects):
                part = f"{code}(.{section}) {data}(.{section})"
                lines.append(f"    . = ALIGN({align}); __s_{section}_{i} = .; {part} __e_{section}_{i} = .;")
            lines.append(f"    . = ALIGN({16 if binary.pad_sections else 4});")
        return "\n".join(lines)

    loaded = [s for s in binary.order if s not in NOLOAD]
    rest = [s for s in binary.order if s in NOLOAD]
    # One output section: an alignment gap between sections would be folded into the symbol before it by the
    # disassembler, and vanish when that symbol becomes C.
    # An executable is padded to whole sectors; bss starts after the padding.
    sector = f"    . = ALIGN({SECTOR:#x});\n" if binary.format == "exe" else ""
    assigned = "".join(f"{name} = {address:#x};\n" for name, address in sorted(known.items()))
    return (
        f"{assigned}SECTIONS\n{{\n"
        f"  .image {binary.address:#x} : SUBALIGN(4)\n  {{\n{sections(loaded)}\n{sector}  }}\n"
        f"  .bss (NOLOAD) : SUBALIGN(4)\n  {{\n{sections(rest)}\n  }}\n"
        f"  /DISCARD/ : {{ *(*) }}\n}}\n"
    )


def _wrap(binary: Binary, body: bytes, entry: int) -> tuple[bytes, int]:
    if binary.format == "exe":
        body += bytes(-len(body) % SECTOR)
        words = [0, 0, entry, 0, binary.address, len(body), 0, 0, 0, 0, 0x801FFFF0, 0, 0, 0, 0, 0, 0]
        header = struct.pack("<8s17I", b"PS-X EXE", *words) + b"Forged for decomp-campaign"
        return header.ljust(EXE_HEADER, b"\0") + body, EXE_HEADER
    if binary.format == "rom":
        head = struct.pack(">4I", 0x80371240, 0x0000000F, entry, 0x00001444)
        head += bytes(16) + b"FORGED GAME".ljust(20) + bytes(7) + b"NFGE\0"
        return head.ljust(ROM_CODE, b"\0") + body, ROM_CODE
    return body, 0
