"""Turns what is decided about a draft into its row, through one function for every mode."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from gater.desk import Item, Stage
from gater.harvest import Harvest
from gater.ledger import Ledger
from gater.rows import DraftRow
from shared.records import GateVerdict, Judgement
from shared.state import utc_now

log = logging.getLogger(__name__)


@dataclass
class Verdicts:
    """Writes verdict rows and moves items to their end."""

    ledger: Ledger
    harvest: Harvest

    def filtered(self, item: Item, judgement: Judgement, base: str, oracle: str = "virtual link") -> None:
        """The filter's word. Anything but AGREE is final."""
        item.judgement = judgement
        item.verdict = judgement.verdict.value
        item.stage = Stage.QUEUED if judgement.passed else Stage.DONE
        self._write(item, "filter", oracle, judgement.verdict.value, judgement.reason, base)
        if not judgement.passed:
            log.info(
                "REFUSED draft=%s function=%s/%s verdict=%s reason=%r",
                item.ref.id,
                item.ref.binary,
                item.ref.function,
                judgement.verdict.value,
                judgement.reason[:200],
            )

    def gated(
        self, item: Item, verdict: GateVerdict, reason: str, base: str, *, gate: str = "", commit: str = ""
    ) -> None:
        """The gate's word, final."""
        item.verdict = verdict.value
        item.commit = commit
        item.stage = Stage.DONE
        oracle = "build" if gate else "source"
        self._write(item, "gate", oracle, verdict.value, reason, base, gate=gate, commit=commit)
        if verdict is GateVerdict.BANKED:
            self.harvest.take(item.ref, commit)

    def waiting(self, item: Item, why: str, reason: str, base: str) -> None:
        """Passed or not yet judged, and may not be gated now."""
        item.why_waiting = why
        item.verdict = GateVerdict.WAITING.value
        item.stage = Stage.WAITING
        self._write(item, "gate", "build" if why == "red" else "rule", item.verdict, f"{why}: {reason}", base)

    def _write(
        self,
        item: Item,
        stage: str,
        oracle: str,
        verdict: str,
        reason: str,
        base: str,
        *,
        gate: str = "",
        commit: str = "",
    ) -> None:
        judged = item.judgement if stage == "filter" else None
        known = self.ledger.standing.get(item.ref.id)
        self.ledger.verdict(
            DraftRow(
                at=utc_now(),
                mode=self.ledger.mode,
                stage=stage,
                oracle=oracle,
                verdict=verdict,
                reason=reason,
                id=item.ref.id,
                digest=item.ref.digest,
                path=item.ref.path,
                binary=item.ref.binary,
                function=item.ref.function,
                marker=item.marker,
                wave=item.wave,
                tu=item.place.tu if item.place else known.tu if known else "",
                base=base,
                closeness=judged.closeness if judged else None,
                words=judged.words if judged else None,
                evidence=judged.evidence if judged else (),
                key=judged.key if judged else "",
                cached=judged.cached if judged else False,
                gate=gate,
                commit=commit,
                attempt=item.ref.attempt,
                backend=item.ref.backend,
                model=item.ref.model,
                unfinished=item.ref.unfinished,
                revived=item.revived,
            )
        )
