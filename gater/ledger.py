"""The ledger and the verdict journal: written once per fact, read back at start so that no row is written twice."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from gater.rows import BatchRow, DraftRow, MarkerRow, step
from gater.wavesum import Gates, wave_of, wave_row
from shared.failpoint import failpoint
from shared.journal import Journal, Reading, read_journal
from shared.records import DraftRef, NewerSchema, decode, encode
from shared.state import StateDir, utc_now

log = logging.getLogger(__name__)


@dataclass
class Ledger:
    """The gater's three journals. `standing` is the last row of every draft, `settled` the markers that have theirs."""

    state: StateDir
    mode: str
    standing: dict[str, DraftRow] = field(default_factory=dict)
    settled: set[str] = field(default_factory=set)
    finished: set[str] = field(default_factory=set)
    landed: set[str] = field(default_factory=set)
    gates: dict[str, Gates] = field(default_factory=dict)

    def __post_init__(self) -> None:
        folder = self.state.journal
        for row in _rows(folder / "drafts.jsonl"):
            draft = _fit(DraftRow, row)
            if draft is not None:
                self.standing[draft.id] = draft
        for row in _rows(folder / "ledger.jsonl"):
            if row.get("kind") == "marker":
                self.settled.add(str(row.get("marker")))
            elif row.get("kind") == "wave":
                self.finished.add(str(row.get("wave")))
            elif row.get("kind") == "batch":
                self.landed.add(str(row.get("commit")))
                self._count(_fit(BatchRow, row))
        self._drafts = Journal(folder / "drafts.jsonl")
        self._ledger = Journal(folder / "ledger.jsonl")
        self._steps = Journal(folder / "gater.jsonl")

    def banked_as(self, ref: DraftRef) -> str | None:
        """Id of the draft that has the BANKED verdict for this function and text; its equals are ALREADY there."""
        wanted = (ref.binary, ref.function, ref.digest, "BANKED")
        rows = self.standing.values()
        return next((r.id for r in rows if (r.binary, r.function, r.digest, r.verdict) == wanted), None)

    def verdict(self, row: DraftRow) -> None:
        """A verdict, durable. The same standing twice in a row is written once."""
        known = self.standing.get(row.id)
        if known is not None and (known.stage, known.verdict, known.base) == (row.stage, row.verdict, row.base):
            return
        self._drafts.append(encode(row), durable=True)
        self.standing[row.id] = row
        failpoint("filter.row")

    def markers(self, rows: Iterable[MarkerRow]) -> None:
        """Rows of settled markers, once per marker id, durable as one."""
        for row in rows:
            if row.marker not in self.settled:
                self._ledger.append(encode(row))
                self.settled.add(row.marker)
        self._ledger.sync()
        failpoint("settle.ledger")

    def batch(self, row: BatchRow) -> None:
        """One gate's row."""
        self._ledger.append(encode(row), durable=True)
        self._count(row)

    def wave(self, wave: str) -> None:
        """The row of a finished wave, once, summed from its agents' rows and its drafts' standing verdicts."""
        if wave in self.finished:
            return
        drafts = (row for row in self.standing.values() if row.wave == wave)
        row = wave_row(self.state, wave, drafts, self.gates.get(wave, Gates()), self.mode)
        if row is not None:
            self._ledger.append(encode(row), durable=True)
            self.finished.add(wave)

    def step(self, event: str, **fields: Any) -> None:
        """A line about what the gater is doing; not fsynced."""
        self._steps.append(step(event, utc_now(), mode=self.mode, **fields))

    def _count(self, row: BatchRow | None) -> None:
        if row is not None:
            self.landed.add(row.commit)
            self.gates.setdefault(wave_of(row), Gates()).add(row)

    def close(self) -> None:
        """Syncs and closes the journals."""
        for journal in (self._drafts, self._ledger, self._steps):
            journal.close()


def _fit(kind: type[Any], row: dict[str, Any]) -> Any:
    try:
        return decode(kind, row)
    except (msgspec.ValidationError, NewerSchema):
        return None


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """A journal's records; lines that are none are said with their numbers."""
    reading = Reading()
    yield from read_journal(path, reading)
    if reading.bad_lines:
        log.error("JOURNAL-BAD-LINES file=%s lines=%s note=skipped", path.name, reading.bad_lines[:20])
