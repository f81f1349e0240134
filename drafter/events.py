"""journal/events.jsonl: what the drafter did, one record each. The drafter is its only writer."""

from __future__ import annotations

import logging
from typing import Any

from drafter.clock import Clock
from shared.errors import DiskFull
from shared.journal import Journal
from shared.records import SCHEMA
from shared.state import StateDir

log = logging.getLogger(__name__)


class Events:
    """Writer of the event journal. Each event is also one log line, with its name as the tag.

    An event that cannot be written is only logged: telling what happened must never stop what happens.
    """

    def __init__(self, state: StateDir, clock: Clock) -> None:
        self._journal: Journal | None = self._open(state)
        self._clock = clock

    def _open(self, state: StateDir) -> Journal | None:
        return Journal(state.journal / "events.jsonl")

    def emit(self, event: str, **fields: Any) -> None:
        """Records something that went as it should."""
        self._write(logging.INFO, event, fields)

    def detail(self, event: str, **fields: Any) -> None:
        """As `emit`, for what happens all the time: the log line is a debug line."""
        self._write(logging.DEBUG, event, fields)

    def error(self, event: str, **fields: Any) -> None:
        """Records something a person should look at."""
        self._write(logging.ERROR, event, {"level": "error"} | fields)

    def sync(self) -> None:
        """Makes the events so far durable. Raises OSError."""
        if self._journal is not None:
            self._journal.sync()

    def close(self) -> None:
        """Syncs and closes."""
        if self._journal is not None:
            self._journal.close()

    def _write(self, level: int, event: str, fields: dict[str, Any]) -> None:
        shown = " ".join(
            f"{name}={value!r}" if isinstance(value, str) else f"{name}={value}" for name, value in fields.items()
        )
        log.log(level, "%s %s", event.upper(), shown)
        if self._journal is None:
            return
        record = {"schema": SCHEMA, "at": self._clock.stamp(), "event": event} | fields
        try:
            self._journal.append(record)
        except DiskFull as error:
            log.error("EVENT-LOST event=%s reason=%r", event, str(error))


class LogOnly(Events):
    """Events of a read-only verb: the journal belongs to the drafter, so they are only logged."""

    def _open(self, state: StateDir) -> None:  # noqa: ARG002
        return None
