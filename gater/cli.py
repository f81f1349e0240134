"""The `gater` command."""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path

import click
import sdnotify

from gater.cadence import ask, follow, waiting_ids
from gater.daemon import Gater
from gater.fleetcheck import FleetCheck
from gater.handing import Handed, hand_folder, hand_rejects, hand_wave
from gater.handing import follow as follow_handed
from gater.handing import verdicts as verdicts_of
from gater.prefilter import Row, read_batch, render
from gater.prefilter import prefilter as judge_rows
from shared.cli.entry import run_command
from shared.cli.overriding import Chosen, set_option
from shared.config import Campaign, find_config, load_campaign
from shared.exits import Exit
from shared.locks import is_locked, only_one
from shared.log import setup_logging
from shared.operator.evidence.stubs import landing_head
from shared.records import Verdict
from shared.state import StateDir, open_state
from shared.stopping import StopSignal

log = logging.getLogger(__name__)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--root", type=click.Path(path_type=Path, file_okay=False), default=Path(), help="The decomp project.")
@click.option("-v", "--verbose", is_flag=True, help="Also log cache hits and other detail.")
@click.option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Of log lines."
)
@click.version_option(package_name="decomp-campaign")
@click.pass_context
def cli(context: click.Context, root: Path, verbose: bool, log_format: str) -> None:
    """Judges drafts and lands the proven ones, byte for byte.

    Reads campaign.toml at or above the current folder. Exit codes are listed in docs/exit-codes.md.
    """
    setup_logging(verbose, log_format)
    context.obj = root


@cli.command()
@click.option("--once", is_flag=True, help="Take what is in the spool now, settle it and end.")
@click.option("--clean-cache", is_flag=True, help="First throw away kept verdicts, gates and null controls.")
@set_option
@click.pass_context
def run(context: click.Context, once: bool, clean_cache: bool, sets: tuple[str, ...]) -> None:
    """Watch the spool and gate until `.run/stop` appears.

    SIGTERM ends it at the next safe point (claimed markers are taken up again at the next start), a second one at once.
    """
    campaign = Chosen(sets).load(context.obj)
    state = open_state(campaign.root)
    if state.stopping() and not once:
        context.exit(_drained(state))
    with only_one(state.locks / "gater.lock", "gater"):
        if clean_cache:
            for name in ("verdicts", "gates", "base"):
                shutil.rmtree(state.cache / name, ignore_errors=True)
            log.info("CACHE-CLEANED")
        _run(campaign, state, once=once)


@cli.command()
@click.option("--now", is_flag=True, required=True, help="Do not wait for the cadence.")
@click.option("--timeout", type=click.FloatRange(min=0), help="Seconds to follow at most; then exit 1.")
@click.pass_context
def batch(context: click.Context, now: bool, timeout: float | None) -> None:
    """Gate the drafts that wait for their binary's own cadence (`lane = "batch"`).

    A running gater is asked and followed (Ctrl-C only ends the following). Without one this command is the gater until
    all that is in hand is settled, as `gater run --once` is.

    Exit code 0 when the round is over, 1 when it is not within --timeout.
    """
    del now
    campaign = load_campaign(find_config(context.obj))
    state = open_state(campaign.root)
    waiting = waiting_ids(state, campaign)
    if not waiting:
        click.echo("nothing waits for a batch binary's cadence")
        return
    if is_locked(state.locks / "gater.lock"):
        ask(state)
        over = follow(state, timeout)
    else:
        with only_one(state.locks / "gater.lock", "gater"):
            _run(campaign, state, once=True)
        over = True
    left = waiting & waiting_ids(state, campaign)
    click.echo(f"{len(waiting) - len(left)} of {len(waiting)} waiting drafts were gated")
    context.exit(Exit.OK if over else Exit.NEGATIVE)


@cli.command("gate-only")
@click.option("--drafts", type=click.Path(path_type=Path, file_okay=False, exists=True), help="Folder of drafts.")
@click.argument("wave", required=False)
@click.pass_context
def gate_only(context: click.Context, drafts: Path | None, wave: str | None) -> None:
    """Put drafts through filter, gate and ledger: those of WAVE again, or FOLDER/<binary>/<function>.c.

    A running gater is asked and followed; without one this command is the gater until they are settled. Of a wave,
    drafts that are banked or in hand are left out, counted.

    Exit code 0 when all are banked (or nothing was to do), 1 when some are not.
    """
    if (drafts is None) == (wave is None):
        raise click.UsageError("give WAVE or --drafts FOLDER")
    campaign, state = _open(context)
    handed = hand_folder(campaign, state, drafts) if drafts else hand_wave(state, str(wave))
    context.exit(_judge_handed(campaign, state, handed, "gate-only"))


@cli.command()
@click.option("--top", type=click.IntRange(min=1), default=2, show_default=True, help="Closest rejects of a function.")
@click.pass_context
def recover(context: click.Context, top: int) -> None:
    """Judge rejects of open stubs again, after the tree, the symbols or the tools changed. No model is called.

    What did not change since costs a look into the cache. Exit code 0 when all are banked (or nothing was to do),
    else 1.
    """
    campaign, state = _open(context)
    context.exit(_judge_handed(campaign, state, hand_rejects(campaign, state, top), "recover"))


def _open(context: click.Context) -> tuple[Campaign, StateDir]:
    campaign = load_campaign(find_config(context.obj))
    return campaign, open_state(campaign.root)


def _judge_handed(campaign: Campaign, state: StateDir, handed: Handed, mode: str) -> Exit:
    for reason, count in sorted(handed.left.items()):
        click.echo(f"left out: {count} {reason}")
    if handed.misnamed:
        click.echo(f"{handed.misnamed} rejects of closeness 0 were called MISMATCH? by an older judge")
    if not handed.drafts:
        click.echo("nothing to judge")
        return Exit.OK
    settled = True
    if is_locked(state.locks / "gater.lock"):
        settled = follow_handed(state, handed)
    else:
        with only_one(state.locks / "gater.lock", "gater"):
            _run(campaign, state, once=True, mode=mode)
    rows = verdicts_of(state, handed)
    for row in rows.values():
        click.echo(f"{row.verdict} {row.binary}/{row.function}: {row.reason[:200]}")
    banked = sum(row.verdict in ("BANKED", "ALREADY") for row in rows.values())
    click.echo(f"{banked} of {len(handed.drafts)} drafts are banked" + ("" if settled else "; the gater ended first"))
    return Exit.OK if banked == len(handed.drafts) else Exit.NEGATIVE


@cli.command("fleet-check")
@click.option("--all", "everything", is_flag=True, help="Every binary; so it is without BINARY too.")
@click.argument("binaries", metavar="[BINARY]...", nargs=-1)
@click.pass_context
def fleet_check(context: click.Context, everything: bool, binaries: tuple[str, ...]) -> None:
    """Build binaries from clean at the landing head and keep the red list (red.json).

    Runs beside a gater, in a workspace of its own. A red binary is listed with its reason and, where a green commit is
    on record, the commit that turned it red (by clean builds of the commits in between). Its cards are not drawn and
    its drafts wait, without a strike, until it is green.

    Exit code 0 when all are green, 1 when one is red, 3 when one could not be judged.
    """
    if everything and binaries:
        raise click.UsageError("--all excludes naming binaries")
    campaign = load_campaign(find_config(context.obj))
    state = open_state(campaign.root)
    unknown = [name for name in binaries if name not in campaign.binaries]
    if unknown:
        raise click.UsageError(f"{unknown[0]!r} is no binary of this project; known are {', '.join(campaign.binaries)}")
    commit = landing_head(campaign)
    states = []
    for answer in FleetCheck(campaign, state, commit).run(list(binaries or campaign.binaries)):
        states.append(answer.state)
        line = (
            f"{answer.binary}: {answer.state} at {answer.commit[:12]} ({answer.builds} builds, {answer.wall_s:.1f} s)"
        )
        click.echo(line if answer.state == "green" else f"{line}: {answer.reason}")
        if answer.culprit:
            click.echo(f"    turned red by: {answer.culprit}")
    click.echo(f"{states.count('green')} of {len(states)} binaries are green at {commit[:12]}")
    context.exit(Exit.FAULT if "fault" in states else Exit.NEGATIVE if "red" in states else Exit.OK)


@cli.command()
@click.option("--binary", help="Binary the draft is for.")
@click.option("--function", help="Function whose stub it replaces.")
@click.option("--batch", type=click.Path(path_type=Path, dir_okay=False), help="JSONL rows {binary, function, draft}.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per draft and line.")
@click.argument("draft", type=click.Path(path_type=Path, dir_okay=False), required=False)
@click.pass_context
def prefilter(
    context: click.Context,
    binary: str | None,
    function: str | None,
    batch: Path | None,
    as_json: bool,
    draft: Path | None,
) -> None:
    """Judge drafts by the virtual link at the landing head, without the spool.

    \b
    gater prefilter --binary main --function func_80012345 draft.c
    gater prefilter --batch rows.jsonl --json

    Exit code 0 when all agree, 1 when some are refused, 3 when the instrument failed on one.
    """
    if batch is not None and (binary or function or draft):
        raise click.UsageError("--batch excludes --binary, --function and DRAFT")
    if batch is None and not (binary and function and draft):
        raise click.UsageError("give --binary, --function and DRAFT, or --batch")
    campaign = load_campaign(find_config(context.obj))
    state = open_state(campaign.root)
    rows = read_batch(batch) if batch else [Row(str(binary), str(function), str(draft))]
    judgements = judge_rows(campaign, state, rows, campaign.gate.slots or os.cpu_count() or 1)
    for row, judgement in zip(rows, judgements, strict=True):
        click.echo(render(row, judgement, as_json=as_json))
    verdicts = {judgement.verdict for judgement in judgements}
    fault = Verdict.FAULT in verdicts
    context.exit(Exit.FAULT if fault else Exit.OK if verdicts <= {Verdict.AGREE} else Exit.NEGATIVE)


def _run(campaign: Campaign, state: StateDir, *, once: bool, mode: str = "") -> None:
    log.info("GATER-START project=%s settings=%s", campaign.project.name, campaign.digest()[:12])
    log.info("SETTINGS %s", campaign.effective())
    stop = StopSignal("gater")
    gater = Gater(campaign, state, mode or ("once" if once else "daemon"), sdnotify.SystemdNotifier())
    try:
        gater.start()
        ended = gater.run(once=once, stop=stop.asked)
    finally:
        gater.close()
    log.info("GATER-END drained=%s", ended)


def _drained(state: StateDir) -> Exit:
    click.echo(f"{state.stop} is present, so nothing was started; run `campaign resume` (or remove it) first", err=True)
    return Exit.DRAINED


def main() -> None:
    """Entry point."""
    run_command(cli, "gater")
