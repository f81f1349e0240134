"""Stubs in C sources, and drafts put in their place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.target.splice import SpliceError, revert, splice
from shared.target.stubs import find_stubs

MACRO = 'INCLUDE_ASM("asm/nonmatchings/foo", {0});'

FORMS = {
    "modern": (MACRO.format("f"), MACRO.format("f"), "asm/nonmatchings/foo/f.s"),
    "legacy": ('INCLUDE_ASM(const s32, "asm/foo", f);', None, "asm/foo/f.s"),
    "legacy with arguments": ('INCLUDE_ASM(void, "asm/foo", f, s32 a, u8 *b);', None, "asm/foo/f.s"),
    "over lines": ('INCLUDE_ASM(\n    "asm/foo", /* why */\n    f\n);', None, "asm/foo/f.s"),
    "joined strings": ('INCLUDE_ASM("asm/" "foo", f);', None, "asm/foo/f.s"),
    "blank before": ('INCLUDE_ASM ( "asm/foo" , f ) ;', None, "asm/foo/f.s"),
    "no semicolon": ('INCLUDE_ASM("asm/foo", f)', None, "asm/foo/f.s"),
    "pragma": ('#pragma GLOBAL_ASM("asm/non_matchings/foo/f.s")', None, "asm/non_matchings/foo/f.s"),
    "macro of asm-processor": ('GLOBAL_ASM("asm/foo/f.s")', None, "asm/foo/f.s"),
    "non-matching": (
        f"#ifdef NON_MATCHING\nint f(void) {{ return 1; }}\n#else\n{MACRO.format('f')}\n#endif",
        None,
        None,
    ),
    "non-matching, reversed": (
        f"#ifndef NON_MATCHING\n{MACRO.format('f')}\n#else\nint f(void) {{}}\n#endif",
        None,
        None,
    ),
    "non-matching, alone": (f"#ifndef NON_MATCHING\n{MACRO.format('f')}\n#endif", None, None),
    "non-matching, defined": (f"#if defined(NON_MATCHING)\nint f;\n#else\n{MACRO.format('f')}\n#endif", None, None),
    "non-matching, negated": (f"#if !defined(NON_MATCHING)\n{MACRO.format('f')}\n#else\nint f;\n#endif", None, None),
    "non-equivalent": (f"#ifdef NON_EQUIVALENT\nint f;\n#else\n{MACRO.format('f')}\n#endif", None, None),
    "switched off": (f"#if 0\nint f;\n#else\n{MACRO.format('f')}\n#endif", None, None),
    "nested conditional": (
        f"#ifdef NON_MATCHING\n#if X\nint f;\n#else\nint g;\n#endif\n#else\n{MACRO.format('f')}\n#endif",
        None,
        None,
    ),
}


@pytest.mark.parametrize(("text", "unit", "asm"), FORMS.values(), ids=FORMS)
def test_every_form_is_one_unit(text: str, unit: str | None, asm: str | None) -> None:
    source = f'#include "common.h"\n\n{text}\nint after;\n'.encode()
    (stub,) = find_stubs(source)
    assert stub.function == "f"
    assert source[stub.start : stub.end].decode() == (unit or text)
    assert stub.asm == (asm or "asm/nonmatchings/foo/f.s")
    assert stub.line == 3
    assert not stub.conditional


NOT_STUBS = {
    "line comment": "// " + MACRO.format("f"),
    "continued comment": "// one \\\n" + MACRO.format("f"),
    "block comment": f"/* {MACRO.format('f')} */",
    "unended comment": f"/* {MACRO.format('f')}",
    "string": 'const char *s = "INCLUDE_ASM(\\"a\\", f);";',
    "definition": "#define X INCLUDE_ASM(" + '"a", f)',
    "continued definition": "#define X \\\n  INCLUDE_ASM(" + '"a", f)',
    "rodata": 'INCLUDE_RODATA("asm/foo", f);',
    "longer name": 'MY_INCLUDE_ASM("asm/foo", f);',
    "switched off": f"#if 0\n{MACRO.format('f')}\n#endif",
    "only for non-matching builds": f"#ifdef NON_MATCHING\n{MACRO.format('f')}\n#endif",
    "no folder": "INCLUDE_ASM(f);",
    "never closed": 'INCLUDE_ASM("asm/foo", f',
}


@pytest.mark.parametrize("text", NOT_STUBS.values(), ids=NOT_STUBS)
def test_what_only_looks_like_a_stub_is_none(text: str) -> None:
    assert find_stubs(f"int a;\n{text}\n".encode()) == []


def test_the_kept_draft_of_a_block_is_given() -> None:
    (stub,) = find_stubs(f"#ifdef NON_MATCHING\nint f(void) {{\n}}\n#else\n{MACRO.format('f')}\n#endif\n".encode())
    assert stub.kind == "block"
    assert stub.nonmatching == b"int f(void) {\n}"


def test_two_stubs_of_one_block_are_two_units() -> None:
    source = f"#ifdef NON_MATCHING\nint f, g;\n#else\n{MACRO.format('f')}\n{MACRO.format('g')}\n#endif\n".encode()
    found = find_stubs(source)
    assert [(s.function, s.kind) for s in found] == [("f", "include_asm"), ("g", "include_asm")]
    assert b"#else" in splice(source, {"f": b"int f;"}).text


def test_a_version_conditional_is_marked_and_both_sides_are_found() -> None:
    source = f"#if VERSION_US\n{MACRO.format('f')}\n#else\n{MACRO.format('f')}\n#endif\n".encode()
    assert [(s.line, s.conditional) for s in find_stubs(source)] == [(2, True), (4, True)]
    with pytest.raises(SpliceError, match="2 stubs"):
        splice(source, {"f": b"int f;"})


def test_bytes_of_other_encodings_survive() -> None:
    """EUC-JP and Shift-JIS comments, and a Shift-JIS character whose second byte is a backslash."""
    source = b"/* \xa4\xb3\xa4\xec */\n// \x95\x5c \x83\x5c.\n" + MACRO.format("f").encode() + b"\n/* \x95\x5c */\n"
    spliced = splice(source, {"f": b"int f; /* \xa4\xb3 */"})
    assert spliced.text == source.replace(MACRO.format("f").encode(), b"int f; /* \xa4\xb3 */")


def test_lines_map_to_drafts() -> None:
    source = f"a\n{MACRO.format('f')}\nb\n{MACRO.format('g')} // tail\nc".encode()
    spliced = splice(source, {"g": b"1\n2 // end", "f": b"1\n2\n3\n"})
    lines = spliced.text.split(b"\n")
    assert lines == [b"a", b"1", b"2", b"3", b"b", b"1", b"2 // end", b" // tail", b"c"]
    places = [spliced.draft_line(n) for n in range(1, 10)]
    assert places[:7] == [None, ("f", 1), ("f", 2), ("f", 3), None, ("g", 1), ("g", 2)]
    assert places[8] is None


def test_newlines_are_the_files_own() -> None:
    unix = f"a\n{MACRO.format('f')}\nb\n".encode()
    dos = unix.replace(b"\n", b"\r\n")
    assert splice(dos, {"f": b"1\n2\n"}).text == b"a\r\n1\r\n2\r\nb\r\n"
    assert splice(unix, {"f": b"1\r\n2\r\n"}).text == b"a\n1\n2\nb\n"


def test_an_unknown_function_is_an_error() -> None:
    with pytest.raises(SpliceError, match="no stub"):
        splice(b"int a;\n", {"f": b"int f;"})


@given(
    st.lists(
        st.sampled_from([b"int x;\n", b"/* c */\n", b"\xa4\xb3\n", b"#if X\n#endif\n", b"\n", b's = "q";\n']),
        max_size=6,
    ),
    st.dictionaries(st.sampled_from(["f", "g", "h"]), st.binary(min_size=1, max_size=30), min_size=1),
    st.booleans(),
)
def test_revert_undoes_splice_and_nothing_else_changes(
    filler: list[bytes], drafts: dict[str, bytes], dos: bool
) -> None:
    parts = [MACRO.format(name).encode() + b"\n" for name in ("f", "g", "h")]
    source = b"".join(piece for part in parts for piece in (*filler, part))
    if dos:
        source = source.replace(b"\n", b"\r\n")
    spliced = splice(source, drafts)
    rest = spliced.text
    for where in reversed(spliced.ranges):
        rest = rest[: where.start] + where.unit + rest[where.end :]
    assert rest == source


def test_a_landed_function_is_reverted_to_its_stub() -> None:
    source = f"a\n{MACRO.format('f')}\nb\n{MACRO.format('g')}\n".encode()
    spliced = splice(source, {"f": b"int f(void) { return 1; }"})
    unit = spliced.ranges[0].unit
    later = spliced.text.replace(b"b\n", b"int changed;\n")
    assert revert(later, spliced.inserted("f"), unit) == source.replace(b"b\n", b"int changed;\n")
    with pytest.raises(SpliceError, match="by hand"):
        revert(later.replace(b"return 1", b"return 2"), spliced.inserted("f"), unit)
