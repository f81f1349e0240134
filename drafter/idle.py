"""Idle slot-seconds by cause, once a minute in journal/events.jsonl: more than half a night was once lost to a cause
nobody could see.

Every turn is looked at; what the set point lacks goes to one cause. Slots that hold an agent that may not ask (rate
limit, breaker) count as idle too: they are taken from the shards' heartbeats.
"""

from __future__ import annotations

from collections import defaultdict

from drafter.clock import Clock
from drafter.desk import Desk
from drafter.drawer import Drawer
from drafter.events import Events
from drafter.fleet import Fleet
from drafter.shard import Shard

PERIOD_S = 60.0
LONGEST_S = 30.0
"""A turn that seems longer than this was a stopped machine, not an idle fleet."""


class Idle:
    """Adds up between two turns of the daemon. `flush` writes what is not written yet."""

    def __init__(self, fleet: Fleet, desk: Desk, events: Events, clock: Clock) -> None:
        self._fleet = fleet
        self._desk = desk
        self._events = events
        self._clock = clock
        self._last = self._written = clock.monotonic()
        self._lost: defaultdict[str, float] = defaultdict(float)
        self._busy = 0.0

    def look(self, drawer: Drawer | None, *, draining: bool) -> None:
        """Once a turn."""
        now = self._clock.monotonic()
        span, self._last = min(now - self._last, LONGEST_S), now
        goal = self._fleet.workers
        level = min(goal, self._fleet.level)
        blocked = 0
        for shard in self._fleet.shards:
            cause, count = blocked_slots(shard)
            if count:
                blocked += count
                self._lost[cause] += count * span
        if level < goal:
            self._lost[self._cause(drawer, draining)] += (goal - level) * span
        self._busy += max(0, level - blocked) * span
        if now - self._written >= PERIOD_S:
            self.flush()

    def flush(self) -> None:
        """Writes one event. `busy_s` and `idle_s` are slot-seconds since the event before."""
        now = self._clock.monotonic()
        if now <= self._written:
            return
        self._events.detail(
            "fleet",
            workers=self._fleet.workers,
            level=self._fleet.level,
            span_s=round(now - self._written, 1),
            busy_s=round(self._busy, 1),
            idle_s={cause: round(lost, 1) for cause, lost in self._lost.items()},
        )
        self._written = now
        self._lost.clear()
        self._busy = 0.0

    def _cause(self, drawer: Drawer | None, draining: bool) -> str:
        if draining:
            return "drain"
        if any(slot.shard is None for slot in self._fleet.slots):
            return "restart"
        if self._desk.undealt:
            return "ramp" if self._fleet.ramping else "restart"
        return "queue-depth" if drawer is not None and drawer.held else "no-cards"


def blocked_slots(shard: Shard) -> tuple[str, int]:
    """Agents of a shard that may not send a request now, and why; from its last heartbeat."""
    beat = shard.beat
    try:
        agents, limit = int(beat.get("agents", 0)), float(beat.get("limit", 0.0))
        in_flight = int(beat.get("requests_in_flight", 0))
    except (TypeError, ValueError):
        return "", 0
    if beat.get("breaker"):
        return "breaker", agents
    waiting = max(0, agents - int(limit))
    return ("rate-limit", waiting) if waiting and in_flight >= int(limit) else ("", 0)
