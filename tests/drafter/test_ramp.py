"""Shares of the workers and the speed of a cold start."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from drafter.ramp import Ramp, apportion, split


@given(
    workers=st.integers(1, 700),
    shares=st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0, 50), min_size=1),
)
def test_workers_are_split_by_share(workers: int, shares: dict[str, float]) -> None:
    live = {name: share for name, share in shares.items() if share > 0}
    counts = apportion(workers, shares)
    assert counts.keys() == live.keys()
    if live:
        assert all(count >= 1 for count in counts.values())
        assert sum(counts.values()) == max(workers, len(live))


def test_shares_are_proportions() -> None:
    assert apportion(640, {"a": 2, "b": 1, "c": 1}) == {"a": 320, "b": 160, "c": 160}
    assert apportion(10, {"a": 1, "b": 1, "c": 1}) == {"a": 4, "b": 3, "c": 3}
    assert apportion(4, {"a": 1000, "b": 1, "c": 0}) == {"a": 3, "b": 1}


@given(workers=st.integers(1, 2000), most=st.integers(1, 400))
def test_shards_are_few_and_even(workers: int, most: int) -> None:
    parts = split(workers, most)
    assert sum(parts) == workers
    assert max(parts) <= most
    assert max(parts) - min(parts) <= 1
    assert len(parts) == -(-workers // most)


def test_a_cold_start_takes_its_window_and_no_gap_is_longer_than_half_a_second() -> None:
    ramp = Ramp(240.0)
    assert ramp.ceiling(0.0, 0, 640) == 1
    assert ramp.ceiling(120.0, 300, 640) == 321
    assert ramp.ceiling(240.0, 639, 640) is None
    few = Ramp(240.0)
    assert few.ceiling(0.0, 0, 24) == 1
    assert few.ceiling(5.0, 0, 24) == 11


def test_a_warm_fleet_is_refilled_at_once_whatever_ended() -> None:
    ramp = Ramp(1.0)
    ramp.ceiling(0.0, 0, 100)
    assert ramp.ceiling(2.0, 90, 100) is None
    assert ramp.ceiling(3.0, 10, 100) is None
    ramp.sink(80, 100)
    assert ramp.ceiling(4.0, 80, 100) is None
    ramp.sink(10, 100)
    assert ramp.ceiling(5.0, 10, 100) == 11
