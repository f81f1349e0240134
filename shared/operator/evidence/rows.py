"""journal/drafts.jsonl folded to the last standing of every draft of the functions asked for.

What stays in memory is a few words a draft and where its rows lie in the file; whole rows are read again by offset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import orjson
from msgspec import Struct

from shared.records import SCHEMA

Key: TypeAlias = tuple[str, str]
"""(binary, function)."""

CLASSES = {
    "MISMATCH": "symbols",
    "UNRESOLVED": "symbols",
    "ORPHANS-SYMBOL": "symbols",
    "MISMATCH?": "shape",
    "COMPILE-FAIL": "compile",
    "TU-CONFLICT": "compile",
    "REFUSED": "rule",
    "NOT-A-STUB": "rule",
    "BAD": "gate",
    "INTERACTION": "gate",
    "ALREADY": "gate",
    "BANKED": "gate",
    "AGREE": "waiting",
    "WAITING": "waiting",
    "SUPERSEDED": "waiting",
    "BASELINE-RED": "waiting",
    "FAULT": "fault",
}
"""Verdict -> class: which kind of work a draft of that standing still needs."""
_PLACE = {verdict: place for place, verdict in enumerate(CLASSES)}


class _Line(Struct, frozen=True):
    id: str
    binary: str
    function: str
    verdict: str
    digest: str = ""
    stage: str = ""
    closeness: int | None = None
    words: int | None = None
    schema: int = SCHEMA


@dataclass(slots=True)
class Standing:
    """One draft: its last verdict, its last known distance, and the offsets of its last row and last filter row."""

    id: str
    key: Key
    digest: str
    verdict: str
    closeness: int | None
    words: int | None
    last: int
    judged: int
    order: int

    @property
    def ratio(self) -> float | None:
        """Closeness in parts of the target's words, None when nothing could be compared."""
        return None if self.closeness is None or not self.words else self.closeness / self.words

    @property
    def rank(self) -> tuple[bool, float, int, int]:
        """Sort key, nearest first; where nothing could be compared, the class that needs least work first."""
        ratio = self.ratio
        return (ratio is None, ratio or 0.0, _PLACE.get(self.verdict, len(_PLACE)), self.order)


@dataclass
class Standings:
    """Drafts by id. `unread` counts lines that are no verdict row of this release: torn, damaged or newer."""

    path: Path
    drafts: dict[str, Standing] = field(default_factory=dict)
    rows: int = 0
    unread: int = 0

    def of(self, key: Key) -> list[Standing]:
        """The drafts of one function, in the order they were first judged."""
        return [draft for draft in self.drafts.values() if draft.key == key]

    def whole(self, offsets: Iterable[int]) -> dict[int, dict[str, Any]]:
        """The rows at these offsets, by offset."""
        found: dict[int, dict[str, Any]] = {}
        wanted = sorted(set(offsets))
        if not wanted:
            return found
        with self.path.open("rb") as stream:
            for offset in wanted:
                stream.seek(offset)
                found[offset] = orjson.loads(stream.readline())
        return found


def read_standings(path: Path, wanted: Callable[[Key], bool]) -> Standings:
    """One pass over the verdict journal at `path`; rows of other functions are counted and dropped."""
    result = Standings(path)
    keys: dict[Key, Key] = {}
    for offset, line in _lines(path):
        try:
            row = _DECODER.decode(line)
        except msgspec.DecodeError:
            result.unread += 1
            continue
        if row.schema > SCHEMA:
            result.unread += 1
            continue
        result.rows += 1
        key = (row.binary, row.function)
        if not wanted(key):
            continue
        known = result.drafts.get(row.id)
        filtered = row.stage == "filter"
        if known is None:
            key = keys.setdefault(key, key)
            order = len(result.drafts)
            result.drafts[row.id] = Standing(
                row.id, key, row.digest, row.verdict, row.closeness, row.words, offset, offset, order
            )
            continue
        known.verdict, known.last = row.verdict, offset
        if filtered:
            known.closeness, known.words, known.judged = row.closeness, row.words, offset
    return result


def rows_of(path: Path, function: str) -> Iterator[dict[str, Any]]:
    """Every readable row about `function` in a journal of draft ids, in order; other lines are not decoded."""
    name = function.encode()
    for _, line in _lines(path):
        if name not in line:
            continue
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if not isinstance(row, dict) or not isinstance(row.get("id"), str) or not isinstance(row.get("binary"), str):
            continue
        if row.get("function") == function and row.get("schema", SCHEMA) == SCHEMA:
            yield row


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        stream = path.open("rb")
    except FileNotFoundError:
        return
    offset = 0
    with stream:
        for line in stream:
            if line.strip():
                yield offset, line
            offset += len(line)


_DECODER = msgspec.json.Decoder(_Line)
