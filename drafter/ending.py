"""Ends every agent of a campaign: found by the locks they hold, signalled by pidfd, and nothing else (F49)."""

from __future__ import annotations

import signal

from msgspec import Struct

from drafter.clock import Clock
from drafter.host import signal_shard
from drafter.identity import Signalled
from drafter.runlock import held
from shared.state import StateDir

POLL_S = 0.1
AT_ONCE_S = 5.0
"""After a second TERM a shard ends at once; one that has not within this is killed."""


class Ended(Struct, frozen=True):
    """Shards by what became of them. `unknown`: who holds the lock cannot be told, so it was not signalled."""

    ended: list[str]
    killed: list[str]
    unknown: list[str]
    left: list[str]


def end_agents(state: StateDir, clock: Clock, grace_s: float) -> Ended:
    """TERM to all, again after `grace_s` seconds, then KILL. Raises OSError, InstrumentFault."""
    alive = [folder.name for folder in sorted(state.shards.iterdir()) if held(folder / "run.lock")]
    unknown = [shard for shard in alive if signal_shard(state, shard, signal.SIGTERM) not in _KNOWN]
    known = [shard for shard in alive if shard not in unknown]
    running = _wait(state, clock, known, grace_s)
    for shard in running:
        signal_shard(state, shard, signal.SIGTERM)
    killed = _wait(state, clock, running, AT_ONCE_S)
    for shard in killed:
        signal_shard(state, shard, signal.SIGKILL)
    left = _wait(state, clock, killed, AT_ONCE_S)
    return Ended([shard for shard in known if shard not in left], killed, unknown, left)


_KNOWN = (Signalled.SENT, Signalled.GONE)


def _wait(state: StateDir, clock: Clock, shards: list[str], seconds: float) -> list[str]:
    until = clock.monotonic() + seconds
    while True:
        shards = [shard for shard in shards if held(state.shards / shard / "run.lock")]
        if not shards or clock.monotonic() >= until:
            return shards
        clock.wait(POLL_S)
