"""What follows from a job's result: verdict rows, a landing, drafts given back, rejects judged again."""

from __future__ import annotations

import logging
import re
import time
from collections import Counter
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gater.desk import Item, Stage
from gater.gatecache import GateCache
from gater.jobs import FilterResult, GateResult
from gater.land import Green, Landed, Moved
from gater.rows import BatchRow
from shared import redlist
from shared.errors import CampaignError, DiskFull
from shared.failpoint import failpoint
from shared.oracle.symbolset import set_conflicts
from shared.records import GateVerdict, Judgement, Verdict
from shared.state import utc_now

if TYPE_CHECKING:
    from gater.daemon import Gater

log = logging.getLogger(__name__)

NO_SPACE = re.compile(r"No space left|Errno 28|no space left|Disk quota exceeded")
REST_S = 2.0
"""Rest after a first fault, in seconds; four times as long after the second."""
MAX_FAULTS = 3
"""After this many faults a draft is a quarantined FAULT and its marker goes on."""


@dataclass(frozen=True)
class Filtering:
    """A filter job under way."""

    tu: str
    items: list[Item]
    rejects: list[Item]
    commit: str
    alone: bool = False  # nothing else was in the pool


@dataclass(frozen=True)
class Gating:
    """A gate job under way."""

    gate: str
    binaries: tuple[str, ...]
    slate: list[Item]
    commit: str


class Outcomes:
    """Applies results to the gater's desk, journals and landing branch."""

    def __init__(self, gater: Gater) -> None:
        self.gater = gater

    def filtered(self, job: Filtering, result: FilterResult | None, error: BaseException | None) -> None:
        """Rows for every judged draft; kept rejects that agree as a group come back in hand."""
        gater, tu, items, commit = self.gater, job.tu, job.items, job.commit
        if result is None:
            self._filter_fault(job, str(error), died=isinstance(error, BrokenProcessPool))
            return
        for item in items:
            judgement = result.judgements.get(item.ref.id) or Judgement(Verdict.FAULT, "the filter gave no verdict")
            if judgement.verdict is Verdict.FAULT:
                self._fault(item, judgement.reason)
                if item.faults < MAX_FAULTS:
                    item.stage = Stage.NEW
                    continue
            gater.verdicts.filtered(item, judgement, commit)
            if judgement.passed:
                self._passed(item)
            else:
                gater.rejects.keep(item)
                self.final(item)
        for reject in job.rejects:
            revived = result.revived.get(reject.ref.id)
            if revived is not None and revived.passed:
                gater.rejects.take(reject)
                reject.revived = reject.ref.id not in gater.desk.items
                gater.desk.add(reject)
                gater.verdicts.filtered(reject, revived, commit)
                self._passed(reject)
        counts = Counter(item.judgement.verdict.value for item in items if item.judgement)
        gater.ledger.step("filter", tu=tu, drafts=len(items), verdicts=dict(counts), wall_s=result.wall_s)
        log.info("FILTERED tu=%s drafts=%d verdicts=%s wall_s=%.2f", tu, len(items), dict(counts), result.wall_s)

    def gated(self, job: Gating, result: GateResult | None, error: BaseException | None) -> None:
        """Lands what is green the moment it is green; the rest gets its verdict."""
        gater, gate, slate, commit = self.gater, job.gate, job.slate, job.commit
        if result is None:
            log.error("GATE-FAULT gate=%s binaries=%s reason=%r", gate, "+".join(job.binaries), str(error))
            for item in slate:
                self._gate_fault(item, str(error), commit, gate)
            return
        by_id = {item.ref.id: item for item in slate}
        green = [by_id[name] for name, (verdict, _) in result.verdicts.items() if verdict is GateVerdict.BANKED]
        landed: Landed | None = None
        if green:
            failpoint("gate.green")
            landed = self._land(gate, commit, green, result)
        verdicts: Counter[str] = Counter()
        for name, (verdict, reason) in result.verdicts.items():
            item = by_id[name]
            if verdict is GateVerdict.BANKED:
                if landed is not None:
                    gater.verdicts.gated(item, verdict, reason, commit, gate=gate, commit=landed.commit)
                    verdicts[verdict.value] += 1
                    self._banked(item, landed.commit)
            elif verdict is GateVerdict.FAULT:
                self._gate_fault(item, reason, commit, gate)
            elif verdict is GateVerdict.INTERACTION and not item.interactions:
                item.interactions += 1
                item.stage = Stage.NEW
            else:
                gater.verdicts.gated(item, verdict, reason, commit, gate=gate)
                verdicts[verdict.value] += 1
                self.final(item)
        self._batch_row(job, result, landed, dict(verdicts))

    def without_conflicts(self, slate: list[Item]) -> list[Item]:
        """The slate less the drafts whose objects contradict another's names: no build is spent on those."""
        agreed = {item.ref.id: item.judgement for item in slate if item.judgement}
        conflicts = set_conflicts(agreed)
        for item in slate:
            if item.ref.id in conflicts:
                self.gater.verdicts.filtered(item, conflicts[item.ref.id], self.gater.controls.commit)
                self.final(item)
        return [item for item in slate if item.ref.id not in conflicts]

    def final(self, item: Item) -> None:
        """A draft is through: it no longer waits on disk, and leaves our hands if its marker has."""
        self.gater.room.leave(item)
        if item.marker not in self.gater.settler.claimed:
            self.gater.desk.forget([item])

    def _passed(self, item: Item) -> None:
        """Drafts of a batch binary wait, durably, for their binary's own cadence; their marker need not."""
        if item.place is not None and self.gater.is_batch(item.place.binaries):
            self.gater.wait(item, "batch", "its binary is gated on its own cadence")

    def _requeue(self, item: Item) -> None:
        item.stage = Stage.WAITING if item.why_waiting == "batch" else Stage.QUEUED

    def _land(self, gate: str, commit: str, green: list[Item], result: GateResult) -> Landed | None:
        gater = self.gater
        drafts = tuple((item.place.tu, item.ref) for item in green if item.place)
        markers = tuple(sorted({item.marker for item in green if item.marker}))
        wave = max(item.wave for item in green)
        proven = Green(commit, result.files, drafts, result.hashes, wave, markers)
        try:
            landed = gater.landing.land(proven)
        except Moved as moved:
            log.info("REGATE gate=%s drafts=%d reason=%r", gate, len(green), str(moved))
            for item in green:
                self._requeue(item)
            return None
        except CampaignError as error:
            log.error("LAND-FAULT gate=%s reason=%r", gate, str(error))
            for item in green:
                self._gate_fault(item, str(error), commit, gate)
            return None
        gater.controls.at(landed.commit)
        for binary, path in result.bases.items():
            gater.controls.adopt(binary, path)
        GateCache(gater.state.cache / "gates").drop(result.key)
        redlist.green(gater.state, sorted(result.bases), landed.commit, "gate", result.wall_s)
        gater.stubs.refresh(landed.commit, gater.controls.green())
        log.info("LANDED gate=%s commit=%s banked=%d follow=%r", gate, landed.commit[:12], len(green), landed.followed)
        return landed

    def _banked(self, item: Item, commit: str) -> None:
        gater = self.gater
        self.final(item)
        gater.rejects.drop(item.key)
        if item.place is not None and gater.rejects.of(item.place.tu):
            gater.rejudge.add(item.place.tu)
        for rival in gater.desk.rivals(item):
            if rival.stage in (Stage.QUEUED, Stage.WAITING):
                gater.verdicts.gated(
                    rival, GateVerdict.SUPERSEDED, f"a sibling draft was banked as {commit[:12]}", commit
                )
                self.final(rival)

    def _fault(self, item: Item, reason: str) -> None:
        """Counts a fault, gives the trouble time to pass. Raises DiskFull: the gater ends, its markers stay claimed."""
        if NO_SPACE.search(reason):
            raise DiskFull(
                f"no space left to judge {item.ref.id}: {reason}; free some and start again, nothing was lost"
            )
        item.faults += 1
        item.rests_until = time.monotonic() + REST_S * 4 ** (item.faults - 1)
        self.gater.controls.recheck()

    def _gate_fault(self, item: Item, reason: str, commit: str, gate: str) -> None:
        self._fault(item, reason)
        if item.faults < MAX_FAULTS:
            self._requeue(item)
            return
        self.gater.verdicts.gated(item, GateVerdict.FAULT, f"{item.faults} faults: {reason}", commit, gate=gate)
        self.final(item)

    def _filter_fault(self, job: Filtering, reason: str, *, died: bool) -> None:
        """A death may be the doing of any draft in the pool: only one that dies alone again and again is to blame."""
        log.error("FILTER-FAULT tu=%s drafts=%d died=%s reason=%r", job.tu, len(job.items), died, reason)
        for item in job.items:
            item.stage = Stage.NEW
            item.suspect |= died
            if not died or job.alone:
                self._fault(item, reason)
            if item.faults >= MAX_FAULTS:
                self.gater.verdicts.filtered(item, Judgement(Verdict.FAULT, reason), self.gater.controls.commit)
                self.final(item)

    def _batch_row(self, job: Gating, result: GateResult, landed: Landed | None, verdicts: dict[str, int]) -> None:
        row = BatchRow(
            at=utc_now(),
            gate=job.gate,
            binaries=list(job.binaries),
            base=job.commit,
            slate=len(job.slate),
            verdicts=verdicts,
            banked=verdicts.get("BANKED", 0),
            commit=landed.commit if landed else "",
            builds=result.builds,
            clean_builds=result.clean_builds,
            wall_s=round(result.wall_s, 3),
            markers=sorted({item.marker for item in job.slate if item.marker}),
            mode=self.gater.ledger.mode,
            hashes=dict(result.hashes),
            stale_state=result.stale_state,
            followed=landed.followed if landed else "",
            key=result.key,
            cached=result.cached,
        )
        self.gater.ledger.batch(row)
