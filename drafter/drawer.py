"""Decides when to draw, and draws: ahead of the fleet, never a card in flight, held back only by what is not judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from drafter.clock import Clock
from drafter.desk import Desk
from drafter.draw import Frontier, Key, Limits, Plan, plan, turns
from drafter.events import Events
from drafter.inflight import InGater
from drafter.ramp import apportion
from drafter.waves import WaveState, write_wave
from shared.config import Campaign
from shared.config.overrides import words
from shared.holds import Holds
from shared.redlist import Watched
from shared.state import StateDir

RETRY_S = 1.0
"""Pause before looking again when nothing could be drawn."""


class Source(Protocol):
    """Where the frontier comes from."""

    def head(self) -> str:
        """The commit to draw from."""
        ...

    def read(self, commit: str) -> Frontier:
        """All open stubs at a commit."""
        ...


@dataclass
class Rotation:
    """Where the waves on disk have brought us: the last number, and how many waves with cards this night has."""

    last: int = 0
    drawn: int = 0


class Drawer:
    """One campaign's draws. `exhausted`: no lane and band has a card and none is in flight that could come back."""

    def __init__(
        self,
        campaign: Campaign,
        state: StateDir,
        source: Source,
        desk: Desk,
        events: Events,
        clock: Clock,
        night: str,
        *,
        patient: bool = False,
    ) -> None:
        """`patient`: the waves are counted, so a small one is not drawn while cards in flight may still come back."""
        self._campaign = campaign
        self._state = state
        self._source = source
        self._desk = desk
        self._events = events
        self._clock = clock
        self._night = night
        self._enough = min(campaign.drafter.workers, campaign.drafter.cards_per_wave) if patient else 1
        self._in_gater = InGater(state)
        self._holds = Holds(state)
        self._red = Watched(state)
        self._limits = Limits(campaign.drafter.cards_per_wave, campaign.drafter.tries)
        self._not_before = float("-inf")
        self._held_since: float | None = None
        self._frontier: Frontier | None = None
        self._open: frozenset[Key] = frozenset()
        self._looked = float("-inf")
        self._said = ""
        self.rotation = Rotation()
        self.exhausted = False

    def draw(self, unpublished: set[Key], put: Callable[[WaveState], None]) -> None:
        """Draws one wave if there is room behind the gater; empty turns before it are recorded as empty waves.

        `unpublished` are cards with a final draft that has no marker yet. Raises CampaignError, OSError.
        """
        now = self._clock.monotonic()
        if now < self._not_before:
            return
        self._not_before = now + RETRY_S
        self._in_gater.scan()
        if self._hold(now):
            return
        busy = set(self._desk.working()) | unpublished
        for _ in range(turns(self._campaign.drawn_lanes)):
            planned = self._plan(now, busy)
            coming_back = bool(busy or self._in_gater.marked)
            if planned.drawable < (self._enough if coming_back else 1):
                self._nothing(planned, coming_back)
                return
            wave = self._write(planned, self.rotation.last + 1)
            if planned.kept:
                put(wave)
                self._not_before = now
                return

    def preview(self, unpublished: set[Key]) -> Plan:
        """What the next draw would be; nothing is written. Raises CampaignError, OSError."""
        self._in_gater.scan()
        return self._plan(self._clock.monotonic(), set(self._desk.working()) | unpublished)

    def open_now(self, key: Key) -> bool:
        """Whether a stub drawn earlier is still open, as far as the last look at the head tells."""
        return self._frontier is None or key in self._open

    @property
    def held(self) -> bool:
        """Drawing pauses for the gater."""
        return self._held_since is not None

    def look(self) -> None:
        """Looks at the head again, every few seconds at most. Raises CampaignError, OSError."""
        self._refresh(self._clock.monotonic(), force=False)

    def _plan(self, now: float, busy: set[Key]) -> Plan:
        # After the look at the spool: a card that left flight before it is banked at the head we read now.
        self._desk.read_verdicts()
        self._refresh(now, force=True)
        assert self._frontier is not None
        self._holds.moved()
        self._red.moved()
        return plan(
            self._frontier,
            self._desk.history,
            busy | self._in_gater.marked | self._in_gater.held,
            # The list, and binaries no control could judge: their drafts wait as red though nothing is listed.
            self._in_gater.red | self._red.now.red.keys(),
            self._campaign.drawn_lanes,
            self.rotation.last + 1,
            self._limits,
            self._holds.reason_for,
        )

    def _hold(self, now: float) -> bool:
        waves = len(self._in_gater.waves)
        if waves > self._campaign.drafter.queue_depth:
            if self._held_since is None:
                self._held_since = now
                self._events.emit("draw-held", unjudged_waves=waves, queue_depth=self._campaign.drafter.queue_depth)
            return True
        if self._held_since is not None:
            self._events.emit("draw-free", held_s=round(now - self._held_since, 1))
            self._held_since = None
        return False

    def _refresh(self, now: float, *, force: bool) -> None:
        if not force and now - self._looked < 2 * RETRY_S:
            return
        self._looked = now
        head = self._source.head()
        if self._frontier is None or self._frontier.commit != head:
            self._frontier = self._source.read(head)
            refused = ((stub.binary, stub.function) for stub in self._frontier.refused)
            self._open = frozenset([*(card.key for card in self._frontier.cards), *refused])

    def _nothing(self, planned: Plan, coming_back: bool) -> None:
        self.exhausted = not coming_back
        event = "draw-starved" if coming_back else "frontier-exhausted"
        if event != self._said:
            self._said = event
            self._events.emit(event, frontier=planned.frontier, skipped=planned.skipped)

    def _write(self, planned: Plan, number: int) -> WaveState:
        if not planned.balanced:
            self._events.error(
                "draw-unbalanced", kept=len(planned.kept), skipped=planned.skipped, frontier=planned.frontier
            )
        drafter = self._campaign.drafter
        parameters = {
            "night": self._night,
            "settings": self._campaign.digest(),
            "cards_per_wave": drafter.cards_per_wave,
            "tries": drafter.tries,
            "pools": {name: pool.model for name, pool in self._campaign.pools.items()},
            "workers": apportion(drafter.workers, {name: pool.share for name, pool in self._campaign.pools.items()}),
        }
        if self._campaign.night.tag:
            parameters["tag"] = self._campaign.night.tag
        if self._campaign.overrides:
            parameters["overrides"] = words(self._campaign.overrides)[1::2]
        wave = write_wave(self._state, planned, number, drafter.attempts, parameters, self._clock.stamp())
        self.rotation.last = number
        self.exhausted = False
        self._said = ""
        self._events.emit(
            "draw",
            wave=wave.id,
            lane=planned.turn.lane,
            band=list(planned.turn.band),
            cards=len(planned.kept),
            frontier=planned.frontier,
            skipped=planned.skipped,
            commit=planned.commit,
        )
        if planned.kept:
            self.rotation.drawn += 1
        return wave
