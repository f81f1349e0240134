"""Small operations on C text through tree-sitter: which names it uses, renaming them, its string literals."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import tree_sitter_c
from tree_sitter import Language, Node, Parser

_WORD = re.compile(r"\w+")
LANGUAGE = Language(tree_sitter_c.language())
_SIMPLE = {"n": 10, "t": 9, "r": 13, "0": 0, "a": 7, "b": 8, "f": 12, "v": 11, "\\": 92, '"': 34, "'": 39, "?": 63}


@dataclass(frozen=True)
class Literal:
    """A string literal whose address is taken; byte range in its text, and content without the closing NUL."""

    start: int
    end: int
    content: bytes


def parse(text: str) -> Node:
    """The syntax tree of a C text."""
    return Parser(LANGUAGE).parse(text.encode()).root_node


def node_text(node: Node) -> str:
    """The source text of a node."""
    return (node.text or b"").decode()


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, in source order."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack += reversed(current.children)


def storage(node: Node) -> set[str]:
    """Storage words of a declaration or function definition."""
    return {node_text(child) for child in node.children if child.type == "storage_class_specifier"}


def declared_node(node: Node) -> Node | None:
    """The identifier that a declarator (or a node with one) declares."""
    current: Node | None = node
    while current is not None and current.type != "identifier":
        inner = current.child_by_field_name("declarator")
        if inner is None and current.type in ("parenthesized_declarator", "attributed_declarator"):
            inner = next((c for c in current.children if c.type.endswith("declarator") or c.type == "identifier"), None)
        current = inner
    return current


def without_storage(node: Node, words: Sequence[str], cut: Sequence[tuple[int, int]], specifiers: bool = False) -> str:
    """Text of a declaration without some storage words and byte ranges; `specifiers`: up to the declarators."""
    data = node.text or b""
    base = node.start_byte
    drop = list(cut)
    for child in node.children:
        if child.type == "storage_class_specifier" and node_text(child) in words:
            drop.append((child.start_byte, child.end_byte))
    end = node.end_byte
    if specifiers:
        first = next(iter(node.children_by_field_name("declarator")), None)
        end = first.start_byte if first is not None else node.end_byte
    pieces = []
    at = base
    for start, stop in sorted(drop):
        if start < end:
            pieces.append(data[at - base : start - base])
            at = stop
            while data[at - base : at - base + 1] == b" ":
                at += 1
    pieces.append(data[at - base : end - base])
    return b"".join(pieces).decode().strip()


@lru_cache(maxsize=8192)
def uses(text: str) -> frozenset[str]:
    """Names a text refers to that it does not itself declare as parameters or locals."""
    root = parse(text)
    hidden = _locals(root)
    return frozenset(node_text(n) for n in _references(root) if node_text(n) not in hidden)


def rename(text: str, names: Mapping[str, str]) -> str:
    """The text with global names replaced; never in literals, members, tags, labels or where a local hides one."""
    if names.keys().isdisjoint(_WORD.findall(text)):
        return text
    root = parse(text)
    hidden = _locals(root)
    data = text.encode()
    pieces = []
    at = 0
    for node in _references(root):
        new = names.get(node_text(node))
        if new is not None and node_text(node) not in hidden:
            pieces += [data[at : node.start_byte], new.encode()]
            at = node.end_byte
    return b"".join([*pieces, data[at:]]).decode()


@lru_cache(maxsize=8192)
def literals(text: str) -> tuple[Literal, ...]:
    """String literals of a text, apart from those that only initialise a char array."""
    found = []
    root = parse(text)
    skip: set[int] = set()
    for node in walk(root):
        if node.type not in ("string_literal", "concatenated_string") or node.start_byte in skip:
            continue
        skip |= {child.start_byte for child in node.children}
        parent = node.parent
        if parent is not None and parent.type == "init_declarator":
            declarator = parent.child_by_field_name("declarator")
            if declarator is not None and declarator.type == "array_declarator" and "*" not in node_text(declarator):
                continue
        if parent is not None and (parent.type.startswith("preproc_") or parent.type == "gnu_asm_expression"):
            continue
        content = decode_literal(node)
        if content is not None:
            found.append(Literal(node.start_byte, node.end_byte, content))
    return tuple(found)


def decode_literal(node: Node) -> bytes | None:
    """Content of a string literal; None for a wide one or one with macros in it."""
    if node.type == "concatenated_string":
        parts = [decode_literal(child) for child in node.children if child.type != "comment"]
        return None if any(part is None for part in parts) else b"".join(part or b"" for part in parts)
    if node.type != "string_literal" or not node_text(node).startswith('"'):
        return None
    return re.sub(
        rb"\\(x[0-9a-fA-F]+|[0-7]{1,3}|.)",
        lambda match: _escape(match[1].decode()),
        (node.text or b'""')[1:-1],
        flags=re.S,
    )


def _escape(body: str) -> bytes:
    if body[0] == "x":
        return bytes([int(body[1:], 16) & 255])
    if body[0] in "01234567":
        return bytes([int(body, 8) & 255])
    return b"" if body == "\n" else bytes([_SIMPLE.get(body, ord(body) & 255)])


def _references(root: Node) -> Iterator[Node]:
    for node in walk(root):
        if node.type == "identifier" or (
            # `sizeof(table)` and `(table)` are read as types; a tag after struct/union/enum never names a symbol.
            node.type == "type_identifier"
            and (
                node.parent is None or node.parent.type not in ("struct_specifier", "union_specifier", "enum_specifier")
            )
        ):
            yield node


def _locals(root: Node) -> frozenset[str]:
    """Names declared inside functions or parameter lists, which hide a global of that name."""
    names: set[str] = set()
    for node in walk(root):
        inside = node.parent is not None and node.parent.type != "translation_unit"
        if node.type == "parameter_declaration" or (node.type == "declaration" and inside):
            if "extern" in storage(node):
                continue
            for declarator in node.children_by_field_name("declarator"):
                identifier = declared_node(declarator)
                if identifier is not None:
                    names.add(node_text(identifier))
        elif node.type == "enumerator" and inside:
            names.add(node_text(node.children[0]))
    return frozenset(names)
