"""How long to wait before the next try: pure functions, jitter comes in as a number in [0, 1)."""

from __future__ import annotations


def delay(attempt: int, base_s: float, cap_s: float, roll: float, floor_s: float = 0.0) -> float:
    """Seconds before retry number `attempt` (0 = the first).

    Full jitter: uniform in [0, min(cap, base * 2^attempt)). `floor_s` (Retry-After) is never undercut and is obeyed
    even above the cap; jitter then comes on top, at most one base step, so that a crowd does not return as one.
    """
    ceiling = min(cap_s, base_s * 2.0 ** min(attempt, 60))
    if floor_s > 0:
        return floor_s + roll * min(ceiling, base_s)
    return roll * ceiling


def start_gap(to_start: int, window_s: float, longest_s: float = 0.5) -> float:
    """Seconds between two agent starts of a cold start that has `to_start` agents to bring up within `window_s`."""
    return min(longest_s, window_s / max(1, to_start))
