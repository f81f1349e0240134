"""`campaign run --waves 0`: everything a night needs before its first request, and nothing that asks a model."""

from __future__ import annotations

import subprocess
from typing import Any

import orjson

from shared.config import Campaign
from shared.config.overrides import words
from shared.errors import InstrumentFault, MissingTool
from shared.exits import Exit
from shared.operator.rollup.keep import load
from shared.operator.running.children import program
from shared.operator.running.figures import head_of
from shared.state import StateDir
from shared.workspace import acquire


def prepare(campaign: Campaign, state: StateDir) -> dict[str, Any]:
    """Null controls (with their bases and workspaces), the frontier, and the oracles' workspaces.

    Drafts that wait in the spool are judged on the way. Raises CampaignError.
    """
    sets = words(campaign.overrides)
    _command(campaign, "gater", ["run", "--once", *sets], {Exit.OK})
    shown = _command(campaign, "drafter", ["draw", "--dry-run", "--json"], {Exit.OK, Exit.NEGATIVE, Exit.FAULT})
    drawn = orjson.loads(shown)
    head = head_of(campaign)
    shards = -(-campaign.drafter.workers // campaign.drafter.agents_per_shard)
    seats = [seat for _ in range(shards) if head and (seat := acquire(campaign, state, "oracle", shards)) is not None]
    for seat in seats:
        seat.sync(str(head), read_only=True)
        seat.release()
    known = load(state).data["binaries"]
    return {
        "commit": drawn["commit"],
        "frontier": drawn["frontier"],
        "next_wave": drawn["wave"],
        "next_cards": len(drawn["cards"]),
        "controls": {name: known.get(name, {}).get("state", "unknown") for name in campaign.binaries},
        "oracle_workspaces": len(seats),
        "requests": 0,
    }


def lines(found: dict[str, Any]) -> list[str]:
    """For a person."""
    states = found["controls"]
    green = sum(1 for state in states.values() if state == "green")
    others = ", ".join(f"{name} {state}" for name, state in states.items() if state != "green")
    return [
        f"frontier  {found['frontier']} open stubs at {found['commit'][:12]}",
        f"next      {found['next_wave']} would draw {found['next_cards']} cards",
        f"controls  {green} of {len(states)} binaries green" + (f"; {others}" if others else ""),
        f"oracles   {found['oracle_workspaces']} workspaces ready",
        "requests  nothing was asked of any model",
    ]


def _command(campaign: Campaign, name: str, arguments: list[str], allowed: set[Exit]) -> bytes:
    try:
        done = subprocess.run(
            [*program(name), "--root", str(campaign.root), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise MissingTool(f"{name} is not installed beside this command ({error.filename})") from error
    if done.returncode not in allowed:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise InstrumentFault(f"`{name} {' '.join(arguments)}` ended with code {done.returncode}: {said[-1:] or ''}")
    return done.stdout
