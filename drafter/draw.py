"""One draw: which open cards become the next wave. Pure: everything it needs comes in, nothing is read or written.

Rotation comes from the wave number alone, and the number from the waves on disk, so no restart can make one lane starve
(field report F58): lane = turn mod lanes, band = (turn div lanes) mod that lane's bands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from drafter.history import History
from shared.config import Lane
from shared.records import Card

Key: TypeAlias = tuple[str, str]
"""(binary, function): what identifies a card."""

IN_FLIGHT = "IN-FLIGHT"
RED = "RED"
HELD = "HELD"
TRIES = "TRIES"
NO_LANE = "NO-LANE"
OTHER_TURN = "OTHER-TURN"
WAVE_FULL = "WAVE-FULL"


@dataclass(frozen=True)
class Refused:
    """An open stub that cannot be drafted, and why."""

    binary: str
    function: str
    reason: str
    detail: str = ""


@dataclass(frozen=True)
class Frontier:
    """All open stubs at one commit: those that can be cards, and those refused with a counted reason."""

    commit: str
    cards: tuple[Card, ...]
    refused: tuple[Refused, ...] = ()

    @property
    def total(self) -> int:
        """Open stubs."""
        return len(self.cards) + len(self.refused)


@dataclass(frozen=True)
class Turn:
    """Whose turn a wave is."""

    lane: str
    band: tuple[int, int]


@dataclass(frozen=True)
class Limits:
    """What bounds a draw."""

    cards: int
    tries: int


@dataclass(frozen=True)
class Plan:
    """A draw before it is written. `drawable` counts cards that some lane and band could draw now."""

    turn: Turn
    commit: str
    kept: tuple[Card, ...]
    skipped: dict[str, int]
    drawable: int
    frontier: int

    @property
    def balanced(self) -> bool:
        """kept + skipped = frontier."""
        return len(self.kept) + sum(self.skipped.values()) == self.frontier


def turn_of(lanes: Mapping[str, Lane], number: int) -> Turn:
    """Lane and band of wave `number` (the first wave is number 1)."""
    names = list(lanes)
    index = number - 1
    lane = names[index % len(names)]
    bands = lanes[lane].bands
    return Turn(lane, bands[(index // len(names)) % len(bands)])


def turns(lanes: Mapping[str, Lane]) -> int:
    """After how many waves every (lane, band) pair had its turn."""
    return len(lanes) * max(len(lane.bands) for lane in lanes.values())


def plan(
    frontier: Frontier,
    history: History,
    in_flight: Set[Key],
    red: Set[str],
    lanes: Mapping[str, Lane],
    number: int,
    limits: Limits,
    held: Callable[[str, str], str] = lambda *_: "",
) -> Plan:
    """The cards of wave `number`: unbanked ones return, fewer attempts first, concentrated in few (binary, TU) groups.

    Every stub of the frontier is kept or skipped for exactly one reason. `held(binary, tu)` says why a person put a
    stub aside, "" when nobody did.
    """
    turn = turn_of(lanes, number)
    skipped: Counter[str] = Counter(refused.reason for refused in frontier.refused)
    bands = [band for lane in lanes.values() for band in lane.bands]
    mine: list[Card] = []
    drawable = 0
    for card in frontier.cards:
        reason = _obstacle(card, history, in_flight, red, bands, limits)
        if not reason and held(card.binary, card.tu):
            reason = HELD
        if reason:
            skipped[reason] += 1
            continue
        drawable += 1
        if _within(card, turn.band):
            mine.append(card)
        else:
            skipped[OTHER_TURN] += 1
    kept = _order(mine, history)[: limits.cards]
    if len(mine) > len(kept):
        skipped[WAVE_FULL] += len(mine) - len(kept)
    fuelled = tuple(_with_best(card, history) for card in kept)
    return Plan(turn, frontier.commit, fuelled, dict(skipped), drawable, frontier.total)


def _obstacle(
    card: Card,
    history: History,
    in_flight: Set[Key],
    red: Set[str],
    bands: Iterable[tuple[int, int]],
    limits: Limits,
) -> str:
    if card.key in in_flight:
        return IN_FLIGHT
    if card.binary in red:
        return RED
    if history.spent(card.key) >= limits.tries:
        return TRIES
    if not any(_within(card, band) for band in bands):
        return NO_LANE
    return ""


def _within(card: Card, band: tuple[int, int]) -> bool:
    return band[0] <= card.instructions < band[1]


def _order(cards: list[Card], history: History) -> list[Card]:
    groups = Counter((card.binary, card.tu) for card in cards)
    return sorted(
        cards,
        key=lambda card: (
            history.drawn(card.key),
            -groups[(card.binary, card.tu)],
            card.binary,
            card.tu,
            card.address,
            card.function,
        ),
    )


def _with_best(card: Card, history: History) -> Card:
    best = history.best(card.key)
    if best is None:
        return card
    return msgspec.structs.replace(card, best=best.path, best_reason=best.reason)
