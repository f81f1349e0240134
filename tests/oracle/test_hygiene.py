"""Hostile drafts: what is refused, with which rule and line, and that nothing right is refused with it."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.oracle.hygiene import Rule, asm_macros, check_draft, normalise

MAX = 256 * 1024
GTE = frozenset({"gte_ldv0", "gte_rtps"})
BARRED = frozenset({"SYSCALL"})


def check(text: str | bytes, function: str = "f", **more: object) -> list[tuple[Rule, int]]:
    raw = text.encode() if isinstance(text, str) else text
    found = check_draft(
        normalise(raw),
        function,
        project_macros=GTE,
        barred_macros=BARRED,
        max_bytes=MAX,
        **more,  # type: ignore[arg-type]
    )
    return [(violation.rule, violation.line) for violation in found]


ALLOWED = [
    "void f(void) {}",
    "/* why */ // and how\nextern s32 D_80010000[];\ns32 g(Foo *, u8);\ns32 f(void) { return g(0, D_80010000[1]); }",
    "typedef struct { s32 x; } Pair;\nenum { A, B = 3 };\nstruct S { int a : 3; int : 0; };\nvoid f(Pair *p) {}",
    "static const s16 table[] = { 1, 2, [5] = 3 };\ns32 f(s32 i) { return table[i]; }",
    "s32 (*handlers[2])(void) = { 0, 0 };\nFoo (*hook)(int);\nvoid f(void) {}",
    "int f(a, b) int a; char *b; { return a + *b; }",
    "f(a) { return a; }",
    "void (*f(int a))(int) { return 0; }",
    "void (f)(void) {}",
    "__attribute__((noinline)) static inline Foo *f(void) { return 0; }",
    "void f(void) __attribute__((noreturn));\nvoid f(void) { for (;;); }",
    "struct __attribute__((packed)) S { int a; } __attribute__((aligned(4)));\nvoid f(void) {}",
    '_Static_assert(sizeof(int) == 4, "x");\n__extension__ typedef long long big;\nvoid f(void) {};',
    "void f(void) { s32 x = ({ s32 y = 3; y; }); __label__ l; void *p = &&l; goto *p; l: }",
    "void f(s32 x) { switch (x) { case 1 ... 5: break; default: } x = x ?: 3; }",
    'void f(void) { register s32 a asm("$4"); register s32 b __asm__("s0") = 3; register f32 c asm("$f12"); }',
    'void f(s32 x) { asm(""); if (x) asm volatile("" ::: "memory"); __asm__ __volatile__("" : "+r"(x)); }',
    "void f(Vec *v) { gte_ldv0(v) gte_rtps(); FOREACH(v, x) { g(x); } }",
    'void f(void) { char *s = "a\\"b" L"c" "??!"; s32 c = \'\\\'\'; c = \'ab\'; c = \'"\'; }',
    "void f(void) { x = va_arg(ap, char *); y = (Foo){ 1 }.a; z = offsetof(struct A, b.c[3]); w = 0b101 + 1.5e-3f; }",
    'void f(void) { ASSERT(__FILE__, __LINE__, __func__); g("lw", "pay $5, please", ".", "add $50"); }',
    "s32 f(s32 a) { return a \\\n + 1; } // INCLUDE_ASM is gone",
    "void f(void) { s32 globalplasma, include, asmodeus; }",
    "\n".join(["void f(s32 a) {"] + ["    if (a) { a++; }"] * 2000 + ["}"]),
    b'/* \xa5\xa2\xa5\xeb\xbe \x5c */\nvoid f(void) { puts("\xa4\xa2\xa4\xa4"); } // \xff\xfe',
]


@pytest.mark.parametrize("text", ALLOWED, ids=lambda t: str(t[:40]))
def test_right_c_is_not_refused(text: str | bytes) -> None:
    assert check(text) == []


REFUSED = [
    # Preprocessor, in all its disguises.
    ("#define X 1\nvoid f(void) {}", Rule.DIRECTIVE, 1),
    ("void f(void) {}\n#pragma weak f", Rule.DIRECTIVE, 2),
    ("void f(void) {\n#if 1\n}\n#endif", Rule.DIRECTIVE, 2),
    ("#inc\\\nlude <x.h>\nvoid f(void) {}", Rule.INCLUDE, 1),
    ("/* a\n*/ # /**/ define X\nvoid f(void) {}", Rule.DIRECTIVE, 2),
    ("\n#line 7 \"x\"\nvoid f(void) {}", Rule.DIRECTIVE, 2),
    ("# 7 \"x\"\nvoid f(void) {}", Rule.DIRECTIVE, 1),
    ("#\\\ndefine X\nvoid f(void) {}", Rule.DIRECTIVE, 1),
    ("#\nvoid f(void) {}", Rule.DIRECTIVE, 1),
    ("%:define X\nvoid f(void) {}", Rule.DIGRAPH, 1),
    ("%\\\n:define X\nvoid f(void) {}", Rule.DIGRAPH, 1),
    ("void f(void) <% %>", Rule.DIGRAPH, 1),
    ("\n??=define X\nvoid f(void) {}", Rule.TRIGRAPH, 2),
    ("void f(void) ??< }", Rule.TRIGRAPH, 1),
    ("void f(void) {} // eats the next line ??/\n", Rule.TRIGRAPH, 1),
    ("void f(void) { a = '??''; }", Rule.TRIGRAPH, 1),
    ("void f(void) { _Pragma(\"weak f\") }", Rule.DIRECTIVE, 1),
    ("void f(void) { a # b }", Rule.DIRECTIVE, 1),
    ("#include <common.h>\nvoid f(void) {}", Rule.INCLUDE, 1),
    ("#include HEADER\nvoid f(void) {}", Rule.INCLUDE, 1),
    ("#include \"/etc/passwd\"\nvoid f(void) {}", Rule.INCLUDE, 1),
    ("#include_next \"a.h\"\nvoid f(void) {}", Rule.DIRECTIVE, 1),
    ("#import \"a.h\"\nvoid f(void) {}", Rule.DIRECTIVE, 1),
    # Verbatim assembly.
    ("INCLUDE_ASM(\"asm/nonmatchings/x\", f);", Rule.STUB, 1),
    ("void f(void) {}\nInclude_Asm(\"x\", f);", Rule.STUB, 2),
    ("void f(void) {}\nINCLUDE_RODATA(\"x\", D_1);", Rule.STUB, 2),
    ("void f(void) {}\nINCL\\\nUDE_ASM(\"x\", f);", Rule.STUB, 2),
    ("void f(void) { GLOBAL_ASM(\"x\") }", Rule.STUB, 1),
    ("/*\n * INCLUDE_ASM(\"x\", f);\n */\nvoid f(void) {}", Rule.STUB, 1),
    ("void f(void) {}\n// #pragma GLOBAL_ASM(\"x.s\")", Rule.STUB, 2),
    ("asm(\".include \\\"f.s\\\"\");\nvoid f(void) {}", Rule.ASM, 1),
    ("void f(void) {}\n__asm__(\"\");", Rule.ASM, 2),
    ("void f(void) {\n asm(\"nop\");\n}", Rule.ASM, 2),
    ("void f(void) {\n __asm__ __volatile__(\"lw $4, 0($5)\\n\" : : : \"memory\");\n}", Rule.ASM, 2),
    ("void f(void) { asm(\"\" \"nop\"); }", Rule.ASM, 1),
    ("void f(void) { asm(\"\\x6eop\"); }", Rule.ASM, 1),
    ("void f(void) { asm(TEXT); }", Rule.ASM, 1),
    ("void f(void) { asm goto(\"\" : : : : l); l:; }", Rule.ASM, 1),
    ("void f(void) { a\\\nsm(\"nop\"); }", Rule.ASM, 1),
    ("void f(void) { register s32 a asm(\"$32\"); }", Rule.ASM, 1),
    ("void f(void) { register s32 a asm(\"$4\\n\\tnop\"); }", Rule.ASM, 1),
    ("void f(void) { s32 a asm(\"$4\"); }", Rule.ASM, 1),
    ("register s32 a asm(\"$16\");\nvoid f(void) {}", Rule.ASM, 1),
    ("extern s32 a asm(\"b\");\nvoid f(void) {}", Rule.ASM, 1),
    ("void f(void) { extern s32 g(void) asm(\"h\"); }", Rule.ASM, 1),
    ("void f(void) { ASM(\"lw $4, \" \"0($5)\"); }", Rule.ASM, 1),
    ("void f(void) { ASM(\"nop\\n.wo\" \"rd 0x03E00008\"); }", Rule.ASM, 1),
    ("void f(void) { gte_ldv0(\"nop\"); }", Rule.ASM, 1),
    ("void f(void) { SYSCALL(nop); }", Rule.MACRO, 1),
    ("void f(void) { STR(lw $4, 0($5)); }", Rule.CHARACTER, 1),
    # The link and the build.
    ("void f(void) {}\nint x __attribute__((section(\".text\"))) = 1;", Rule.ATTRIBUTE, 2),
    ("void g(void) __attribute__((alias(\"h\")));\nvoid f(void) {}", Rule.ATTRIBUTE, 1),
    ("__attribute((__constructor__)) void f(void) {}", Rule.ATTRIBUTE, 1),
    ("__attribute__((unused, weak)) void f(void) {}", Rule.ATTRIBUTE, 1),
    ("__attribute__(X) void f(void) {}", Rule.ATTRIBUTE, 1),
    ("__attribute__ void f(void) {}", Rule.ATTRIBUTE, 1),
    ("[[gnu::weak]] void f(void) {}", Rule.ATTRIBUTE, 1),
    ("s32 f(void) { return __COUNTER__; }", Rule.MACRO, 1),
    ("char *f(void) {\n return __DATE__; }", Rule.MACRO, 2),
    # One function, and only declarations.
    ("void g(void) {}", Rule.DEFINITION, 1),
    ("s32 x;", Rule.DEFINITION, 1),
    ("", Rule.DEFINITION, 1),
    ("void f(void) {}\nstatic inline void g(void) {}", Rule.DEFINITION, 2),
    ("void f(void) {}\nvoid f(void) {}", Rule.DEFINITION, 2),
    ("void f(void) {}\nint g(a) int a; { return a; }", Rule.DEFINITION, 2),
    ("void f(void) {\n s32 g(s32 a) { return a; }\n}", Rule.DEFINITION, 2),
    ("void f(void) {\n inline Foo *g(Foo *a) { return a; }\n}", Rule.DEFINITION, 2),
    ("STUB(f);\nstatic void f(void) {}", Rule.ITEM, 1),
    ("void f(void) {}\nx = 3;", Rule.ITEM, 2),
    ("void f(void) {}\nx + 3;", Rule.ITEM, 2),
    ("void f(void) {}\n(*x)();", Rule.ITEM, 2),
    ("void f(void) {}\n3;", Rule.ITEM, 2),
    ("void f(void) {}\n{ }", Rule.ITEM, 2),
    # Reaching out of its place.
    ("void f(void) {", Rule.PARSE, 1),
    ("void f(void) {}\n}", Rule.PARSE, 2),
    ("void f(void) { ( }", Rule.PARSE, 1),
    ("void f(void) {}\nstatic", Rule.PARSE, 2),
    ("void f(void) {}\n__attribute__((noreturn))", Rule.PARSE, 2),
    ("void f(void) {}\ns32 x = 3", Rule.PARSE, 2),
    ("void f(void) {}\nint g(a) int a;", Rule.PARSE, 2),
    ("void f(void) {}\n/* swallows the rest", Rule.PARSE, 2),
    ("void f(void) {}\n// swallows a line \\\n", Rule.PARSE, 2),
    ("void f(void) {}\n// swallows a line \\ \n", Rule.PARSE, 2),
    ("void f(void) { char *s = \"open; }", Rule.PARSE, 1),
    ("void f(void) { s32 c = '; }", Rule.PARSE, 1),
    ("void f(void) { s32 c = ''; }", Rule.PARSE, 1),
    ("void f(void) { char *s = R\"(a)\"; }", Rule.LITERAL, 1),
    ("void f(void) { s32 x = 1'0'; }", Rule.LITERAL, 1),
    ("void f(void) { s32 x = 3; \\ }", Rule.CHARACTER, 1),
    ("void f(void) { s32 \\u0061; }", Rule.CHARACTER, 1),
    ("void f(void) { s32 \u00e9; }", Rule.CHARACTER, 1),
    (b"void f(void) { \x00 }", Rule.ENCODING, 1),
    (b"void f(void) {}\n/* \x1a */", Rule.ENCODING, 2),
    ("void f(void) {}".encode("utf-16"), Rule.ENCODING, 1),
    ("void f(void) { " + "(" * 300 + ")" * 300 + "; }", Rule.NESTING, 1),
    ("void f(void) {}" + " " * MAX, Rule.SIZE, 1),
]  # fmt: skip


@pytest.mark.parametrize(("text", "rule", "line"), REFUSED, ids=lambda v: str(v)[:40])
def test_broken_rule_is_named_with_its_line(text: str | bytes, rule: Rule, line: int) -> None:
    assert (rule, line) in check(text)


def test_text_that_was_not_normalised_is_refused() -> None:
    for text in (b"void f(void) {}\r\n", b"\xef\xbb\xbfvoid f(void) {}\n", b"void f(void) {}"):
        assert check_draft(text, "f", max_bytes=MAX)
        assert check_draft(normalise(text), "f", max_bytes=MAX) == []


@given(st.binary())
def test_normalise_is_idempotent(text: bytes) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert b"\r" not in once


def test_a_name_of_hostile_form_matches_nothing() -> None:
    for name in ("", "f(void) {} void g", "../f", "-f", "f\n", "é"):
        assert check("void f(void) {}", name) == [(Rule.DEFINITION, 1)]


class TestInclude:
    """`#include "x"` reaches headers inside the include path and nothing else."""

    @pytest.fixture
    def tree(self, tmp_path: Path) -> Path:
        (tmp_path / "include/sub").mkdir(parents=True)
        (tmp_path / "include/common.h").write_text("")
        (tmp_path / "include/sub/types.h").write_text("")
        (tmp_path / "include/macro.inc").write_text("")
        (tmp_path / "secret.h").write_text("")
        (tmp_path / "include/leak.h").symlink_to(tmp_path / "secret.h")
        (tmp_path / "include/inside.h").symlink_to("sub/types.h")
        return tmp_path

    @pytest.mark.parametrize("name", ["common.h", "sub/types.h", "sub/./types.h", "inside.h"])
    def test_inside(self, tree: Path, name: str) -> None:
        assert check(f'#include "{name}"\nvoid f(void) {{}}', include_dirs=[tree / "include"]) == []

    @pytest.mark.parametrize(
        "name",
        ["../secret.h", "sub/../common.h", "leak.h", "missing.h", "macro.inc", "sub", ".h", "-x.h", "a\\b.h", "a\tb.h"],
    )
    def test_outside(self, tree: Path, name: str) -> None:
        text = f'\n#include "{name}"\nvoid f(void) {{}}'
        assert check(text, include_dirs=[tree / "include"]) == [(Rule.INCLUDE, 2)]

    def test_absolute(self, tree: Path) -> None:
        text = f'#include "{tree}/include/common.h"\nvoid f(void) {{}}'
        assert check(text, include_dirs=[tree / "include"]) == [(Rule.INCLUDE, 1)]

    @pytest.mark.parametrize("text", ['void f(void) {\n#include "common.h"\n}', 's32\n#include "common.h"\nf(void) {}'])
    def test_only_between_declarations(self, tree: Path, text: str) -> None:
        assert check(text, include_dirs=[tree / "include"]) == [(Rule.INCLUDE, 2)]


def test_assembly_macros_of_headers() -> None:
    gte = rb"""
#define gte_ldv0( r0 ) __asm__ volatile ( \
    "lwc2 $0, 0( %0 );" \
    "lwc2 $1, 4( %0 )" : : "r"( r0 ) )
#define gte_nop() asm("nop")
#define both(x) do { gte_ldv0(x); gte_nop(); } while (0)
#define HARMLESS(x) ((x) + 1)
"""
    stubs = rb"""
#define RAW(text) asm(text)
#define SYSCALL(n) asm("syscall " #n)
#define FROM_FILE(name) __asm__(".include \"asm/f.s\"")
#define STUB(x) INCLUDE_ASM("asm/nonmatchings", x)
#define NESTED(x) HARMLESS(STUB(x))
#define VARIADIC(...) asm(__VA_ARGS__)
"""
    found = asm_macros([gte, stubs])
    assert found.allowed == {"gte_ldv0", "gte_nop", "both"}
    assert found.barred == {"RAW", "SYSCALL", "FROM_FILE", "STUB", "NESTED", "VARIADIC"}


FRAGMENTS = [
    "/*", "*/", "//", '"', "'", "\\\n", "\\ \n", "??/\n", "%:", "{", "}", "(", ")", "[", "]", ";", ",", "=", "#", "\n",
    '#include "a.h"\n', '\n#include "a.h"\n', '"a"', "R\"(", ")\"", "'a'", "/**/", "/", "*", "\\", "??=", "??'", "??<",
    "void f(void) {}", "int x;", "int g(a) int a;", 'asm("")', "__attribute__((", "))", "INCLUDE_ASM(", "static ", "f",
    "struct S {", "enum {", "typedef int t;", " ", "int", "1", "1'", "L", "R", "u8", ":", "?", "...", "do", "//x\\\n",
]  # fmt: skip
BASE = 'extern int D[3];\nint g(int);\nint f(int a) {\n    if (a) { return g(D[1]) + \'"\'; }\n    return "b"[a];\n}\n'


@st.composite
def hostile(draw: st.DrawFn) -> str:
    """The base text with fragments put in at random places, or fragments alone."""
    text, most = (BASE, 3) if draw(st.booleans()) else ("", 8)
    for fragment in draw(st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=most)):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + fragment + text[at:]
    return text


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.binary(max_size=200), hostile().map(str.encode)))
def test_any_text_gets_an_answer(text: bytes) -> None:
    check(text)


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(hostile())
def test_accepted_text_stays_in_its_place(text: str) -> None:
    """GCC's own preprocessor sees what follows an accepted draft unharmed and at file scope, under any -std."""
    draft = normalise(text.encode())
    if check_draft(draft, "f", max_bytes=MAX):
        return
    for std in ("gnu17", "c99", "gnu2x"):
        command = ["mipsel-linux-gnu-gcc", f"-std={std}", "-E", "-P", "-x", "c", "-"]
        done = subprocess.run(command, input=draft + b"int sentinel;\n", capture_output=True, timeout=20, check=False)
        plain = re.sub(rb'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', b"0", done.stdout)
        assert plain.count(b"sentinel") == 1, (std, draft, plain)
        before, _, _ = plain.partition(b"int sentinel")
        for opening, closing in (b"()", b"[]", b"{}"):
            assert before.count(opening) == before.count(closing)
        assert before.rstrip()[-1:] in (b";", b"}"), (std, draft)


BOMBS = [
    "(", ")", "{", "[", "/*", "//", '"', "'", "\\\n", "\\ ", "??", "??/", "#", "#\n", "# ", "asm(", "a ", "a\n", "*",
    "__attribute__((", "f(){asm();}", "int a;", "x={},", "int f(a)int a;", "include_asm", "/*include_asm", "%:", "1'",
    "[[", "struct {", 'asm("");', "a?b:", ".", "gte_ldv0(", '"lw $4, " ', "int f(a) ", "if(", "\f", "\\", "=", "R",
    '#include "a.h"\n',
]  # fmt: skip


@pytest.mark.parametrize("head", ["", "void f(void) {", "int f(a) int a;", 'void f(void) { g("'])
def test_no_text_takes_long(head: str) -> None:
    """64 KiB of anything takes well under a second: no step is quadratic (that would be minutes)."""
    for bomb in BOMBS:
        text = (head + bomb * (65536 // len(bomb))).encode()
        started = time.process_time()
        check(text)
        assert time.process_time() - started < 2, repr(bomb)
