"""The agents' judge: the pre-filter's own verdict on one draft, with a diff a model can read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from shared.records import Card, Judgement


@dataclass(frozen=True)
class Look:
    """One oracle answer. `diff` is the aligned listing (mine | target), "" when there is nothing to compare."""

    judgement: Judgement
    diff: str = ""


class Oracle(Protocol):
    """Judges drafts outside the event loop's thread; at most so many at once on the whole machine."""

    async def judge(self, card: Card, code: str) -> Look:
        """The verdict on `code` for the card's stub. A broken instrument is a FAULT verdict, never an exception."""
        ...

    async def close(self) -> None:
        """Ends its helpers."""
        ...
