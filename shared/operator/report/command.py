"""`campaign report`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
import orjson

from shared import durable
from shared.config import find_config, load_campaign
from shared.errors import ConfigError
from shared.operator.report.collect import STEPS, collect
from shared.state import open_state

UNITS = {"m": 60, "h": 3600, "d": 86400}


@click.command()
@click.option("--since", metavar="WHEN", help="From then on: a UTC time (2026-01-31T22:00) or an age (90m, 12h, 2d).")
@click.option("--wave", metavar="ID", help="One wave.")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write the page there.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def report(root: Path, since: str | None, wave: str | None, output: Path | None, as_json: bool) -> None:
    """What a night came to; the last one, unless --since or --wave says otherwise.

    With -o it becomes one self-contained HTML page: figures, tables of waves, lanes, bands and models, refusals, red
    binaries, near misses and banks with their commits. Exit code 0, or 2 for a span that cannot be understood.
    """
    if since and wave:
        raise click.UsageError("--since and --wave exclude each other")
    campaign = load_campaign(find_config(root))
    value = collect(campaign, open_state(campaign.root), moment(since) if since else None, wave, _told)
    if output is not None:
        from shared.operator.report.page import page

        if not output.parent.is_dir():
            raise ConfigError(f"there is no folder {output.parent} to write {output.name} in")
        durable.write(output, page(value).encode())
    if as_json:
        click.echo(orjson.dumps(value))
        return
    click.echo("\n".join(summary(value)))
    if output is not None:
        click.echo(f"wrote {output}")


def moment(text: str) -> datetime:
    """A UTC time or an age. Raises ConfigError."""
    age = re.fullmatch(r"(\d{1,6})([mhd])", text)
    if age:
        return datetime.now(UTC) - timedelta(seconds=int(age[1]) * UNITS[age[2]])
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigError(f"--since {text!r} is neither a time like 2026-01-31T22:00 nor an age like 12h") from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def summary(value: dict[str, Any]) -> list[str]:
    """The report in a few lines."""
    span, funnel, spend = value["span"], value["funnel"], value["spend"]
    if span is None:
        return ["nothing: there was no night yet"]
    usd = "unknown" if spend["usd"] is None else f"{spend['usd']:.2f} USD"
    source = value["source"] or {}
    lines = [
        f"{value['project']}  {span['id']}, from {span['started'][:16]} UTC, {len(value['waves'])} waves",
        " > ".join(f"{funnel[name]} {name}" for name in STEPS),
        f"{source.get('banked', '?')} banked by the source, {source.get('open', '?')} stubs open",
        f"spend {usd}, reported by {spend['known_agents']} of {spend['agents']} agents",
    ]
    lines += [
        f"  {row['name']}: {row['banked']} banked of {row['ended']} agents, "
        + ("cost unknown" if row["usd"] is None else f"{row['usd']:.2f} USD")
        for row in value["models"]
    ]
    lines += [f"red: {row['binary']}: {row['reason']}"[:160] for row in value["red"]]
    return lines + [f"could not be read: {words}" for words in value["troubles"]]


def _told(size: int) -> None:
    click.echo(f"reading {size >> 20} MiB of journals for the first time ...", err=True)
