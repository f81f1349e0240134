"""`campaign export`: near misses as folders for decomp-permuter and decomp.me. Files only, nothing is uploaded."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import orjson

from shared import durable
from shared.config.load import Campaign, find_config, load_campaign
from shared.errors import CampaignError, ConfigError, InstrumentFault
from shared.exits import Exit
from shared.operator.evidence import backlog
from shared.operator.evidence.bundle import flags_of, make
from shared.operator.evidence.look import Looker
from shared.operator.evidence.stubs import OpenStubs, binaries_of, check_binary, open_stubs
from shared.records import SCHEMA
from shared.state import StateDir, open_state

MARK = ".campaign-export.json"
PLATFORMS = {"psx": "ps1", "n64": "n64"}
"""Ours -> decomp.me's name."""


def collect(
    campaign: Campaign, state: StateDir, folder: Path, *, function: str | None, top: int | None, binary: str | None
) -> dict[str, Any]:
    """Writes the bundles below `folder`; what was written and what not, with the reason. Raises ConfigError."""
    stubs = open_stubs(campaign)
    if function is not None:
        known = {owner for owner, name in stubs.places if name == function}
        binary = binaries_of(campaign, function, binary, known)
    entries = backlog.collect(campaign, state, binary=binary, top=None if function else top)["functions"]
    chosen = [entry for entry in entries if function in (None, entry["function"])]
    if function is not None and not chosen:
        raise ConfigError(f"{function} of {binary} has no draft; `campaign backlog` lists those that have")
    _claim(folder)
    written, refused = [], {}
    for entry in chosen:
        name = f"{entry['binary']}-{re.sub(r'[^A-Za-z0-9_.]', '_', entry['function'])}"
        try:
            missing = _one(campaign, state, stubs, entry, folder / name)
        except CampaignError as error:
            refused[f"{entry['binary']}/{entry['function']}"] = str(error)
            continue
        written.append({"folder": name, "draft": entry["id"], "missing": missing})
    return {"schema": SCHEMA, "folder": str(folder), "written": written, "refused": refused}


def _claim(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / MARK).is_file())):
        raise ConfigError(f"{folder} is not empty and not an earlier export; name another folder with -o")
    folder.mkdir(parents=True, exist_ok=True)
    durable.write_json(folder / MARK, {"schema": SCHEMA, "what": "campaign export"})


def _one(campaign: Campaign, state: StateDir, stubs: OpenStubs, entry: dict[str, Any], folder: Path) -> dict[str, str]:
    key = (entry["binary"], entry["function"])
    path = state.resolve(entry["draft"])
    asm = stubs.asm(key)
    if not entry["draft_exists"] or asm is None:
        raise InstrumentFault("its draft is no longer there" if asm else "its .s is not in the checkout")
    with Looker(campaign, state, stubs, key) as looker:
        if looker.judge is None:
            raise InstrumentFault(looker.refused)
        made = make(campaign, looker.judge, looker.tu, key[1], path.read_bytes(), asm.read_bytes())
        recipe = looker.judge.context(looker.tu).parts[0].recipe
    metadata = {
        "name": key[1],
        "diff_label": key[1],
        "platform": PLATFORMS[campaign.project.platform],
        "compiler_command": recipe.commands[recipe.compiler][0],
        "compiler_flags": flags_of(recipe),
        "binary": key[0],
        "tu": looker.tu,
        "commit": stubs.commit,
        "draft": entry["id"],
        "closeness": entry["closeness"],
        "words": entry["words"],
        "missing": made.missing,
    }
    for name, data in made.files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        durable.write(place, data)
    (folder / "permuter" / "compile.sh").chmod(0o755)
    durable.write_json(folder / "decompme" / "metadata.json", metadata)
    return made.missing


def lines(value: dict[str, Any]) -> list[str]:
    """The result for a person."""
    found = []
    for row in value["written"]:
        found.append(f"{row['folder']}: draft {row['draft']}")
        found += [f"    without {name}: {backlog.printable(why)}" for name, why in row["missing"].items()]
    found += [f"{name}: not exported: {backlog.printable(why)}" for name, why in value["refused"].items()]
    total = len(value["written"]) + len(value["refused"])
    return [*found, f"{len(value['written'])} of {total} functions written below {value['folder']}"]


@click.command()
@click.argument("function", required=False)
@click.option("--top", type=click.IntRange(min=1), help="The closest so many functions of the backlog instead.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder to write below.")
@click.option("--binary", help="Only this binary.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def export(
    context: click.Context, function: str | None, top: int | None, output: Path, binary: str | None, as_json: bool
) -> None:
    """Write near misses as folders for decomp-permuter and decomp.me; nothing is uploaded.

    A folder BINARY-FUNCTION each, of the function's best draft: permuter/ (base.c, target.o, target.s, compile.sh,
    settings.toml) and decompme/ (context.c, draft.c, target.s, metadata.json). base.c is compiled and must give the
    code the draft gives in its TU; target.o must give the original's words, else it is left out and the reason said.
    A folder that is not empty and not an earlier export is refused.

    \b
    campaign export func_80012345 -o /tmp/near
    campaign export --top 20 -o /tmp/near --binary main

    Exit code 0; 1 when a function could not be exported.
    """
    if (function is None) == (top is None):
        raise click.UsageError("name one FUNCTION or give --top N")
    campaign = load_campaign(find_config(context.obj))
    check_binary(campaign, binary)
    value = collect(campaign, open_state(campaign.root), output, function=function, top=top, binary=binary)
    click.echo(orjson.dumps(value) if as_json else "\n".join(lines(value)))
    context.exit(Exit.NEGATIVE if value["refused"] else Exit.OK)
