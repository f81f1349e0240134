"""waiting/<binary>/: drafts that may not be gated yet. They count as in flight and survive a restart."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gater.desk import Item
from gater.rows import Waiting
from shared import durable
from shared.hashing import digest_bytes
from shared.records import NewerSchema, decode, encode
from shared.state import StateDir, utc_now

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class WaitingRoom:
    """The drafts on disk that wait. File names come from draft ids, never from symbols."""

    state: StateDir

    def put(self, item: Item, reason: str) -> None:
        """Makes the wait durable, before the draft's marker may settle."""
        record = Waiting(
            why=item.why_waiting, reason=reason, ref=item.ref, marker=item.marker, wave=item.wave, since=utc_now()
        )
        path = self._path(item)
        path.parent.mkdir(parents=True, exist_ok=True)
        durable.write_json(path, encode(record))

    def leave(self, item: Item) -> None:
        """The draft has its final row; a second call does nothing."""
        self._path(item).unlink(missing_ok=True)

    def all(self) -> Iterator[tuple[Waiting, bytes]]:
        """Every waiting draft with its text; one whose file is damaged is logged and left where it is."""
        for path in sorted(self.state.waiting.glob("*/*.json")):
            try:
                record = decode(Waiting, durable.read_json(path))
                text = self.state.resolve(record.ref.path).read_bytes()
            except (OSError, durable.Corrupt, msgspec.ValidationError, NewerSchema) as error:
                log.error("WAITING-UNREADABLE file=%s reason=%r", path.name, str(error))
                continue
            if digest_bytes(text) != record.ref.digest:
                log.error("WAITING-UNREADABLE file=%s reason='draft digest differs'", path.name)
                continue
            yield record, text

    def _path(self, item: Item) -> Path:
        return self.state.waiting / item.ref.binary / f"{item.ref.id}.json"
