"""`campaign init`."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click
import orjson

from shared import durable
from shared.config.load import CONFIG_NAME, load_campaign
from shared.errors import ConfigError, RepositoryError
from shared.git import Git
from shared.operator.setup.render import render
from shared.operator.setup.survey import Survey, Told, survey
from shared.state import LINK, create_state


@click.command()
@click.option("--force", is_flag=True, help="Write campaign.toml anew; the old one is kept as campaign.toml.old.")
@click.option("--dry-run", is_flag=True, help="Print the campaign.toml it would write, and write nothing.")
@click.option("--name", help="Name of the project; default: the folder's.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def init(root: Path, force: bool, dry_run: bool, name: str | None, as_json: bool) -> None:
    """Make a decomp repository ready: write its campaign.toml and the `.run` link to its state directory.

    Reads splat yamls, decomp.yaml, checksum files, the build and git, and says what it found, what it assumed and what
    it could not find. It asks nothing. An existing campaign.toml is kept unless --force is given.
    """
    root = _top(root)
    path = root / CONFIG_NAME
    kept = path.exists() and not force
    if kept and not dry_run:
        campaign = load_campaign(path)
        state = create_state(root, campaign.project.name)
        if as_json:
            click.echo(orjson.dumps({"config": str(path), "kept": True, "state": str(state.root)}))
        else:
            click.echo(f"{path} is there and was kept (--force writes a new one)\n{root / LINK} -> {state.root}")
        return
    found = survey(root)
    if name:
        found.name = name
    if not found.binaries:
        raise ConfigError("no binary could be put together: " + "; ".join(found.told.missing), path)
    text = render(found)
    if dry_run:
        _say(found.told, as_json, {"config": str(path), "text": text, "written": False})
        if not as_json:
            click.echo(text)
        return
    _write(path, text)
    state = create_state(root, load_campaign(path).project.name)
    _say(found.told, as_json, {"config": str(path), "written": True, "state": str(state.root)} | _facts(found))
    if not as_json:
        click.echo(
            f"\nwrote {path}\n{root / LINK} -> {state.root}\nNext: read it, add a [pool.NAME], `campaign doctor`"
        )


def _top(root: Path) -> Path:
    """The repository's root at or above `root`. Raises RepositoryError."""
    for folder in [root.resolve(), *root.resolve().parents]:
        if (folder / ".git").exists():
            Git(folder).check()
            return folder
    raise RepositoryError(f"{root.resolve()} is in no git repository; `campaign init` works in a decomp repository")


def _write(path: Path, text: str) -> None:
    """Writes and checks; a file that does not load is a mistake of ours and is not left in the way."""
    old = path.read_bytes() if path.exists() else None
    durable.write(path, text.encode())
    try:
        load_campaign(path)
    except ConfigError:
        if old is not None:
            durable.write(path, old)
        else:
            path.rename(path.with_name(CONFIG_NAME + ".rejected"))
        raise
    if old is not None:
        durable.write(path.with_name(CONFIG_NAME + ".old"), old)


def _facts(found: Survey) -> dict[str, object]:
    return {
        "name": found.name,
        "platform": found.platform,
        "follow": found.branch,
        "inputs": found.inputs,
        "binaries": [dataclasses.asdict(binary) for binary in found.binaries],
    }


def _say(told: Told, as_json: bool, value: dict[str, object]) -> None:
    if as_json:
        click.echo(orjson.dumps(value | {"told": dataclasses.asdict(told)}))
        return
    for title, sentences in (("found", told.found), ("assumed", told.assumed), ("NOT found", told.missing)):
        for sentence in sentences[:24]:
            click.echo(f"{title}: {sentence}")
        if sentences[24:]:
            click.echo(f"{title}: ... and {len(sentences) - 24} more of the kind")
