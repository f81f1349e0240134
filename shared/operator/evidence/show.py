"""`campaign show FUNCTION`: every attempt at one function, what was said of it, and where it lies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import orjson

from shared.config.load import Campaign, find_config, load_campaign
from shared.errors import CampaignError
from shared.operator.evidence.backlog import printable, said
from shared.operator.evidence.look import Looker
from shared.operator.evidence.rows import Key, rows_of
from shared.operator.evidence.stubs import OpenStubs, binaries_of, open_stubs
from shared.records import SCHEMA
from shared.state import StateDir, open_state, utc_now

AGENT = (
    *("attempt", "outcome", "backend", "model", "pool", "turns", "requests"),
    *("tokens_in", "tokens_cached", "tokens_out", "cost_usd", "wall_s", "error", "notes"),
)
VERDICT = ("at", "stage", "oracle", "verdict", "reason", "closeness", "words", "evidence", "tu", "gate", "commit")


def collect(campaign: Campaign, state: StateDir, function: str, *, binary: str | None, diff: str) -> dict[str, Any]:
    """All that is kept of a function as one JSON object. Raises ConfigError when it is unknown or ambiguous."""
    stubs = open_stubs(campaign)
    journal = list(rows_of(state.journal / "drafts.jsonl", function))
    agents = [
        row | {"wave": path.parent.name}
        for path in sorted(state.waves.glob("w*/drafts*.jsonl"))
        for row in rows_of(path, function)
    ]
    known = {row["binary"] for row in (*journal, *agents) if row["binary"] in campaign.binaries}
    known |= {owner for owner, name in stubs.places if name == function}
    key = (binaries_of(campaign, function, binary, known), function)
    attempts: dict[str, dict[str, Any]] = {}
    for row in agents:
        if row["binary"] == key[0]:
            entry = attempts.setdefault(row["id"], _entry(row))
            entry |= {name: row[name] for name in AGENT if name in row}
    for row in journal:
        if row["binary"] == key[0]:
            entry = attempts.setdefault(row["id"], _entry(row))
            entry["draft"] = str(row.get("path") or entry["draft"])
            entry.setdefault("model", row.get("model", ""))
            entry["verdicts"].append({name: row[name] for name in VERDICT if name in row})
    for entry in attempts.values():
        _places(state, entry)
    found = list(attempts.values())
    _diffs(campaign, state, stubs, key, found, diff)
    places = stubs.places.get(key, [])
    return {
        "schema": SCHEMA,
        "at": utc_now(),
        "commit": stubs.commit,
        "binary": key[0],
        "function": function,
        "open": [{"tu": place.tu, "line": place.stub.line} for place in places],
        "asm": str(stubs.asm(key) or "") if places else "",
        "attempts": found,
    }


def _entry(row: dict[str, Any]) -> dict[str, Any]:
    wave = str(row.get("wave", ""))
    draft = str(row.get("path", ""))
    return {"id": row["id"], "wave": wave, "draft": draft, "transcript": "", "verdicts": [], "diff": "", "no_diff": ""}


def _places(state: StateDir, entry: dict[str, Any]) -> None:
    entry["draft_exists"] = _file(state, entry["draft"]) is not None
    transcript = f"waves/{entry['wave']}/transcripts/{entry['id']}.jsonl"
    entry["transcript"] = transcript if _file(state, transcript) is not None else ""


def _file(state: StateDir, path: str) -> Path | None:
    try:
        place = state.resolve(path)
    except CampaignError:
        return None
    return place if path and place.is_file() else None


def _diffs(
    campaign: Campaign, state: StateDir, stubs: OpenStubs, key: Key, found: list[dict[str, Any]], which: str
) -> None:
    wanted = [entry for entry in found if entry["draft_exists"]]
    if which == "best":
        wanted = sorted(wanted, key=_distance)[:1]
    if which == "none" or not wanted:
        return
    with Looker(campaign, state, stubs, key) as looker:
        for entry in wanted:
            place = _file(state, entry["draft"])
            assert place is not None
            entry["diff"], entry["no_diff"] = looker.diff(place.read_bytes())


def _distance(entry: dict[str, Any]) -> tuple[bool, int]:
    known = [row["closeness"] for row in entry["verdicts"] if row.get("closeness") is not None]
    return (not known, known[-1] if known else 0)


def lines(value: dict[str, Any]) -> list[str]:
    """The attempts for a person. Everything a model wrote is stripped of what a terminal would obey."""
    name = f"{value['binary']}/{value['function']}"
    where = " and ".join(f"{place['tu']}:{place['line']}" for place in value["open"])
    head = f"open at {where}" if where else "no stub"
    found = [f"{name}: {head} at {value['commit'][:12]}, {len(value['attempts'])} attempts"]
    if value["asm"]:
        found.append(f"target: {printable(value['asm'])}")
    for entry in value["attempts"]:
        cost = "cost unknown" if entry.get("cost_usd") is None else f"{entry['cost_usd']:.4f} USD"
        who = " ".join(str(entry[k]) for k in ("backend", "model", "pool") if entry.get(k))
        parts = [entry["id"], f"wave {entry['wave']}", who, entry.get("outcome", ""), cost]
        found += ["", printable("  ".join(part for part in parts if part))]
        for row in entry["verdicts"]:
            off = "" if row.get("closeness") is None else f" {row['closeness']}/{row.get('words')} words off"
            text = f"{row.get('stage', '')} {row.get('verdict', '')}{off}: {row.get('reason', '')}"
            found.append("  " + printable(text))
            found += [f"    {said(fact)}" for fact in row.get("evidence") or () if isinstance(fact, dict)]
        for label in ("error", "notes"):
            if entry.get(label):
                found.append(f"  {label}: {printable(str(entry[label]))}")
        if entry["draft"]:
            found.append(f"  draft: {printable(entry['draft'])}")
            if not entry["draft_exists"]:
                found[-1] += " (no longer there)"
        if entry["transcript"]:
            found.append(f"  transcript: {printable(entry['transcript'])}")
        found += [f"  {shown(line)}" for line in entry["diff"].splitlines()]
        if entry["no_diff"]:
            found.append(f"  no diff: {printable(entry['no_diff'])}")
    return found


def shown(line: str) -> str:
    """A line with its columns kept and every control character made a question mark."""
    return "".join(c if c.isprintable() else "?" for c in line)


@click.command()
@click.argument("function")
@click.option("--binary", help="Which binary, where several have a function of that name.")
@click.option(
    "--diff",
    type=click.Choice(["best", "all", "none"]),
    default="best",
    show_default=True,
    help="Compile and list beside the target: the closest draft, all that still exist, or none.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def show(context: click.Context, function: str, binary: str | None, diff: str, as_json: bool) -> None:
    """Show every attempt at FUNCTION: verdicts with evidence, who made it, where draft and transcript lie.

    The diff (yours | target) is made anew at the landing head; it needs the draft, a stub that is still open and a
    known green base, else the reason is said. Paths are below `.run`. Works with both daemons down. Exit code 0.

    \b
    campaign show func_80012345
    campaign show func_80012345 --binary main --diff all
    """
    campaign = load_campaign(find_config(context.obj))
    value = collect(campaign, open_state(campaign.root), function, binary=binary, diff=diff)
    click.echo(orjson.dumps(value) if as_json else "\n".join(lines(value)))
