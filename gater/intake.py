"""From a claimed marker to drafts in hand: what each one is for, and whether it is settled already.

Effect once is read from the source: a draft whose stub is gone from the landing head is banked if a landing commit
carries its digest, else somebody else's work is there (ALREADY, or NOT-A-STUB when it never passed).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gater.credit import Credits
from gater.desk import Item, Stage
from gater.ledger import Ledger
from gater.rows import BatchRow
from gater.stubs import StubIndex
from gater.verdicts import Verdicts
from gater.waiting import WaitingRoom
from shared.config import Campaign
from shared.oracle.hygiene import normalise
from shared.oracle.quality import added_declarations, ugliness
from shared.records import DraftRef, GateVerdict, Judgement, Verdict
from shared.spool import Claimed
from shared.state import StateDir, utc_now

PASSED_BEFORE = Judgement(Verdict.AGREE, "passed the filter before this start")


@dataclass
class Intake:
    """Makes items of markers and waiting drafts, and places them on the current stub index."""

    campaign: Campaign
    state: StateDir
    stubs: StubIndex
    credits: Credits
    ledger: Ledger
    verdicts: Verdicts
    room: WaitingRoom
    _order: int = field(default=0)

    def items(self, claimed: Claimed) -> Iterator[Item]:
        """The drafts of a marker, in its order."""
        for ref in claimed.marker.drafts:
            text = self.state.resolve(ref.path).read_bytes()
            yield self.item(ref, claimed.marker.id, claimed.marker.wave, text)

    def waiting(self) -> Iterator[Item]:
        """The drafts that wait on disk; their markers are settled."""
        for record, text in self.room.all():
            item = self.item(record.ref, record.marker, record.wave, text)
            item.stage, item.why_waiting, item.verdict = Stage.WAITING, record.why, GateVerdict.WAITING.value
            yield item

    def item(self, ref: DraftRef, marker: str, wave: str, text: bytes) -> Item:
        """One draft in hand, not yet placed."""
        self._order += 1
        text = normalise(text)
        item = Item(ref, marker, wave, self._order, text)
        item.quality = (added_declarations(text), ugliness(text))
        return item

    def place(self, item: Item) -> None:
        """Finds the stub a draft is for. Leaves it NEW with a place, or DONE with its verdict and reason."""
        if item.ref.binary not in self.campaign.binaries:
            self._refuse(
                item, Verdict.REFUSED, f"the draft's record names no binary of this project: {item.ref.binary!r}"
            )
            return
        twice = self.stubs.twice.get(item.key)
        if twice is not None:
            places = " and ".join(twice)
            self._refuse(item, Verdict.REFUSED, f"{item.ref.function} is open twice in {item.ref.binary}: {places}")
            return
        item.place = self.stubs.open.get(item.key)
        if item.place is None:
            self._gone(item)

    def _gone(self, item: Item) -> None:
        base = self.stubs.commit
        commit = self.credits.commit_of(item.ref)
        if commit is not None and self.ledger.banked_as(item.ref) in (None, item.ref.id):
            self._assure_batch(commit, item)
            item.judgement = item.judgement or PASSED_BEFORE
            reason = f"its commit {commit[:12]} is on the landing branch"
            self.verdicts.gated(item, GateVerdict.BANKED, reason, base, commit=commit)
            return
        known = self.ledger.standing.get(item.ref.id)
        passed = item.judgement is not None and item.judgement.passed
        if (
            commit is not None
            or passed
            or (known is not None and (known.stage == "gate" or known.verdict == Verdict.AGREE.value))
        ):
            item.judgement = item.judgement or PASSED_BEFORE
            self.verdicts.gated(item, GateVerdict.ALREADY, "the stub is gone: another body is committed", base)
            return
        what = f"{item.ref.function} is not an open stub of {item.ref.binary} at {base[:12]}"
        self._refuse(item, Verdict.NOT_A_STUB, what)

    def _assure_batch(self, commit: str, item: Item) -> None:
        """A landing whose batch row a death ate gets one, marked recovered."""
        if commit in self.ledger.landed:
            return
        banked = self.credits.banked_by(commit)
        row = BatchRow(
            at=utc_now(),
            gate="recovered",
            binaries=list(item.place.binaries) if item.place else [item.ref.binary],
            base="",
            slate=banked,
            verdicts={GateVerdict.BANKED.value: banked},
            banked=banked,
            commit=commit,
            builds=0,
            clean_builds=0,
            wall_s=0.0,
            markers=[item.marker],
            mode=self.ledger.mode,
            recovered=True,
        )
        self.ledger.batch(row)

    def rejects(self) -> Iterator[Item]:
        """Drafts refused for their shape in earlier lives whose stub is still open."""
        for row in self.ledger.standing.values():
            place = self.stubs.open.get((row.binary, row.function))
            if row.verdict != Verdict.SHAPE.value or place is None:
                continue
            path = self.state.resolve(row.path)
            if not path.is_file():
                continue
            text = path.read_bytes()
            ref = DraftRef(
                row.id,
                row.binary,
                row.function,
                row.attempt,
                row.path,
                row.digest,
                len(text),
                backend=row.backend,
                model=row.model,
            )
            item = self.item(ref, row.marker, row.wave, text)
            item.place, item.stage, item.verdict = place, Stage.DONE, row.verdict
            item.judgement = Judgement(Verdict.SHAPE, row.reason, row.closeness, row.words)
            yield item

    def _refuse(self, item: Item, verdict: Verdict, reason: str) -> None:
        self.verdicts.filtered(item, Judgement(verdict, reason), self.stubs.commit, oracle="source")
