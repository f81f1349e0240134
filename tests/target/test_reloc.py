"""Relocations against the real linker: what ld makes of an object, the virtual link makes too, in both byte orders."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.target.objfile import BadObject, ObjectFile, Symbol, load_object, read_object
from shared.target.reloc import R_HI16, apply

AS = {
    "little": ["mipsel-linux-gnu-as", "-EL"],
    "big": ["mipsel-linux-gnu-as", "-EB"],
}
LD = {
    "little": ["mipsel-linux-gnu-ld", "-EL", "-m", "elf32ltsmip"],
    "big": ["mipsel-linux-gnu-ld", "-EB", "-m", "elf32btsmip"],
}
TEXT, RODATA, DATA, GP = 0x80100040, 0x80100C10, 0x80101E24, 0x80109000
OUTSIDE = {"far_fn": 0x80123450, "far_data": 0x8011FFF8, "odd": 0x80107FFC, "near_gp": 0x80108800, "low": 0x80100A04}


def program(seed: int) -> str:
    """A random program that uses every relocation the o32 ABI has for static code."""
    rng = random.Random(seed)
    lines = [".set noreorder", ".set noat", ".text", ".globl f0"]
    names = [*OUTSIDE, "f0", "f1", "local_data", "str0", "g_word"]
    for number in range(4):
        lines += [f"f{number}:"]
        for _ in range(rng.randrange(3, 14)):
            name = rng.choice(names)
            offset = rng.choice([0, 4, 0x7FFC, 0x8000, -8, 0x12344, 0x10])
            lines += rng.choice(
                [
                    [f"jal {rng.choice(['far_fn', 'low', 'f0', 'f2', 'f3'])}", "nop"],
                    [f"lui $2, %hi({name}+{offset})", f"addiu $2, $2, %lo({name}+{offset})"],
                    # one HI16 with several LO16, code between
                    [f"lui $3, %hi({name})", "nop", f"lw $4, %lo({name})($3)", f"sw $4, %lo({name})($3)"],
                    # several HI16 that share a LO16, the LO16 first by offset
                    [f"b 1f; lui $5, %hi({name}); 2: lw $6, %lo({name})($5); 1: lui $5, %hi({name}); b 2b; nop"],
                    ["lw $7, %gp_rel(near_gp)($28)"],
                    [f"lw $7, %gp_rel(near_gp+{rng.choice([0, 4, 12])})($28)"],
                    ["beq $0, $0, f0", "nop"],
                ]
            )
        lines += ["jr $31", "nop"]
    lines += [".section .rodata", ".align 2", 'str0: .asciz "text"', ".align 2"]
    lines += [f".word {rng.choice([*names, 'f2', 'f3'])}+{rng.choice([0, 8, -4])}" for _ in range(12)]
    lines += [".data", ".align 2", "local_data: .word 1, 2", ".globl g_word", "g_word: .word str0, f2, far_data"]
    return "\n".join(lines) + "\n"


def linked(folder: Path, order: str, text: str) -> tuple[ObjectFile, ObjectFile]:
    """The object and what ld makes of it."""
    (folder / "a.s").write_text(text)
    script = "".join(f"{name} = {value:#x};\n" for name, value in {**OUTSIDE, "_gp": GP}.items())
    script += (
        f"SECTIONS {{ .text {TEXT:#x} : SUBALIGN(4) {{ *(.text) }} .rodata {RODATA:#x} : SUBALIGN(4) {{ *(.rodata) }} "
        f".data {DATA:#x} : SUBALIGN(4) {{ *(.data) }} /DISCARD/ : {{ *(*) }} }}\n"
    )
    (folder / "a.ld").write_text(script)
    flags = ["-march=r3000", "-mno-shared", "-msoft-float", "-G8", "-mabi=32"]
    subprocess.run([*AS[order], *flags, "-o", "a.o", "a.s"], cwd=folder, check=True, capture_output=True)
    subprocess.run([*LD[order], "-T", "a.ld", "-o", "a.elf", "a.o"], cwd=folder, check=True, capture_output=True)
    return load_object(folder / "a.o"), load_object(folder / "a.elf")


def resolver(found: ObjectFile) -> Callable[[int, Symbol], int]:
    places = {".text": TEXT, ".rodata": RODATA, ".data": DATA}

    def resolve(_index: int, symbol: Symbol) -> int:
        if symbol.undefined:
            return OUTSIDE[symbol.name]
        return places[found.sections[symbol.section].name] + symbol.value

    return resolve


@pytest.mark.parametrize("order", ["little", "big"])
def test_every_relocation_is_what_the_linker_makes_of_it(tmp_path: Path, order: str) -> None:
    kinds = set()
    for seed in range(8):
        folder = tmp_path / str(seed)
        folder.mkdir()
        found, image = linked(folder, order, program(seed))
        assert found.byte_order == order
        for name, address in ((".text", TEXT), (".rodata", RODATA), (".data", DATA)):
            section, target = found.section_named(name), image.section_named(name)
            assert section is not None
            assert target is not None
            data, applied = apply(found, section, address, resolver(found), GP)
            kinds |= {entry.type for entry in applied}
            assert [e.error for e in applied if e.error] == []
            assert bytes(data) == target.data[: len(data)], (seed, name)
    assert {2, 4, 5, 6, 7} <= kinds


def test_a_high_half_takes_the_next_low_half_in_table_order(tmp_path: Path) -> None:
    found, _ = linked(tmp_path, "little", program(3))
    text = found.section_named(".text")
    assert text is not None
    _, applied = apply(found, text, TEXT, resolver(found), GP)
    for entry in applied:
        if entry.type == R_HI16:
            symbol = found.symbols[entry.symbol]
            assert (entry.meant - resolver(found)(entry.symbol, symbol)) & 0xFFFFFFFF == entry.addend & 0xFFFFFFFF


def test_what_a_linker_refuses_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.s").write_text(".text\njal far\nnop\nlw $2, %gp_rel(away)($28)\n")
    subprocess.run([*AS["little"], "-G8", "-mno-shared", "-o", "a.o", "a.s"], cwd=tmp_path, check=True)
    found = load_object(tmp_path / "a.o")
    text = found.section_named(".text")
    assert text is not None
    places = {"far": 0x10000000, "away": 0x80200000}
    for gp in (GP, None):
        _, applied = apply(found, text, TEXT, lambda _, symbol: places[symbol.name], gp)
        assert all(entry.error for entry in applied if entry.type in (4, 7))


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"hello" * 100, b"\x7fELF\x01\x01\x01" + b"\0" * 200])
def test_what_is_not_an_object_is_a_fault(data: bytes) -> None:
    with pytest.raises(BadObject):
        read_object(data)


def test_a_cut_object_is_a_fault(tmp_path: Path) -> None:
    linked(tmp_path, "little", program(1))
    whole = (tmp_path / "a.o").read_bytes()
    for size in range(0, len(whole) - 1, 97):
        with pytest.raises(BadObject):
            read_object(whole[:size])
