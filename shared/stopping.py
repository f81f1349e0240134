"""How a daemon is told to end by a signal: the first asks, the second insists."""

from __future__ import annotations

import logging
import signal
import sys
import types

log = logging.getLogger(__name__)


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
