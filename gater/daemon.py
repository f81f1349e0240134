"""The gater's loop: claim, pre-filter, gate, land, settle. One thread decides; jobs run in worker processes.

Everything it knows is derived again from disk at start, so it can be killed between any two lines.
"""

from __future__ import annotations

import logging
import math
import os
import queue
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

from sdnotify import SystemdNotifier

from gater.bench import Entry
from gater.cadence import Cadence
from gater.controls import Controls
from gater.credit import Credits
from gater.desk import Desk, Item, Rejects, Stage
from gater.executor import Jobs
from gater.gatecache import GateCache
from gater.harvest import Harvest
from gater.intake import Intake
from gater.jobs import ControlResult, control_job, filter_job, gate_job
from gater.land import Landing
from gater.ledger import Ledger
from gater.outcomes import Filtering, Gating, Outcomes
from gater.placing import Placing
from gater.settle import Settler
from gater.steps import Pulse, sweep
from gater.stubs import StubIndex
from gater.takein import TakeIn
from gater.verdicts import Verdicts
from gater.waiting import WaitingRoom
from shared import redlist
from shared.bases import Bases
from shared.config import Campaign
from shared.errors import DiskFull
from shared.git import Git
from shared.locks import is_locked
from shared.presence import Presence
from shared.redlist import Red, Watched
from shared.spool import Claimed, Spool
from shared.state import StateDir, utc_now
from shared.watch import Watch

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Control:
    """A null control under way: of the landing head, or of a candidate to be taken in."""

    binary: str
    candidate: bool = False


Context = Control | Filtering | Gating


class Gater:
    """One campaign's gater. The caller holds the gater lock."""

    def __init__(self, campaign: Campaign, state: StateDir, mode: str, notify: SystemdNotifier) -> None:
        self.notify = notify
        self.campaign = campaign
        self.state = state
        self.slots = campaign.gate.slots or os.cpu_count() or 1
        self.git = Git(campaign.root)
        self.landing = Landing(campaign, state)
        self.ledger = Ledger(state, mode)
        self.spool = Spool(state)
        self.room = WaitingRoom(state)
        self.verdicts = Verdicts(self.ledger, Harvest(state))
        self.stubs = StubIndex(campaign, self.git)
        credits = Credits(self.git, f"refs/heads/{campaign.landing.branch}")
        self.intake = Intake(campaign, state, self.stubs, credits, self.ledger, self.verdicts, self.room)
        self.bases = Bases(campaign, state)
        self.controls = Controls(self.bases, Watched(state))
        self.take_in = TakeIn(self.landing, self.bases)
        self.desk = Desk()
        self.rejects = Rejects()
        self.settler = Settler(self.spool, self.ledger)
        self.outcomes = Outcomes(self)
        self.placing = Placing(self)
        # A batch build of minutes may not be all that one slot does.
        self.jobs = Jobs(max(self.slots, 2) if self.is_batch(tuple(campaign.binaries)) else self.slots)
        self.busy: set[str] = set()
        self.filtering: set[str] = set()
        self.rejudge: set[str] = set()
        self.gates = 0
        self.worked = False
        self._running: dict[int, tuple[Context, float]] = {}
        self._pulse = Pulse(state)
        self._results: queue.SimpleQueue[tuple[Context, Future[Any]]] = queue.SimpleQueue()
        self._watch: Watch | None = None
        self._presence: Presence | None = None
        self._rejects_loaded = False
        self.cadence = Cadence(state, campaign.gate.batch_every_s)

    def start(self) -> None:
        """Everything before READY: the landing branch, claimed markers and waiting drafts of an earlier life."""
        self.landing.prepare()
        self.landing.follow()
        self.bases.sweep()
        sweep(self.state)
        GateCache(self.state.cache / "gates").sweep(self.state.cache / "base")
        self._follow_head()
        for claimed in self.spool.take_up():
            self._accept(claimed, recovered=True)
        for item in self.intake.waiting():
            if item.ref.id not in self.desk.items:
                self.desk.add(item)
        self._watch = Watch(self.spool.folder, self.spool.ready)
        self._presence = Presence(self.state, "gater", self.campaign)
        self.notify.notify("READY=1")

    def run(self, *, once: bool, stop: Callable[[], bool]) -> bool:
        """Turns until drained: True, or told to end by `stop()`, work staying claimed: False."""
        while not stop():
            self.turn()
            self.notify.notify("WATCHDOG=1")
            if self._presence is not None:
                self._presence.beat()
            if self._drained(once):
                return True
            self._rest()
        return False

    def close(self) -> None:
        """Ends jobs and journals; claimed markers stay for the next start."""
        self.notify.notify("STOPPING=1")
        self.jobs.close()
        self.ledger.close()
        if self._watch is not None:
            self._watch.close()

    def turn(self) -> None:
        """One pass: results, head, claims, jobs, settlements."""
        self.worked = False
        self._collect()
        self.take_in.look()
        self.take_in.finish()
        self._follow_head()
        self._load_rejects()
        for claimed in self.spool.claim():
            self._accept(claimed)
        self.placing.place()
        if not self._quarantine():
            self._start_controls()
            self._start_gates()
            self._start_filters()
        self.worked |= self.settler.settle(self.desk) > 0
        if self._pulse.due():
            self._pulse.say((_named(*entry) for entry in self._running.values()), self.desk.counts())

    def _accept(self, claimed: Claimed, *, recovered: bool = False) -> None:
        marker = claimed.marker
        self.worked = True
        self.settler.take(claimed)
        self.ledger.step("claim", marker=marker.id, wave=marker.wave, drafts=len(marker.drafts), recovered=recovered)
        log.info(
            "CLAIMED marker=%s wave=%s drafts=%d recovered=%s", marker.id, marker.wave, len(marker.drafts), recovered
        )
        for item in self.intake.items(claimed):
            self.desk.add(item)

    def _load_rejects(self) -> None:
        """Shape rejects of earlier lives, once the stubs of every binary are known."""
        if self._rejects_loaded or not self.controls.settled():
            return
        self._rejects_loaded = True
        for item in self.intake.rejects():
            self.rejects.keep(item)

    def _follow_head(self) -> None:
        head = self.landing.head()
        listed = self.controls.follow_red()
        if head == self.controls.commit and not listed:
            return
        if head != self.controls.commit:
            self.controls.at(head)
        self._refresh_stubs()

    def _refresh_stubs(self) -> None:
        self.stubs.refresh(self.controls.commit, self.controls.green())
        for item in self.desk.items.values():
            if item.stage in (Stage.NEW, Stage.QUEUED, Stage.WAITING) and item.place is not None:
                item.place = self.stubs.open.get(item.key)

    def wait(self, item: Item, why: str, reason: str) -> None:
        """Puts a draft into the waiting room, durably; its marker may settle."""
        self.verdicts.waiting(item, why, reason, self.controls.commit)
        self.room.put(item, reason)
        self.worked = True

    def _quarantine(self) -> bool:
        """After a worker's death its drafts are judged one by one with an empty pool. True while that goes on."""
        suspects = self.desk.suspects()
        if suspects and not self.jobs.running:
            item = suspects[0]
            assert item.place is not None
            if self.controls.not_green(item.place.binaries):
                self._start_controls()
            else:
                self._filter(item.place.tu, [item], [], alone=True)
        return bool(suspects) or any(item.suspect for item in self.desk.at(Stage.FILTERING))

    def _start_controls(self) -> None:
        for binary in self.controls.due():
            if self.jobs.free() <= 0:
                return
            self.controls.started(binary)
            clean = self.controls.listed(binary)
            self._submit(Control(binary), control_job, binary, self.controls.commit, self.slots, clean)
        for binary in self.take_in.due():
            if self.jobs.free() <= 0:
                return
            self.take_in.running.add(binary)
            self._submit(Control(binary, candidate=True), control_job, binary, self.take_in.candidate, self.slots)

    def is_batch(self, binaries: tuple[str, ...]) -> bool:
        """Whether one of them is on the batch lane."""
        return any(self.campaign.binaries[name].lane == "batch" for name in binaries)

    def _start_gates(self) -> None:
        idle = not self.desk.active() and not self.spool.waiting()
        due = self.cadence.due(self.desk, idle=idle)
        queued = self.desk.queue(batch=due, now=time.monotonic())
        for binaries, slate in self.desk.slates(queued, self.busy, self.campaign.gate.batch_max):
            if self.jobs.free() <= 0:
                return
            if self.controls.not_green(binaries):
                continue
            slate = self.outcomes.without_conflicts(slate)
            self.gates += 1
            gate = f"g{os.getpid()}-{self.gates:05d}"
            for item in slate:
                item.stage = Stage.GATING
            self.busy.update(binaries)
            batch = self.is_batch(binaries)
            commit = self.controls.commit
            self.ledger.step("gate", gate=gate, binaries=list(binaries), slate=len(slate), base=commit)
            log.info("GATE gate=%s binaries=%s slate=%d base=%s", gate, "+".join(binaries), len(slate), commit[:12])
            self._submit(
                Gating(gate, binaries, slate, commit),
                gate_job,
                commit,
                binaries,
                self.controls.paths(binaries),
                [_entry(item) for item in slate],
                gate,
                "batch" if batch else "gate",
                self.slots,
            )

    def _start_filters(self) -> None:
        for tu, items in self.desk.filter_batches(self.filtering, self.rejudge, time.monotonic()):
            if self.jobs.free() <= 0:
                return
            binaries = self.stubs.owners.get(tu, ())
            if self.controls.not_green(binaries):
                continue
            self.rejudge.discard(tu)
            rejects = [item for item in self.rejects.of(tu) if item.key in self.stubs.open]
            if not items and not rejects:
                continue
            self._filter(tu, items, rejects)

    def _filter(self, tu: str, items: list[Item], rejects: list[Item], *, alone: bool = False) -> None:
        self.filtering.add(tu)
        for item in items:
            item.stage = Stage.FILTERING
        self._submit(
            Filtering(tu, items, rejects, self.controls.commit, alone),
            filter_job,
            self.controls.commit,
            tu,
            self.controls.paths(self.stubs.owners[tu]),
            [_entry(item) for item in items],
            [_entry(item) for item in rejects],
            self.slots,
        )

    def _submit(self, context: Context, job: Any, *args: Any) -> None:
        self.worked = True
        self._running[id(context)] = (context, time.monotonic())
        self.jobs.submit(job, self.campaign, self.state, *args, done=partial(self._done, context))

    def _done(self, context: Context, future: Future[Any]) -> None:
        self._results.put((context, future))
        if self._watch is not None:
            self._watch.wake()

    def _collect(self) -> None:
        while not self._results.empty():
            context, future = self._results.get()
            self.jobs.finished()
            self._running.pop(id(context), None)
            self.worked = True
            error = future.exception()
            if isinstance(error, DiskFull):
                raise error
            match context:
                case Control():
                    self._control(context, future, error)
                case Filtering():
                    self.filtering.discard(context.tu)
                    self.outcomes.filtered(context, None if error else future.result(), error)
                case Gating():
                    self.busy.difference_update(context.binaries)
                    self.outcomes.gated(context, None if error else future.result(), error)

    def _control(self, job: Control, future: Future[Any], error: BaseException | None) -> None:
        if error is not None:
            log.error("CONTROL-FAULT binary=%s reason=%r", job.binary, str(error))
            self.take_in.running.discard(job.binary)
            self.controls.failed(job.binary)
            return
        result = future.result()
        kind = "candidate" if job.candidate else "control"
        self.ledger.step(
            kind, binary=job.binary, commit=result.commit, state=result.state, wall_s=round(result.wall_s, 3)
        )
        if job.candidate:
            self.take_in.take(result)
            return
        self.controls.take(result)
        self._note_control(result)
        self._refresh_stubs()

    def _note_control(self, result: ControlResult) -> None:
        if result.state == "red":
            digest = self.controls.by_binary[result.binary].digest
            entry = Red(result.commit, result.reason, utc_now(), digest=digest)
            redlist.red(self.state, result.binary, entry, "control", result.wall_s)
        elif result.state == "green":
            redlist.green(self.state, [result.binary], result.commit, "control", result.wall_s)

    def _drained(self, once: bool) -> bool:
        if self.desk.active() or self.settler.claimed or self.jobs.running or self.spool.waiting():
            return False
        if self.rejudge or self.take_in.candidate or self.desk.queue(batch=True, now=math.inf):
            return False
        if once:
            return self.controls.settled()
        return self.state.stopping() and not is_locked(self.state.locks / "drafter.lock")

    def _rest(self) -> None:
        if not self.worked and self._watch is not None:
            self._watch.wait(min(1.0, self.campaign.gate.scan_s))


def _named(context: Context, started: float) -> tuple[str, str, float]:
    match context:
        case Control():
            return f"control binary={context.binary}", "", started
        case Filtering():
            return f"filter tu={context.tu} drafts={len(context.items)}", "", started
        case Gating():
            return f"gate={context.gate} binaries={'+'.join(context.binaries)}", context.gate, started


def _entry(item: Item) -> Entry:
    assert item.place is not None
    return Entry(item.ref.id, item.ref.function, item.place.tu, item.text)
