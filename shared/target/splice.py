"""Puts drafts where stubs are, and stubs back, leaving every other byte of the file alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shared.errors import CampaignError
from shared.target.stubs import Stub, find_stubs


class SpliceError(CampaignError):
    """The source does not hold what is to be replaced, or holds it more than once."""


@dataclass(frozen=True, slots=True)
class Range:
    """Where a draft lies in the spliced text: bytes [start, end), 1-based lines first..last; `unit` was there."""

    function: str
    start: int
    end: int
    first_line: int
    last_line: int
    unit: bytes


@dataclass(frozen=True, slots=True)
class Spliced:
    """A translation unit with drafts in it."""

    text: bytes
    ranges: tuple[Range, ...]

    def draft_line(self, line: int) -> tuple[str, int] | None:
        """(function, 1-based line of its draft) of a line of the text, None outside drafts."""
        for where in self.ranges:
            if where.first_line <= line <= where.last_line:
                return where.function, line - where.first_line + 1
        return None

    def inserted(self, function: str) -> bytes:
        """The bytes that stand for `function` now. Raises KeyError."""
        for where in self.ranges:
            if where.function == function:
                return self.text[where.start : where.end]
        raise KeyError(function)


def splice(source: bytes, drafts: Mapping[str, bytes], stubs: Sequence[Stub] | None = None) -> Spliced:
    """`source` with each function's stub replaced by its draft, newlines in the file's own style.

    Raises SpliceError for a function without a stub or with more than one.
    """
    known = find_stubs(source) if stubs is None else stubs
    chosen = []
    for function in drafts:
        units = [stub for stub in known if stub.function == function]
        if len(units) != 1:
            count = "no stub" if not units else f"{len(units)} stubs (lines {', '.join(str(u.line) for u in units)})"
            raise SpliceError(f"{function} has {count} in this source")
        chosen.append(units[0])
    chosen.sort(key=lambda stub: stub.start)
    crlf = _is_crlf(source)
    pieces: list[bytes] = []
    ranges: list[Range] = []
    position = length = 0
    line = 1
    for stub in chosen:
        before = source[position : stub.start]
        draft = _fit(drafts[stub.function], source, stub, crlf)
        pieces += [before, draft]
        length += len(before)
        line += before.count(b"\n")
        last = line + draft.count(b"\n")
        ranges.append(
            Range(stub.function, length, length + len(draft), line, last, source[stub.start : stub.end]),
        )
        length += len(draft)
        line = last
        position = stub.end
    pieces.append(source[position:])
    return Spliced(b"".join(pieces), tuple(ranges))


def revert(source: bytes, inserted: bytes, unit: bytes) -> bytes:
    """`source` with the bytes a splice inserted turned back into the stub's unit.

    Raises SpliceError when they are not there exactly once (a person changed the function since).
    """
    count = source.count(inserted) if inserted else 0
    if count != 1:
        what = "is no longer there as it was landed" if count == 0 else f"is there {count} times"
        raise SpliceError(f"the function's text {what}; put the stub back by hand")
    return source.replace(inserted, unit)


def _is_crlf(source: bytes) -> bool:
    crlf = source.count(b"\r\n")
    return crlf > 0 and crlf * 2 > source.count(b"\n")


def _fit(draft: bytes, source: bytes, stub: Stub, crlf: bool) -> bytes:
    text = draft.replace(b"\r\n", b"\n").rstrip(b" \t\r\n\v\f")
    line_end = source.find(b"\n", stub.end)
    rest = source[stub.end : line_end if line_end >= 0 else len(source)]
    if re.search(rb"\S", rest):
        text += b"\n"  # a draft that ends in a line comment must not swallow what follows the stub
    return text.replace(b"\n", b"\r\n") if crlf else text
