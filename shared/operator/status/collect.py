"""The whole status as one JSON object. Every part answers for itself: a damaged file costs its part and says so."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import orjson

from shared import redlist
from shared.config import Campaign, load_campaign
from shared.config.overrides import parse
from shared.operator import liveness, numbers
from shared.operator.parts import Parts
from shared.operator.rollup.keep import Rollup, load
from shared.operator.shrink import shrunk
from shared.operator.source import Source, branches
from shared.operator.stopping import gate_bound_s, stop_age_s, waited_for
from shared.presence import code_digest, path_of
from shared.rates import summary
from shared.state import StateDir, utc_now
from shared.stopping import drain_bound_s


def collect(campaign: Campaign, state: StateDir, told: Callable[[int], None] | None = None) -> dict[str, Any]:
    """Everything `campaign status` shows. `told(bytes)` is called before a long first reading."""
    part = Parts()

    rolled = load(state, told=told)
    night = part("night", lambda: numbers.last_night(state, rolled.data))
    waves = part("waves", lambda: numbers.waves_of(state, night)) or []
    daemons = {name: part(name, partial(daemon, campaign, state, name)) for name in ("drafter", "gater")}
    shards = part("shards", lambda: shards_now(state)) or []
    value = {
        "schema": 1,
        "at": utc_now(),
        "project": campaign.project.name,
        "state": str(state.root),
        "night": night,
        "daemons": daemons,
        "stop": part("stop", lambda: stop(campaign, state, rolled)),
        "agents": part("agents", lambda: agents(campaign, state, shards)),
        "pools": part("pools", lambda: pools(campaign, shards)),
        "requests": part("requests", lambda: numbers.requests(rolled.data, night)),
        "rates": part("rates", lambda: msgspec.to_builtins(summary(state, since=night["started"] if night else ""))),
        "spool": part("spool", lambda: spool(state)),
        "gating": part("gating", lambda: gating(rolled, running=bool((daemons["gater"] or {}).get("running")))),
        "waiting": part("waiting", lambda: waiting(state)),
        "funnel": part("funnel", lambda: numbers.funnel(rolled.data, waves)),
        "source": part("source", lambda: source(campaign, state, waves)),
        "landing": part("landing", lambda: branches(campaign.root, campaign.landing.branch, campaign.landing.follow)),
        "red": part("red", lambda: red(state, rolled)),
        "shrunk": part("shrunk", lambda: shrunk_files(campaign)),
        "spend": part("spend", lambda: numbers.spend(rolled.data, waves)),
        "idle": part("idle", lambda: numbers.idle(rolled.data, night)),
        "credit": part("credit", lambda: credit(state)),
        "machine": part("machine", lambda: machine(state)),
        "last_error": rolled.data["error"],
        "outlets": part("outlets", lambda: outlets(state)),
        "journals": {"read_bytes": rolled.read_bytes, "cold": rolled.cold, "bad_lines": rolled.bad_lines},
    }
    part.troubles += rolled.problems
    if rolled.data["newer"]:
        part.troubles.append(f"{rolled.data['newer']} records of a later release were passed over")
    return value | {"troubles": part.troubles}


def daemon(campaign: Campaign, state: StateDir, name: str) -> dict[str, Any]:
    """Whether it runs, with what, and whether a restart would change that."""
    found: dict[str, Any] = {"running": liveness.running(state, name)}
    path = path_of(state, name)
    try:
        known = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return found
    found |= {key: known.get(key) for key in ("pid", "started", "settings", "code", "version", "overrides")}
    if found["running"]:
        found["loop_s"] = round(max(0.0, datetime.now(UTC).timestamp() - path.stat().st_mtime), 1)
        due = []
        typed = [parse(text) for text in known.get("overrides") or ()]
        if known.get("settings") != load_campaign(campaign.path, typed).digest():
            due.append("campaign.toml")
        if known.get("code") != code_digest():
            due.append("code")
        found["not_in_effect"] = due
    return found


def stop(campaign: Campaign, state: StateDir, rolled: Rollup) -> dict[str, Any]:
    """The stop file, and what a drain still waits for with its bound."""
    age = stop_age_s(state)
    found: dict[str, Any] = {"asked": age is not None}
    if age is not None:
        drain = rolled.data["drain"]
        bound = float(drain["bound_s"]) if drain else drain_bound_s(campaign)
        found |= {
            "age_s": round(age, 1),
            "agents_bound_s": bound,
            "agents_left_s": round(max(0.0, bound - age), 1),
            "gate_bound_s": gate_bound_s(campaign),
            "waited_for": waited_for(state),
        }
    return found


def shards_now(state: StateDir) -> list[dict[str, Any]]:
    """Heartbeats of the shards whose lock is held; one without a lock is dead, whatever its file says."""
    found = []
    for lock in sorted(state.shards.glob("*/run.lock")):
        if (lock.parent / "collected.json").exists() or not liveness.running(state, "", lock):
            continue
        try:
            beat = orjson.loads((lock.parent / "heartbeat.json").read_bytes())
        except (OSError, orjson.JSONDecodeError):
            beat = {}
        names = [entry.name for entry in os.scandir(lock.parent / "inbox") if entry.name.endswith(".json")]
        found.append({"shard": lock.parent.name, "targets": [name[:-5] for name in names], "beat": beat})
    return found


def agents(campaign: Campaign, state: StateDir, shards: list[dict[str, Any]]) -> dict[str, Any]:
    """Agents in flight, by pool and by lane (a target's wave names its lane)."""
    pools: dict[str, int] = {}
    waves: dict[str, int] = {}
    total = 0
    for shard in shards:
        beat = shard["beat"]
        count = int(beat.get("agents", 0))
        total += count
        pools[str(beat.get("pool", "?"))] = pools.get(str(beat.get("pool", "?")), 0) + count
        for target in shard["targets"]:
            wave = target.partition("-")[0]
            waves[wave] = waves.get(wave, 0) + 1
    lanes: dict[str, int] = {}
    for wave, count in waves.items():
        lane = numbers.wave_record(state, wave).get("lane", "?")
        lanes[lane] = lanes.get(lane, 0) + count
    return {
        "in_flight": total,
        "set_point": _set_point(campaign, state),
        "shards": len(shards),
        "by_pool": pools,
        "dealt": sum(len(shard["targets"]) for shard in shards),
        "dealt_by_lane": lanes,
    }


def _set_point(campaign: Campaign, state: StateDir) -> int:
    """What the drafter that runs has in effect, else the file's value."""
    try:
        known = orjson.loads(path_of(state, "drafter").read_bytes()) if liveness.running(state, "drafter") else {}
        return int(known["values"]["drafter"]["workers"])
    except (OSError, ValueError, KeyError, TypeError):
        return campaign.drafter.workers


def pools(campaign: Campaign, shards: list[dict[str, Any]]) -> dict[str, Any]:
    """Limits and breakers of each pool, summed over its shards."""
    found: dict[str, Any] = {
        name: {
            "model": pool.model,
            "workers": 0,
            "limit": 0.0,
            "requests_in_flight": 0,
            "breakers": [],
            "cuts": 0,
            "why": [],
        }
        for name, pool in campaign.pools.items()
    }
    for shard in shards:
        beat = shard["beat"]
        known = found.get(beat.get("pool", ""))
        if known is None:
            continue
        known["workers"] += int(beat.get("workers", 0))
        known["limit"] = round(known["limit"] + float(beat.get("limit", 0.0)), 1)
        known["requests_in_flight"] += int(beat.get("requests_in_flight", 0))
        known["cuts"] += int(beat.get("cuts", 0))
        if beat.get("limit_why") and beat["limit_why"] not in known["why"]:
            known["why"].append(beat["limit_why"])
        if beat.get("breaker") and beat["breaker"] not in known["breakers"]:
            known["breakers"].append(beat["breaker"])
    return found


def spool(state: StateDir) -> dict[str, int]:
    """Markers by state."""
    return {
        name: sum(1 for entry in os.scandir(state.spool / name) if entry.name.endswith(".json"))
        for name in ("ready", "claimed", "done", "poison", "requests")
    }


def gating(rolled: Rollup, *, running: bool) -> list[dict[str, Any]]:
    """Gates under way and for how long; none when the gater is down, for its builds died with it."""
    now = datetime.now(UTC)
    return [
        {"gate": gate, "binaries": known["binaries"], "drafts": known["slate"], "since_s": _since(known["at"], now)}
        for gate, known in (rolled.data["gates"].items() if running else ())
    ]


def _since(at: str, now: datetime) -> float:
    return round(max(timedelta(), now - datetime.fromisoformat(at)).total_seconds(), 1)


def waiting(state: StateDir) -> dict[str, int]:
    """Waiting drafts by reason."""
    found: dict[str, int] = {}
    for path in state.waiting.glob("*/*.json"):
        try:
            why = str(orjson.loads(path.read_bytes()).get("why", "?"))
        except (OSError, orjson.JSONDecodeError, AttributeError):
            why = "unreadable"
        found[why] = found.get(why, 0) + 1
    return found


def source(campaign: Campaign, state: StateDir, waves: list[dict[str, Any]]) -> dict[str, Any]:
    """Open stubs and banks, counted from the committed source."""
    heads = branches(campaign.root, campaign.landing.branch, campaign.landing.follow)
    head = heads["head"] or heads["follow_head"]
    if head is None:
        return {}
    counter = Source(campaign, state)
    now = counter.open_stubs(head)
    found: dict[str, Any] = {"commit": head, "open": sum(now.values()), "by_binary": now}
    start = next((wave["commit"] for wave in waves if wave.get("commit")), None)
    if start:
        before = counter.open_stubs(start)
        found |= {"night_start": start, "banked": sum(before.values()) - sum(now.values())}
    counter.save()
    return found


def shrunk_files(campaign: Campaign) -> list[dict[str, Any]]:
    """Tracked configuration that lost many lines in the person's checkout or index."""
    heads = branches(campaign.root, campaign.landing.branch, campaign.landing.follow)
    head = heads["head"] or heads["follow_head"]
    return shrunk(campaign, head) if head else []


def credit(state: StateDir) -> dict[str, Any]:
    """What the provider said is left, by pool; {} when it was never asked. None in it = it did not say."""
    try:
        value: dict[str, Any] = orjson.loads((state.root / "credit.json").read_bytes())
    except FileNotFoundError:
        return {}
    return value


def red(state: StateDir, rolled: Rollup) -> list[dict[str, Any]]:
    """Binaries on the red list, with the commit that turned them red if known, and those no control could judge."""
    listed = {
        name: {
            "state": "red",
            "commit": entry.commit,
            "at": entry.since,
            "reason": entry.reason,
            "culprit": entry.culprit,
        }
        for name, entry in redlist.read(state).red.items()
    }
    faults = {name: known for name, known in rolled.data["binaries"].items() if known["state"] == "fault"}
    return [{"binary": name} | known for name, known in sorted((faults | listed).items())]


def machine(state: StateDir) -> dict[str, Any]:
    """Memory, load and the room on the state directory's device."""
    memory = {}
    for line in Path("/proc/meminfo").read_text("ascii").splitlines():
        name, _, rest = line.partition(":")
        if name in ("MemTotal", "MemAvailable"):
            memory[name] = int(rest.split()[0]) >> 10
    room = os.statvfs(state.root)
    return {
        "memory_mib": memory.get("MemTotal", 0),
        "memory_available_mib": memory.get("MemAvailable", 0),
        "disk_free_mib": (room.f_bavail * room.f_frsize) >> 20,
        "inodes_free": room.f_favail,
        "load": round(os.getloadavg()[0], 2),
        "cores": os.cpu_count() or 1,
    }


def outlets(state: StateDir) -> dict[str, Any]:
    """How the last notification and the last metrics file went."""
    found = {}
    for name in ("notify", "metrics"):
        try:
            known = orjson.loads((state.root / "daemons" / f"{name}.json").read_bytes())
        except (OSError, orjson.JSONDecodeError):
            continue
        if isinstance(known, dict):
            found[name] = known
    return found
