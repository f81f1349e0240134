"""The twin backend beside the drafter's loop: a search after every bank, in a thread of its own; rounds to publish."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

from drafter.clock import Clock
from drafter.draw import Key
from drafter.events import Events
from drafter.inflight import InGater
from drafter.twins.finder import Finder, Search
from drafter.twins.rounds import Rounds
from shared.config import Campaign
from shared.state import StateDir

LOOK_S = 2.0
"""Pause between two looks at the landing head and the spool."""


class Twins:
    """Publishes a round whenever the landing head shows new exemplars or a refused pair leaves another to try."""

    def __init__(self, campaign: Campaign, state: StateDir, events: Events, clock: Clock) -> None:
        self._finder = Finder(campaign)
        self._rounds = Rounds(state)
        self._in_gater = InGater(state)
        self._events = events
        self._clock = clock
        self._pool = ThreadPoolExecutor(1, "twins")
        self._running: Future[Search] | None = None
        self._seen = ""
        self._waiting: set[Key] = set()
        self._looked = float("-inf")

    def start(self) -> None:
        """Reads the rounds on disk. Raises DiskFull, OSError."""
        self._rounds.load()

    def turn(self) -> None:
        """A short step: takes a search that is done, or begins one that is due. Raises CampaignError, OSError."""
        if self._running is not None:
            if self._running.done():
                running, self._running = self._running, None
                self._publish(running.result())
            return
        now = self._clock.monotonic()
        if now - self._looked < LOOK_S:
            return
        self._looked = now
        head = self._finder.head()
        if head == self._seen and not self._waiting:
            return
        self._in_gater.scan()
        busy = frozenset(self._in_gater.marked | self._in_gater.held)
        if head == self._seen and self._waiting <= busy:
            return
        self._running = self._pool.submit(self._finder.search, head, frozenset(self._rounds.tried), busy)

    def once(self) -> Search:
        """One search and its round, at once. Raises CampaignError, OSError."""
        self._in_gater.scan()
        busy = self._in_gater.marked | self._in_gater.held
        found = self._finder.search(self._finder.head(), self._rounds.tried, busy)
        self._publish(found)
        return found

    def close(self) -> None:
        """Lets go of the thread; a search under way is dropped when it ends."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _publish(self, found: Search) -> None:
        marker = self._rounds.publish(found.made, self._clock.stamp())
        self._seen = found.commit
        self._waiting = found.waiting
        if marker is not None:
            self._events.emit(
                "twins",
                marker=marker.id,
                drafts=len(found.made),
                open=found.open,
                tried=found.tried,
                unpaired=found.unpaired,
                in_flight=found.in_flight,
                commit=found.commit,
            )
