"""The pool's breaker: stops all requests when none can work, and tries again by itself with one probe."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Breaker:
    """Open after a denial (401, 402, 403, 404), or after `dead_after` failures in a row over at least `dead_s` seconds.

    Open lets nothing through until `cool_s` has passed (doubling up to `cool_max_s` at each failed probe), then exactly
    one probe; its success closes the breaker. A stored reason carries its time, so that it can be shown as past (F69).
    All times are monotonic seconds given by the caller.
    """

    cool_s: float
    cool_max_s: float
    dead_s: float
    dead_after: int = 10
    reason: str = ""
    opened: int = 0
    _retry_at: float | None = None
    _next_cool_s: float = 0.0
    _probing: bool = False
    _row: int = 0
    _row_since: float = 0.0

    def wait(self, now: float) -> float | None:
        """0 = go; seconds until a probe is due; None = a probe is out, wait for its end."""
        if self._retry_at is None:
            return 0.0
        if self._probing:
            return None
        return max(0.0, self._retry_at - now)

    @property
    def open(self) -> bool:
        """Whether requests are held back (half-open included)."""
        return self._retry_at is not None

    def began(self) -> bool:
        """A request starts; True when it is the probe."""
        if self._retry_at is None:
            return False
        self._probing = True
        return True

    def succeeded(self) -> None:
        """Any answer that shows the endpoint serves us."""
        self._retry_at = None
        self._probing = False
        self._next_cool_s = 0.0
        self._row = 0
        self.reason = ""

    def denied(self, now: float, reason: str, at_least_s: float = 0.0) -> None:
        """The endpoint refuses us: open at once."""
        self._trip(now, reason, at_least_s)

    def failed(self, now: float, reason: str) -> None:
        """A server failure or cut connection: open when it looks dead."""
        if self._probing:
            self._trip(now, reason, 0.0)
            return
        if self._row == 0:
            self._row_since = now
        self._row += 1
        if self._retry_at is None and self._row >= self.dead_after and now - self._row_since >= self.dead_s:
            self._trip(now, reason, 0.0)

    def withdrawn(self) -> None:
        """The probe ended without an answer (its agent was ended): the next request may probe."""
        self._probing = False

    def _trip(self, now: float, reason: str, at_least_s: float) -> None:
        if self._retry_at is not None and not self._probing:
            return  # answers to requests sent before it opened say nothing new
        self.opened += 1
        self._next_cool_s = min(self._next_cool_s * 2 or self.cool_s, self.cool_max_s)
        self._retry_at = now + max(self._next_cool_s, at_least_s)
        self._probing = False
        self._row = 0
        self.reason = reason
