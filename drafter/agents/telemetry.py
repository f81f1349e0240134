"""One line per model request in journal/rate-<UTC day>.<shard>.jsonl; a new file each UTC day."""

from __future__ import annotations

from pathlib import Path

from shared.journal import Journal
from shared.records import RequestRow, encode


class RateJournal:
    """Writer of this shard's request rows. SIGKILL loses none, a power cut at most those since the last `sync`."""

    def __init__(self, folder: Path, shard: str) -> None:
        self._folder = folder
        self._shard = shard
        self._day = ""
        self._journal: Journal | None = None
        self.count = 0

    def append(self, row: RequestRow) -> None:
        """Writes one row, into the file of its own day. Raises DiskFull, OSError."""
        day = row.at[:10]
        if self._journal is None or day != self._day:
            self.close()
            self._day = day
            self._journal = Journal(self._folder / f"rate-{day}.{self._shard}.jsonl")
        self._journal.append(encode(row))
        self.count += 1

    def sync(self) -> None:
        """Makes the rows so far durable."""
        if self._journal is not None:
            self._journal.sync()

    def close(self) -> None:
        """Syncs and closes."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None
