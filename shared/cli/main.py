"""The `campaign` command: what a person types."""

from __future__ import annotations

from pathlib import Path

import click

from shared.cli.entry import run_command
from shared.config import find_config, load_campaign
from shared.demo.night.command import demo
from shared.demo.rehearsal.cli import rehearse
from shared.state import open_state


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--root", type=click.Path(path_type=Path, file_okay=False), default=Path(), help="The decomp project.")
@click.version_option(package_name="decomp-campaign")
@click.pass_context
def cli(context: click.Context, root: Path) -> None:
    """Runs a matching-decompilation campaign: see `drafter` and `gater` for the two daemons.

    Exit codes are listed in docs/exit-codes.md.
    """
    context.obj = root


@cli.command()
@click.pass_obj
def drain(root: Path) -> None:
    """Ask both daemons to finish what they have in hand and end (`touch .run/stop` does the same)."""
    state = open_state(load_campaign(find_config(root)).root)
    state.stop.touch()
    click.echo(f"{state.stop} is set; the daemons end when their work in hand is settled")


@cli.command()
@click.pass_obj
def resume(root: Path) -> None:
    """Lift a drain, so that the daemons can be started again."""
    state = open_state(load_campaign(find_config(root)).root)
    was = state.stopping()
    state.stop.unlink(missing_ok=True)
    click.echo(f"{state.stop} lifted" if was else "nothing: no stop file was there")


cli.add_command(demo)
cli.add_command(rehearse)


def main() -> None:
    """Entry point."""
    run_command(cli, "campaign")
