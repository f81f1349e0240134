"""The text of a twin's draft: the banked body in the target's names, and the declarations its file lacks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shared.oracle.repair.declared import Piece, missing, parse, pieces, rename, visible, walk, words
from shared.target.stubs import Stub

ReadHeader = Callable[[str], bytes | None]

_SUFFIX = re.compile(rb"[uUlL]*$")
_STATIC = re.compile(rb"^\s*static\s+")
_TRANSFORMS: tuple[Callable[[int], int | None], ...] = (
    lambda value: value,
    lambda value: -value,
    lambda value: value - 1,  # `i <= 9` is slti 10
    lambda value: value & 0xFFFF if value < 0 else None,
    lambda value: value & 0xFFFFFFFF if value < 0 else None,
    lambda value: None if value % 4 else value // 4,  # an index into words
    lambda value: None if value % 2 else value // 2,
)
"""What a literal of the source may be to the immediate the compiler made of it."""


@dataclass(frozen=True)
class Exemplar:
    """A banked function's definition and what its file declares before it."""

    function: str
    definition: Piece
    stock: tuple[Piece, ...]


def find_exemplar(source: bytes, function: str, read: ReadHeader) -> Exemplar | None:
    """The one definition of `function` in a source; None when there is none, or several under conditions."""
    name = function.encode()
    found = [piece for piece in pieces(source) if piece.body and name in piece.names]
    if len(found) != 1:
        return None
    before = tuple(piece for piece in visible(source, read) if piece.start < found[0].start)
    return Exemplar(function, found[0], before)


def compose(
    exemplar: Exemplar,
    source: bytes,
    stub: Stub,
    read: ReadHeader,
    symbols: Mapping[str, str],
    constants: Mapping[int, int],
) -> bytes | None:
    """The draft for `stub` of `source`; None when a differing constant has no literal of its own in the body."""
    body = _STATIC.sub(b"", exemplar.definition.text)
    if constants:
        changed = _with_constants(body, constants)
        if changed is None:
            return None
        body = changed
    renamed = {old.encode(): new.encode() for old, new in symbols.items() if old != new}
    have = {name for piece in visible(source, read) if piece.start < stub.start for name in piece.names}
    uses = {name for name, _ in words(parse(body))} - {exemplar.function.encode()}
    added = missing(uses, exemplar.stock, have, renamed)
    texts = [rename(piece.declaration(), renamed) for piece in added]
    return b"\n".join([*texts, *([b""] if texts else []), rename(body, renamed).rstrip(), b""])


def _with_constants(body: bytes, constants: Mapping[int, int]) -> bytes | None:
    literals = [
        (node.start_byte, node.end_byte, value)
        for node in walk(parse(body))
        if node.type == "number_literal" and (value := _value(node.text or b"")) is not None
    ]
    there = {value for _, _, value in literals}
    changes: dict[int, int] = {}
    for old, new in constants.items():
        pair = next(
            (
                (was, becomes)
                for transform in _TRANSFORMS
                if (was := transform(old)) in there and was is not None and (becomes := transform(new)) is not None
            ),
            None,
        )
        if pair is None or pair[1] < 0 or changes.setdefault(pair[0], pair[1]) != pair[1]:
            return None
    out = bytearray(body)
    for start, end, value in sorted(literals, reverse=True):
        if value in changes:
            out[start:end] = _spelled(body[start:end], changes[value])
    return bytes(out)


def _value(literal: bytes) -> int | None:
    plain = _SUFFIX.sub(b"", literal)
    try:
        if len(plain) > 1 and plain[:1] == b"0" and plain[1:2] not in b"xX":
            return int(plain, 8)
        return int(plain, 0)
    except ValueError:
        return None


def _spelled(like: bytes, value: int) -> bytes:
    suffix = _SUFFIX.search(like)
    text = f"0x{value:X}" if like[:2] in (b"0x", b"0X") else str(value)
    return text.encode() + (suffix[0] if suffix else b"")
