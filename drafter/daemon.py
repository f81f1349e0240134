"""The drafter's loop. One thread, short turns; whatever it knows is derived from disk again at start.

Order of a turn: who ended -> their rows -> take over the dead -> publish -> draw -> start shards -> deal -> watch. Rows
are read after asking who ended, so a shard taken for dead has nothing left to say.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable
from dataclasses import dataclass

from drafter import night
from drafter.alarm import Alarm
from drafter.clock import Clock
from drafter.desk import Desk
from drafter.draw import turn_of
from drafter.drawer import Drawer, Source
from drafter.events import Events
from drafter.fleet import Fleet
from drafter.host import Host
from drafter.idle import Idle
from drafter.markers import Publisher
from drafter.purse import Purse
from drafter.room import Room
from drafter.salvage import Salvager, drafter_row
from drafter.shard import Shard, strikes
from drafter.twins.backend import Twins
from drafter.waves import WaveState, append_row, last_number, load_waves
from shared.config import Campaign
from shared.errors import CampaignError, DiskFull
from shared.exits import Exit
from shared.records import Target
from shared.spending import highest_spend
from shared.state import StateDir
from shared.stopping import ask_drain, drain_bound_s

log = logging.getLogger(__name__)

TICK_S = 0.2
TROUBLE_S = 5.0
"""Pause of a step that failed, before it is tried again."""


@dataclass(frozen=True)
class _Rest:
    """A step that failed: until when it rests, and whether for lack of space."""

    until: float
    full: bool


class Daemon:
    """One campaign's drafter. The caller holds the drafter lock.

    `waves` ends it after that many waves with cards in this night, once all is published; None = never.
    `twins`, when set before `start`, drafts without a model beside the fleet.
    `leave()` is asked every turn: True = end at once, shards go on. `alarm` says when a drain starts by itself.
    `short()` says whose credit is at the floor: then nothing is drawn or dealt, agents save, and it ends.
    """

    def __init__(
        self,
        campaign: Campaign,
        state: StateDir,
        host: Host,
        source: Source,
        clock: Clock,
        *,
        waves: int | None = None,
        leave: Callable[[], bool] = lambda: False,
        alarm: Alarm | None = None,
        short: Callable[[], str] = lambda: "",
    ) -> None:
        self._campaign = campaign
        self._state = state
        self._clock = clock
        self._waves = waves
        self._leave = leave
        self.twins: Twins | None = None
        self._alarm = alarm or Alarm()
        self._short = short
        self.purse = Purse(campaign.spend.night_usd, campaign.lanes)
        self._broke: tuple[Exit, str] | None = None
        self.events = Events(state, clock)
        self._room = Room(campaign, state, self.events)
        self.desk = Desk(state)
        self.fleet = Fleet(campaign, state, host, self.events, clock)
        self.publisher = Publisher(
            state,
            self.events,
            clock,
            marker_drafts=campaign.drafter.marker_drafts,
            flush_s=campaign.drafter.flush_interval_s,
        )
        self._idle = Idle(self.fleet, self.desk, self.events, clock)
        self._salvager = Salvager(self.events, clock, strikes(state))
        self._source = source
        self._drawer: Drawer | None = None
        self._resting: dict[str, _Rest] = {}
        self._drain_until: float | None = None
        self._dropped = 0
        self._loaded: list[WaveState] = []

    @property
    def drawer(self) -> Drawer:
        """Made by `start`."""
        assert self._drawer is not None
        return self._drawer

    def load(self) -> None:
        """Reads waves, spool and shards, and sets right what a death left half-done. Raises CampaignError, OSError."""
        found = load_waves(self._state, clean=True)
        self._loaded = found.waves
        self.publisher.load()
        self.publisher.repair()
        self.fleet.adopt()
        dealt = {target for shard in self.fleet.shards for target in shard.dealt}
        for wave in found.waves:
            self.desk.remember(wave)
            for shard in self.fleet.shards:
                shard.dealt -= wave.rows.keys()
            if wave.cards and not self.publisher.closed(wave.id):
                self.desk.put(wave, dealt)
        self.events.emit(
            "load",
            waves=len(found.waves),
            open_waves=len(self.desk.open),
            undealt=self.desk.undealt,
            void_draws=found.void,
            unreadable_waves=found.unreadable,
            shards=len(self.fleet.shards),
            level=self.fleet.level,
        )

    def start(self) -> None:
        """Everything before READY. Raises CampaignError, OSError."""
        self._source.head()
        self.load()
        if self.twins is not None:
            self.twins.start()
        last = last_number(self._state)
        on = night.begin(self._state, self._clock.stamp(), last + 1)
        self._drawer = Drawer(
            self._campaign,
            self._state,
            self._source,
            self.desk,
            self.events,
            self._clock,
            on.id,
            patient=self._waves is not None,
        )
        for wave in self._loaded:
            if wave.wave.parameters.get("night") == on.id:
                for row in wave.rows.values():
                    self.purse.ended(wave.wave.lane, row)
        self._loaded = []
        drawn = sum(1 for wave in self.desk.waves if wave.cards and wave.parameters.get("night") == on.id)
        self.drawer.rotation.last, self.drawer.rotation.drawn = last, drawn
        upcoming = turn_of(self._campaign.drawn_lanes, last + 1)
        self.events.emit(
            "start",
            night=on.id,
            settings=self._campaign.digest(),
            workers=self.fleet.workers,
            next_wave=last + 1,
            lane=upcoming.lane,
            band=list(upcoming.band),
            drawn=drawn,
            tag=self._campaign.night.tag,
            done_by=self._alarm.done_by,
            highest_spend=self._highest(last),
        )

    def turn(self) -> Exit | None:
        """One turn; the exit code when it was the last."""
        stopping = self._state.stopping()
        if not stopping and self._alarm.due(self._clock.monotonic()):
            self._guard("until", lambda: ask_drain(self._state, f"drafter: to be done by {self._alarm.done_by}"))
        self._idle.look(self._drawer, draining=stopping)
        if stopping and self._drain_until is None:
            self._drain()
        self._guard("collect", self._collect)
        self._guard("publish", lambda: self._publish(flush=stopping or self._leave()))
        if self._leave():
            return self._end(Exit.OK, "told to end; the shards go on")
        if stopping:
            self._guard("watch", lambda: self.fleet.watch(deadline=self._drain_until))
            if not self.fleet.shards and self._published():
                return self._end(Exit.OK, "drained", over=True)
            return self._end(Exit.DISK_FULL, "no space to publish") if self._stuck() else None
        if self._look_at_money():
            return self._wind_down()
        self._work()
        if self._finished():
            for shard in self.fleet.shards:
                self.fleet.end(shard, "all waves done")
            if not self.fleet.shards:
                return self._end(Exit.OK, "all waves done", over=True)
        return None

    def _look_at_money(self) -> bool:
        short = self._short()
        if short and (self._broke is None or self._broke[0] is not Exit.CREDIT_FLOOR):
            self._broke = (Exit.CREDIT_FLOOR, short)
            self.events.error("credit-floor", reason=short)
        return self._broke is not None

    def _wind_down(self) -> Exit | None:
        """Nothing new: agents save and end, what they have is published."""
        assert self._broke is not None
        code, reason = self._broke
        for shard in self.fleet.shards:
            self.fleet.end(shard, code.name)
        self._guard("watch", self.fleet.watch)
        return self._end(code, reason) if not self.fleet.shards and self._published() else None

    def close(self) -> None:
        """Closes the journal."""
        if self.twins is not None:
            self.twins.close()
        self._idle.flush()
        self.events.close()

    def flush(self) -> None:
        """Takes up what ended shards left and publishes all that is final, without starting anything."""
        self._guard("collect", self._collect)
        self._guard("publish", lambda: self._publish(flush=True))

    def _work(self) -> None:
        if self._may_draw() and self.desk.undealt < self.fleet.workers:
            self._guard("draw", self._draw_with_room)
        if self.desk.undealt:
            self._guard("launch", self.fleet.launch)
            self._guard("look", self.drawer.look)
            self._guard("deal", self._deal)
        else:
            self.fleet.idle()
        self._guard("watch", self.fleet.watch)
        if self.twins is not None:
            self._guard("twins", self.twins.turn)

    def _may_draw(self) -> bool:
        return self._waves is None or self.drawer.rotation.drawn < self._waves

    def _finished(self) -> bool:
        if self._waves is None or self.desk.open or self.fleet.level:
            return False
        return not self._may_draw() or self.drawer.exhausted

    def _collect(self) -> None:
        ended = self.fleet.ended()
        for wave, row in self.desk.read_rows(self.fleet.shards):
            self.purse.ended(wave.wave.lane, row)
        for shard in ended:
            self._take_over(shard)

    def _take_over(self, shard: Shard) -> None:
        self._salvager.take_over(shard, self.desk.open, self._again)
        self.fleet.dismiss(shard)

    def _again(self, target: str) -> None:
        self.desk.again(self.desk.open[target.partition("-")[0]], target)

    def _publish(self, *, flush: bool) -> None:
        for wave in list(self.desk.open.values()):
            self.publisher.publish(wave, flush=flush)
            if self.publisher.closed(wave.id):
                self.desk.close(wave)

    def _published(self) -> bool:
        return not any(self.publisher.unpublished(wave) for wave in self.desk.open.values())

    def _draw_with_room(self) -> None:
        if self._room.enough(self._clock.monotonic()):
            self._draw()

    def _draw(self) -> None:
        unpublished = {
            (row.binary, row.function) for wave in self.desk.open.values() for row in self.publisher.unpublished(wave)
        }
        self.drawer.draw(unpublished, self._put)

    def _put(self, wave: WaveState) -> None:
        self.desk.remember(wave)
        self.desk.put(wave, set())
        self.publisher.begin(wave.id)

    def _deal(self) -> None:
        self._dropped = 0
        dealt = self.fleet.deal(self._next_target)
        if dealt or self._dropped:
            self.events.detail(
                "deal", dealt=dealt, dropped=self._dropped, level=self.fleet.level, undealt=self.desk.undealt
            )

    def _next_target(self, pool: str) -> Target | None:
        while (found := self.desk.next()) is not None:
            wave, target = found
            if not self._affords(wave):
                self.desk.again(wave, target)
                return None
            card = wave.targets[target]
            if self._salvager.give_up(wave, target):
                continue
            if not self.drawer.open_now(card.key):
                append_row(wave, drafter_row(wave, target, "cancelled", "no longer open", self._clock.stamp()))
                self._dropped += 1
                continue
            return Target(id=target, wave=wave.id, lane=wave.wave.lane, pool=pool, card=card, dealt=self._clock.stamp())
        return None

    def _highest(self, last: int) -> str:
        words = str(highest_spend(self._campaign, last + 1, self._waves)["words"])
        log.info("SPEND-AT-MOST %s", words)
        return words

    def _affords(self, wave: WaveState) -> bool:
        if not self.purse.cap_usd:
            return True
        flying = [self.desk.lane_of(target) for shard in self.fleet.shards for target in shard.dealt]
        fits = self.purse.allows(wave.wave.lane, flying)
        if not fits and not flying:
            cap, charged, unknown = self.purse.cap_usd, self.purse.charged, self.purse.unknown
            reason = f"{charged:.2f} of {cap:.2f} USD are charged ({unknown} agents of unknown cost at their budget)"
            self._broke = (Exit.SPEND_CAP, reason)
            self.events.error("spend-cap", reason=reason)
        return fits

    def _drain(self) -> None:
        bound = drain_bound_s(self._campaign)
        self._drain_until = self._clock.monotonic() + bound
        self.events.emit("drain", bound_s=bound, shards=len(self.fleet.shards), level=self.fleet.level)

    def _stuck(self) -> bool:
        return not self.fleet.shards and any(rest.full for rest in self._resting.values())

    def _end(self, code: Exit, reason: str, *, over: bool = False) -> Exit:
        self.events.emit("end", code=int(code), reason=reason, shards=len(self.fleet.shards), level=self.fleet.level)
        if over:
            night.end(self._state)
        return code

    def _guard(self, name: str, step: Callable[[], None]) -> None:
        """Runs a step; one that fails is said and rests, and the daemon goes on: the fleet must not stop for it."""
        now = self._clock.monotonic()
        if name in self._resting and now < self._resting[name].until:
            return
        try:
            step()
        except (CampaignError, OSError) as error:
            full = isinstance(error, DiskFull) or getattr(error, "errno", None) == errno.ENOSPC
            self._resting[name] = _Rest(now + TROUBLE_S, full)
            self.events.error("step-failed", step=name, reason=str(error), again_s=TROUBLE_S)
        else:
            self._resting.pop(name, None)
