"""How long a response asks us to wait, under every name gateways use."""

from __future__ import annotations

import email.utils
import math
import re
from collections.abc import Mapping
from typing import Any

LONGEST_S = 3600.0
"""A wait above this is a mistake of the server or a limit better met by the breaker; a night must not hang on it."""

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_UNIT = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def retry_after(headers: Mapping[str, str], error: Mapping[str, Any], now: float) -> float | None:
    """Seconds to wait, None when nothing is said. `now` is UTC seconds since the epoch.

    Reads `Retry-After` and any prefixed form (`x-retry-after`, `llm_provider-retry-after`), the `-ms` form, and the
    `X-RateLimit-Reset` family, from the headers and from those a gateway copies into error.metadata.headers. The
    longest wins within one group; an explicit Retry-After wins over a reset.
    """
    fields = {name.lower().replace("_", "-"): value for name, value in headers.items()}
    metadata = error.get("metadata")
    inner = metadata.get("headers") if isinstance(metadata, dict) else None
    if isinstance(inner, dict):
        fields |= {str(name).lower().replace("_", "-"): str(value) for name, value in inner.items()}
    asked = [_bounded(seconds(value, now)) for name, value in fields.items() if name.endswith("retry-after")]
    asked += [_bounded(_scaled(value, 0.001)) for name, value in fields.items() if name.endswith("retry-after-ms")]
    waits = [value for value in asked if value is not None]
    if waits:
        return max(waits)
    resets = [_bounded(seconds(value, now)) for name, value in fields.items() if name.startswith("x-ratelimit-reset")]
    known = [value for value in resets if value is not None]
    return max(known) if known and _exhausted(fields) else None


def _exhausted(fields: Mapping[str, str]) -> bool:
    """A reset counts when a remaining count says zero or none is given: some send resets with every answer."""
    left = [value.strip() for name, value in fields.items() if name.startswith("x-ratelimit-remaining")]
    return not left or any(value in ("0", "0.0") for value in left)


def seconds(text: str, now: float) -> float | None:
    """A wait spelled as seconds, an epoch in seconds or milliseconds, an HTTP date, or a duration like `1m30s`."""
    text = text.strip()
    try:
        number = float(text)
    except ValueError:
        pass
    else:
        if not math.isfinite(number):
            return None
        if number > 1e12:
            return number / 1000.0 - now
        return number - now if number > 1e9 else number
    parts = _DURATION.findall(text)
    if parts and "".join(amount + unit for amount, unit in parts) == text:
        return sum(float(amount) * _UNIT[unit] for amount, unit in parts)
    try:
        return email.utils.parsedate_to_datetime(text).timestamp() - now
    except (ValueError, TypeError, OverflowError):
        return None


def _scaled(text: str, factor: float) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number * factor if math.isfinite(number) else None


def _bounded(value: float | None) -> float | None:
    return None if value is None else min(max(value, 0.0), LONGEST_S)
