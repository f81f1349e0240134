"""What a shard shows of itself: heartbeat.json every few seconds, exit.json once."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from drafter.agents.files import ShardFiles
from drafter.agents.fleet import Fleet
from drafter.agents.limiter import Limiter
from drafter.identity import start_time
from shared import durable
from shared.state import utc_now


class Vitals:
    """Writer of the shard's own state files. `progress` counts responses, oracle calls and rows."""

    def __init__(self, files: ShardFiles, pool: str, settings: str) -> None:
        self._files = files
        self._fixed = {
            "schema": 1,
            "shard": files.shard,
            "pool": pool,
            "pid": os.getpid(),
            "start": start_time(os.getpid()),  # clock ticks since boot: with the pid it names this process
            "started": utc_now(),
            "settings": settings,
        }
        self.progress = 0
        self.beats = 0

    def advance(self) -> None:
        """Something was done."""
        self.progress += 1

    def beat(self, fleet: Fleet, limiter: Limiter, orphan_s: float) -> None:
        """Writes heartbeat.json durably. Raises DiskFull, OSError."""
        self.beats += 1
        durable.write_json(self._files.heartbeat, self._state(fleet, limiter) | {"orphan_s": round(orphan_s, 1)})

    def ended(self, fleet: Fleet, limiter: Limiter, reason: str, code: int, unfinished: list[str]) -> None:
        """Writes exit.json durably. Raises DiskFull, OSError."""
        state = self._state(fleet, limiter) | {"reason": reason, "code": code, "unfinished": unfinished}
        durable.write_json(self._files.exit, state)

    def _state(self, fleet: Fleet, limiter: Limiter) -> dict[str, Any]:
        return self._fixed | {
            "at": utc_now(),
            "beat": self.beats,
            "progress": self.progress,
            "workers": fleet.workers,
            "agents": fleet.agents,
            "queued": len(fleet.queue),
            "closing": fleet.closing,
            "requests_in_flight": limiter.in_flight,
            "limit": round(limiter.limit, 2),
            "limit_why": limiter.why,
            "cuts": limiter.cuts,
            "pauses": limiter.pauses,
            "breaker": limiter.breaker.reason if limiter.breaker.open else "",
            "outcomes": dict(fleet.outcomes),
            "spent": msgspec.to_builtins(fleet.spent),
        }
