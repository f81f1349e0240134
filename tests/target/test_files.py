"""Files of a splat project and of the linker: `.s`, symbol files, link maps."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.errors import InstrumentFault, MissingInput
from shared.target.asmfile import parse_asm, read_asm
from shared.target.linkmap import load_map, parse_map
from shared.target.symbols import encoded_address, parse_symbols, read_symbols

ASM = """\
.set noat

.section .rodata
.align 3
nonmatching jtbl_80100000

dlabel jtbl_80100000
    /* 0 80100000 F0001080 */ .word .L801000F0
enddlabel jtbl_80100000

.section .text
nonmatching sq, 0x10

glabel sq
    /* 70 80100070 2000040C */  jal        add
    /* 74 80100074 1080023C */   lui       $v0, %hi(g_n)
  .L80100078:
    /* 78 80100078 5003428C */  lw         $v0, %lo(g_n+0x4)($v0)
    /* 7C 8010007C 00000000 */  nop
endlabel sq
    /* 80 80100080 00000000 */  nop
    /* 84 80100084 00000000 */  nop
"""


def test_only_the_function_counts_and_words_are_in_file_order() -> None:
    found = parse_asm(ASM, "little")
    (function,) = found.functions
    assert (function.name, function.address, function.size, function.instructions) == ("sq", 0x80100070, 16, 4)
    assert function.words == (0x0C040020, 0x3C028010, 0x8C420350, 0)
    assert function.operands == ("add", "g_n", "g_n+0x4", "")
    assert found.data == ("jtbl_80100000",)


def test_big_endian_words_read_as_they_stand() -> None:
    text = "glabel f\n/* 000400 80000400 03E00008 */  jr $ra\n/* 80000404 00000000 */  nop\n"
    (function,) = parse_asm(text, "big").functions
    assert function.words == (0x03E00008, 0)
    assert function.size == 8


def test_old_files_without_end_marks_end_at_the_next_function() -> None:
    text = "glabel f\n/* 0 80000000 00000001 */ nop\nglabel g\n/* 4 80000004 00000002 */ nop\n"
    assert [(f.name, f.words) for f in parse_asm(text, "big").functions] == [("f", (1,)), ("g", (2,))]


def test_a_missing_asm_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingInput, match=r"MISSING .*f\.s"):
        read_asm(tmp_path / "f.s", "little")


def test_symbol_files(tmp_path: Path) -> None:
    text = (
        "// comment = 0x1;\nmain = 0x80010000; // type:func size:0x20\n  D_1 = 2148532224;\n"
        "bad = zzz;\nother = 0x80010010; // some words here rom:0x800\n"
    )
    found = parse_symbols(text)
    assert [(s.name, s.address) for s in found] == [("main", 0x80010000), ("D_1", 0x80100000), ("other", 0x80010010)]
    assert found[0].attributes == {"type": "func", "size": "0x20"}
    assert found[2].attributes == {"rom": "0x800"}
    (tmp_path / "a.txt").write_text("x = 0x1;\ny = 0x2;\n")
    (tmp_path / "b.txt").write_text("y = 0x3;\n")
    assert read_symbols(tmp_path, ["a.txt", "b.txt"]) == {"x": 1, "y": 3}
    with pytest.raises(MissingInput, match=r"none\.txt"):
        read_symbols(tmp_path, ["none.txt"])


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("func_8001C9D0", 0x8001C9D0),
        ("D_us_801AD26C", 0x801AD26C),
        ("func_800B0858_1DD908", 0x800B0858),
        ("jtbl_80100000", 0x80100000),
        ("rng_next", None),
        ("D_41C64E6D", None),
        ("func_8001C9D0x", None),
    ],
)
def test_addresses_in_names(name: str, address: int | None) -> None:
    assert encoded_address(name) == address


MAP = """\
Discarded input sections

 .text          0x00000000       0x10 build/gone.o

Linker script and memory map

LOAD build/a.o
                0x80100000                ovl_VRAM = ADDR (.ovl)

.ovl            0x80100000      0x3b0 load address 0x00000000
 FILL mask 0x00000000
 build/a.o(.rodata)
 .rodata        0x80100000       0x2c build/a.o
                0x80100000                jtbl_80100000
 *fill*         0x8010002c        0x4 00
 .rodata.str1.4
                0x80100030       0x10 build/b.o
                                  0xc (size before relaxing)
 .text          0x80100040       0x50 build/a.o
                0x80100040                add
                [!provide]                PROVIDE (x = 0x1)
 .data          0x80100090        0x0 build/a.o

.a_long_output_section
                0xffffffff80200000       0x20 load address 0x00000400
 .text          0xffffffff80200000       0x20 lib/libc.a(div.o)

/DISCARD/
 *(*)
OUTPUT(build/x.elf elf32-tradlittlemips)
"""


def test_link_maps() -> None:
    rows = [(p.output, p.object, p.section, p.address, p.size, p.previous_end) for p in parse_map(MAP)]
    assert rows == [
        (".ovl", "build/a.o", ".rodata", 0x80100000, 0x2C, 0x80100000),
        (".ovl", "build/b.o", ".rodata.str1.4", 0x80100030, 0x10, 0x8010002C),
        (".ovl", "build/a.o", ".text", 0x80100040, 0x50, 0x80100040),
        (".ovl", "build/a.o", ".data", 0x80100090, 0, 0x80100090),
        (".a_long_output_section", "lib/libc.a(div.o)", ".text", 0x80200000, 0x20, 0x80200000),
    ]


def test_what_is_not_a_map_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "m").write_text("hello\n")
    with pytest.raises(InstrumentFault, match="not a GNU ld link map"):
        load_map(tmp_path / "m")
    with pytest.raises(MissingInput, match="MISSING"):
        load_map(tmp_path / "none")
