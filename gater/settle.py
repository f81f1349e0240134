"""Settling: a marker whose drafts are all final or waiting gets its ledger row and moves to done/."""

from __future__ import annotations

import logging
import time
from collections import Counter
from dataclasses import dataclass, field

from gater.desk import Desk, Item, Stage
from gater.ledger import Ledger
from gater.rows import MarkerRow
from shared.spool import Claimed, Spool
from shared.state import utc_now

log = logging.getLogger(__name__)


@dataclass
class Settler:
    """The markers in hand. Order of the three steps: ledger row, wave row, done/; each may be repeated."""

    spool: Spool
    ledger: Ledger
    claimed: dict[str, Claimed] = field(default_factory=dict)
    since: dict[str, float] = field(default_factory=dict)

    def take(self, claimed: Claimed) -> None:
        """Starts to follow a marker."""
        self.claimed[claimed.marker.id] = claimed
        self.since[claimed.marker.id] = time.monotonic()

    def settle(self, desk: Desk) -> int:
        """Settles every marker that can be, as one; returns how many. A wave's closing marker goes after its others."""
        by_marker: dict[str, list[Item]] = {marker: [] for marker in self.claimed}
        for item in desk.items.values():
            if item.marker in by_marker:
                by_marker[item.marker].append(item)
        unsettled = {
            marker
            for marker, items in by_marker.items()
            if any(item.stage not in (Stage.DONE, Stage.WAITING) for item in items)
        }
        open_waves = {self.claimed[marker].marker.wave for marker in unsettled}
        ready = [
            claimed
            for marker, claimed in self.claimed.items()
            if marker not in unsettled and not (claimed.marker.closing and claimed.marker.wave in open_waves)
        ]
        if not ready:
            return 0
        self.ledger.markers([self._row(claimed, by_marker[claimed.marker.id]) for claimed in ready])
        for claimed in ready:
            if claimed.marker.closing:
                self.ledger.wave(claimed.marker.wave)
        self.spool.settle(*ready)
        for claimed in ready:
            desk.forget(item for item in by_marker[claimed.marker.id] if item.stage is Stage.DONE)
            del self.claimed[claimed.marker.id]
        return len(ready)

    def _row(self, claimed: Claimed, items: list[Item]) -> MarkerRow:
        marker = claimed.marker
        filtered = Counter(i.judgement.verdict.value if i.judgement else "WAITING" for i in items)
        waiting = Counter(i.why_waiting for i in items if i.stage is Stage.WAITING)
        gated = Counter(i.verdict for i in items if i.stage is Stage.DONE and i.judgement and i.judgement.passed)
        row = MarkerRow(
            at=utc_now(),
            marker=marker.id,
            wave=marker.wave,
            drafts=len(items),
            filter=dict(filtered),
            gate=dict(gated),
            waiting=dict(waiting),
            banked=gated["BANKED"],
            commits=sorted({item.commit for item in items if item.commit}),
            wall_s=round(time.monotonic() - self.since[marker.id], 3),
            mode=self.ledger.mode,
        )
        log.info(
            "SETTLED marker=%s wave=%s banked=%d gated=%d drafts=%d wall_s=%.1f",
            marker.id,
            marker.wave,
            row.banked,
            sum(gated.values()),
            row.drafts,
            row.wall_s,
        )
        return row
