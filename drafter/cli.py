"""The `drafter` command."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import click
import msgspec
import orjson
import sdnotify

from drafter.agents.keys import find_key
from drafter.alarm import Alarm
from drafter.clock import RealClock
from drafter.credit import Credit
from drafter.daemon import TICK_S, Daemon
from drafter.ending import end_agents
from drafter.events import Events
from drafter.frontier import FrontierReader
from drafter.host import ProcessHost
from drafter.preview import preview
from drafter.twins.backend import Twins
from shared.cli.entry import run_command
from shared.cli.overriding import Chosen, for_option, run_options
from shared.config import Campaign, find_config, load_campaign
from shared.config.origins import origins
from shared.config.overrides import words
from shared.errors import AlreadyRunning, ConfigError
from shared.exits import Exit
from shared.git import Git
from shared.locks import HeldLock, lock
from shared.log import setup_logging
from shared.presence import Presence
from shared.state import StateDir, open_state
from shared.stopping import StopSignal

log = logging.getLogger(__name__)

LOCK_WAIT_S = 1.0
"""Shards look at the drafter lock now and then, which takes it for an instant: one try could fail falsely."""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--root", type=click.Path(path_type=Path, file_okay=False), default=Path(), help="The decomp project.")
@click.option("-v", "--verbose", is_flag=True, help="Also log detail.")
@click.option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Of log lines."
)
@click.version_option(package_name="decomp-campaign")
@click.pass_context
def cli(context: click.Context, root: Path, verbose: bool, log_format: str) -> None:
    """Draws waves of open stubs and keeps the fleet of agents full.

    Reads campaign.toml at or above the current folder. Exit codes are listed in docs/exit-codes.md.
    """
    setup_logging(verbose, log_format)
    context.obj = root


@cli.command()
@click.option(
    "--waves", type=click.IntRange(min=1), help="End when this many waves of the night are drafted and published."
)
@for_option
@run_options
@click.pass_context
def run(context: click.Context, waves: int | None, duration: float | None, chosen: Chosen) -> None:
    """Draw, deal and publish until `.run/stop` appears.

    SIGTERM ends the drafter alone: its agents work on and are taken up again at the next start. A second one ends it at
    once. `drafter kill-agents` ends the agents.
    """
    campaign = chosen.load(context.obj)
    state = open_state(campaign.root)
    Git(campaign.root).check()
    with _only_drafter(state):
        context.exit(_run(campaign, state, waves, duration))


@cli.command()
@click.option("--dry-run", is_flag=True, help="Show the draw and write nothing; works beside a running drafter.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def draw(context: click.Context, dry_run: bool, as_json: bool) -> None:
    """Draw the next wave; a drafter deals it at its next start."""
    campaign, state = _open(context.obj)
    if dry_run:
        drawn = preview(campaign, state, write=False)
    else:
        with _only_drafter(state):
            drawn = preview(campaign, state, write=True)
    if as_json:
        click.echo(orjson.dumps(msgspec.to_builtins(drawn), option=orjson.OPT_INDENT_2))
        return
    low, high = drawn.band
    click.echo(f"{drawn.wave}: lane {drawn.lane}, {low}-{high} instructions, at {drawn.commit[:12]}")
    click.echo(f"{len(drawn.cards)} cards of {drawn.frontier} open stubs")
    for reason, count in sorted(drawn.skipped.items()):
        click.echo(f"  {count:6} {reason}")
    context.exit(Exit.OK if drawn.balanced else Exit.FAULT)


@cli.command()
@click.option("--once", is_flag=True, help="Search once and publish what is found.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def twins(context: click.Context, once: bool, as_json: bool) -> None:
    """Draft open stubs from banked functions of equal code, without a model.

    A stub whose words equal those of a banked function, relocated fields aside, gets that body in its own names; one
    that differs in constants as well gets it where each has a literal of its own. The gater judges them like any
    draft. A pair that was tried is not tried again until the stub's code or the banked text is another.

    A running drafter does this by itself after every bank ([drafter] twins).
    """
    if not once:
        raise click.UsageError("say --once; a running drafter searches by itself after every bank")
    campaign, state = _open(context.obj)
    Git(campaign.root).check()
    with _only_drafter(state):
        clock = RealClock()
        events = Events(state, clock)
        try:
            backend = Twins(campaign, state, events, clock)
            backend.start()
            found = backend.once()
            backend.close()
        finally:
            events.close()
    if as_json:
        counts = {name: getattr(found, name) for name in ("commit", "open", "alone", "in_flight", "tried", "unpaired")}
        drafts = [msgspec.to_builtins(made.pair) for made in found.made]
        click.echo(orjson.dumps(counts | {"published": drafts}, option=orjson.OPT_INDENT_2))
        return
    click.echo(f"{len(found.made) or 'nothing'} published of {found.open} open stubs, at {found.commit[:12]}")
    for text, count in (
        ("have no banked twin", found.alone),
        ("are with the gater already", found.in_flight),
        ("have only pairs that were tried", found.tried),
        ("have a twin whose names or constants do not pair", found.unpaired),
    ):
        click.echo(f"  {count:6} {text}")


@cli.command(name="kill-agents")
@click.option("--grace", type=click.FloatRange(min=0), default=10.0, show_default=True, help="Seconds to save and end.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def kill_agents(context: click.Context, grace: float, as_json: bool) -> None:
    """End every agent of this campaign, found by the locks they hold, and nothing else.

    What they had on disk is published and dealt again by the next drafter. A running drafter starts new ones: stop it
    first.
    """
    _, state = _open(context.obj)
    outcome = end_agents(state, RealClock(), grace)
    left = outcome.unknown + outcome.left
    if as_json:
        click.echo(orjson.dumps(msgspec.to_builtins(outcome)))
    else:
        click.echo(f"{len(outcome.ended)} shards ended, {len(outcome.killed)} of them killed")
        for shard in left:
            click.echo(f"{shard} still runs; see {state.shards / shard / 'shard.log'}", err=True)
    context.exit(Exit.NEGATIVE if left else Exit.OK)


def _open(root: Path) -> tuple[Campaign, StateDir]:
    campaign = load_campaign(find_config(root))
    return campaign, open_state(campaign.root)


def _run(campaign: Campaign, state: StateDir, waves: int | None, duration: float | None) -> Exit:
    values = {name: {"value": value, "from": origin} for name, (value, origin) in origins(campaign).items()}
    log.info("SETTINGS digest=%s values=%s", campaign.digest(), orjson.dumps(values).decode())
    if not any(pool.share > 0 for pool in campaign.pools.values()):
        raise ConfigError("has no [pool.NAME] with a positive share; the agents need an endpoint", campaign.path)
    os.environ["TMPDIR"] = str(state.tmp)
    keys = {name: find_key(name, pool, os.environ) for name, pool in campaign.pools.items() if pool.share > 0}
    notify = sdnotify.SystemdNotifier()
    leave = StopSignal("drafter")
    clock = RealClock()
    host = ProcessHost(campaign.root, state, keys, words=words(campaign.overrides))
    alarm = Alarm.of(campaign, clock.monotonic(), duration)
    credit = Credit(campaign, state, keys)
    daemon = Daemon(
        campaign,
        state,
        host,
        FrontierReader(campaign),
        clock,
        waves=waves,
        leave=leave.asked,
        alarm=alarm,
        short=credit.short,
    )
    if campaign.drafter.twins:
        daemon.twins = Twins(campaign, state, daemon.events, clock)
    try:
        if state.stopping():
            daemon.load()
            daemon.flush()
            click.echo(
                f"{state.stop} is present, so nothing was started; run `campaign resume` (or remove it)", err=True
            )
            return Exit.DRAINED
        credit.look()
        credit.start()
        daemon.start()
        presence = Presence(state, "drafter", campaign)
        notify.notify("READY=1")
        while (code := daemon.turn()) is None:
            notify.notify("WATCHDOG=1")
            presence.beat()
            clock.wait(TICK_S)
        notify.notify("STOPPING=1")
        return code
    finally:
        credit.stop()
        daemon.close()


def _only_drafter(state: StateDir) -> HeldLock:
    path = state.locks / "drafter.lock"
    mine = lock(path, LOCK_WAIT_S)
    if mine is None:
        raise AlreadyRunning(f"another drafter already runs here ({path} is locked); stop it first or leave it running")
    return mine


def main() -> None:
    """Entry point."""
    run_command(cli, "drafter")
