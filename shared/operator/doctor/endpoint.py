"""Each pool's key and endpoint, by one request of a few tokens."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import orjson

from shared.config import Campaign, Pool
from shared.errors import ConfigError
from shared.keys import find_key
from shared.operator.doctor.found import Found, failed, ok, untested, warning

TIMEOUT_S = 30.0
TOKENS = 16
"""The least some endpoints take as an output limit."""


def endpoints(campaign: Campaign, *, offline: bool) -> Iterator[Found]:
    """Key and endpoint of every pool with a share."""
    pools = {name: pool for name, pool in campaign.pools.items() if pool.share > 0}
    if not pools:
        yield failed("pool", "no [pool.NAME] with a positive share", "add one: url, model, key_file or key_env")
    for name, pool in pools.items():
        yield from _pool(f"pool {name}", name, pool, offline=offline)


def _pool(label: str, name: str, pool: Pool, *, offline: bool) -> Iterator[Found]:
    try:
        key = find_key(name, pool, dict(os.environ))
    except ConfigError as error:
        yield failed(label, str(error), "put the key where campaign.toml says, or correct campaign.toml")
        return
    kept = "a key" if key else "no key configured"
    if offline:
        yield untested(label, f"{kept}; {pool.url} was not asked (--offline)")
        return
    yield asyncio.run(_ask(label, pool, key))


async def _ask(label: str, pool: Pool, key: str) -> Found:
    import aiohttp

    url = pool.url.rstrip("/") + "/chat/completions"
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    body = {
        "model": pool.model,
        "messages": [{"role": "user", "content": "Answer with the one word ok."}],
        pool.output_field: TOKENS,
    }
    timeout = aiohttp.ClientTimeout(total=min(TIMEOUT_S, pool.socket_timeout_s))
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(url, data=orjson.dumps(body), headers=headers, allow_redirects=False) as response,
        ):
            text = (await response.content.read(65536)).decode("utf-8", "replace")
            return answer(label, pool, response.status, text.replace(key, "<key>") if key else text)
    except TimeoutError:
        do = "ask the provider's status page; a night waits for it"
        return failed(label, f"{pool.url} did not answer within {timeout.total:g} s", do)
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return failed(label, f"{pool.url} cannot be reached: {type(error).__name__}", "check url, network and proxy")


def answer(label: str, pool: Pool, status: int, text: str) -> Found:
    """What an answer says of key, model and credit. `text` is hostile: quoted, bounded."""
    said, error = _message(text)
    where = f"{pool.url}, model {pool.model}"
    quoted = f" ({said[:160]!r})" if said else ""
    if status in (401, 403):
        return failed(label, f"the key was not accepted: HTTP {status}{quoted}", "put a valid key in its place")
    if status == 402:
        return failed(label, f"no credit: HTTP 402{quoted}", "top up at the provider")
    if 300 <= status < 400:
        return failed(label, f"the endpoint redirects: HTTP {status}", "correct the pool's url")
    if status == 404:
        return failed(label, f"no such model or path: HTTP 404{quoted}", "correct the pool's url or model")
    if status == 429:
        return warning(label, f"reached and rate-limited: HTTP 429{quoted}", "the key may be fine; ask again later")
    if status >= 500:
        return warning(label, f"the provider has trouble: HTTP {status}{quoted}", "a night waits for it by itself")
    if status >= 400:
        return failed(label, f"the request was refused: HTTP {status}{quoted}", "correct model or output_field")
    if error:
        return warning(label, f"answered with an error inside HTTP 200{quoted}", "ask again; check model and credit")
    return ok(label, f"one request answered by {where}")


def _message(text: str) -> tuple[str, bool]:
    try:
        value = orjson.loads(text)
        error = value.get("error")
        if isinstance(error, dict):
            return str(error.get("message", "")), True
        return (str(error), True) if error else ("", not value.get("choices"))
    except (orjson.JSONDecodeError, AttributeError):
        return text.strip()[:160], True
