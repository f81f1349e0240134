"""Wrong drafts made from a right body: each certainly not what the original bytes say."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

import tree_sitter_c
from tree_sitter import Language, Node, Parser

from shared.demo.rehearsal.settings import Script

_PARSER = Parser(Language(tree_sitter_c.language()))


def wrong_draft(script: Script, body: str, function: str, siblings: Mapping[str, str], rng: random.Random) -> str:
    """A draft of `function` that is wrong in the way of `script`.

    `siblings` are right bodies of the same source file by name: one of them is called instead of the right callee. A
    body that calls nothing, or has no sibling to offer, gets a wrong shape instead.
    """
    if script is Script.COMPILE_ERROR:
        return _inserted(body, function, "rehearsal_undeclared = rehearsal_nothing;")
    if script is Script.WRONG_SYMBOL:
        renamed = _other_callee(body, function, siblings, rng)
        if renamed is not None:
            return renamed
    pad = rng.randrange(1, 1 << 12)
    return _inserted(body, function, f"{{ volatile int rehearsal_pad = {pad}; (void)rehearsal_pad; }}")


def _inserted(body: str, function: str, statement: str) -> str:
    """`body` with a statement as the first of the function; in front of everything when that cannot be found."""
    data = body.encode()
    definition = _definition(data, function)
    block = definition.child_by_field_name("body") if definition is not None else None
    if block is None:
        return f"{statement}\n{body}"
    at = block.start_byte + 1
    return (data[:at] + f"\n    {statement}".encode() + data[at:]).decode()


def _other_callee(body: str, function: str, siblings: Mapping[str, str], rng: random.Random) -> str | None:
    """`body` with one call going to a sibling, through a cast so that no declaration stands in the way."""
    data = body.encode()
    definition = _definition(data, function)
    if definition is None:
        return None
    calls = [call for node in _walk(definition) if (call := _plain_callee(node)) is not None]
    used = {node.text.decode() for node in _walk(definition) if node.type == "identifier" and node.text}
    prototypes = {name: head for name, text in siblings.items() if name not in used and (head := _head(text, name))}
    if not calls or not prototypes:
        return None
    callee = rng.choice(calls)
    other = rng.choice(sorted(prototypes))
    right = data[callee.start_byte : callee.end_byte].decode()
    cast = f"((__typeof__(&{right}))&{other})"
    edited = (data[: callee.start_byte] + cast.encode() + data[callee.end_byte :]).decode()
    return f"{prototypes[other]};\n{edited}"


def _head(body: str, function: str) -> str:
    """The prototype of `function` as its definition spells it, "" when it is static or cannot be found."""
    data = body.encode()
    definition = _definition(data, function)
    block = definition.child_by_field_name("body") if definition is not None else None
    if definition is None or block is None:
        return ""
    head = data[definition.start_byte : block.start_byte].decode().strip()
    return "" if "static" in head.split() else head


def _plain_callee(node: Node) -> Node | None:
    callee = node.child_by_field_name("function") if node.type == "call_expression" else None
    return callee if callee is not None and callee.type == "identifier" else None


def _definition(data: bytes, function: str) -> Node | None:
    for node in _walk(_PARSER.parse(data).root_node):
        if node.type == "function_definition":
            declarator = node.child_by_field_name("declarator")
            names = [item.text for item in _walk(declarator) if item.type == "identifier"] if declarator else []
            if function.encode() in names[:1]:
                return node
    return None


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _walk(child)
