"""The kinds of mutant: how one right body is made wrong, or differently right."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from random import Random
from typing import NamedTuple

from tree_sitter import Node

from shared.demo.forge.snippet import node_text, parse, rename, uses, walk
from shared.demo.mutants.corpus import Body, Corpus, declarations, definition


class Kind(StrEnum):
    """What is changed."""

    CALLEE = "callee"
    GLOBAL = "global"
    MEMBER = "member"
    CONSTANT = "constant"
    OPERATOR = "operator"
    STRING = "string"
    SIGNEDNESS = "signedness"
    EXTRA_FUNCTION = "extra-function"
    OWN_DATA = "own-data"
    SIZE_CHANGE = "size-change"
    ALIAS_NAME = "alias-name"
    FOREIGN_LITERAL = "foreign-literal"
    DECLARATION_CLASH = "declaration-clash"


class _Site(NamedTuple):
    """A place in a text and what may stand there instead."""

    start: int
    end: int
    texts: list[str]


_OPERATORS = {
    "+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=",
    "!=": "==", "&": "|", "|": "^", "^": "&", "<<": ">>", ">>": "<<", "&&": "||", "||": "&&", "+=": "-=", "-=": "+=",
    "|=": "&=", "&=": "|=", "^=": "|=", "<<=": ">>=", ">>=": "<<=", "*=": "+=", "++": "--", "--": "++",
}  # fmt: skip
_TYPES = {
    "s8": ["u8", "s16"], "u8": ["s8", "u16"], "s16": ["u16", "s32"], "u16": ["s16", "u32"], "s32": ["u32", "s16"],
    "u32": ["s32", "u16"], "int": ["unsigned int", "short"], "char": ["unsigned char"], "short": ["unsigned short"],
    "long": ["unsigned long"],
}  # fmt: skip
_OWN_DATA = (
    "static s32 own_table[4] = {{ 1, 2, 3, 4 }};\n\n{0}",
    "s32 own_counter_{1};\n\n{0}",
    "s32 own_value_{1} = 7;\n\n{0}",
    "const s16 own_shape_{1}[3] = {{ 1, -1, 2 }};\n\n{0}",
    'static const char own_text[] = "own";\n\n{0}',
)
_EXTRA = (
    "{0}\nstatic s32 helper_{1}(s32 a) {{\n    return a * 3 + 1;\n}}\n",
    "s32 helper_{1}(s32 a) {{\n    return a << 2;\n}}\n\n{0}",
    "static inline s32 helper_{1}(s32 a) {{\n    return a;\n}}\n\n{0}",
)
_CLASHES = (
    "extern struct clash_{1} *{2}[3];\n\n{0}",
    "typedef struct {{ s32 clash; }} {2};\n\n{0}",
    "enum {{ {2} = 3 }};\n\n{0}",
)
_NAME = re.compile(r"^(?:func|D)_[0-9A-F]{8}$")


def mutate(corpus: Corpus, body: Body, kind: Kind, random: Random) -> str | None:
    """A text like `body` with one change of `kind`; None if the body offers no place for it."""
    text = _MAKERS[kind](corpus, body, random)
    return None if text == body.text else text


def _one_of(body: Body, sites: Iterator[_Site], random: Random) -> str | None:
    """The text with one of the sites changed."""
    found = [site for site in sites if site.texts]
    if not found:
        return None
    site = random.choice(found)
    data = body.text.encode()
    return (data[: site.start] + random.choice(site.texts).encode() + data[site.end :]).decode()


def _inside(body: Body) -> Iterator[Node]:
    """Nodes of the function's braces."""
    node = definition(parse(body.text))
    inner = node.child_by_field_name("body") if node is not None else None
    return walk(inner) if inner is not None else iter(())


def _callee(corpus: Corpus, body: Body, random: Random) -> str | None:
    known = corpus.callees(body.binary)
    declared = declarations(parse(body.text))
    calls = sorted({node_text(name) for name in _called(body)} & known.keys())
    if not calls:
        return None
    old = random.choice(calls)
    # A name the headers do not declare needs the prototype that the body brings: both are renamed together.
    others = sorted(
        name
        for name, signature in known.items()
        if name not in (old, body.function)
        and signature == known[old]
        and name not in declared
        and bool(_NAME.match(name)) == (old in declared)
    )
    return rename(body.text, {old: random.choice(others)}) if others else None


def _called(body: Body) -> Iterator[Node]:
    for node in _inside(body):
        if node.type == "call_expression":
            function = node.child_by_field_name("function")
            if function is not None and function.type == "identifier":
                yield function


def _global(corpus: Corpus, body: Body, random: Random) -> str | None:
    pool = corpus.data_names.get(body.binary, [])
    declared = declarations(parse(body.text))
    used = sorted(uses(body.text) & set(pool))
    if not used:
        return None
    old = random.choice(used)
    if old in declared:
        others = [name for name in pool if name not in used and _NAME.match(name)]
        return rename(body.text, {old: random.choice(others)}) if others else None
    # The headers give each global one type; only a cast makes another global fit in the same place.
    others = [name for name in corpus.unit_names(body) if name in pool and name != old and not _NAME.match(name)]
    if not others:
        return None
    text = f"(*(__typeof__({old}) *)&{random.choice(others)})"
    sites = (
        _Site(node.start_byte, node.end_byte, [text])
        for node in _inside(body)
        if node.type == "identifier" and node_text(node) == old
    )
    return _one_of(body, sites, random)


def _member(_: Corpus, body: Body, random: Random) -> str | None:
    fields = [
        field
        for node in _inside(body)
        if node.type == "field_expression" and (field := node.child_by_field_name("field")) is not None
    ]
    names = sorted({node_text(field) for field in fields})
    sites = (_Site(f.start_byte, f.end_byte, [name for name in names if name != node_text(f)]) for f in fields)
    return _one_of(body, sites, random)


def _constant(_: Corpus, body: Body, random: Random) -> str | None:
    sites = (
        _Site(node.start_byte, node.end_byte, _other_numbers(node_text(node)))
        for node in _inside(body)
        if node.type == "number_literal"
    )
    return _one_of(body, sites, random)


def _other_numbers(text: str) -> list[str]:
    try:
        value = int(text.rstrip("uUlL"), 0)
    except ValueError:
        return []
    return [str(other) for other in (value + 1, value - 1, value ^ 4, value * 2) if other != value]


def _operator(_: Corpus, body: Body, random: Random) -> str | None:
    sites = (
        _Site(child.start_byte, child.end_byte, [_OPERATORS[child.type]])
        for node in _inside(body)
        if node.type in ("binary_expression", "assignment_expression", "update_expression")
        for child in node.children
        if child.type in _OPERATORS
    )
    return _one_of(body, sites, random)


def _string(_: Corpus, body: Body, random: Random) -> str | None:
    sites = (
        _Site(node.start_byte, node.end_byte, [text[:-1] + 'x"', f'"x{text[2:]}', text[:-1] + ' more"', '""'])
        for node in _inside(body)
        if node.type == "string_literal" and (text := node_text(node)).startswith('"')
    )
    return _one_of(body, sites, random)


def _signedness(_: Corpus, body: Body, random: Random) -> str | None:
    sites = (
        _Site(node.start_byte, node.end_byte, _TYPES.get(node_text(node), []))
        for node in walk(parse(body.text))
        if node.type in ("type_identifier", "primitive_type", "sized_type_specifier")
    )
    return _one_of(body, sites, random)


def _template(choices: tuple[str, ...]) -> Callable[[Corpus, Body, Random], str | None]:
    def make(_: Corpus, body: Body, random: Random) -> str | None:
        return random.choice(choices).format(body.text, random.randrange(1000))

    return make


def _own_data(corpus: Corpus, body: Body, random: Random) -> str | None:
    if random.random() < 0.5:
        return _template(_OWN_DATA)(corpus, body, random)
    # Data the function uses: a number that moves into a static.
    root = parse(body.text)
    function = definition(root)
    numbers = [node for node in _inside(body) if node.type == "number_literal" and _is_value(node)]
    if function is None or not numbers:
        return _template(_OWN_DATA)(corpus, body, random)
    number = random.choice(numbers)
    data = body.text.encode()
    own = f"static s32 own_number = {node_text(number)};\n".encode()
    pieces = [data[: function.start_byte], own, data[function.start_byte : number.start_byte], b"own_number"]
    return b"".join([*pieces, data[number.end_byte :]]).decode()


def _is_value(node: Node) -> bool:
    parent = node.parent
    return parent is not None and parent.type in ("binary_expression", "assignment_expression", "argument_list")


def _size_change(_: Corpus, body: Body, random: Random) -> str | None:
    sites: list[_Site] = []
    for node in _inside(body):
        if node.type == "expression_statement" and node.parent is not None and node.parent.type == "compound_statement":
            text = node_text(node)
            sites.append(_Site(node.start_byte, node.end_byte, ["", f"{text}\n    {text}"]))
        elif node.type == "compound_statement":
            sites.append(_Site(node.start_byte, node.start_byte + 1, ["{ volatile s32 pad = 1;"]))
    return _one_of(body, iter(sites), random)


def _alias_name(corpus: Corpus, body: Body, random: Random) -> str | None:
    """An address-encoded name for a symbol that has one already."""
    functions = corpus.callees(body.binary)
    choices = []
    for name in sorted(uses(body.text) - {body.function}):
        address = corpus.address(body.binary, name)
        if address is not None:
            prefix = "func" if name in functions else "D"
            alias = f"{prefix}_{address:08X}"
            choices.append((name, alias if alias != name else f"{prefix.lower()}_{address:08x}"))
    if not choices:
        return None
    name, alias = random.choice(choices)
    declares = ""
    if name not in declarations(parse(body.text)):
        type_ = "__typeof__(" + name + ")"
        declares = f"extern {type_} {alias};\n"
    return declares + rename(body.text, {name: alias})


def _foreign_literal(corpus: Corpus, body: Body, random: Random) -> str | None:
    """A string another function of the TU owns, or a literal where the right body refers to one by name."""
    named = {**corpus.strings.get("main", {}), **corpus.strings.get(body.binary, {})}
    owned = [text for function, text in corpus.literals.get((body.binary, body.tu), []) if function != body.function]
    sites = []
    for node in _inside(body):
        if node.type == "string_literal":
            sites.append(_Site(node.start_byte, node.end_byte, [text for text in owned if text != node_text(node)]))
        elif node.type == "identifier" and node_text(node) in named:
            sites.append(_Site(node.start_byte, node.end_byte, [named[node_text(node)], *owned]))
    return _one_of(body, iter(sites), random)


def _declaration_clash(_: Corpus, body: Body, random: Random) -> str | None:
    names = sorted(uses(body.text))
    types = sorted({node_text(node) for node in walk(parse(body.text)) if node.type == "type_identifier"})
    if not names:
        return None
    template = random.choice(_CLASHES)
    pool = types if "typedef" in template and types else names
    return template.format(body.text, random.randrange(1000), random.choice(pool))


_MAKERS: dict[Kind, Callable[[Corpus, Body, Random], str | None]] = {
    Kind.CALLEE: _callee,
    Kind.GLOBAL: _global,
    Kind.MEMBER: _member,
    Kind.CONSTANT: _constant,
    Kind.OPERATOR: _operator,
    Kind.STRING: _string,
    Kind.SIGNEDNESS: _signedness,
    Kind.EXTRA_FUNCTION: _template(_EXTRA),
    Kind.OWN_DATA: _own_data,
    Kind.SIZE_CHANGE: _size_change,
    Kind.ALIAS_NAME: _alias_name,
    Kind.FOREIGN_LITERAL: _foreign_literal,
    Kind.DECLARATION_CLASH: _declaration_clash,
}
