"""`campaign drain` and `campaign resume`: the stop file, what a drain still waits for, and its bound."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import click
import orjson

from shared.config import find_config, load_campaign
from shared.config.load import Campaign
from shared.exits import Exit
from shared.operator.liveness import running
from shared.state import StateDir, open_state
from shared.stopping import SLACK_S, drain_bound_s

POLL_S = 0.2


def gate_bound_s(campaign: Campaign) -> float:
    """Longest bounded step of the gater: one build."""
    return campaign.gate.build_timeout_s + SLACK_S


def waited_for(state: StateDir) -> dict[str, int | bool]:
    """What keeps a drain from being over, counted from disk."""
    return {
        "drafter": running(state, "drafter"),
        "gater": running(state, "gater"),
        "shards": sum(1 for path in state.shards.glob("*/run.lock") if running(state, "", path)),
        "targets": sum(1 for path in state.shards.glob("*/inbox/*.json") if not path.name.startswith("cancel.")),
        "markers": sum(1 for name in ("ready", "claimed") for _ in (state.spool / name).glob("*.json")),
    }


def stop_age_s(state: StateDir) -> float | None:
    """Seconds since a drain was asked for, None when none was."""
    try:
        return max(0.0, datetime.now(UTC).timestamp() - state.stop.stat().st_mtime)
    except FileNotFoundError:
        return None


@click.command()
@click.option("--wait", is_flag=True, help="Follow until both daemons have ended; Ctrl-C only ends the following.")
@click.option("--timeout", type=click.FloatRange(min=0), help="With --wait: seconds to follow at most; then exit 1.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def drain(context: click.Context, wait: bool, timeout: float | None, as_json: bool) -> None:
    """Ask both daemons to finish what they have in hand and end (`touch .run/stop` does the same).

    No new targets are dealt; agents get their grace, save and end; what they drafted is gated. They stay down until
    `campaign resume`.
    """
    campaign = load_campaign(find_config(context.obj))
    state = open_state(campaign.root)
    state.stop.touch()
    bound = drain_bound_s(campaign)
    if not as_json:
        click.echo(
            f"{state.stop} is set; agents end within {bound:.0f} s, the gater when what they left is judged "
            f"(one build is bounded by {campaign.gate.build_timeout_s:.0f} s)"
        )
    over = _follow(state, timeout, quiet=as_json) if wait else False
    if as_json:
        value = {"stop": str(state.stop), "agents_bound_s": bound, "drained": over, "waited_for": waited_for(state)}
        click.echo(orjson.dumps(value))
    context.exit(Exit.OK if over or not wait else Exit.NEGATIVE)


def _follow(state: StateDir, timeout: float | None, *, quiet: bool) -> bool:
    begun = time.monotonic()
    said: dict[str, int | bool] = {}
    while True:
        left = waited_for(state)
        if left != said and not quiet:
            click.echo(describe(left))
        said = left
        if not left["drafter"] and not left["gater"]:
            return True
        if timeout is not None and time.monotonic() - begun > timeout:
            return False
        time.sleep(POLL_S)


def describe(left: dict[str, int | bool]) -> str:
    """One line: what a drain waits for."""
    daemons = [name for name in ("drafter", "gater") if left[name]]
    if not daemons:
        return "drained: both daemons have ended"
    counts = [f"{left[name]} {name}" for name in ("shards", "targets", "markers") if left[name]]
    return f"waiting for {' and '.join(daemons)}" + (f": {', '.join(counts)}" if counts else "")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def resume(root: Path, as_json: bool) -> None:
    """Lift a drain, so that the daemons can be started again."""
    state = open_state(load_campaign(find_config(root)).root)
    was = state.stopping()
    state.stop.unlink(missing_ok=True)
    if as_json:
        click.echo(orjson.dumps({"stop": str(state.stop), "lifted": was}))
    else:
        click.echo(f"{state.stop} lifted" if was else "nothing: no stop file was there")
