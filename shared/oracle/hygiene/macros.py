"""Which macros of a project's headers bring assembly, and which of them a draft may use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from shared.oracle.hygiene.assembly import STUB_NAME
from shared.oracle.hygiene.lexer import Kind, Source, Token, lex
from shared.oracle.hygiene.structure import ASM_WORDS

_DEFINE = re.compile(rb"^[ \t]*\#[ \t]*define[ \t]+([A-Za-z_]\w*)(\([^)\n]*\))?([^\n]*)$", re.MULTILINE)
_FILE_TEXT = re.compile(rb"\.(?:include|incbin|section|globl|word)\b")


class AsmMacros(NamedTuple):
    """Macros whose expansion is or contains an asm statement.

    `allowed`: fixed instructions around C operands, like the GTE macros. `barred`: they pull in a file, open a section,
    or paste their argument's text into the assembly, so that any instruction could be smuggled through.
    """

    allowed: frozenset[str]
    barred: frozenset[str]


class _Definition(NamedTuple):
    parameters: frozenset[bytes]
    body: list[Token]


def asm_macros(headers: Iterable[bytes]) -> AsmMacros:
    """Find the assembly macros in the texts of a project's headers (and of the TU itself).

    A macro with several definitions is barred if one of them is; one that uses a barred macro is barred too.
    """
    definitions: dict[bytes, list[_Definition]] = {}
    for text in headers:
        for match in _DEFINE.finditer(Source(text.replace(b"\r\n", b"\n")).joined):
            name, parameters, body = match.groups()
            if parameters is None and body and body[:1] not in (b" ", b"\t", b"/", b'"'):
                continue  # not a definition the preprocessor would take
            names = frozenset(part.strip() for part in (parameters or b"")[1:-1].split(b","))
            if b"..." in names:
                names |= {b"__VA_ARGS__"}
            definitions.setdefault(name, []).append(_Definition(names, lex(body + b"\n").tokens))

    users: dict[bytes, set[bytes]] = {}
    barred: set[bytes] = set()
    direct: set[bytes] = set()
    for name, forms in definitions.items():
        for form in forms:
            words = {token.text for token in form.body if token.kind is Kind.WORD}
            for word in words & definitions.keys():
                users.setdefault(word, set()).add(name)
            if words & ASM_WORDS:
                direct.add(name)
                if _is_open(form, definitions):
                    barred.add(name)
            if any(STUB_NAME.search(word) for word in words):
                barred.add(name)
        if STUB_NAME.search(name):
            barred.add(name)
    barred = _spread(barred, users)
    allowed = _spread(direct, users) - barred
    return AsmMacros(frozenset(n.decode() for n in allowed), frozenset(n.decode() for n in barred))


def _is_open(form: _Definition, definitions: dict[bytes, list[_Definition]]) -> bool:
    """True if text that is not fixed in the macro, or a file, can reach the assembly."""
    body = form.body
    for index, token in enumerate(body):
        if token.text == b"#":
            return True
        if token.kind is Kind.STRING and _FILE_TEXT.search(token.text) and b".word" not in token.text:
            return True
        if token.text in ASM_WORDS:
            for part in body[index + 1 :]:
                if part.text in (b":", b")"):
                    break
                if part.text in form.parameters or part.text in definitions:
                    return True
    return False


def _spread(names: set[bytes], users: dict[bytes, set[bytes]]) -> set[bytes]:
    """`names` and everything that uses one of them, directly or not."""
    reached = set(names)
    waiting = list(names)
    while waiting:
        for user in users.get(waiting.pop(), ()):
            if user not in reached:
                reached.add(user)
                waiting.append(user)
    return reached
