"""`campaign status`."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import click
import orjson

from shared.config.load import Campaign, find_config, load_campaign
from shared.exits import Exit
from shared.operator.status.collect import collect
from shared.operator.status.show import lines
from shared.state import StateDir, open_state

WIDTH = 80


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--watch", is_flag=True, help="A live screen until Ctrl-C; needs no more than 80 columns.")
@click.option("--every", type=click.FloatRange(min=0.5), default=2.0, show_default=True, help="Seconds, with --watch.")
@click.pass_context
def status(context: click.Context, as_json: bool, watch: bool, every: float) -> None:
    """What is going on, read from disk: works with both daemons down and with damaged state files.

    The funnel's percentages are parts of the step before. Banks are counted from the committed source. Exit code 0, or
    2 when there is no campaign here.
    """
    campaign = load_campaign(find_config(context.obj))
    state = open_state(campaign.root)
    if watch:
        _watch(context.obj, state, every)
    else:
        value = collect(campaign, state, _told)
        if as_json:
            click.echo(orjson.dumps(value))
        else:
            click.echo("\n".join(lines(value, max(WIDTH, shutil.get_terminal_size().columns))))
    context.exit(Exit.OK)


def _told(size: int) -> None:
    click.echo(f"reading {size >> 20} MiB of journals for the first time ...", err=True)


def _watch(root: Path, state: StateDir, every: float) -> None:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console()

    def screen(campaign: Campaign) -> Text:
        rows = lines(collect(campaign, state), min(console.width, 120))
        return Text("\n".join(rows[: max(1, console.height - 1)]), no_wrap=True)

    with Live(
        Text("reading the journals ..."), console=console, auto_refresh=False, screen=console.is_terminal
    ) as live:
        while True:
            live.update(screen(load_campaign(find_config(root))), refresh=True)
            time.sleep(every)
