"""How many requests of a pool may be in flight in this shard, from what the responses say.

- `workers` (the shard's share) is the ceiling.
- A platform 429 (our account) pauses every agent of the pool until the reset it names.
- Provider and soft 429s are tolerated up to TOLERATED of the answers of a round (as many answers as the limit allows
  requests, at least ROUND): the aim is finished drafts, not zero 429s, and some providers refuse a few at any load.
  More cut the limit by CUT, once per round trip: answers to requests sent before the last cut say nothing new. After a
  round without a cut it grows by GROW, but only if it was what held us back: being short of cards proves nothing.
- The breaker stops everything where no request can work.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from drafter.agents.breaker import Breaker
from drafter.agents.leave import Leave, Left
from drafter.agents.replies import Failure, Kind, Reply

log = logging.getLogger(__name__)

CUT = 0.7
GROW = 0.05
"""Of the limit, at least one request."""
TOLERATED = 0.1
ROUND = 10


@dataclass(frozen=True)
class Ticket:
    """A request in flight: when it began (monotonic seconds) and whether it is the breaker's probe."""

    began: float
    probe: bool


class Limiter:
    """The state machine, and the waiting around it. One event loop only."""

    def __init__(
        self,
        workers: int,
        breaker: Breaker,
        *,
        pause_s: float,
        clock: Callable[[], float] = time.monotonic,
        roll: Callable[[], float] = random.random,
    ) -> None:
        self.workers = workers
        self.breaker = breaker
        self.limit = float(workers)
        self.in_flight = 0
        self.paused_until = 0.0
        self.cuts = 0
        self.pauses = 0
        self.why = ""
        """Why the limit moved last, in words; "" = it never did."""
        self._pause_s = pause_s
        self._clock = clock
        self._roll = roll
        self._last_cut = float("-inf")
        self._answers = self._limited = 0
        self._held = False
        self._waiters: deque[asyncio.Future[None]] = deque()

    def set_workers(self, workers: int) -> None:
        """Takes a new share; an uncut limit follows it upwards."""
        uncut = self.limit >= self.workers
        self.workers = workers
        self.limit = float(workers) if uncut else min(self.limit, float(workers))
        self._wake()

    def ready_in(self) -> float | None:
        """0 = a request may start now; seconds until it may; None = when one in flight ends."""
        now = self._clock()
        if now < self.paused_until:
            return self.paused_until - now
        wait = self.breaker.wait(now)
        if wait != 0.0:
            return wait
        if self.in_flight < min(max(1, int(self.limit)), self.workers):
            return 0.0
        self._held = True  # the limit binds
        return None

    def begin(self) -> Ticket:
        """Counts a request in; call only after `ready_in()` said 0."""
        self.in_flight += 1
        return Ticket(self._clock(), self.breaker.began())

    def end(self, ticket: Ticket, outcome: Reply | Failure | None) -> None:
        """Counts a request out and learns from its outcome; None = it ended without one."""
        self.in_flight -= 1
        now = self._clock()
        if outcome is None:
            if ticket.probe:
                self.breaker.withdrawn()
        elif isinstance(outcome, Reply):
            self.breaker.succeeded()
            self._answered(ticket, now, limited=False)
        else:
            self._failed(ticket, outcome, now)
        self._wake()

    async def slot(self, leave: Leave) -> Ticket:
        """Waits until a request may start and counts it in. Raises Left."""
        while True:
            leave.check()
            wait = self.ready_in()
            if wait == 0.0:
                return self.begin()
            if wait is None:
                future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._waiters.append(future)
                try:
                    await leave.wait(future)
                except Left:
                    self._wake()
                    raise
            else:
                # Jitter on top, so that a paused crowd does not come back as one.
                await leave.sleep(wait + self._roll() * min(wait, self._pause_s))

    def _failed(self, ticket: Ticket, failure: Failure, now: float) -> None:
        if failure.kind is Kind.RATE:
            self.breaker.succeeded()  # it is alive and knows us
            if failure.source == "platform":
                self._pause(now + (failure.retry_after_s if failure.retry_after_s is not None else self._pause_s))
            else:
                self._answered(ticket, now, limited=True)
        elif failure.kind is Kind.DENIED:
            self.breaker.denied(now, f"{failure.result}: {failure.message}", failure.retry_after_s or 0.0)
            log.warning("POOL-BREAKER result=%s message=%r", failure.result, failure.message)
        elif failure.kind in (Kind.SERVER, Kind.CUT):
            self.breaker.failed(now, f"{failure.result}: {failure.message}")
        else:
            self.breaker.succeeded()

    def _answered(self, ticket: Ticket, now: float, *, limited: bool) -> None:
        """Counts an answer into the round; cuts or grows the limit when the round says so."""
        if ticket.began <= self._last_cut:
            return
        size = max(ROUND, int(self.limit))
        self._answers += 1
        self._limited += limited
        if self._limited > TOLERATED * size:
            self._last_cut = now
            self.limit = max(1.0, min(self.limit, float(self.workers)) * CUT)
            self.cuts += 1
            self.why = f"cut {self.cuts}: {self._limited} of {self._answers} answers were provider or soft 429s"
            log.info("POOL-CUT limited=%d answers=%d limit=%.1f", self._limited, self._answers, self.limit)
        elif self._answers < size:
            return
        elif self._held:
            before, self.limit = self.limit, min(float(self.workers), self.limit + max(1.0, GROW * self.limit))
            if self.limit > before:
                self.why = f"grown after {self._answers} answers with {self._limited} 429s"
        self._answers = self._limited = 0
        self._held = False

    def _pause(self, until: float) -> None:
        if until > self.paused_until:
            if self._clock() >= self.paused_until:
                self.pauses += 1
                self.why = f"pause {self.pauses}: a platform 429 asks for {until - self._clock():.0f} s"
                log.info("POOL-PAUSE seconds=%.1f", until - self._clock())
            self.paused_until = until

    def _wake(self) -> None:
        """Lets as many waiters look again as could start; those that cannot wait anew."""
        room = max(1, int(min(self.limit, self.workers)) - self.in_flight)
        while self._waiters and room > 0:
            future = self._waiters.popleft()
            if not future.done():
                future.set_result(None)
                room -= 1
