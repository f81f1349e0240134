"""Which drafts in hand may be judged now: placed on the open stubs, not held by a person, not of a red binary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gater.desk import Item, Stage
from shared.holds import Holds

if TYPE_CHECKING:
    from gater.daemon import Gater


class Placing:
    """Moves drafts between NEW, QUEUED and WAITING as holds and null controls say."""

    def __init__(self, gater: Gater) -> None:
        self.gater = gater
        self.holds = Holds(gater.state)

    def place(self) -> None:
        """Looks at every draft that is not in a job."""
        self.holds.moved()
        for item in list(self.gater.desk.items.values()):
            if item.stage in (Stage.NEW, Stage.QUEUED, Stage.WAITING):
                self._one(item)

    def _one(self, item: Item) -> None:
        gater = self.gater
        known = gater.controls.by_binary.get(item.ref.binary)
        if known is not None and known.state in ("unknown", "running"):
            return
        if known is not None and known.base is None:
            if item.stage is not Stage.WAITING or item.why_waiting == "batch":
                gater.wait(item, "red", known.reason)
            return
        if item.place is None:
            gater.intake.place(item)
            if item.place is None:
                gater.outcomes.final(item)
                return
        why, reason = self._barred(item)
        if item.stage is Stage.WAITING and item.why_waiting in ("red", "held"):
            if not why:
                self._release(item)
            elif why != item.why_waiting:
                gater.wait(item, why, reason)
        elif why == "held" or (why and item.stage is not Stage.WAITING):
            gater.wait(item, why, reason)

    def _barred(self, item: Item) -> tuple[str, str]:
        """Why a placed draft may not be judged now, and the reason; ("", "") when it may."""
        assert item.place is not None
        for binary in item.place.binaries:
            held = self.holds.reason_for(binary, item.place.tu)
            if held:
                return "held", held
        red = self.gater.controls.not_green(item.place.binaries)
        return ("red", red) if red and red != "pending" else ("", "")

    def _release(self, item: Item) -> None:
        passed = item.judgement is not None and item.judgement.passed
        item.stage = Stage.QUEUED if passed else Stage.NEW
        if passed and item.place is not None and self.gater.is_batch(item.place.binaries):
            self.gater.wait(item, "batch", "its binary is gated on its own cadence")
