"""The HTTP side: authentication, faults, and answers in the shape of the chat-completions protocol."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from typing import Any

import orjson
from aiohttp import web

from shared.demo.rehearsal import NAME
from shared.demo.rehearsal.plan import CardKey, Plan, Turn, read_conversation
from shared.demo.rehearsal.report import Report
from shared.demo.rehearsal.settings import Settings
from shared.demo.rehearsal.truth import Truth

CHARS_PER_TOKEN = 4


class Rehearsal:
    """The simulated model behind one loopback server."""

    def __init__(self, settings: Settings, truth: Truth, key: str) -> None:
        self.report = Report(settings, truth)
        self._settings = settings
        self._truth = truth
        self._key = key
        self._plans: dict[CardKey, Plan] = {}
        self._requests: Counter[CardKey] = Counter()
        self._in_a_row: Counter[CardKey] = Counter()
        self._prompted: dict[CardKey, int] = {}
        self._total = 0
        self._burst_until = 0.0

    def application(self) -> web.Application:
        """The aiohttp application."""
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/v1/key", self._account)
        return app

    async def _models(self, request: web.Request) -> web.Response:
        if (refused := self._refused(request)) is not None:
            return refused
        return web.json_response({"object": "list", "data": [{"id": "rehearsal", "object": "model", "owned_by": NAME}]})

    async def _account(self, request: web.Request) -> web.Response:
        if (refused := self._refused(request)) is not None:
            return refused
        return web.json_response({"data": {"label": NAME, "limit": None, "limit_remaining": None, "usage": 0}})

    def _refused(self, request: web.Request) -> web.Response | None:
        if self._key and request.headers.get("Authorization") != f"Bearer {self._key}":
            self.report.answered("http-401")
            return _error(401, "Incorrect API key provided.", code="invalid_api_key")
        return None

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        if (refused := self._refused(request)) is not None:
            return refused
        raw = await request.read()
        try:
            body = orjson.loads(raw)
            messages = body["messages"]
            seen = read_conversation(messages)
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            self.report.answered("http-400")
            return _error(400, f"the request is not a chat completion: {error}")
        if seen is None or (seen.key.binary, seen.key.function) not in self._truth.entries:
            self.report.answered("http-400")
            return _error(400, "the conversation names no card of this game; its first message needs a `Card:` line")
        if (broken := _orphans(messages)) is not None:
            self.report.answered("http-400")
            return _error(400, broken)
        plan = self._plans.setdefault(seen.key, Plan(self._settings, self._truth, seen.key))
        self.report.asked(plan)
        self._total += 1
        ordinal = self._requests[seen.key]
        self._requests[seen.key] += 1
        rng = random.Random(f"{self._settings.seed}:{seen.key.name}:{ordinal}")
        await self._think(rng)
        if (limited := self._platform()) is not None:
            return limited
        faulty = await self._fault(request, rng, seen.key)
        if faulty is not None:
            return faulty
        turn = plan.turn(seen)
        usage = self._usage(seen.key, len(raw), turn)
        self.report.answered("length" if turn.cut else "ok", seen.key, turn.right)
        return _answer(str(body.get("model", "")), f"rehearsal-{seen.key.name}-{ordinal}", turn, usage)

    async def _think(self, rng: random.Random) -> None:
        pace = self._settings.pace
        if pace.median_s > 0:
            await asyncio.sleep(pace.median_s * rng.lognormvariate(0.0, pace.spread))

    def _platform(self) -> web.Response | None:
        """The account's own limit: a burst of refusals that starts with every n-th request."""
        faults, now = self._settings.faults, time.monotonic()
        if faults.platform_every and self._total % faults.platform_every == 0 and now >= self._burst_until:
            self._burst_until = now + faults.platform_burst_s
        if now >= self._burst_until:
            return None
        left = self._burst_until - now
        self.report.answered("platform-429")
        headers = {
            "Retry-After": f"{left:.3f}",
            "X-RateLimit-Limit": str(faults.platform_every),
            "X-RateLimit-Remaining": "0",
            "X-RateLimit-Reset": str(int((time.time() + left) * 1000)),
        }
        return _error(429, "Rate limit exceeded: requests per account", headers=headers)

    async def _fault(self, request: web.Request, rng: random.Random, key: CardKey) -> web.StreamResponse | None:
        faults = self._settings.faults
        names = ("provider_429", "http_502", "soft_error", "cut", "empty_choices", "no_finish")
        if self._in_a_row[key] >= faults.in_a_row:
            self._in_a_row[key] = 0
            return None
        roll = rng.random()
        for name in names:
            roll -= getattr(faults, name)
            if roll < 0:
                self._in_a_row[key] += 1
                self.report.answered(name.replace("_", "-"))
                return await self._play(name, request, rng)
        self._in_a_row[key] = 0
        return None

    async def _play(self, name: str, request: web.Request, rng: random.Random) -> web.StreamResponse:
        match name:
            case "provider_429":
                told = rng.random() < 0.5
                headers = {"Retry-After": f"{self._settings.faults.retry_after_s:.3f}"} if told else {}
                metadata = {"provider_name": "rehearsal-upstream", "raw": "rate-limited upstream"}
                return _error(429, "Provider returned error", headers=headers, metadata=metadata)
            case "http_502":
                return web.Response(status=502, text="<html><body>Bad Gateway</body></html>", content_type="text/html")
            case "soft_error":
                code = rng.choice((429, 502, 503))
                return web.json_response({"error": {"code": code, "message": "upstream said no"}})
            case "empty_choices":
                return web.json_response({"id": "rehearsal", "object": "chat.completion", "choices": []})
            case "no_finish":
                message = {"role": "assistant", "content": "I was about to"}
                return web.json_response({"choices": [{"index": 0, "message": message, "finish_reason": None}]})
        return await _cut(request)

    def _usage(self, key: CardKey, size: int, turn: Turn) -> dict[str, Any]:
        prompt = size // CHARS_PER_TOKEN
        cached = min(self._prompted.get(key, 0), prompt)
        self._prompted[key] = prompt
        completion = max(1, len(turn.text + turn.arguments) // CHARS_PER_TOKEN)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": cached},
            "cost": (prompt + completion) * self._settings.usd_per_mtok / 1e6,
        }


def _answer(model: str, identity: str, turn: Turn, usage: dict[str, Any]) -> web.Response:
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    finish = "stop"
    if turn.tool:
        function = {"name": turn.tool, "arguments": turn.arguments}
        message["tool_calls"] = [{"id": f"call_{identity}", "type": "function", "function": function}]
        finish = "tool_calls"
    if turn.cut:
        finish = "length"
    document = {
        "id": identity,
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "system_fingerprint": NAME,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": usage,
    }
    return web.Response(body=orjson.dumps(document), content_type="application/json")


def _error(
    status: int,
    message: str,
    *,
    code: int | str | None = None,
    headers: dict[str, str] | None = None,
    metadata: dict[str, str] | None = None,
) -> web.Response:
    error: dict[str, Any] = {"message": message, "code": status if code is None else code}
    if metadata:
        error["metadata"] = metadata
    return web.json_response({"error": error}, status=status, headers=headers)


async def _cut(request: web.Request) -> web.StreamResponse:
    """Half an answer, then the connection is gone."""
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "4096"})
    await response.prepare(request)
    await response.write(b'{"id": "rehearsal", "choices": [{"index": 0, "message": {"role": "assist')
    if request.transport is not None:
        request.transport.abort()
    return response


def _orphans(messages: list[Any]) -> str | None:
    """What a strict server refuses: tool results without their call, calls without results, unparsable arguments."""
    expected: list[str] = []
    for message in messages:
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in expected:
                return "a message with role tool must follow the tool call it answers"
            expected.remove(message["tool_call_id"])
            continue
        if expected:
            return "an assistant message with tool_calls must be followed by an answer to each of them"
        expected = [call["id"] for call in message.get("tool_calls") or ()]
    return "the last tool calls have no answers" if expected else None
