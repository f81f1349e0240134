"""How fast a cold fleet may fill: 572 agents started at once were answered with 64 % refusals (field report F71)."""

from __future__ import annotations

from collections.abc import Mapping

LONGEST_GAP_S = 0.5
COLD_SHARE = 0.25
"""A fleet short of more than this share of its set point is cold; anything less is refilled at once."""
FEW = 4


class Ramp:
    """The level the fleet may have now. It only limits growth: a freed slot is refilled at once.

    Gap between agent starts = min(0.5 s, window / agents to start), from the moment the fleet was found cold.
    """

    def __init__(self, window_s: float) -> None:
        self._window_s = window_s
        self._start: tuple[float, int, float] | None = None
        self._cold = True

    def sink(self, level: int, goal: int) -> None:
        """Agents ended and no work took their place: the fleet may be cold by now."""
        if goal - level > max(FEW, goal * COLD_SHARE):
            self._cold, self._start = True, None

    def ceiling(self, now: float, level: int, goal: int) -> int | None:
        """Most agents allowed in flight at monotonic time `now`, None when the ramp does not bind."""
        if not self._cold:
            return None
        if self._start is None:
            self._start = (now, level, min(LONGEST_GAP_S, self._window_s / max(1, goal - level)))
        start, base, gap = self._start
        ceiling = base + 1 + int((now - start) / gap)
        if ceiling < goal:
            return ceiling
        self._cold = False
        return None


def apportion(workers: int, shares: Mapping[str, float]) -> dict[str, int]:
    """`workers` split by share, largest remainders first; a pool with a positive share gets one at least.

    The sum is `workers`, or the number of pools with a positive share when there are more of those.
    """
    live = {name: share for name, share in shares.items() if share > 0}
    total = sum(live.values())
    exact = {name: workers * share / total for name, share in live.items()}
    counts = {name: max(1, int(value)) for name, value in exact.items()}
    by_remainder = sorted(live, key=lambda name: counts[name] - exact[name])
    for name in by_remainder:
        if sum(counts.values()) < workers:
            counts[name] += 1
    while sum(counts.values()) > workers and max(counts.values()) > 1:
        counts[max(counts, key=lambda name: counts[name] - exact[name] if counts[name] > 1 else float("-inf"))] -= 1
    return counts


def split(workers: int, most: int) -> list[int]:
    """`workers` in as few nearly equal parts of at most `most` as possible."""
    parts = -(-workers // most)
    return [workers // parts + (index < workers % parts) for index in range(parts)]
