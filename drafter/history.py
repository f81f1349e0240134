"""What earlier waves made of each card: how often it was drawn, which draft was nearest, and what refused it.

Folded from the rows of the waves and of the gater; nothing here is stored.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from shared.records import AgentRow

FREE_OUTCOMES = frozenset({"cancelled", "failed"})
"""Ends that say nothing about the function: another attempt agreed, or the machinery failed (field report F72)."""

FREE_VERDICTS = frozenset({"FAULT", "INTERACTION", "BASELINE-RED", "SUPERSEDED", "WAITING"})
"""Standing verdicts of the gater that cost no try: the draft was not found wanting."""

PATIENCE = 3
"""Draws per try at most: a card whose attempts all end free is drawn at most tries x PATIENCE times."""

_FAR = 1 << 30
_RANK = {"BANKED": 0, "AGREE": 0, "MISMATCH": 1, "UNRESOLVED": 2, "ORPHANS-SYMBOL": 2, "TU-CONFLICT": 3, "MISMATCH?": 4}


@dataclass(frozen=True)
class BestDraft:
    """The nearest draft so far. `path` is relative to the state directory."""

    rank: tuple[int, int]
    path: str
    reason: str
    id: str


@dataclass
class _Past:
    drawn: set[int] = field(default_factory=set)
    costly: set[int] = field(default_factory=set)
    free: set[int] = field(default_factory=set)
    best: BestDraft | None = None


class History:
    """Attempts by (binary, function)."""

    def __init__(self) -> None:
        self._past: dict[tuple[str, str], _Past] = {}

    def drawn(self, key: tuple[str, str]) -> int:
        """Waves the card was drawn in."""
        past = self._past.get(key)
        return len(past.drawn) if past else 0

    def spent(self, key: tuple[str, str]) -> int:
        """Tries the card has used up."""
        past = self._past.get(key)
        if past is None:
            return 0
        return max(len(past.costly - past.free), len(past.drawn) // PATIENCE)

    def best(self, key: tuple[str, str]) -> BestDraft | None:
        """The nearest draft of earlier waves."""
        past = self._past.get(key)
        return past.best if past else None

    def draw(self, key: tuple[str, str], wave: int) -> None:
        """The card is in wave `wave`."""
        self._past.setdefault(key, _Past()).drawn.add(wave)

    def row(self, row: AgentRow, wave: int) -> None:
        """An agent ended."""
        past = self._past.setdefault((row.binary, row.function), _Past())
        if row.outcome not in FREE_OUTCOMES:
            past.costly.add(wave)
        if row.path:
            rank = (_RANK.get(row.verdict, 5), _FAR if row.closeness is None else row.closeness)
            if past.best is None or rank <= past.best.rank:
                near = "" if row.closeness is None else f" (closeness {row.closeness})"
                past.best = BestDraft(rank, row.path, f"{row.verdict or 'not judged'}{near}", row.id)

    def judged(self, key: tuple[str, str], wave: int, draft: str, verdict: str, reason: str) -> None:
        """The gater's standing verdict on a draft changed."""
        past = self._past.setdefault(key, _Past())
        if verdict in FREE_VERDICTS:
            past.free.add(wave)
        else:
            past.free.discard(wave)
        if past.best is not None and past.best.id == draft:
            past.best = BestDraft(past.best.rank, past.best.path, f"{verdict}: {reason}", draft)
