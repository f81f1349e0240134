"""The agents of one shard: kept at the shard's share, started from the inbox, ended when asked."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable

from drafter.agents.backoff import start_gap
from drafter.agents.chat import Agent, Workbench
from drafter.agents.inbox import Inbox
from drafter.agents.leave import Leave, Why
from drafter.agents.spending import Spending
from shared.config import Campaign
from shared.errors import DiskFull
from shared.records import AgentRow, Target
from shared.state import utc_now

log = logging.getLogger(__name__)

CROWD = 8
"""Starts of more than one `CROWD`-th of the share at once are spread like a cold start."""


class Fleet:
    """Level control of agents. `progress` counts everything that shows work: responses, oracle calls, rows."""

    def __init__(self, campaign: Campaign, bench: Workbench, inbox: Inbox, workers: int) -> None:
        self._campaign = campaign
        self._bench = bench
        self._inbox = inbox
        self.workers = workers
        self.queue: deque[Target] = deque()
        self.closing = False
        self.fault: DiskFull | OSError | None = None
        self.outcomes: dict[str, int] = {}
        self.spent = Spending()
        self.on_row: Callable[[], None] = lambda: None
        self._leaves: dict[str, Leave] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._writing = asyncio.Lock()
        self._last_start = float("-inf")
        self._ramping = False

    @property
    def agents(self) -> int:
        """Agents in flight."""
        return len(self._tasks)

    async def scan(self) -> None:
        """Takes up what is new in the inbox; ends what was cancelled."""
        found = await asyncio.to_thread(self._inbox.scan)
        self.queue += found.targets
        for target in found.cancelled:
            await self._cancel(target)

    def start(self) -> float | None:
        """Starts what may start now; seconds until the next start is due, None when none is waiting for one."""
        while not self.closing and self.queue and self.agents < self.workers:
            room = min(len(self.queue), self.workers - self.agents)
            self._ramping = room > max(1, self.workers // CROWD) if not self._ramping else room > 0
            gap = start_gap(room, self._campaign.drafter.ramp_window_s) if self._ramping else 0.0
            wait = self._last_start + gap - time.monotonic()
            if wait > 0:
                return wait
            self._begin(self.queue.popleft())
        self._ramping = self._ramping and bool(self.queue) and self.agents < self.workers
        return None

    def save_all(self) -> None:
        """Asks every agent to finish its turn and save."""
        for leave in self._leaves.values():
            leave.ask(Why.SAVED)

    async def abandon(self) -> None:
        """Ends every agent at once; their targets stay in the inbox with all that is on disk."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def unfinished(self) -> list[str]:
        """Ids of targets without a row: in flight or queued."""
        return sorted([*self._leaves, *(target.id for target in self.queue)])

    def _begin(self, target: Target) -> None:
        self._last_start = time.monotonic()
        leave = Leave()
        self._leaves[target.id] = leave
        task = asyncio.create_task(self._work(target, leave), name=target.id)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self, target: Target, leave: Leave) -> None:
        try:
            await self._finish(target, await self._attempt(target, leave))
        except (DiskFull, OSError) as error:
            # State cannot be written: going on would pay for work that is lost.
            self.fault = self.fault or error
            log.error("AGENT-FAULT id=%s reason=%r", target.id, str(error))
        finally:
            self._leaves.pop(target.id, None)

    async def _attempt(self, target: Target, leave: Leave) -> AgentRow:
        lane = self._campaign.lanes.get(target.lane)
        if lane is None:
            return _bare(target, "failed", f"campaign.toml has no [lane.{target.lane}]")
        agent = Agent(self._bench, target, lane, leave)
        try:
            return await agent.run()
        except (DiskFull, OSError):
            raise
        except Exception as error:
            # One agent's bug must cost one card, not the shard.
            log.exception("AGENT-CRASH id=%s", target.id)
            return _bare(target, "failed", f"internal: {type(error).__name__}: {error}"[:500])
        finally:
            self._add(agent.spending)

    async def _finish(self, target: Target, row: AgentRow) -> None:
        async with self._writing:
            await asyncio.to_thread(self._inbox.finish, target, row)
        self.outcomes[row.outcome] = self.outcomes.get(row.outcome, 0) + 1
        self.on_row()
        log.info(
            "AGENT id=%s outcome=%s verdict=%s turns=%d requests=%d wall_s=%.1f%s",
            row.id,
            row.outcome,
            row.verdict or "-",
            row.turns,
            row.requests,
            row.wall_s,
            f" error={row.error!r}" if row.error else "",
        )

    async def _cancel(self, target: str) -> None:
        if target in self._leaves:
            self._leaves[target].ask(Why.CANCELLED)
            return
        for queued in self.queue:
            if queued.id == target:
                self.queue.remove(queued)
                self._begin(queued)  # it may have a draft from an earlier process: its row must say so
                self._leaves[target].ask(Why.CANCELLED)
                return
        await asyncio.to_thread(self._inbox.forget_cancel, target)

    def _add(self, spending: Spending) -> None:
        for name in Spending.__struct_fields__:
            setattr(self.spent, name, getattr(self.spent, name) + getattr(spending, name))


def _bare(target: Target, outcome: str, error: str = "") -> AgentRow:
    """A row for a target no agent worked on."""
    card = target.card
    return AgentRow(
        id=target.id,
        binary=card.binary,
        function=card.function,
        attempt=card.attempt,
        outcome=outcome,
        pool=target.pool,
        error=error,
        at=utc_now(),
    )
