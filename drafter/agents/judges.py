"""The shard's end of its oracle process: requests out, verdicts in, and a new process when one dies or hangs."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import orjson

from drafter.agents.oracle import Look
from shared.config import Campaign
from shared.config.overrides import words
from shared.proc import child_environment
from shared.records import Card, Judgement, Verdict
from shared.state import StateDir

log = logging.getLogger(__name__)

DEATHS = 3
"""A draft that was being judged at this many deaths in a row gets a FAULT."""
SILENT_S = 60.0
CLOSE_S = 3.0
LINE_LIMIT = 4 << 20


def open_oracle(campaign: Campaign, state: StateDir) -> ProcessOracle:
    """The real oracle: the pre-filter's judge in a process of its own."""
    del state  # the process opens it itself
    program = [sys.executable, "-P", "-m", "drafter.agents.judging"]
    return ProcessOracle([*program, "--root", str(campaign.root), *words(campaign.overrides)])


@dataclass
class _Asked:
    """A request that was not answered yet."""

    line: bytes
    answer: asyncio.Future[Look]
    started: bool = False
    deaths: int = 0


class ProcessOracle:
    """An Oracle over the wire of `drafter.agents.judging`. One event loop; the process starts with the first draft."""

    def __init__(self, argv: Sequence[str], cwd: Path | None = None) -> None:
        self._argv = tuple(argv)
        self._cwd = cwd
        self._asked: dict[int, _Asked] = {}
        self._serial = 0
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._starting = asyncio.Lock()
        self._heard = 0.0
        self._closed = False

    async def judge(self, card: Card, code: str) -> Look:
        """The verdict; FAULT when the process keeps dying on this draft or cannot be started."""
        self._serial += 1
        number = self._serial
        request = {"id": number, "binary": card.binary, "tu": card.tu, "function": card.function, "code": code}
        asked = _Asked(orjson.dumps(request) + b"\n", asyncio.get_running_loop().create_future())
        self._asked[number] = asked
        try:
            await self._send(asked)
            return await asked.answer
        finally:
            self._asked.pop(number, None)

    async def close(self) -> None:
        """Ends the process; open requests get a FAULT."""
        self._closed = True
        process = self._process
        if process is not None and process.returncode is None:
            assert process.stdin is not None
            process.stdin.close()
            try:
                await asyncio.wait_for(process.wait(), CLOSE_S)
            except TimeoutError:
                process.kill()
                await process.wait()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for asked in self._asked.values():
            _answer(asked, _fault("the shard ended"))

    async def _send(self, asked: _Asked) -> None:
        async with self._starting:
            if self._process is None and not await self._start():
                _answer(asked, _fault("the oracle process cannot be started"))
                return
            process = self._process
        if process is not None and process.stdin is not None:
            with contextlib.suppress(ConnectionError):
                process.stdin.write(asked.line)
                await process.stdin.drain()

    async def _start(self) -> bool:
        try:
            process = await asyncio.create_subprocess_exec(
                *self._argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env=child_environment(),
                cwd=self._cwd,
                limit=LINE_LIMIT,
            )
        except OSError as error:
            log.error("ORACLE-START-FAILED reason=%r", str(error))
            return False
        self._process = process
        self._heard = time.monotonic()
        for work in (self._listen(process), self._watch(process)):
            task = asyncio.create_task(work)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        log.info("ORACLE-START pid=%d", process.pid)
        return True

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while True:
            try:
                line = await process.stdout.readline()
            except ValueError:  # a line over the limit: not one of ours
                process.kill()
                break
            if not line:
                break
            self._heard = time.monotonic()
            self._take(orjson.loads(line))
        await process.wait()
        await self._died(process)

    def _take(self, message: dict[str, Any]) -> None:
        asked = self._asked.get(message.get("id", 0))
        if asked is None:
            return
        if message.get("started"):
            asked.started = True
        else:
            _answer(asked, Look(msgspec.convert(message["judgement"], Judgement), message["diff"]))

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        """Ends a process that says nothing, not even that it is alive."""
        while process.returncode is None:
            await asyncio.sleep(SILENT_S / 10)
            if time.monotonic() - self._heard > SILENT_S:
                log.error("ORACLE-SILENT pid=%d seconds=%.0f", process.pid, SILENT_S)
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                return

    async def _died(self, process: asyncio.subprocess.Process) -> None:
        """Gives the open requests to a new process, but not a draft that was there at too many deaths."""
        self._process = None
        if self._closed:
            return
        log.error("ORACLE-DIED pid=%d code=%s open=%d", process.pid, process.returncode, len(self._asked))
        for asked in list(self._asked.values()):
            asked.deaths += asked.started
            asked.started = False
            if asked.deaths >= DEATHS:
                _answer(asked, _fault(f"the judge died {DEATHS} times on this draft"))
        if all(asked.deaths == 0 for asked in self._asked.values()) and process.returncode:
            # It died before it took up anything: starting it again at once would be a hot loop.
            await asyncio.sleep(1.0)
            for asked in self._asked.values():
                asked.deaths += 1
        for asked in list(self._asked.values()):
            if not asked.answer.done():
                await self._send(asked)


def _answer(asked: _Asked, look: Look) -> None:
    if not asked.answer.done():
        asked.answer.set_result(look)


def _fault(reason: str) -> Look:
    return Look(Judgement(Verdict.FAULT, reason))
