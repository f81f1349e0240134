"""The fleet as a level: `workers` agents in flight is the set point, and a freed slot is refilled at once.

Inboxes hold a little more than the agents a shard may run, so that a shard refills a slot without waiting for us.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from drafter.clock import Clock
from drafter.events import Events
from drafter.host import Host
from drafter.identity import Signalled
from drafter.ramp import Ramp, apportion, split
from drafter.shard import Shard, left_shards, make_shard, next_number
from shared.config import Campaign
from shared.records import Target
from shared.state import StateDir

KILL_AFTER_S = 30.0
"""A shard asked to end by TERM is killed after this; what it kept on disk is salvaged."""
RELAUNCH_S = 1.0
RELAUNCH_MAX_S = 60.0


@dataclass
class Slot:
    """A place for one shard of a pool. `failures` counts shards in a row that ended without a single row."""

    pool: str
    workers: int
    shard: Shard | None = None
    failures: int = 0
    not_before: float = float("-inf")

    @property
    def goal(self) -> int:
        """Targets its inbox should hold: the agents and a reserve for the time between two looks of ours."""
        return self.workers + max(2, self.workers // 8)


class Fleet:
    """All shards. Every decision is taken from what is on disk and in `Shard.dealt`, which mirrors the inboxes."""

    def __init__(self, campaign: Campaign, state: StateDir, host: Host, events: Events, clock: Clock) -> None:
        settings = campaign.drafter
        self._state = state
        self._host = host
        self._events = events
        self._clock = clock
        self._stall_s = settings.stall_s
        self._ramp = Ramp(settings.ramp_window_s)
        counts = apportion(settings.workers, {name: pool.share for name, pool in campaign.pools.items()})
        self.slots = [
            Slot(pool, part)
            for pool in campaign.pools
            for part in split(counts.get(pool, 0), settings.agents_per_shard)
            if pool in counts
        ]
        self.retiring: list[Shard] = []
        self._next = 1
        self.ramping = False
        """The ramp bound the last deal."""

    @property
    def workers(self) -> int:
        """The set point."""
        return sum(slot.workers for slot in self.slots)

    @property
    def shards(self) -> list[Shard]:
        """Every shard not collected yet."""
        return [slot.shard for slot in self.slots if slot.shard is not None] + self.retiring

    @property
    def level(self) -> int:
        """Targets dealt and without a row."""
        return sum(len(shard.dealt) for shard in self.shards)

    def adopt(self) -> None:
        """Takes over the shards an earlier drafter left, alive or dead. Call once, at start. Raises OSError."""
        self._next = next_number(self._state)
        for shard in left_shards(self._state, self._clock.monotonic()):
            alive = self._host.alive(shard.id)
            slot = next((slot for slot in self.slots if slot.shard is None and slot.pool == shard.pool), None)
            if alive and slot is not None:
                slot.shard = shard
                shard.set_workers(slot.workers)
            else:
                self.retiring.append(shard)
            if alive:
                self._events.emit("shard-adopt", shard=shard.id, pool=shard.pool, targets=len(shard.dealt))

    def ended(self) -> list[Shard]:
        """Shards whose lock is free. Ask before reading rows: what a dead shard wrote is complete then."""
        self._host.reap()
        return [shard for shard in self.shards if not self._host.alive(shard.id)]

    def dismiss(self, shard: Shard) -> None:
        """Forgets a collected shard; its slot is free for another, later each time none of them got anything done."""
        self._ramp.sink(self.level, self.workers)
        if shard in self.retiring:
            self.retiring.remove(shard)
            return
        slot = next(slot for slot in self.slots if slot.shard is shard)
        slot.shard = None
        slot.failures = 0 if shard.rows else slot.failures + 1
        wait = min(RELAUNCH_MAX_S, RELAUNCH_S * 2 ** (slot.failures - 1)) if slot.failures else 0.0
        slot.not_before = self._clock.monotonic() + wait

    def launch(self) -> None:
        """Starts a shard in every free slot that may have one now."""
        now = self._clock.monotonic()
        for slot in self.slots:
            if slot.shard is not None or now < slot.not_before:
                continue
            shard = make_shard(self._state, self._next, slot.pool, slot.workers, now)
            self._next += 1
            slot.shard = shard
            try:
                self._host.launch(shard.id, slot.pool)
            except OSError as error:
                # Its lock is free, so it is collected as a dead one and tried again later.
                self._events.error("shard-start-failed", shard=shard.id, reason=str(error))
                continue
            self._events.emit("shard-start", shard=shard.id, pool=slot.pool, workers=slot.workers)

    def deal(self, take: Callable[[str], Target | None]) -> int:
        """Fills the inboxes, the emptiest by its share first, as far as the ramp allows; returns how many were dealt.

        `take(pool)` gives the next target for a pool, None when there is none. Raises DiskFull, OSError.
        """
        ceiling = self._ramp.ceiling(self._clock.monotonic(), self.level, self.workers)
        self.ramping = ceiling is not None
        dealt = 0
        while True:
            if ceiling is not None and self.level >= ceiling:
                return dealt
            slot = self._emptiest(ramping=ceiling is not None)
            if slot is None or slot.shard is None:
                return dealt
            target = take(slot.pool)
            if target is None:
                return dealt
            slot.shard.deal(target)
            dealt += 1

    def idle(self) -> None:
        """There is nothing to deal now."""
        self._ramp.sink(self.level, self.workers)

    def watch(self, *, deadline: float | None = None) -> None:
        """Ends shards that make no progress, surplus ones without work, and all that run past `deadline`."""
        now = self._clock.monotonic()
        for shard in self.shards:
            shard.look(now)
            self._limits(shard)
            stalled = now - shard.progressed > self._stall_s
            overdue = deadline is not None and now > deadline
            if stalled or overdue:
                self.end(shard, "no progress" if stalled else "past the drain's bound")
            elif shard in self.retiring and not shard.dealt:
                self.end(shard, "surplus")
            if shard.asked is not None and not shard.killed and now - shard.asked > KILL_AFTER_S:
                shard.killed = self._signal(shard, signal.SIGKILL, "did not end when asked")

    def _limits(self, shard: Shard) -> None:
        """Journals where a shard's limit stands and why, whenever the reason is a new one."""
        moved = (shard.beat.get("limit_why", ""), shard.beat.get("breaker", ""))
        if moved != shard.moved:
            shard.moved = moved
            beat = shard.beat
            self._events.emit(
                "limit",
                shard=shard.id,
                pool=shard.pool,
                limit=beat.get("limit"),
                workers=beat.get("workers"),
                reason=moved[0],
                breaker=moved[1],
            )

    def end(self, shard: Shard, reason: str) -> None:
        """Asks a shard to save and end, once."""
        if shard.asked is None and self._signal(shard, signal.SIGTERM, reason):
            shard.asked = self._clock.monotonic()

    def lanes(self) -> Mapping[str, int]:
        """Targets in flight by pool."""
        counts: dict[str, int] = {}
        for shard in self.shards:
            counts[shard.pool] = counts.get(shard.pool, 0) + len(shard.dealt)
        return counts

    def _emptiest(self, *, ramping: bool) -> Slot | None:
        free = [
            slot
            for slot in self.slots
            if slot.shard is not None
            and slot.shard.asked is None
            and len(slot.shard.dealt) < (slot.workers if ramping else slot.goal)
        ]
        return min(
            free, key=lambda slot: (len(slot.shard.dealt) + 0.5) / slot.workers if slot.shard else 0.0, default=None
        )

    def _signal(self, shard: Shard, number: signal.Signals, reason: str) -> bool:
        outcome = self._host.signal(shard.id, number)
        if outcome is Signalled.SENT:
            self._events.emit("shard-signal", shard=shard.id, signal=number.name, reason=reason)
            return True
        if outcome is not Signalled.GONE and not shard.warned:
            shard.warned = True
            self._events.error(
                "shard-unknown",
                shard=shard.id,
                outcome=str(outcome),
                reason=f"{reason}; its process cannot be told for certain, so it is neither signalled nor replaced",
            )
        return False
