"""Room on the state directory's device: drawing stops before it is full, so that every draft in hand can be written."""

from __future__ import annotations

import os

from drafter.events import Events
from shared.config import Campaign
from shared.state import StateDir

LOOK_S = 5.0


class Room:
    """Looked at every LOOK_S seconds. The change is an event, once each way."""

    def __init__(self, campaign: Campaign, state: StateDir, events: Events) -> None:
        self._least_mib = campaign.disk.free_mib
        self._least_inodes = campaign.disk.free_inodes
        self._state = state
        self._events = events
        self._next = float("-inf")
        self.short = ""
        """Why nothing is drawn now, "" when there is room."""

    def enough(self, now: float) -> bool:
        """Whether a wave may be drawn at monotonic time `now`. Raises OSError."""
        if now >= self._next:
            self._next = now + LOOK_S
            found = os.statvfs(self._state.root)
            free = (found.f_bavail * found.f_frsize) >> 20
            before, self.short = self.short, ""
            if free < self._least_mib:
                self.short = f"{free} MiB free for {self._state.root}, [disk] free_mib is {self._least_mib}"
            elif found.f_files and found.f_favail < self._least_inodes:
                self.short = f"{found.f_favail} inodes free, [disk] free_inodes is {self._least_inodes}"
            if self.short and not before:
                self._events.error("draw-held-disk", reason=self.short)
            elif before and not self.short:
                self._events.emit("draw-free-disk", free_mib=free)
        return not self.short
