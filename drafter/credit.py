"""What is left of the credit behind each key, asked of the provider now and then; never fatal.

The answer is kept in credit.json for `campaign status`. The key is in one header of one request to `credit_url`:
redirects are not followed, and neither argv, log nor file ever has it.
"""

from __future__ import annotations

import http.client
import logging
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import orjson

from shared import durable
from shared.config import Campaign
from shared.errors import DiskFull
from shared.records import SCHEMA
from shared.state import StateDir, utc_now

log = logging.getLogger(__name__)

TIMEOUT_S = 10.0
LARGEST = 1 << 16


class Credit:
    """Asks once at `look()`, then every `[spend] every_s` seconds in a thread that ends with the process."""

    def __init__(self, campaign: Campaign, state: StateDir, keys: Mapping[str, str]) -> None:
        self._state = state
        self._floor = campaign.spend.credit_floor_usd
        self._every_s = campaign.spend.every_s
        self._asked = {
            name: (pool.credit_url, keys.get(name, ""))
            for name, pool in campaign.pools.items()
            if pool.share > 0 and pool.credit_url
        }
        self._known: dict[str, dict[str, Any]] = {}
        self._end = threading.Event()

    def look(self) -> None:
        """Asks all endpoints and keeps the answers. Raises nothing."""
        for name, (url, key) in self._asked.items():
            try:
                self._known[name] = {"at": utc_now(), "error": ""} | read_credit(url, key)
            except (OSError, http.client.HTTPException, ValueError) as error:
                before = self._known.get(name, {"left": None, "limit": None, "at": ""})
                self._known[name] = before | {"error": f"{type(error).__name__}: {error}".replace(key or "\0", "<key>")}
                log.warning("CREDIT-UNKNOWN pool=%s reason=%r", name, self._known[name]["error"])
        if self._asked:
            try:
                value = {"schema": SCHEMA, "at": utc_now(), "floor_usd": self._floor, "pool": dict(self._known)}
                durable.write_json(self._state.root / "credit.json", value)
            except (OSError, DiskFull) as error:
                log.warning("CREDIT-NOT-KEPT reason=%r", str(error))

    def start(self) -> None:
        """Goes on asking, beside the loop: an endpoint that hangs must not hold it up."""
        if self._asked:
            threading.Thread(target=self._follow, daemon=True).start()

    def stop(self) -> None:
        """Asks no more."""
        self._end.set()

    def short(self) -> str:
        """Which pool's credit is at or under the floor, "" when none is known to be."""
        for name, known in list(self._known.items()):
            left = known.get("left")
            if left is not None and left <= self._floor:
                return f"{left:.2f} USD left for pool {name}, the floor is {self._floor:.2f}"
        return ""

    def _follow(self) -> None:
        while not self._end.wait(self._every_s):
            self.look()


def read_credit(url: str, key: str) -> dict[str, float | None]:
    """`left` and `limit` in USD, None = the endpoint does not say. Raises OSError, HTTPException, ValueError."""
    place = urlsplit(url)
    kind = http.client.HTTPSConnection if place.scheme == "https" else http.client.HTTPConnection
    connection = kind(place.netloc, timeout=TIMEOUT_S)
    try:
        headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        connection.request("GET", place.path + (f"?{place.query}" if place.query else ""), headers=headers)
        response = connection.getresponse()
        if response.status != 200:
            raise ValueError(f"the credit endpoint answered {response.status}")
        document = orjson.loads(response.read(LARGEST))
    finally:
        connection.close()
    data = document.get("data", document) if isinstance(document, dict) else None
    if not isinstance(data, dict):
        raise ValueError("the credit endpoint's answer is not an object")
    return _credit(data)


def _credit(data: dict[str, Any]) -> dict[str, float | None]:
    """Both forms in use: {limit, limit_remaining, usage} of a key, {total_credits, total_usage} of an account."""

    def number(name: str) -> float | None:
        value = data.get(name)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    limit = number("limit") if number("limit") is not None else number("total_credits")
    used = number("usage") if number("usage") is not None else number("total_usage")
    left = number("limit_remaining")
    if left is None and limit is not None and used is not None:
        left = limit - used
    return {"left": left, "limit": limit}
