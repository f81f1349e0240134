"""`campaign install-units`."""

from __future__ import annotations

from pathlib import Path

import click
import orjson

from shared.config import find_config, load_campaign
from shared.exits import Exit
from shared.operator.units.install import differences, install, manager, unit_folder, verify
from shared.operator.units.render import render
from shared.state import open_state


@click.command(name="install-units")
@click.option("--system", is_flag=True, help="Units of the system manager (needs root); default: your own user's.")
@click.option("--user", "user", default="", help="With --system: who the daemons run as; default: who called sudo.")
@click.option("--dry-run", is_flag=True, help="Print the units and write nothing.")
@click.option(
    "--dir", "folder", type=click.Path(path_type=Path, file_okay=False), help="Write there instead, and reload nothing."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def install_units(
    context: click.Context, system: bool, user: str, dry_run: bool, folder: Path | None, as_json: bool
) -> None:
    """Render, verify and install the systemd units of this campaign, and reload the manager.

    Installed: drafter and gater services, a target that starts both, a daily fleet check, and a look every minute for
    metrics and notifications. Nothing is started or enabled.
    """
    campaign = load_campaign(find_config(context.obj))
    units = render(campaign, open_state(campaign.root), system=system, user=user)
    place = folder or unit_folder(system=system)
    if dry_run:
        if as_json:
            click.echo(orjson.dumps({"units": units.texts, "folder": str(place), "would": differences(units, place)}))
        else:
            click.echo("\n".join(f"# {place / name}\n{text}" for name, text in units.texts.items()))
        return
    verify(units)
    changed = install(units, place)
    worked, words = (True, "") if folder else manager("daemon-reload", system=system)
    if as_json:
        click.echo(orjson.dumps({"folder": str(place), "written": changed, "reloaded": worked and not folder}))
    else:
        for name in changed:
            click.echo(f"wrote {place / name}")
        if not changed:
            click.echo(f"the units in {place} are as shipped")
        if not worked:
            click.echo(f"the manager was not reloaded: {words}", err=True)
        control = "systemctl" if system else "systemctl --user"
        click.echo(f"start a night: {control} start {units.name}.target    end it: campaign drain")
        if not system:
            click.echo("so that it outlives your login: loginctl enable-linger")
    context.exit(Exit.OK if worked else Exit.FAULT)
