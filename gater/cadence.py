"""When the drafts of batch binaries are gated: when nothing else is in hand, at their cadence, or because it was asked.

A round takes every draft that waits when it begins, in builds of at most `gate.batch_max` drafts each, so that one
build bounds the work at risk; those that come meanwhile belong to the next round.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from gater.desk import Desk, Stage
from shared import durable
from shared.config import Campaign
from shared.locks import is_locked
from shared.state import StateDir, utc_now


@dataclass
class Cadence:
    """The rounds of one gater. `every_s` is their cadence in seconds."""

    state: StateDir
    every_s: float
    _round: set[str] = field(default_factory=set)
    _asked: bool = False
    _last: float = field(default_factory=time.monotonic)

    def due(self, desk: Desk, *, idle: bool) -> bool:
        """Whether batch binaries may be gated now. Raises OSError."""
        waiting = {item.ref.id for item in desk.items.values() if _batch(item.stage, item.why_waiting)}
        if self._round and not self._round & waiting:
            self._end()
        if not self._round:
            self._begin(waiting, idle=idle)
        return bool(self._round)

    def _begin(self, waiting: set[str], *, idle: bool) -> None:
        self._asked = asked(self.state)
        if self._asked or idle or time.monotonic() - self._last > self.every_s:
            self._round = waiting
            if not waiting:
                self._end()

    def _end(self) -> None:
        self._round = set()
        self._last = time.monotonic()
        if self._asked:
            request_path(self.state).unlink(missing_ok=True)
            self._asked = False


def _batch(stage: Stage, why: str) -> bool:
    return why == "batch" and stage in (Stage.WAITING, Stage.GATING)


def ask(state: StateDir) -> None:
    """Asks the running gater for a round now; it removes the request when the round is over. Raises OSError."""
    durable.write_json(request_path(state), {"request": "batch", "at": utc_now(), "schema": 1})


def asked(state: StateDir) -> bool:
    """Whether a round was asked for that is not over yet."""
    return request_path(state).exists()


def request_path(state: StateDir) -> Path:
    """Where the request lies."""
    return state.spool / "requests" / "batch.json"


def follow(state: StateDir, timeout_s: float | None) -> bool:
    """Waits until the round asked for is over; False when `timeout_s` passes or the gater ends first."""
    deadline = time.monotonic() + (timeout_s if timeout_s is not None else float("inf"))
    while asked(state):
        if time.monotonic() > deadline or not is_locked(state.locks / "gater.lock"):
            return False
        time.sleep(0.2)
    return True


def waiting_ids(state: StateDir, campaign: Campaign) -> set[str]:
    """Drafts of batch binaries in the waiting room, read from disk."""
    names = [name for name, binary in campaign.binaries.items() if binary.lane == "batch"]
    return {path.stem for name in names for path in (state.waiting / name).glob("*.json")}
