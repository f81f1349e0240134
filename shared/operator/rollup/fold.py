"""How one record of each journal changes the roll-up. Plain lists and dicts: a million records go through here.

A record this release cannot make sense of raises, is counted as a bad line by the caller, and changes nothing that
matters. Minutes are the first 16 letters of a UTC stamp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shared.records import SCHEMA

JUDGED, AGREED, GATED, BANKED = 1, 2, 4, 8
"""Steps a draft has gone through, as bits; the last verdict is kept beside them."""

Fold = Callable[[dict[str, Any], dict[str, Any], str], None]
"""(roll-up, record, file name)"""
RATE = ("requests", "ok", "platform", "provider", "soft", "failed", "tokens_in", "tokens_cached", "tokens_out")
"""Columns of a minute's row of a pool; cost in USD and requests of known cost follow."""
COST, KNOWN = len(RATE), len(RATE) + 1
NIGHTS_KEPT = 60


class Newer(ValueError):
    """A record of a later release."""


def fresh() -> dict[str, Any]:
    """An empty roll-up."""
    return {
        "minutes": {},  # minute -> pool -> RATE + cost, known
        "flow": {},  # minute -> [agents ended, drafts, judged, agreed, gated, banked]
        "fleet": {},  # minute -> [span_s, workers, level, busy_s, {cause: slot-seconds}]
        "waves": {},  # wave -> see _wave
        "standing": {},  # draft -> "<bits in hex><last verdict>"
        "gates": {},  # gate -> what is being built
        "early": [],  # gates whose outcome was read before their start: two files have no common order
        "binaries": {},  # binary -> {state, reason, at}
        "walls": {},  # binary -> [gates, wall_s, builds, banked]
        "nights": [],
        "error": None,
        "errors": 0,
        "drain": None,
        "settled": 0,
        "newer": 0,
    }


def rate(data: dict[str, Any], row: dict[str, Any], _: str) -> None:
    """One model request."""
    if row.get("schema", SCHEMA) > SCHEMA:
        _newer(data)
    pools = data["minutes"].setdefault(row["at"][:16], {})
    known = pools.get(row["pool"])
    if known is None:
        known = pools[row["pool"]] = [0] * len(RATE) + [0.0, 0]
    known[0] += 1
    source = row.get("source")
    if source == "platform":
        known[2] += 1
    elif source == "provider":
        known[3] += 1
    elif source == "soft":
        known[4] += 1
    elif row["result"] == "ok":
        known[1] += 1
    else:
        known[5] += 1
    known[6] += row.get("tokens_in", 0)
    known[7] += row.get("tokens_cached", 0)
    known[8] += row.get("tokens_out", 0)
    cost = row.get("cost_usd")
    if cost is not None:
        known[COST] += cost
        known[KNOWN] += 1


def _wave(data: dict[str, Any], wave: str) -> dict[str, Any]:
    known: dict[str, Any] | None = data["waves"].get(wave)
    if known is None:
        known = data["waves"][wave] = {
            "agents": 0,
            "drafts": 0,
            "outcomes": {},
            "cost": 0.0,
            "known": 0,
            "turns": 0,
            "truncated": 0,
            "judged": 0,
            "agreed": 0,
            "gated": 0,
            "banked": 0,
            "verdicts": {},
            "models": {},  # model -> [agents, drafts, agreed, banked, cost, known]
        }
    return known


def _flow(data: dict[str, Any], at: str) -> list[int]:
    row: list[int] | None = data["flow"].get(at[:16])
    if row is None:
        row = data["flow"][at[:16]] = [0] * 6
    return row


def agents(data: dict[str, Any], row: dict[str, Any], _: str) -> None:
    """An agent has ended."""
    if row.get("schema", SCHEMA) > SCHEMA:
        _newer(data)
    wave = _wave(data, row["id"].partition("-")[0])
    wave["agents"] += 1
    wave["outcomes"][row["outcome"]] = wave["outcomes"].get(row["outcome"], 0) + 1
    wave["turns"] += row.get("turns", 0)
    wave["truncated"] += row.get("truncated_turns", 0)
    model = wave["models"].setdefault(row.get("model", "") or row.get("backend", "?"), [0, 0, 0, 0, 0.0, 0])
    model[0] += 1
    flow = _flow(data, row.get("at", ""))
    flow[0] += 1
    if row.get("path"):
        wave["drafts"] += 1
        model[1] += 1
        flow[1] += 1
    cost = row.get("cost_usd")
    if cost is not None:
        wave["cost"] += cost
        wave["known"] += 1
        model[4] += cost
        model[5] += 1


_STEPS = ((JUDGED, "judged", 2), (AGREED, "agreed", 3), (GATED, "gated", 4), (BANKED, "banked", 5))


def drafts(data: dict[str, Any], row: dict[str, Any], _: str) -> None:
    """A verdict; the last one of a draft is its standing."""
    if row.get("schema", SCHEMA) > SCHEMA:
        _newer(data)
    key, verdict = row["id"], row["verdict"]
    before = data["standing"].get(key)
    bits = int(before[0], 16) if before else 0
    now = bits | JUDGED
    if row["stage"] == "gate":
        if verdict in ("BANKED", "BAD", "INTERACTION"):
            now |= AGREED | GATED
        if verdict == "BANKED":
            now |= BANKED
    elif verdict == "AGREE":
        now |= AGREED
    wave = _wave(data, row["wave"])
    if before:
        wave["verdicts"][before[1:]] -= 1
    wave["verdicts"][verdict] = wave["verdicts"].get(verdict, 0) + 1
    if now != bits:
        model = wave["models"].setdefault(row.get("model", "") or row.get("backend", "?"), [0, 0, 0, 0, 0.0, 0])
        flow = _flow(data, row["at"])
        for bit, name, column in _STEPS:
            if now & bit and not bits & bit:
                wave[name] += 1
                flow[column] += 1
        model[2] += bool(now & AGREED and not bits & AGREED)
        model[3] += bool(now & BANKED and not bits & BANKED)
    data["standing"][key] = f"{now:x}{verdict}"


def ledger(data: dict[str, Any], row: dict[str, Any], _: str) -> None:
    """A settled marker, a gate's outcome, a finished wave."""
    if row.get("schema", SCHEMA) > SCHEMA:
        _newer(data)
    if row["kind"] == "marker":
        data["settled"] += 1
    elif row["kind"] == "batch":
        if data["gates"].pop(row["gate"], None) is None:
            data["early"] = [*data["early"][-63:], row["gate"]]
        for binary in row["binaries"]:
            wall = data["walls"].setdefault(binary, [0, 0.0, 0, 0])
            wall[0] += 1
            wall[1] += row.get("wall_s", 0.0)
            wall[2] += row.get("builds", 0)
            wall[3] += row.get("banked", 0)


def events(data: dict[str, Any], row: dict[str, Any], _: str) -> None:
    """The drafter did something."""
    event = row["event"]
    if event == "fleet":
        known = data["fleet"].setdefault(row["at"][:16], [0.0, 0, 0, 0.0, {}])
        known[0] += row["span_s"]
        known[1], known[2] = row["workers"], row["level"]
        known[3] += row["busy_s"]
        for cause, lost in row["idle_s"].items():
            known[4][cause] = known[4].get(cause, 0.0) + lost
    elif event == "start":
        nights = data["nights"]
        if not nights or nights[-1]["id"] != row["night"]:
            nights.append({"id": row["night"], "started": row["at"], "first_wave": row["next_wave"], "ended": ""})
            del nights[:-NIGHTS_KEPT]
        nights[-1]["ended"] = ""
        nights[-1]["workers"] = row.get("workers", 0)
        data["drain"] = None
    elif event == "drain":
        data["drain"] = {"at": row["at"], "bound_s": row["bound_s"]}
    elif event == "end" and data["nights"]:
        data["nights"][-1]["ended"] = row["at"]
        data["nights"][-1]["reason"] = row.get("reason", "")
    if row.get("level") == "error":
        _error(data, row["at"], "drafter", event, str(row.get("reason", "")))


def steps(data: dict[str, Any], row: dict[str, Any], _: str) -> None:
    """The gater did something."""
    event = row["event"]
    if event == "gate":
        for gate in [g for g, known in data["gates"].items() if set(known["binaries"]) & set(row["binaries"])]:
            del data["gates"][gate]
        if row["gate"] in data["early"]:
            data["early"].remove(row["gate"])
            return
        data["gates"][row["gate"]] = {"binaries": row["binaries"], "slate": row["slate"], "at": row["at"]}
    elif event in ("control", "fleet-check") and "binary" in row:
        data["binaries"][row["binary"]] = {
            "state": row["state"],
            "commit": row.get("commit", ""),
            "at": row["at"],
            "reason": str(row.get("reason", "")),
        }
    if row.get("level") == "error" or event.endswith("fault"):
        _error(data, row["at"], "gater", event, str(row.get("reason", "")))


def _error(data: dict[str, Any], at: str, daemon: str, event: str, reason: str) -> None:
    data["errors"] += 1
    if data["error"] is None or data["error"]["at"] <= at:
        data["error"] = {"at": at, "daemon": daemon, "event": event, "reason": reason[:400]}


def _newer(data: dict[str, Any]) -> None:
    data["newer"] += 1
    raise Newer("a record of a later release")


FOLDS: dict[str, Fold] = {
    "rate": rate,
    "agents": agents,
    "drafts": drafts,
    "ledger": ledger,
    "events": events,
    "steps": steps,
}
