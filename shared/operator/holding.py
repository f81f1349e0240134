"""`campaign hold`, `campaign unhold` and `campaign holds`: put a binary or a path aside, and take it up again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import click
import msgspec
import orjson

from shared.config.load import Campaign, find_config, load_campaign
from shared.durable import Corrupt
from shared.errors import ConfigError, InstrumentFault
from shared.exits import Exit
from shared.holds import Hold, change, load, path_of
from shared.operator.evidence.backlog import printable
from shared.records import SCHEMA, NewerSchema
from shared.state import StateDir, open_state, utc_now


def meant(campaign: Campaign, what: str) -> str:
    """`what` as the list spells it: a binary's name, else a path relative to the project root. Raises ConfigError."""
    if what in campaign.binaries:
        return what
    root = campaign.root.resolve()
    place = Path(what) if Path(what).is_absolute() else root / what
    path = os.path.relpath(os.path.normpath(place), root)
    if path == "." or path.startswith("..") or not path.isprintable():
        raise ConfigError(f"{what!r} is neither a binary nor a path inside {root}; to hold everything, drain")
    return path


@click.command()
@click.argument("what", metavar="BINARY|PATH")
@click.option("--reason", default="", help="Why, for whoever finds it later.")
@click.pass_context
def hold(context: click.Context, what: str, reason: str) -> None:
    """Put a binary, or the C files at a path, aside until `campaign unhold`.

    Its stubs are no longer drawn (counted as HELD), and its finished drafts wait before the gate. What is in hand goes
    on to its end. Takes effect at the daemons' next look, no restart. Holding twice replaces the reason.

    \b
    campaign hold ovl3 --reason "being re-split"
    campaign hold src/main/physics
    """
    campaign = load_campaign(find_config(context.obj))
    state = open_state(campaign.root)
    name = meant(campaign, what)
    if name not in campaign.binaries and not (campaign.root / name).exists():
        known = ", ".join(campaign.binaries)
        raise ConfigError(f"{name!r} is neither a binary (known are {known}) nor a file or folder of {campaign.root}")

    def add(known: tuple[Hold, ...]) -> tuple[Hold, ...]:
        old = next((h for h in known if h.what == name), None)
        made = Hold(name, reason, old.since if old else utc_now())
        return (*(h for h in known if h.what != name), made)

    _change(state, add)
    click.echo(f"{name} is held; campaign unhold {name} takes it up again")


@click.command()
@click.argument("what", metavar="BINARY|PATH")
@click.pass_context
def unhold(context: click.Context, what: str) -> None:
    """Take a held binary or path up again: its stubs are drawn and its waiting drafts gated.

    Exit code 0; 1 when it was not held.
    """
    campaign = load_campaign(find_config(context.obj))
    state = open_state(campaign.root)
    name = meant(campaign, what)
    was: list[str] = []

    def drop(known: tuple[Hold, ...]) -> tuple[Hold, ...]:
        was.extend(h.what for h in known)
        return tuple(h for h in known if h.what != name)

    _change(state, drop)
    if name not in was:
        click.echo(f"{name} was not held; held: {', '.join(was) or 'nothing'}")
        context.exit(Exit.NEGATIVE)
    click.echo(f"{name} is no longer held")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def holds(context: click.Context, as_json: bool) -> None:
    """List what is held, since when and why. Exit code 0."""
    campaign = load_campaign(find_config(context.obj))
    state = open_state(campaign.root)
    known = _refused(state, lambda: load(state).holds)
    if as_json:
        click.echo(orjson.dumps({"schema": SCHEMA, "holds": msgspec.to_builtins(known)}))
        return
    for entry in known:
        click.echo(f"{printable(entry.what)}  since {entry.since}  {printable(entry.reason)}".rstrip())
    if not known:
        click.echo("nothing is held")


def _change(state: StateDir, how: Callable[[tuple[Hold, ...]], tuple[Hold, ...]]) -> None:
    _refused(state, lambda: change(state, how))


def _refused(state: StateDir, do: Callable[[], tuple[Hold, ...]]) -> tuple[Hold, ...]:
    try:
        return do()
    except (Corrupt, msgspec.ValidationError, NewerSchema) as error:
        raise InstrumentFault(
            f"{path_of(state)} cannot be read ({error}); while it is so everything is held; correct or delete it"
        ) from error
