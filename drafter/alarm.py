"""When a night ends by itself: `[night] until` and `--for` start the ordinary drain in time to be done by then."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from shared.config import Campaign
from shared.stopping import drain_bound_s

LANDING_S = 300.0
"""Set aside for judging and landing what the last agents left."""


@dataclass(frozen=True)
class Alarm:
    """`drain_at` is monotonic seconds, None = never; `done_by` is the UTC stamp a person was promised."""

    drain_at: float | None = None
    done_by: str = ""

    @classmethod
    def of(cls, campaign: Campaign, now: float, duration_s: float | None, today: datetime | None = None) -> Alarm:
        """The earlier of `duration_s` from `now` (monotonic) and the next time the clock shows `[night] until`.

        The lead is the drain's bound and LANDING_S, but never more than half of the time there is.
        """
        clock = (today or datetime.now()).astimezone()
        spans = [duration_s] if duration_s is not None else []
        if campaign.night.until:
            hour, minute = campaign.night.until.split(":")
            due = clock.replace(hour=int(hour), minute=int(minute), second=0, microsecond=0)
            spans.append((due - clock if due > clock else due + timedelta(days=1) - clock).total_seconds())
        if not spans:
            return cls()
        span = min(spans)
        lead = min(drain_bound_s(campaign) + LANDING_S, span / 2)
        done_by = (clock + timedelta(seconds=span)).isoformat(timespec="seconds")
        return cls(now + span - lead, done_by)

    def due(self, now: float) -> bool:
        """The drain has to start."""
        return self.drain_at is not None and now >= self.drain_at
