"""Which assembly a draft may hold: an empty barrier, a register pin, a macro of the project's own headers."""

from __future__ import annotations

import re

from shared.oracle.hygiene.lexer import Kind, Token
from shared.oracle.hygiene.structure import Refuse
from shared.oracle.hygiene.violation import Rule

STUB_NAME = re.compile(rb"(?i)(?:include|global)_*(?:asm|rodata)|incbin")
STUB_CALL = re.compile(rb"(?i)(?:include|global)_*(?:asm|rodata)\w{0,40}\s{0,8}\(|\.?incbin\s{0,8}[(\"]")
"""Stub macros by name, in any case. The call form is refused even in comments: tools that count open functions or read
`#pragma GLOBAL_ASM` go by lines, not by syntax."""


_QUALIFIERS = frozenset((b"volatile", b"__volatile", b"__volatile__", b"inline", b"__inline", b"__inline__"))
_REGISTER = re.compile(
    rb"\$(?:[12]?[0-9]|3[01])|\$?(?:zero|at|v[01]|a[0-3]|t[0-9]|s[0-8]|k[01]|gp|sp|fp|ra|hi|lo|f(?:[12]?[0-9]|3[01]))"
)
_MNEMONICS = (
    b"lw|sw|lbu?|lhu?|s[bh]|[ls]w[lr]|li|la|lui|ori|addiu?|addu?|subu?|andi?|x?ori?|nor|sltu?|sltiu?|sllv?|srlv?|srav?|"
    b"multu?|divu?|m[ft](?:hi|lo)|[mc][ft]c[0-3]|[ls]wc[0-3]|jr|jalr|beql?|bnel?|b(?:le|gt|lt|ge|eq|ne)z(?:al)?|move|negu?"
)
_DIRECTIVES = (
    b"word|half|hword|short|byte|[248]byte|long|incbin|include|section|pushsection|set|globl|macro|rept|org|equ"
)
_ASM_TEXT = re.compile(
    rb"(?:^|[\n;])[ \t]*(?:[\w.$]+:[ \t]*)?"
    rb"(?:(?:" + _MNEMONICS + rb")[ \t]+\$(?:[12]?[0-9]|3[01]|[a-z][a-z0-9]{1,3}|f[0-9]+)[ \t]*(?:,|[\n;]|$)"
    rb"|\.(?:" + _DIRECTIVES + rb")[ \t]+\S)"
)
_ESCAPE = re.compile(rb"\\(?:x([0-9A-Fa-f]+)|([0-7]{1,3})|(.))")
_SIMPLE = {b"n": b"\n", b"t": b"\t", b"r": b"\n", b"f": b" ", b"v": b" "}


def check_asm(tokens: list[Token], partner: list[int], index: int, in_body: bool, refuse: Refuse) -> None:
    """Judge the asm keyword at `index`; `in_body` = inside the function's braces."""
    token = tokens[index]
    at = index + 1
    while at < len(tokens) and tokens[at].text in _QUALIFIERS:
        at += 1
    if at >= len(tokens) or tokens[at].text != b"(":
        refuse(Rule.ASM, token, "asm in a form that is not allowed (`asm goto`, or no text)")
        return
    inside = tokens[at + 1 : partner[at]]
    if not in_body:
        refuse(Rule.ASM, token, "asm at file scope")
        return
    template: list[Token] = []
    for part in inside:
        if part.kind is not Kind.STRING:
            break
        template.append(part)
    text = b"".join(literal(part) for part in template)
    rest = inside[len(template) :]
    if not template or (rest and rest[0].text != b":"):
        refuse(Rule.ASM, token, "asm text that is not a plain string")
    elif not text.strip():
        return
    elif rest or at != index + 1 or not _declares_register(tokens, index):
        refuse(Rule.ASM, token, "raw instruction text; only an empty barrier or a register pin is allowed")
    elif not _REGISTER.fullmatch(text):
        refuse(Rule.ASM, token, f"`{text[:40].decode('ascii', 'replace')}` is not a register")


def _declares_register(tokens: list[Token], index: int) -> bool:
    """True if the statement before `index` is a declaration with `register`."""
    for token in reversed(tokens[max(0, index - 64) : index]):
        if token.text == b"register":
            return True
        if token.text in (b";", b"{", b"}"):
            return False
    return False


def check_strings(tokens: list[Token], refuse: Refuse) -> None:
    """Refuse literals that are instructions or assembler directives, whatever they are passed to."""
    strings = [index for index, token in enumerate(tokens) if token.kind is Kind.STRING]
    parts: list[bytes] = []
    for index, following in zip(strings, [*strings[1:], -1], strict=False):
        parts.append(literal(tokens[index]))
        if following != index + 1:  # adjacent strings are one
            if _ASM_TEXT.search(b"".join(parts)):
                refuse(Rule.ASM, tokens[index], "a string with assembly text")
            parts.clear()


def check_macro_arguments(tokens: list[Token], partner: list[int], index: int, refuse: Refuse) -> None:
    """Refuse strings in the arguments of an assembly macro of the project: they could become instruction text."""
    if index + 1 >= len(tokens) or tokens[index + 1].text != b"(":
        return
    for token in tokens[index + 2 : partner[index + 1]]:
        if token.kind is Kind.STRING:
            refuse(Rule.ASM, token, f"a string given to the assembly macro `{tokens[index].text.decode()}`")
            return


def literal(token: Token) -> bytes:
    """The bytes between the quotes, escapes resolved."""
    text = token.text[1:-1]
    return _ESCAPE.sub(_unescape, text) if b"\\" in text else text


def _unescape(match: re.Match[bytes]) -> bytes:
    digits, octal, simple = match.groups()
    if digits:
        return bytes([int(digits[-2:], 16)])
    if octal:
        return bytes([int(octal, 8) & 0xFF])
    return _SIMPLE.get(simple, simple)
