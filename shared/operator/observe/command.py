"""`campaign observe`: what the timer runs every minute."""

from __future__ import annotations

from pathlib import Path

import click

from shared import durable
from shared.config import find_config, load_campaign
from shared.exits import Exit
from shared.operator.observe.metrics import exposition
from shared.operator.observe.notify import send, tell
from shared.operator.status.collect import collect
from shared.state import open_state


@click.command()
@click.option("--test", is_flag=True, help="Only send a test notification.")
@click.pass_context
def observe(context: click.Context, test: bool) -> None:
    """Look once: keep the roll-up warm, write [notify] metrics_file, tell of new troubles.

    A trouble is told once and again after [notify] repeat_s. What could not be delivered shows in `campaign status`.
    Exit code 0; with --test 1 when it was not delivered.
    """
    campaign = load_campaign(find_config(context.obj))
    state = open_state(campaign.root)
    if test:
        error = send(campaign.notify, f"{campaign.project.name}: a test of campaign observe")
        here = campaign.notify.command or campaign.notify.webhook
        click.echo(error or ("delivered" if here else "nothing: [notify] names no command and no webhook"))
        context.exit(Exit.NEGATIVE if error else Exit.OK)
    value = collect(campaign, state)
    if campaign.notify.metrics_file:
        durable.write(campaign.root / Path(campaign.notify.metrics_file).expanduser(), exposition(value))
    if campaign.notify.command or campaign.notify.webhook:
        click.echo(f"{tell(campaign, state, value)} told")
