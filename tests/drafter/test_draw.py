"""One draw and the rotation over many: properties."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from drafter.draw import IN_FLIGHT, RED, TRIES, Frontier, Limits, Refused, plan, turn_of, turns
from drafter.history import PATIENCE, History
from shared.config import Lane
from shared.records import AgentRow, Card
from tests.drafter.sim import made_cards

CARDS = made_cards(60)
KEYS = st.sampled_from([card.key for card in CARDS])
BANDS = st.lists(st.tuples(st.integers(0, 40), st.integers(41, 80)), min_size=1, max_size=5)
LANES = st.dictionaries(st.sampled_from("abcd"), BANDS.map(lambda bands: Lane(bands=bands)), min_size=1)


def row(card: Card, wave: int, outcome: str = "near", closeness: int | None = None) -> AgentRow:
    """An agent's end on a card."""
    return AgentRow(
        id=f"w{wave:06d}-0000-1",
        binary=card.binary,
        function=card.function,
        attempt=1,
        outcome=outcome,
        path=f"waves/w{wave:06d}/drafts/x.c" if closeness is not None else "",
        verdict="MISMATCH?",
        closeness=closeness,
    )


@given(
    lanes=LANES,
    number=st.integers(1, 500),
    in_flight=st.sets(KEYS),
    red=st.sets(st.sampled_from(["main", "ovl"])),
    tired=st.lists(KEYS, max_size=120),
    cards=st.integers(1, 80),
    refused=st.integers(0, 5),
)
def test_every_stub_is_kept_or_skipped_once(lanes, number, in_flight, red, tired, cards, refused) -> None:  # type: ignore[no-untyped-def]
    history = History()
    by_key = {card.key: card for card in CARDS}
    for wave, key in enumerate(tired):
        history.draw(key, wave)
        history.row(row(by_key[key], wave), wave)
    frontier = Frontier("c", tuple(CARDS), tuple(Refused("main", f"r{i}", "NO-ASM") for i in range(refused)))
    planned = plan(frontier, history, in_flight, red, lanes, number, Limits(cards, 3))
    assert planned.balanced
    assert len(planned.kept) <= cards
    low, high = planned.turn.band
    for card in planned.kept:
        assert card.key not in in_flight
        assert card.binary not in red
        assert history.spent(card.key) < 3
        assert low <= card.instructions < high
    drawn = [history.drawn(card.key) for card in planned.kept]
    assert drawn == sorted(drawn)
    assert planned.skipped.get("NO-ASM", 0) == refused
    assert planned.skipped.get(IN_FLIGHT, 0) == len(in_flight)


@settings(deadline=None)
@given(lanes=LANES, restarts=st.lists(st.integers(1, 9), min_size=50, max_size=50), start=st.integers(1, 1000))
def test_each_lane_and_band_gets_its_turn_over_50_restarts(lanes, restarts, start) -> None:  # type: ignore[no-untyped-def]
    # A restart keeps nothing but the number of the last wave on disk.
    number, seen = start, []
    for waves in restarts:
        seen += [turn_of(lanes, number + index) for index in range(waves)]
        number += waves
    period = turns(lanes)
    for first in range(len(seen) - period):
        window = Counter((turn.lane, turn.band) for turn in seen[first : first + period])
        assert set(window) == {(name, band) for name, lane in lanes.items() for band in lane.bands}
    share = Counter(turn.lane for turn in seen)
    assert max(share.values()) - min(share[name] for name in lanes) <= 1


def test_a_wave_is_concentrated_in_few_groups() -> None:
    frontier = Frontier("c", tuple(CARDS))
    planned = plan(frontier, History(), set(), set(), {"all": Lane(bands=[(0, 100)])}, 1, Limits(15, 3))
    assert len({(card.binary, card.tu) for card in planned.kept}) <= 4


def test_the_best_earlier_draft_comes_along() -> None:
    history, card = History(), CARDS[0]
    for wave, closeness in ((1, 9), (2, 3), (3, 7)):
        history.draw(card.key, wave)
        history.row(row(card, wave, closeness=closeness), wave)
    frontier = Frontier("c", (card,))
    (kept,) = plan(frontier, history, set(), set(), {"all": Lane(bands=[(0, 100)])}, 1, Limits(9, 9)).kept
    assert kept.best == "waves/w000002/drafts/x.c"
    assert "closeness 3" in kept.best_reason
    history.judged(card.key, 2, "w000002-0000-1", "TU-CONFLICT", "helper is declared twice")
    (kept,) = plan(frontier, history, set(), set(), {"all": Lane(bands=[(0, 100)])}, 1, Limits(9, 9)).kept
    assert kept.best_reason == "TU-CONFLICT: helper is declared twice"


def test_only_real_failures_cost_a_try() -> None:
    history, card = History(), CARDS[0]
    lanes = {"all": Lane(bands=[(0, 100)])}

    def draw() -> int:
        return len(plan(Frontier("c", (card,)), history, set(), set(), lanes, 1, Limits(9, 2)).kept)

    history.draw(card.key, 1)
    history.row(row(card, 1, "failed"), 1)
    history.draw(card.key, 2)
    history.row(row(card, 2, closeness=1), 2)
    history.judged(card.key, 2, "w000002-0000-1", "INTERACTION", "red together with others")
    assert history.spent(card.key) == 0
    assert draw() == 1
    for wave in (3, 4):
        history.draw(card.key, wave)
        history.row(row(card, wave), wave)
    assert draw() == 0
    endless = History()
    for wave in range(2 * PATIENCE):
        endless.draw(card.key, wave)
        endless.row(row(card, wave, "failed"), wave)
    skipped = plan(Frontier("c", (card,)), endless, set(), set(), lanes, 1, Limits(9, 2)).skipped
    assert skipped == {TRIES: 1}


def test_a_red_binary_is_skipped() -> None:
    planned = plan(
        Frontier("c", tuple(CARDS)), History(), set(), {"ovl"}, {"all": Lane(bands=[(0, 100)])}, 1, Limits(99, 9)
    )
    assert {card.binary for card in planned.kept} == {"main"}
    assert planned.skipped == {RED: sum(card.binary == "ovl" for card in CARDS)}
