"""`campaign doctor`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import click
import msgspec
import orjson

from shared.config import Campaign, find_config, load_campaign
from shared.exits import Exit
from shared.operator.doctor.found import Found, guarded
from shared.state import StateDir, open_state, utc_now

CHECKS = ("programs", "files", "disk", "machine", "timeouts", "git", "endpoints", "spend", "builds", "units")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--only", type=click.Choice(CHECKS), multiple=True, help="Only this check (may be repeated).")
@click.option("--quick", is_flag=True, help="Leave out the builds, and the builds inside the units' sandbox.")
@click.option("--offline", is_flag=True, help="Ask no endpoint; the pools are then untested.")
@click.option("--schemas", is_flag=True, help="Only compare the records in code and on disk with the released forms.")
@click.option(
    "--units", "folder", type=click.Path(path_type=Path, file_okay=False), help="Look for installed units there."
)
@click.option("--system", is_flag=True, help="With --units: they are the system manager's.")
@click.pass_context
def doctor(
    context: click.Context,
    as_json: bool,
    only: tuple[str, ...],
    quick: bool,
    offline: bool,
    schemas: bool,
    folder: Path | None,
    system: bool,
) -> None:
    """Try everything a night needs and say what to do about each failure.

    \b
    programs   the build's and our own programs answer; builds can be isolated
    files      flock, rename, fsync and wake-ups work on the state directory
    disk       room for the workspaces and a night
    machine    memory, cores and descriptors against the configured fleet
    timeouts   each limit lies inside the next
    git        repository, branches, checkout, identity
    endpoints  each pool's key and endpoint, by one request of a few tokens
    spend      the most a night can cost
    builds     each binary from clean without drafts; a known-good function passes the pre-filter, spoilt it does not
    units      installed systemd units are as shipped, and files, builds and endpoints once more inside their sandbox

    Each finding is ok, failed, untested (it says why) or warning (a night can start all the same). Exit code 0 when
    nothing failed, so that a night can start; 1 when something did; 2 when there is no campaign here.
    """
    campaign = load_campaign(find_config(context.obj))
    state = open_state(campaign.root)
    chosen = ("schemas",) if schemas else only or tuple(name for name in CHECKS if not (quick and name == "builds"))
    table = _table(campaign, state, offline=offline, folder=folder, system=system, quick=quick)
    found: list[Found] = []
    for name in chosen:
        for row in guarded(name, table[name]):
            found.append(row)
            if not as_json:
                click.echo(_line(row))
    counts = {status: sum(row.status == status for row in found) for status in ("ok", "failed", "warning", "untested")}
    if as_json:
        rows = [msgspec.to_builtins(row) for row in found]
        whole = {"schema": 1, "at": utc_now(), "project": campaign.project.name, "counts": counts, "checks": rows}
        click.echo(orjson.dumps(whole))
    else:
        words = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
        part = "a night can start" if not only and not quick and not schemas else "nothing failed of what was asked"
        click.echo(f"{words}: " + ("no night can start like this" if counts["failed"] else part))
    context.exit(Exit.NEGATIVE if counts["failed"] else Exit.OK)


def _table(
    campaign: Campaign, state: StateDir, *, offline: bool, folder: Path | None, system: bool, quick: bool
) -> dict[str, Callable[[], Iterable[Found]]]:
    from shared.operator.doctor import builds, endpoint, files, machine, repository, schemas, spend, units

    return {
        "programs": partial(machine.programs, campaign),
        "files": partial(files.files, state),
        "disk": partial(files.room, campaign, state),
        "machine": partial(machine.fleet, campaign),
        "timeouts": partial(machine.timeouts, campaign),
        "git": partial(repository.repository, campaign),
        "endpoints": partial(endpoint.endpoints, campaign, offline=offline),
        "spend": partial(spend.spend, campaign, state),
        "builds": partial(builds.builds, campaign, state),
        "units": partial(units.units, campaign, state, folder, system=system, quick=quick, offline=offline),
        "schemas": partial(schemas.schemas, state),
    }


def _line(row: Found) -> str:
    text = f"{row.status:8} {row.name}: {row.what}"
    return text + (f"\n         -> {row.do}" if row.do and row.status != "ok" else "")
