"""What a C text declares at file scope, piece by piece: the stock that missing declarations are taken from.

By tree-sitter, which gives up on no text: these are a project's own sources, headers included, with macros nobody
expanded. Nothing here decides a verdict; what is composed from it is judged like any other draft.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache

import tree_sitter_c
from tree_sitter import Language, Node, Parser

_LANGUAGE = Language(tree_sitter_c.language())
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_AGGREGATES = frozenset(("struct_specifier", "union_specifier", "enum_specifier"))
_NESTING = frozenset(
    ("preproc_ifdef", "preproc_if", "preproc_else", "preproc_elif", "linkage_specification", "declaration_list")
)
_LINKAGE = re.compile(rb"^(?:\s*\b(?:static|inline|__inline__|__inline|extern)\b)+\s*")
DEPTH = 12
"""Headers that include each other deeper than this are not followed."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One declaration or definition: bytes [start, end) of its text.

    `names` are what it declares, `uses` what it mentions; a tag is spelled `struct x`. `body` is where a function's
    brace opens, from the piece's start; 0 for none.
    """

    text: bytes
    names: frozenset[bytes]
    uses: frozenset[bytes]
    kind: str
    start: int = 0
    end: int = 0
    body: int = 0

    def declaration(self) -> bytes:
        """The piece as a file may hold it that does not define the thing: a prototype, an `extern`, or as it is."""
        if self.body:
            return _LINKAGE.sub(b"", self.text[: self.body]).rstrip() + b";"
        if self.kind != "declaration" or re.match(rb"\s*(?:extern|typedef)\b", self.text):
            return self.text
        plain = _LINKAGE.sub(b"", _without_values(self.text))
        return plain if b"(" in plain and b"=" not in self.text else b"extern " + plain


def pieces(text: bytes) -> tuple[Piece, ...]:
    """The file-scope declarations of a text in order, those under any `#if` included."""
    return _pieces(text)


@lru_cache(maxsize=512)
def _pieces(text: bytes) -> tuple[Piece, ...]:
    return tuple(_found(parse(text), text))


def parse(text: bytes) -> Node:
    """The syntax tree's root."""
    return Parser(_LANGUAGE).parse(text).root_node


def walk(root: Node) -> Iterator[Node]:
    """All nodes at and below `root` in order, without recursion: nesting is the text's choice."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def words(root: Node) -> Iterator[tuple[bytes, Node]]:
    """Every name below `root` that is no member of something: tags spelled `struct x`."""
    for node in walk(root):
        if node.type == "identifier" or (node.type == "type_identifier" and not _is_tag(node)):
            yield node.text or b"", node
        elif node.type == "type_identifier":
            yield _tag(node.parent, node), node


def visible(source: bytes, read: Callable[[str], bytes | None], depth: int = 0) -> list[Piece]:
    """All pieces a text sees from its start: those of the headers it includes (where it does), and its own.

    `read` gives a header's text by the name in the `#include`, None for one that is not the project's. Pieces of
    headers have their position set to the `#include`'s.
    """
    found: list[Piece] = []
    own = list(pieces(source))
    for match in _INCLUDE.finditer(source):
        text = read(match[1].decode("utf-8", "surrogateescape")) if depth < DEPTH else None
        if text is not None:
            found += [replace(p, start=match.start(), end=match.end()) for p in visible(text, read, depth + 1)]
    return sorted([*found, *own], key=lambda piece: piece.start)


def missing(
    uses: Iterable[bytes], stock: Sequence[Piece], have: Set[bytes], renamed: Mapping[bytes, bytes]
) -> list[Piece]:
    """Pieces of `stock` that declare what `uses` names and nobody in `have` declares, with all they need themselves.

    `have` holds names after renaming. The order is that of the stock.
    """
    by_name: dict[bytes, int] = {}
    for index, piece in enumerate(stock):
        for name in piece.names:
            if name not in by_name or (piece.kind != "declaration" and not piece.body):
                by_name[name] = index
    wanted: set[int] = set()
    waiting = list(uses)
    seen: set[bytes] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or renamed.get(name, name) in have:
            continue
        seen.add(name)
        place = by_name.get(name)
        if place is None or place in wanted:
            continue
        wanted.add(place)
        waiting += [use for use in _declared_uses(stock[place]) if use not in stock[place].names]
    return [stock[index] for index in sorted(wanted)]


def _declared_uses(piece: Piece) -> Iterable[bytes]:
    if not piece.body:
        return piece.uses
    return [name for name, _ in words(parse(piece.declaration()))]


def rename(text: bytes, renamed: Mapping[bytes, bytes]) -> bytes:
    """`text` with names replaced where they are names: not in strings, comments or members."""
    if not any(old in text for old in renamed):
        return text
    out = bytearray(text)
    spots = [(node.start_byte, node.end_byte, renamed[name]) for name, node in words(parse(text)) if name in renamed]
    for start, end, new in sorted(spots, reverse=True):
        out[start:end] = new
    return bytes(out)


def _found(node: Node, text: bytes) -> Iterator[Piece]:
    for child in node.children:
        if child.type in _NESTING:
            yield from _found(child, text)
        elif child.type in ("declaration", "type_definition", "function_definition"):
            yield _piece(child, text, child.end_byte)
        elif child.type in _AGGREGATES:
            end = child.end_byte
            following = child.next_sibling
            yield _piece(child, text, following.end_byte if following and following.text == b";" else end)


def _piece(node: Node, text: bytes, end: int) -> Piece:
    names: set[bytes] = set()
    uses: set[bytes] = set()
    body = node.child_by_field_name("body") if node.type == "function_definition" else None
    for declarator in node.children_by_field_name("declarator"):
        name = innermost(declarator)
        if name is not None:
            names.add(name.text or b"")
    for part in walk(node):
        if body is not None and part == body:
            continue
        if part.type in _AGGREGATES and part.child_by_field_name("body") is not None:
            tag = part.child_by_field_name("name")
            if tag is not None:
                names.add(_tag(part, tag))
        elif part.type == "enumerator":
            name = part.child_by_field_name("name")
            if name is not None:
                names.add(name.text or b"")
    uses.update(name for name, _ in words(node))
    start = node.start_byte
    at = body.start_byte - start if body is not None else 0
    kind = node.type
    return Piece(text[start:end] if end > start else b"", frozenset(names), frozenset(uses), kind, start, end, at)


def innermost(declarator: Node | None) -> Node | None:
    """The name a declarator declares."""
    while declarator is not None and declarator.type not in ("identifier", "type_identifier", "field_identifier"):
        inner = declarator.child_by_field_name("declarator")
        if inner is None:
            named = declarator.named_children
            inner = next((c for c in named if "declarator" in c.type or c.type == "identifier"), None)
        declarator = inner
    return declarator


def _is_tag(node: Node) -> bool:
    parent = node.parent
    return parent is not None and parent.type in _AGGREGATES and parent.child_by_field_name("name") == node


def _tag(aggregate: Node | None, name: Node) -> bytes:
    kind = aggregate.type.partition("_")[0].encode() if aggregate is not None else b"struct"
    return kind + b" " + (name.text or b"")


def _without_values(text: bytes) -> bytes:
    """A declaration without its initialisers."""
    out = bytearray(text)
    for node in walk(parse(text)):
        if node.type == "init_declarator":
            declarator, value = node.child_by_field_name("declarator"), node.child_by_field_name("value")
            if declarator is not None and value is not None:
                start, end = declarator.end_byte, value.end_byte
                out[start:end] = b" " * (end - start)
    return re.sub(rb"\s+;", b";", bytes(out).rstrip())
