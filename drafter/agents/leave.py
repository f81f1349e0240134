"""How an agent is asked to end: a flag it looks at between steps, and waits that give way to it at once.

An HTTP turn in flight is finished (it is paid for); waiting for a slot, a pause or a back-off is not.
"""

from __future__ import annotations

import asyncio
from enum import IntEnum
from typing import TypeVar

T = TypeVar("T")


class Why(IntEnum):
    """Reasons to end early; a stronger one replaces a weaker."""

    CANCELLED = 1  # another attempt agreed, or the function was banked
    SAVED = 2  # the shard ends: keep the work


class Left(Exception):
    """Raised by a wait or a check of an agent that was asked to end."""

    def __init__(self, why: Why) -> None:
        super().__init__(why.name.lower())
        self.why = why


class Leave:
    """One agent's flag."""

    def __init__(self) -> None:
        self.why: Why | None = None
        self._waiting: asyncio.Future[object] | None = None

    def ask(self, why: Why) -> None:
        """Asks the agent to end at its next safe point; ends a wait it is in."""
        if self.why is None or why > self.why:
            self.why = why
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(Left(self.why))

    def check(self) -> None:
        """Raises Left when the agent was asked to end."""
        if self.why is not None:
            raise Left(self.why)

    async def wait(self, future: asyncio.Future[T]) -> T:
        """The future's result. Raises Left when asked to end first; the future is done then."""
        self.check()
        self._waiting = future  # type: ignore[assignment]
        try:
            return await future
        finally:
            self._waiting = None

    async def sleep(self, duration_s: float) -> None:
        """Sleeps. Raises Left when asked to end."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        timer = loop.call_later(duration_s, _finish, future)
        try:
            await self.wait(future)
        finally:
            timer.cancel()


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
