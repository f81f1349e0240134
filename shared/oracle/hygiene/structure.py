"""The shape of a draft at file scope: whole items only, one of them the function.

This is what keeps a draft inside its place in the TU: every bracket closes, no item is left open for the text that
follows, and nothing at file scope is anything but a declaration or the one definition. Syntax inside the braces is left
to the compiler, which judges and explains it better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from shared.oracle.hygiene.lexer import Kind, Token
from shared.oracle.hygiene.violation import Rule

MAX_NESTING = 200
"""Open brackets at one place; a C parser recurses on each."""

Refuse = Callable[[Rule, Token, str], None]

ATTRIBUTE_WORDS = frozenset((b"__attribute__", b"__attribute"))
ASM_WORDS = frozenset((b"asm", b"__asm", b"__asm__"))
_CLOSERS = {b"(": b")", b"[": b"]", b"{": b"}"}
_AGGREGATES = frozenset((b"struct", b"union", b"enum"))
_ASSERTS = frozenset((b"_Static_assert", b"static_assert"))
_WITH_GROUP = ATTRIBUTE_WORDS | {b"typeof", b"__typeof", b"__typeof__", b"_Alignas", b"_Atomic"}
_TYPE_WORDS = frozenset(
    b"void char short int long float double signed unsigned const volatile struct union enum static extern register "
    b"inline __inline __inline__ typedef auto __const __const__ __volatile __volatile__ __signed __signed__ restrict "
    b"__restrict __restrict__ _Bool _Complex _Noreturn __extension__".split()
)
_STATEMENT_WORDS = frozenset(
    b"if else for while do switch case default return goto break continue sizeof _Alignof __alignof__".split()
)
_NO_NAMES = _TYPE_WORDS | _STATEMENT_WORDS | _WITH_GROUP | ASM_WORDS


@dataclass
class Item:
    """One thing at file scope: tokens [first, end). `body` is the index of its brace if it is a function.

    `flat` holds the indices of its own tokens; a bracketed group is its opening bracket, attributes are left out.
    `old_style` = parameters declared between the bracket and the brace, None before its first `;`.
    """

    first: int
    end: int = 0
    body: int | None = None
    flat: list[int] = field(default_factory=list)
    initialised: bool = False
    old_style: bool | None = None


def match_brackets(tokens: list[Token], refuse: Refuse) -> list[int] | None:
    """For each bracket the index of its partner (0 elsewhere); None and a violation if they do not pair."""
    partner = [0] * len(tokens)
    open_: list[int] = []
    for index, (kind, text, _, _) in enumerate(tokens):
        if kind is not Kind.PUNCT:
            continue
        if text in _CLOSERS:
            open_.append(index)
            if len(open_) > MAX_NESTING:
                refuse(Rule.NESTING, tokens[index], f"more than {MAX_NESTING} brackets open at once")
                return None
        elif text in (b")", b"]", b"}"):
            if not open_ or _CLOSERS[tokens[open_[-1]].text] != text:
                refuse(Rule.PARSE, tokens[index], f"`{text.decode()}` closes nothing")
                return None
            partner[index] = open_.pop()
            partner[partner[index]] = index
    if open_:
        token = tokens[open_[-1]]
        refuse(Rule.PARSE, token, f"`{token.text.decode()}` is never closed")
        return None
    return partner


def split_items(tokens: list[Token], partner: list[int], refuse: Refuse) -> list[Item]:
    """Cut the file scope into items. An unfinished last item is a violation."""
    items: list[Item] = []
    item = Item(0)
    index = 0
    while index < len(tokens):
        text = tokens[index].text
        if text == b"{" and _opens_body(tokens, item):
            item.body, item.end = index, partner[index] + 1
        elif text == b";":
            if item.old_style is None:
                item.old_style = _is_old_style(tokens, partner, item.flat)
            if not item.old_style:
                item.end = index + 1
        elif text == b"=":
            item.initialised = True
        if item.end:
            items.append(item)
            index = item.end
            item = Item(index)
        elif text in _WITH_GROUP and index + 1 < len(tokens) and tokens[index + 1].text == b"(":
            index = partner[index + 1] + 1
        else:
            item.flat.append(index)
            index = partner[index] + 1 if text in _CLOSERS else index + 1
    if item.first < len(tokens):
        refuse(Rule.PARSE, tokens[-1], "the last declaration is not finished")
    return items


def _opens_body(tokens: list[Token], item: Item) -> bool:
    """True for the brace of a function (or a stray block); false for an initialiser and a struct, union or enum."""
    return not (item.initialised or any(tokens[index].text in _AGGREGATES for index in item.flat[-2:]))


def _is_old_style(tokens: list[Token], partner: list[int], flat: list[int]) -> bool:
    """True at the `;` of a parameter declaration, as in `int f(a) int a; {`."""
    for place, index in enumerate(flat):
        if tokens[index].text != b"(":
            continue
        names = tokens[index + 1 : partner[index]]
        after = [tokens[i] for i in flat[place + 1 :]]
        return (
            bool(names)
            and all(token.text == b"," or _names(token) for token in names)
            and len(after) >= 2
            and after[0].kind is Kind.WORD
            and after[0].text not in ASM_WORDS
        )
    return False


def _names(token: Token) -> bool:
    return token.kind is Kind.WORD and token.text not in _NO_NAMES


def defined_name(tokens: list[Token], partner: list[int], item: Item) -> Token | None:
    """The name a function item defines; None if it has none (a stray block)."""
    flat = item.flat
    groups = [place for place, index in enumerate(flat) if tokens[index].text == b"("]
    if not groups:
        return None
    place = groups[0] if item.old_style else groups[-1]
    if place and tokens[flat[place - 1]].text == b"(":
        place -= 1  # `int (*f(int a))(int) {` and `void (f)(void) {`: the name is inside the group before
    elif place and _names(tokens[flat[place - 1]]):
        return tokens[flat[place - 1]]
    group = flat[place]
    return next((token for token in tokens[group + 1 : partner[group]] if _names(token)), None)


def check_declaration(tokens: list[Token], item: Item, refuse: Refuse) -> None:
    """Refuse what stands at file scope and declares nothing: statements, expressions, calls of macros."""
    own = [tokens[i] for i in item.flat]
    if not own or own[0].text in _ASSERTS:
        return
    if own[0].kind is not Kind.WORD:
        refuse(Rule.ITEM, own[0], f"`{_show(own[0])}` begins no declaration")
    elif own[0].text not in _TYPE_WORDS and _lacks_type(tokens, item):
        refuse(Rule.ITEM, own[0], f"`{_show(own[0])}` at file scope does not begin a declaration with a type")
    else:
        for token in own:
            if token.text == b"=":
                break
            if token.kind is not Kind.WORD and token.text not in (b"*", b",", b"(", b"[", b"{"):
                refuse(Rule.ITEM, token, f"`{_show(token)}` has no place in a declaration")
                break


def _lacks_type(tokens: list[Token], item: Item) -> bool:
    """True for `name;`, `name = 1;`, `name(...);`; false for `Type name`, `Type *name` and `Type (*name)(...)`."""
    if len(item.flat) == 1:
        return True
    second = item.flat[1]
    if tokens[second].text == b"(":
        return len(item.flat) == 2 or tokens[second + 1].text != b"*"
    return tokens[second].kind is not Kind.WORD and tokens[second].text != b"*"


def nested_functions(tokens: list[Token], partner: list[int], item: Item) -> list[Token]:
    """Names of functions defined inside the body (a GNU extension that emits a function of its own)."""
    assert item.body is not None
    found: list[Token] = []
    for index in range(item.body + 1, item.end):
        if tokens[index].text != b"{" or tokens[index - 1].text != b")":
            continue
        name = partner[index - 1] - 1
        before = tokens[name - 1]
        typed = before.text == b"*" or (before.kind is Kind.WORD and before.text not in _STATEMENT_WORDS)
        if _names(tokens[name]) and typed:
            found.append(tokens[name])
    return found


def _show(token: Token) -> str:
    return token.text[:60].decode("ascii", "replace")
