"""Time as the daemon sees it. Waits use the monotonic clock, stamps are UTC; order comes from neither."""

from __future__ import annotations

import time
from typing import Protocol

from shared.state import utc_now


class Clock(Protocol):
    """What the scheduler asks of time, so that a night can be run in minutes."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never jumps (field report F36)."""
        ...

    def wait(self, seconds: float) -> None:
        """Lets `seconds` pass."""
        ...

    def stamp(self) -> str:
        """UTC now, for records."""
        ...


class RealClock:
    """The machine's own clock."""

    def monotonic(self) -> float:
        """As time.monotonic."""
        return time.monotonic()

    def wait(self, seconds: float) -> None:
        """Sleeps; a signal handler runs meanwhile and the rest is slept."""
        time.sleep(seconds)

    def stamp(self) -> str:
        """As shared.state.utc_now."""
        return utc_now()
