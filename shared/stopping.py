"""How a daemon is told to end: by the stop file, which both drain on, or by a signal.

The stop file may say in one line who asked; an empty one came from a person.
"""

from __future__ import annotations

import logging
import signal
import sys
import types

from shared import durable
from shared.config import Campaign
from shared.state import StateDir

log = logging.getLogger(__name__)


SLACK_S = 60.0
"""What a drain allows its shards beyond grace and one response before they are ended."""


def drain_bound_s(campaign: Campaign) -> float:
    """Seconds after which a drain's agents have ended at the latest; the gates of what they left come on top."""
    socket = max((pool.socket_timeout_s for pool in campaign.pools.values()), default=0.0)
    return campaign.drafter.straggler_grace_s + socket + SLACK_S


def ask_drain(state: StateDir, why: str) -> None:
    """Makes the stop file, with who asked in it; one that is there stays as it is. Raises DiskFull, OSError."""
    if not state.stopping():
        durable.write(state.stop, why.encode() + b"\n")


class StopSignal:
    """First SIGTERM or SIGINT: the next safe point (`asked()`). Second: at once, with exit code 128 + its number.

    Takes the handlers over when made; make it in the main thread. `name` tags the log line.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._asked = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._signal)

    def asked(self) -> bool:
        """Whether one came."""
        return self._asked

    def _signal(self, number: int, _: types.FrameType | None) -> None:
        if self._asked:
            sys.exit(128 + number)
        self._asked = True
        log.info("%s-STOP signal=%d", self._name.upper(), number)
