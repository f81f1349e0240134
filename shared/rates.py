"""What the requests to the models came to, for any window: from the shards' request rows, each byte read once.

Each journal/rate-*.jsonl has a roll-up in cache/rates/ by minute, wave and model, with the file's identity and how far
it was read. A replaced or shortened file is read anew; the cache can be deleted at any time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
from msgspec import Struct, field

from shared import durable
from shared.errors import DiskFull
from shared.records import SCHEMA
from shared.state import StateDir

FORM = 1
SHORTEST_S = 30.0
"""Requests per minute over less than this say nothing (one answer more or less would double them)."""
SAVE_BYTES = 65536
SOURCES = ("platform", "provider", "soft")
COUNTS = ("requests", "ok", *SOURCES, "failed", "tokens_in", "tokens_cached", "tokens_out", "cost_known")
COST, FIRST, LAST = len(COUNTS), len(COUNTS) + 1, len(COUNTS) + 2


class Rates(Struct, frozen=True):
    """Sums over a window. `tokens_in` includes the cached ones; `cost_usd` sums what is known, None = nothing is.

    `h429` is by source; `longest_429_minutes` counts consecutive minutes with a 429 of any source. `per_minute` is None
    (unknown) for under SHORTEST_S seconds. `cost_known` is the number of requests that `cost_usd` is about.
    """

    requests: int = 0
    ok: int = 0
    failed: int = 0
    h429: dict[str, int] = field(default_factory=dict)
    longest_429_minutes: int = 0
    span_s: float = 0.0
    per_minute: float | None = None
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    cost_usd: float | None = None
    cost_known: int = 0
    bad_lines: int = 0
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    schema: int = SCHEMA


def summary(state: StateDir, *, wave: str | None = None, since: str = "", until: str = "") -> Rates:
    """The requests of a window of UTC stamps, [since, until) by whole minutes ("" = open), of one wave or of all.

    Rows without a wave belong to none. A damaged line is counted; a file that cannot be read is as one that is absent.
    """
    low, high = since[:16], until[:16]
    total: list[Any] = [0] * len(COUNTS) + [0.0, "", ""]
    models: dict[str, list[Any]] = {}
    limited: set[str] = set()
    bad = 0
    for known in _files(state, low[:10]):
        bad += known["bad"]
        for minute, waves in known["minutes"].items():
            if (low and minute < low) or (high and minute >= high):
                continue
            for name, rows in waves.items():
                if wave is not None and name != wave:
                    continue
                for model, row in rows.items():
                    _add(total, row)
                    _add(models.setdefault(model, [0] * len(COUNTS) + [0.0, "", ""]), row)
                    if any(row[COUNTS.index(source)] for source in SOURCES):
                        limited.add(minute)
    span = _seconds(since or total[FIRST], until or total[LAST])
    return Rates(
        **_fields(total, span),
        longest_429_minutes=_longest(limited),
        span_s=round(span, 1),
        bad_lines=bad,
        models={name: _fields(row, span) for name, row in sorted(models.items())},
    )


def _fields(row: list[Any], span: float) -> dict[str, Any]:
    counts = dict(zip(COUNTS, row, strict=False))
    return {
        **{name: counts[name] for name in COUNTS if name not in SOURCES},
        "h429": {source: counts[source] for source in SOURCES if counts[source]},
        "per_minute": round(counts["requests"] * 60.0 / span, 1) if span >= SHORTEST_S else None,
        "cost_usd": round(row[COST], 6) if counts["cost_known"] else None,
    }


def _add(total: list[Any], row: list[Any]) -> None:
    for index in range(FIRST):
        total[index] += row[index]
    total[FIRST] = min(total[FIRST] or row[FIRST], row[FIRST])
    total[LAST] = max(total[LAST], row[LAST])


def _longest(minutes: set[str]) -> int:
    best = run = 0
    before: datetime | None = None
    for minute in sorted(minutes):
        at = datetime.fromisoformat(minute)
        run = run + 1 if before is not None and at - before == timedelta(minutes=1) else 1
        best, before = max(best, run), at
    return best


def _seconds(first: str, last: str) -> float:
    if not first or not last:
        return 0.0
    return max(0.0, (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds())


def _files(state: StateDir, day: str) -> Iterator[dict[str, Any]]:
    """The roll-up of every file that can have rows of `day` or later, brought up to date."""
    for path in sorted(state.journal.glob("rate-*.jsonl")):
        if day and path.name[5:15] < day and path.name[9:10] == "-":
            continue
        with contextlib.suppress(OSError):
            yield _rolled(state, path)


def _rolled(state: StateDir, path: Path) -> dict[str, Any]:
    status = path.stat()
    place = state.cache / "rates" / f"{path.name}.json"
    known = _known(place)
    mark = [status.st_dev, status.st_ino]
    if known is None or known["file"] != mark or status.st_size < known["offset"]:
        known = {"form": FORM, "file": mark, "offset": 0, "bad": 0, "minutes": {}}
    if status.st_size == known["offset"]:
        return known
    with path.open("rb") as stream:
        stream.seek(known["offset"])
        data = stream.read(status.st_size - known["offset"])
    whole = data.rfind(b"\n") + 1
    for line in data[:whole].splitlines():
        try:
            _fold(known["minutes"], orjson.loads(line))
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
            known["bad"] += bool(line.strip())
    known["offset"] += whole
    if whole > SAVE_BYTES:
        with contextlib.suppress(OSError, DiskFull):  # it is only a cache
            place.parent.mkdir(parents=True, exist_ok=True)
            durable.write(place, orjson.dumps(known))
    return known


def _known(place: Path) -> dict[str, Any] | None:
    try:
        value = orjson.loads(place.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None
    keys = ("form", "file", "offset", "bad", "minutes")
    whole = isinstance(value, dict) and all(key in value for key in keys) and value["form"] == FORM
    return value if whole else None


def _fold(minutes: dict[str, Any], row: dict[str, Any]) -> None:
    at, result, source = row["at"], row["result"], row.get("source", "")
    cost = row.get("cost_usd")
    kind = source if source in SOURCES else "ok" if result == "ok" else "failed"
    counts = {
        "requests": 1,
        kind: 1,
        "tokens_in": row.get("tokens_in", 0),
        "tokens_cached": row.get("tokens_cached", 0),
        "tokens_out": row.get("tokens_out", 0),
        "cost_known": int(cost is not None),
    }
    fresh = [*(counts.get(name, 0) for name in COUNTS), float(cost or 0.0), at, at]
    rows = minutes.setdefault(at[:16], {}).setdefault(row.get("wave", ""), {})
    model = row.get("model", "")
    if model in rows:
        _add(rows[model], fresh)
    else:
        rows[model] = fresh
