"""The one entry: judge a draft by all rules."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path

from shared.oracle.hygiene.assembly import STUB_CALL, STUB_NAME, check_asm, check_macro_arguments, check_strings
from shared.oracle.hygiene.lexer import Kind, Token, lex
from shared.oracle.hygiene.structure import (
    ASM_WORDS,
    ATTRIBUTE_WORDS,
    Item,
    Refuse,
    check_declaration,
    defined_name,
    match_brackets,
    nested_functions,
    split_items,
)
from shared.oracle.hygiene.violation import Rule, Violation

MAX_VIOLATIONS = 20
"""A hostile text may break a rule on every line; nobody reads more than these."""

_BOM = b"\xef\xbb\xbf"
_HEADER_NAME = re.compile(rb"[A-Za-z0-9_+][A-Za-z0-9_./+-]*\.h")
_UNSTABLE = frozenset(b"__COUNTER__ __DATE__ __TIME__ __TIMESTAMP__ __INCLUDE_LEVEL__ __BASE_FILE__".split())
_PRAGMAS = frozenset((b"_Pragma", b"__pragma"))
_HARMLESS_ATTRIBUTES = frozenset(
    b"aligned packed unused noreturn const pure may_alias noinline noclone always_inline nonnull returns_nonnull "
    b"malloc format fallthrough deprecated mode vector_size transparent_union nothrow leaf warn_unused_result".split()
)
"""Attributes that change neither the link nor the options of the compile. Everything else is refused: alias, section,
constructor, weak, visibility, cleanup, optimize, target and whatever comes later."""


def normalise(text: bytes) -> bytes:
    """The form of a draft that is checked, hashed, compiled and landed.

    A UTF-8 byte order mark goes, CRLF and lone CR become LF, and the text ends with a newline. Other bytes stay as they
    are: comments and strings may be in any encoding (field reports F80, F83). Idempotent.
    """
    text = text.removeprefix(_BOM).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return text if text.endswith(b"\n") else text + b"\n"


def check_draft(
    text: bytes,
    function: str,
    *,
    include_dirs: Sequence[Path] = (),
    project_macros: frozenset[str] = frozenset(),
    barred_macros: frozenset[str] = frozenset(),
    max_bytes: int,
) -> list[Violation]:
    """Judge a normalised draft of `function`; an empty list means that it may be compiled.

    `include_dirs` are the folders `#include "x"` may reach (none: no includes). `project_macros` and `barred_macros`
    are the two sets of `asm_macros` of the project's headers. Never raises, whatever the text.
    """
    if len(text) > max_bytes:
        return [Violation(Rule.SIZE, 1, f"{len(text)} bytes; at most {max_bytes} are accepted")]
    if b"\r" in text or text.startswith(_BOM):
        return [Violation(Rule.ENCODING, 1, "carriage return or byte order mark; the draft was not normalised")]
    lexed = lex(text)
    found = lexed.violations

    def refuse(rule: Rule, token: Token, message: str) -> None:
        found.append(Violation(rule, lexed.source.line(token.start), message))

    for start, comment in lexed.comments:
        if STUB_CALL.search(comment):
            found.append(Violation(Rule.STUB, lexed.source.line(start), "a stub macro's call in a comment"))
    tokens, includes = _take_directives(lexed.tokens, include_dirs, refuse)
    check_strings(tokens, refuse)
    partner = match_brackets(tokens, refuse) if lexed.complete else None
    if partner is not None:
        items = split_items(tokens, partner, refuse)
        _check_includes(includes, items, refuse)
        _check_words(tokens, partner, items, project_macros, barred_macros, refuse)
        for item in items:
            if item.body is None:
                check_declaration(tokens, item, refuse)
        if not found:
            _check_definition(tokens, partner, items, function, refuse)
            if not found and not any(item.body is not None for item in items):
                found.append(Violation(Rule.DEFINITION, 1, f"no definition of `{function}`"))
    found.sort(key=lambda violation: violation.line)
    return found[:MAX_VIOLATIONS]


def _take_directives(
    tokens: list[Token], include_dirs: Sequence[Path], refuse: Refuse
) -> tuple[list[Token], list[tuple[int, Token]]]:
    """The tokens without directives, and for each good `#include` the index of the token that follows it."""
    starts = [index for index, token in enumerate(tokens) if token.text == b"#"]
    if not starts:
        return tokens, []
    kept: list[Token] = []
    includes: list[tuple[int, Token]] = []
    end = -1
    for index in starts:
        if index < end:
            continue
        token = tokens[index]
        kept += tokens[end + 1 : index]
        end = next((i for i in range(index + 1, len(tokens)) if tokens[i].kind is Kind.NEWLINE), len(tokens))
        words = tokens[index + 1 : end]
        if not token.first:
            refuse(Rule.DIRECTIVE, token, "`#` outside of a directive")
        elif not words or words[0].text != b"include":
            name = words[0].text[:20].decode("ascii", "replace") if words else ""
            refuse(Rule.DIRECTIVE, token, f"`#{name}` is not allowed; the only directive is #include")
        elif len(words) != 2 or words[1].kind is not Kind.STRING:
            refuse(Rule.INCLUDE, token, 'only the form #include "name.h" is allowed')
        elif problem := _include_problem(words[1].text[1:-1], include_dirs):
            refuse(Rule.INCLUDE, token, problem)
        else:
            includes.append((len(kept), token))
    kept += tokens[end + 1 :]
    return kept, includes


def _include_problem(name: bytes, include_dirs: Sequence[Path]) -> str:
    """Why a header may not be included; "" if it may."""
    shown = name[:80].decode("ascii", "replace")
    if not _HEADER_NAME.fullmatch(name) or b".." in name.split(b"/") or len(name) > 200:
        return f"`{shown}` is not a plain relative name of a .h file"
    for folder in include_dirs:
        path = folder / name.decode("ascii")
        if path.is_file():
            # A link inside the include path may point anywhere; what counts is where it ends.
            real = path.resolve()
            if any(real.is_relative_to(other.resolve()) for other in include_dirs):
                return ""
            return f"`{shown}` leads out of the project's include path"
    return f"`{shown}` is not in the project's include path"


def _check_includes(includes: list[tuple[int, Token]], items: list[Item], refuse: Refuse) -> None:
    between = {0, *(item.end for item in items)}
    for index, token in includes:
        if index not in between:
            refuse(Rule.INCLUDE, token, "#include inside a declaration")


def _check_words(
    tokens: list[Token],
    partner: list[int],
    items: list[Item],
    project_macros: frozenset[str],
    barred_macros: frozenset[str],
    refuse: Refuse,
) -> None:
    """Judge every word by itself: stub macros, assembly, attributes, macros that differ from build to build."""
    bodies = [(item.body, item.end) for item in items if item.body is not None]
    ends = [end for _, end in bodies]
    for index, token in enumerate(tokens):
        text = token.text
        if token.kind is Kind.PUNCT:
            if text == b"[" and tokens[index + 1].text == b"[":
                refuse(Rule.ATTRIBUTE, token, "attribute in `[[ ]]` form")
        elif token.kind is not Kind.WORD:
            continue
        elif text in ASM_WORDS:
            at = bisect_right(ends, index)
            check_asm(tokens, partner, index, at < len(bodies) and bodies[at][0] < index, refuse)
        elif text in ATTRIBUTE_WORDS:
            _check_attribute(tokens, partner, index, refuse)
        elif STUB_NAME.search(text):
            refuse(Rule.STUB, token, f"`{text[:60].decode()}`: the original assembly is not a draft")
        elif text in _UNSTABLE:
            refuse(Rule.MACRO, token, f"`{text.decode()}` differs from build to build")
        elif text in _PRAGMAS:
            refuse(Rule.DIRECTIVE, token, f"`{text.decode()}` is a directive")
        elif barred_macros and text.decode() in barred_macros:
            refuse(Rule.MACRO, token, f"macro `{text.decode()}` brings assembly of its own or from a file")
        elif project_macros and text.decode() in project_macros:
            check_macro_arguments(tokens, partner, index, refuse)


def _check_attribute(tokens: list[Token], partner: list[int], index: int, refuse: Refuse) -> None:
    inside = tokens[index + 3 : partner[index + 1] - 1] if _double_bracket(tokens, partner, index) else None
    if inside is None:
        refuse(Rule.ATTRIBUTE, tokens[index], "malformed attribute")
        return
    depth = 0
    for place, token in enumerate(inside):
        if token.text == b"(":
            depth += 1
        elif token.text == b")":
            depth -= 1
        elif depth == 0 and token.kind is Kind.WORD:
            name = token.text
            if len(name) > 4 and name.startswith(b"__") and name.endswith(b"__"):
                name = name[2:-2]
            if name not in _HARMLESS_ATTRIBUTES:
                refuse(Rule.ATTRIBUTE, inside[place], f"attribute `{name[:40].decode()}` is not allowed")


def _double_bracket(tokens: list[Token], partner: list[int], index: int) -> bool:
    """True for `__attribute__((...))`."""
    return (
        index + 2 < len(tokens)
        and tokens[index + 1].text == b"("
        and tokens[index + 2].text == b"("
        and partner[index + 2] == partner[index + 1] - 1
    )


def _check_definition(
    tokens: list[Token], partner: list[int], items: list[Item], function: str, refuse: Refuse
) -> None:
    """Exactly one function, the stub's."""
    seen = False
    for item in items:
        if item.body is None:
            continue
        name = defined_name(tokens, partner, item)
        if name is None:
            refuse(Rule.ITEM, tokens[item.body], "a block outside of any function")
        elif name.text != function.encode():
            refuse(Rule.DEFINITION, name, f"defines `{name.text[:60].decode()}`; only `{function}` may be defined")
        elif seen:
            refuse(Rule.DEFINITION, name, f"defines `{function}` a second time")
        else:
            seen = True
            for nested in nested_functions(tokens, partner, item):
                refuse(Rule.DEFINITION, nested, f"defines `{nested.text[:60].decode()}` inside the function")
