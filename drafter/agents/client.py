"""The edge to a model: one chat-completions request with its retries, limits and telemetry.

Everything below is translated here: callers see a Reply, RequestFailed, or Left.
"""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson

from drafter.agents.backoff import delay
from drafter.agents.leave import Leave
from drafter.agents.limiter import Limiter
from drafter.agents.replies import RETRIED, Failure, Kind, Reply, classify
from drafter.agents.spending import Spending, cost_of
from drafter.agents.telemetry import RateJournal
from shared.config.schema import Pool
from shared.records import RequestRow
from shared.state import utc_now

LARGEST_REPLY = 8 << 20
"""Bytes of one response read at most; more is a hostile or broken server."""

Message = dict[str, Any]


class RequestFailed(Exception):
    """A request that will not succeed: its retries are used up, or its failure is not one to retry."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.result}: {failure.message}")
        self.failure = failure


@dataclass(frozen=True)
class Tag:
    """Whose request it is, for telemetry."""

    wave: str
    lane: str
    agent: str


@asynccontextmanager
async def open_session(pool: Pool) -> AsyncIterator[aiohttp.ClientSession]:
    """A session without aiohttp's default limit of 100 connections, which queues silently."""
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=pool.socket_timeout_s, sock_connect=30.0)
    jar = aiohttp.DummyCookieJar()
    async with aiohttp.ClientSession(connector=connector, timeout=timeout, cookie_jar=jar) as session:
        yield session


class ModelClient:
    """Requests of one pool. Holds the key; it appears in the Authorization header and nowhere else."""

    def __init__(
        self,
        pool_name: str,
        pool: Pool,
        key: str,
        session: aiohttp.ClientSession,
        limiter: Limiter,
        rates: RateJournal,
        *,
        on_response: Callable[[], None] = lambda: None,
        roll: Callable[[], float] = random.random,
    ) -> None:
        self.pool_name = pool_name
        self.pool = pool
        self._key = key
        self._session = session
        self._limiter = limiter
        self._rates = rates
        self._on_response = on_response
        self._roll = roll
        self._url = pool.url.rstrip("/") + "/chat/completions"
        self._headers = {"Content-Type": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"

    async def complete(
        self,
        messages: Sequence[Message],
        tools: Sequence[Message],
        tag: Tag,
        spending: Spending,
        leave: Leave,
    ) -> Reply:
        """One turn. Raises RequestFailed, or Left while it waits for a slot or a back-off.

        A denial does not use up retries: the breaker holds the agent back until the endpoint serves us again.
        """
        body = orjson.dumps(
            {
                "model": self.pool.model,
                "messages": list(messages),
                "tools": list(tools),
                self.pool.output_field: self.pool.output_tokens,
            }
        )
        retries = 0
        while True:
            outcome = await self._once(body, tag, spending, leave)
            if isinstance(outcome, Reply):
                return outcome
            if outcome.kind is Kind.DENIED:
                continue
            if outcome.kind not in RETRIED or retries >= self.pool.retries:
                raise RequestFailed(outcome)
            floor = outcome.retry_after_s or 0.0
            pause = delay(retries, self.pool.backoff_s, self.pool.backoff_max_s, self._roll(), floor)
            retries += 1
            await leave.sleep(pause)

    async def _once(self, body: bytes, tag: Tag, spending: Spending, leave: Leave) -> Reply | Failure:
        ticket = await self._limiter.slot(leave)
        outcome: Reply | Failure | None = None
        started = time.monotonic()
        try:
            status, outcome = await self._post(body)
        finally:
            self._limiter.end(ticket, outcome)
        spending.charge(outcome, self.pool)
        self._record(outcome, status, tag, spending.turns + 1, time.monotonic() - started)
        self._on_response()
        return outcome

    async def _post(self, body: bytes) -> tuple[int, Reply | Failure]:
        try:
            async with self._session.post(
                self._url, data=body, headers=self._headers, allow_redirects=False
            ) as response:
                status = response.status
                if 300 <= status < 400:
                    message = "the endpoint redirects; correct the pool's `url`"
                    return status, Failure(Kind.DENIED, f"http-{status}", message, status)
                raw = await _read(response.content)
                if self._key:
                    raw = raw.replace(self._key.encode(), b"<key>")
                return status, classify(status, response.headers, raw, time.time())
        except aiohttp.ClientConnectorError as error:
            return 0, Failure(Kind.SERVER, "connect", f"no connection: {error.os_error.strerror or 'failed'}")
        except TimeoutError:
            return 0, Failure(Kind.CUT, "timeout", f"no whole response within {self.pool.socket_timeout_s:g} s")
        except (aiohttp.ClientError, OSError) as error:
            return 0, Failure(Kind.CUT, "cut", f"the connection was cut ({type(error).__name__})")

    def _record(self, outcome: Reply | Failure, status: int, tag: Tag, turn: int, wall_s: float) -> None:
        failed = isinstance(outcome, Failure)
        self._rates.append(
            RequestRow(
                at=utc_now(),
                wave=tag.wave,
                lane=tag.lane,
                pool=self.pool_name,
                model=self.pool.model,
                agent=tag.agent,
                turn=turn,
                result=outcome.result if isinstance(outcome, Failure) else "ok",
                source=outcome.source if isinstance(outcome, Failure) else "",
                status=status,
                finish="" if isinstance(outcome, Failure) else outcome.finish,
                tokens_in=outcome.usage.tokens_in,
                tokens_cached=outcome.usage.tokens_cached,
                tokens_out=outcome.usage.tokens_out,
                cost_usd=None if failed and not outcome.usage.tokens_in else cost_of(outcome.usage, self.pool),
                wall_s=round(wall_s, 3),
                retry_after_s=outcome.retry_after_s if isinstance(outcome, Failure) else None,
            )
        )


async def _read(stream: aiohttp.StreamReader) -> bytes:
    """The body up to LARGEST_REPLY. Raises ClientPayloadError when there is more or the connection breaks."""
    data = bytearray()
    async for chunk in stream.iter_chunked(65536):
        data += chunk
        if len(data) > LARGEST_REPLY:
            raise aiohttp.ClientPayloadError("response too large")
    return bytes(data)
