"""Numbers of a night out of the roll-up. A night is a list of waves; what is unknown is None, never zero."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from shared.operator.rollup.fold import COST, KNOWN, RATE
from shared.state import StateDir

CAUSES = ("ramp", "no-cards", "queue-depth", "rate-limit", "breaker", "restart", "drain")
"""Why a slot of the set point had no agent at work."""


def last_night(state: StateDir, data: dict[str, Any]) -> dict[str, Any] | None:
    """The night that is on, else the last one that ended; None before the first."""
    nights = data["nights"]
    try:
        on = orjson.loads((state.root / "night.json").read_bytes())
        known: dict[str, Any] = next((night for night in nights if night["id"] == on["id"]), {})
        return {"id": on["id"], "started": on["started"], "first_wave": on["first_wave"], "ended": ""} | {
            key: known[key] for key in ("workers",) if key in known
        }
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
        return dict(nights[-1]) if nights else None


def wave_record(state: StateDir, wave: str) -> dict[str, Any]:
    """wave.json of a wave, {} when it cannot be read."""
    try:
        value = orjson.loads((state.waves / wave / "wave.json").read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}
    return value if isinstance(value, dict) else {}


def waves_of(state: StateDir, night: dict[str, Any] | None, *, any_night: bool = False) -> list[dict[str, Any]]:
    """wave.json of the night's waves, in order; with `any_night` of all from its first wave on."""
    if night is None:
        return []
    first = f"w{night['first_wave']:06d}"
    names = sorted(
        (entry.name for entry in state.waves.iterdir() if entry.name.startswith("w") and entry.name[1:].isdigit()),
        key=lambda name: int(name[1:]),
    )
    records = [wave_record(state, name) for name in names if int(name[1:]) >= night["first_wave"] or name == first]
    if any_night:
        return [record for record in records if record]
    return [record for record in records if record and record.get("parameters", {}).get("night") in (night["id"], None)]


def funnel(data: dict[str, Any], waves: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Drawn, ended, drafted, judged, agreed, gated, banked of the given waves; each is a part of the one before."""
    total = dict.fromkeys(("drawn", "ended", "drafted", "judged", "agreed", "gated", "banked"), 0)
    verdicts: dict[str, int] = {}
    outcomes: dict[str, int] = {}
    for wave in waves:
        total["drawn"] += wave.get("cards", 0) * wave.get("attempts", 1)
        known = data["waves"].get(wave.get("id"))
        if known is None:
            continue
        total["ended"] += known["agents"]
        total["drafted"] += known["drafts"]
        for name in ("judged", "agreed", "gated", "banked"):
            total[name] += known[name]
        _add(verdicts, known["verdicts"])
        _add(outcomes, known["outcomes"])
    return total | {"verdicts": verdicts, "outcomes": outcomes}


def _add(total: dict[str, int], part: dict[str, int]) -> None:
    for name, count in part.items():
        if count:
            total[name] = total.get(name, 0) + count


def spend(data: dict[str, Any], waves: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """USD as reported by agents that ended; `agents` of unknown cost are counted apart."""
    cost, known, agents = 0.0, 0, 0
    for wave in waves:
        row = data["waves"].get(wave.get("id"))
        if row:
            cost, known, agents = cost + row["cost"], known + row["known"], agents + row["agents"]
    return {"usd": round(cost, 4) if known else None, "known_agents": known, "agents": agents}


def requests(data: dict[str, Any], night: dict[str, Any] | None) -> dict[str, Any]:
    """Requests and refusals: now (the last full minute), the last ten minutes, and over the night."""
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    start = night["started"][:16] if night else "9"
    last = sum_minutes(data, [stamp(now - timedelta(minutes=1))])
    ten = sum_minutes(data, [stamp(now - timedelta(minutes=n)) for n in range(1, 11)])
    minutes = [minute for minute in data["minutes"] if minute >= start]
    whole = sum_minutes(data, minutes)
    return {
        "last_minute": last,
        "ten_minutes": ten,
        "night": whole | {"minutes": len(minutes), "per_minute": round(whole["requests"] / max(1, len(minutes)), 1)},
    }


def stamp(at: datetime) -> str:
    """The roll-up's key of a minute."""
    return at.strftime("%Y-%m-%dT%H:%M")


def sum_minutes(data: dict[str, Any], minutes: Iterable[str]) -> dict[str, Any]:
    """RATE's columns and the cost over some minutes."""
    total = [0] * len(RATE)
    cost, known = 0.0, 0
    for minute in minutes:
        for row in data["minutes"].get(minute, {}).values():
            for index in range(len(RATE)):
                total[index] += row[index]
            cost, known = cost + row[COST], known + row[KNOWN]
    found: dict[str, Any] = dict(zip(RATE, total, strict=True))
    return found | {"usd": round(cost, 4) if known else None, "usd_known": known}


def idle(data: dict[str, Any], night: dict[str, Any] | None) -> dict[str, Any]:
    """Slot-minutes of the night: busy, idle by cause, and those nobody counted because the drafter was down."""
    if night is None:
        return {}
    rows = {m: row for m, row in data["fleet"].items() if m >= night["started"][:16]}
    causes: dict[str, float] = dict.fromkeys(CAUSES, 0.0)
    busy = span = 0.0
    workers = int(night.get("workers", 0))
    for row in rows.values():
        span += row[0]
        busy += row[3]
        workers = row[1] or workers
        for cause, lost in row[4].items():
            causes[cause] = causes.get(cause, 0.0) + lost
    begun = datetime.fromisoformat(night["started"])
    ended = datetime.fromisoformat(night["ended"]) if night.get("ended") else datetime.now(UTC)
    unseen = max(0.0, (ended - begun).total_seconds() - span)
    if night.get("ended") or unseen > 120:
        causes["restart"] += unseen * workers
    return {
        "busy": round(busy / 60, 1),
        "idle": {cause: round(lost / 60, 1) for cause, lost in causes.items()},
        "workers": workers,
    }
