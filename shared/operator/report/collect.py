"""The numbers of the report, out of the roll-ups, the waves on disk, the committed source and the backlog."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from shared.config import Campaign
from shared.errors import CampaignError, ConfigError
from shared.git import Git
from shared.operator import numbers
from shared.operator.evidence import backlog
from shared.operator.parts import Parts
from shared.operator.rollup.keep import load
from shared.operator.status.collect import red as red_list
from shared.operator.status.collect import source
from shared.state import StateDir, utc_now

STEPS = ("drawn", "ended", "drafted", "judged", "agreed", "gated", "banked")
NEAR = 40
BANKS_SHOWN = 2000


def collect(
    campaign: Campaign,
    state: StateDir,
    since: datetime | None,
    wave: str | None,
    told: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """One JSON object. The span is the last night, or begins at `since`, or is one wave. Raises ConfigError."""
    part = Parts()

    rolled = load(state, told=told)
    night, waves = _span(state, rolled.data, since, wave)
    minutes = _minutes(rolled.data, night)
    rows = [_wave_row(rolled.data, record) for record in waves]
    value = {
        "schema": 1,
        "at": utc_now(),
        "project": campaign.project.name,
        "span": night,
        "funnel": numbers.funnel(rolled.data, waves),
        "spend": numbers.spend(rolled.data, waves),
        "idle": part("idle", lambda: numbers.idle(rolled.data, night)),
        "requests": part("requests", lambda: numbers.sum_minutes(rolled.data, minutes) | {"minutes": len(minutes)}),
        "source": part("source", lambda: source(campaign, state, waves)),
        "red": part("red", lambda: red_list(state, rolled)) or [],
        "waves": rows,
        "lanes": _sums(rows, "lane"),
        "bands": _sums(rows, "band"),
        "models": _models(rolled.data, waves),
        "walls": [
            {"binary": name, "gates": wall[0], "wall_s": round(wall[1], 1), "builds": wall[2], "banked": wall[3]}
            for name, wall in sorted(rolled.data["walls"].items())
        ],
        "minutes": [_minute(rolled.data, minute) for minute in minutes],
        "near": part("backlog", lambda: backlog.collect(campaign, state, binary=None, top=NEAR)),
        "banks": part("banks", lambda: _banks(campaign, {record["id"] for record in waves})) or [],
        "last_error": rolled.data["error"],
        "errors": rolled.data["errors"],
    }
    return value | {"troubles": part.troubles + rolled.problems}


def _span(
    state: StateDir, data: dict[str, Any], since: datetime | None, wave: str | None
) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    night = numbers.last_night(state, data)
    if since is None and wave is None:
        return night, numbers.waves_of(state, night)
    everything = numbers.waves_of(state, {"id": "", "first_wave": 0, "started": ""}, any_night=True)
    if wave is not None:
        chosen = [record for record in everything if record.get("id") == wave]
        if not chosen:
            raise ConfigError(f"there is no wave {wave}; `ls .run/waves` has them")
        begun = str(chosen[0].get("created") or (night or {}).get("started") or utc_now())
        return {"id": wave, "started": begun, "first_wave": chosen[0].get("number", 0), "ended": ""}, chosen
    assert since is not None
    begun = since.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    chosen = [record for record in everything if str(record.get("created", "")) >= begun]
    first = min((int(record.get("number", 0)) for record in chosen), default=0)
    return {"id": f"since {begun}", "started": begun, "first_wave": first, "ended": ""}, chosen


def _minutes(data: dict[str, Any], night: dict[str, Any] | None) -> list[str]:
    if night is None:
        return []
    start, end = night["started"][:16], (night.get("ended") or "9")[:16]
    return sorted(m for m in data["minutes"].keys() | data["flow"].keys() | data["fleet"].keys() if start <= m <= end)


def _minute(data: dict[str, Any], minute: str) -> dict[str, Any]:
    asked = numbers.sum_minutes(data, [minute])
    flow = data["flow"].get(minute, [0] * 6)
    fleet = data["fleet"].get(minute)
    found = {name: asked[name] for name in ("requests", "platform", "provider", "soft")}
    found |= {"at": minute, "drafts": flow[1], "agreed": flow[3], "banked": flow[5]}
    if fleet and fleet[0]:
        found |= {"workers": fleet[1], "busy": round(fleet[3] / fleet[0], 2)}
    return found


def _wave_row(data: dict[str, Any], record: dict[str, Any]) -> dict[str, Any]:
    known = data["waves"].get(record.get("id"))
    row = {
        "id": str(record.get("id", "?")),
        "lane": str(record.get("lane", "?")),
        "band": "-".join(str(edge) for edge in record.get("band", [])),
        "usd": round(known["cost"], 4) if known and known["known"] else None,
    }
    return row | {name: numbers.funnel(data, [record])[name] for name in STEPS}


def _sums(rows: list[dict[str, Any]], by: str) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        total = found.setdefault(row[by], {"name": row[by], "waves": 0, "usd": None} | dict.fromkeys(STEPS, 0))
        total["waves"] += 1
        for name in STEPS:
            total[name] += row[name]
        if row["usd"] is not None:
            total["usd"] = round((total["usd"] or 0.0) + row["usd"], 4)
    return sorted(found.values(), key=lambda total: str(total["name"]))


def _models(data: dict[str, Any], waves: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: dict[str, list[Any]] = {}
    for record in waves:
        for model, row in data["waves"].get(record.get("id"), {}).get("models", {}).items():
            total = found.setdefault(model, [0, 0, 0, 0, 0.0, 0])
            for index, part in enumerate(row):
                total[index] += part
    names = ("ended", "drafted", "agreed", "banked")
    return [
        {"name": model} | dict(zip(names, row, strict=False)) | {"usd": round(row[4], 4) if row[5] else None}
        for model, row in sorted(found.items())
    ]


def _banks(campaign: Campaign, waves: set[str]) -> list[dict[str, str]]:
    """Banked functions of the span with their commits, newest first, read from the commits' trailers."""
    git = Git(campaign.root)
    head = git.find(f"refs/heads/{campaign.landing.branch}")
    if head is None:
        return []
    wave, function = (f"%(trailers:key={key},valueonly,separator=%x1d)" for key in ("Wave", "Function"))
    form = f"%H%x1f%cI%x1f{wave}%x1f{function}"
    found = []
    try:
        out = git.call("log", f"-n{BANKS_SHOWN}", f"--format={form}", head)
    except CampaignError:
        return []
    for line in out.split("\n"):
        commit, when, of, functions = [*line.split("\x1f"), "", "", ""][:4]
        if waves & set(re.findall(r"w\d+", of)):
            found += [{"function": f, "commit": commit, "at": when} for f in functions.split("\x1d") if f]
    return found
