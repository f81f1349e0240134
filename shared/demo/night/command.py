"""`campaign demo`: forge, play a night with the real daemons, prove the result."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import signal
import subprocess
import tempfile
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import orjson
from rich.console import Console
from rich.table import Table

from shared.config import load_campaign
from shared.demo.night.count import Count, count_night, load_truth
from shared.demo.night.show import Show
from shared.demo.night.stage import FORGED, GAME, Stage, set_stage, start_daemon
from shared.demo.real import fetch_real_sources
from shared.errors import ConfigError, InstrumentFault
from shared.exits import Exit
from shared.git import Git

NIGHT_LIMIT_S = 1800.0


@click.command()
@click.option(
    "--dir", "folder", type=click.Path(path_type=Path), help="Where to play; kept. Default: a temporary folder."
)
@click.option("--waves", type=click.IntRange(1), default=8, show_default=True, help="Waves to draw.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the rehearsal model.")
@click.option("--workers", type=click.IntRange(1), default=24, show_default=True, help="Agents in flight.")
@click.option(
    "--sources",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Forge from these C sources instead of the little game (docs/forge.md).",
)
@click.option("--real", is_flag=True, help="Forge from C code fetched from a public source package.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.pass_context
def demo(
    context: click.Context,
    folder: Path | None,
    waves: int,
    seed: int,
    workers: int,
    sources: Path | None,
    real: bool,
    as_json: bool,
) -> None:
    """Play one small campaign from start to finish and prove its result.

    Forges a game project, starts the rehearsal model (simulated; the only part that is), the drafter and the gater as
    real processes, drains them, rebuilds every binary from clean and checks that everything adds up. Exit 0 only then.
    """
    if sources and real:
        raise ConfigError("--sources and --real exclude each other; give one")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)  # ends as Ctrl-C does, so that nothing of the demo outlives it
    with _folder(folder) as place:
        fetched = fetch_real_sources(place / "sources") if real else None
        chosen = fetched.folder if fetched else sources or GAME
        summary = play(place, chosen, waves=waves, seed=seed, workers=workers, quiet=as_json)
        summary["download_s"] = round(fetched.download_s, 1) if fetched else 0.0
        if as_json:
            click.echo(orjson.dumps(summary, option=orjson.OPT_INDENT_2).decode())
        else:
            _print(summary, place if folder else None)
    context.exit(Exit.OK if summary["adds_up"] else Exit.NEGATIVE)


def _interrupt(number: int, _: types.FrameType | None) -> None:
    raise KeyboardInterrupt(number)


def play(folder: Path, sources: Path, *, waves: int, seed: int, workers: int, quiet: bool) -> dict[str, Any]:
    """Plays the night in `folder` and returns the summary object. Raises CampaignError."""
    begun = time.monotonic()
    stage = set_stage(folder, sources, seed, workers=workers)
    try:
        campaign = load_campaign(stage.project / "campaign.toml")
        start = Git(stage.project).commit_of(campaign.landing.follow)
        night = time.monotonic()
        run_night(stage, waves, quiet=quiet)
        night_s = time.monotonic() - night
    finally:
        stage.end()
    counted = count_night(campaign, stage.state, load_truth(folder / FORGED), start, folder)
    rehearsal = orjson.loads(stage.report.read_bytes()) if stage.report.exists() else {}
    return _summary(seed, sorted(campaign.binaries), counted, stage, rehearsal, night_s, time.monotonic() - begun)


def run_night(stage: Stage, waves: int, *, quiet: bool = True) -> None:
    """Runs drafter and gater until the waves are settled. Raises InstrumentFault with the log's place."""
    logs = {name: stage.folder / f"{name}.log" for name in ("gater", "drafter")}
    gater = start_daemon(stage.project, logs["gater"], "gater", "run")
    drafter = start_daemon(stage.project, logs["drafter"], "drafter", "run", "--waves", str(waves))
    daemons = {"gater": gater, "drafter": drafter}
    try:
        with Show(stage.state, quiet=quiet) as show:
            _wait(stage, daemons, "drafter", logs, show)
            stage.state.stop.touch()
            _wait(stage, daemons, "gater", logs, show)
    finally:
        for process in daemons.values():
            _end(process)
        _end_shards(stage.project)
    for name, process in daemons.items():
        if process.returncode != 0:
            raise InstrumentFault(f"{name} ended with code {process.returncode}; its log is {logs[name]}")


def _wait(
    stage: Stage, daemons: dict[str, subprocess.Popen[bytes]], name: str, logs: dict[str, Path], show: Show
) -> None:
    deadline = time.monotonic() + NIGHT_LIMIT_S
    while daemons[name].poll() is None:
        if time.monotonic() > deadline:
            raise InstrumentFault(f"{name} did not end within {NIGHT_LIMIT_S:.0f} s; its log is {logs[name]}")
        if name == "drafter" and daemons["gater"].poll() not in (None, 0):
            raise InstrumentFault(f"gater ended with code {daemons['gater'].returncode}; its log is {logs['gater']}")
        if stage.rehearsal.poll() is not None:
            raise InstrumentFault(f"the rehearsal model died; its log is {stage.folder / 'rehearsal.log'}")
        show.update()
        time.sleep(0.1)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _end_shards(project: Path) -> None:
    """Nothing of a demo outlives it."""
    start_daemon(project, project.parent / "drafter.log", "drafter", "kill-agents").wait(30)


def _summary(
    seed: int, binaries: list[str], counted: Count, stage: Stage, rehearsal: Any, night_s: float, wall_s: float
) -> dict[str, Any]:
    figures = dataclasses.asdict(counted)
    return {
        "model": "rehearsal (simulated model)",
        "seed": seed,
        "binaries": binaries,
        **figures,
        "rehearsal": rehearsal,
        "forge_s": round(stage.forge_s, 1),
        "night_s": round(night_s, 1),
        "wall_s": round(wall_s, 1),
        "clock": "shortened: ramp, back-off and grace are a demo's, see campaign.toml",
        "adds_up": not counted.problems,
    }


def _print(summary: dict[str, Any], kept: Path | None) -> None:
    console = Console()
    table = Table(title="Demo night, model: rehearsal (simulated model)", show_header=False)
    verdicts = ", ".join(f"{name} {n}" for name, n in sorted(summary["verdicts"].items()))
    by = ", ".join(f"{name} {n}" for name, n in sorted(summary["banked_by"].items()))
    table.add_row("binaries", ", ".join(summary["binaries"]))
    table.add_row("stubs", f"{summary['stubs_before']} before, {summary['stubs_after']} after")
    table.add_row("drafts", f"{summary['drafts']}: {verdicts}")
    table.add_row("right bodies delivered", f"for {summary['functions_right']} functions")
    table.add_row("banked", f"{summary['banked']} of {summary['reachable']} reachable, counted from the source ({by})")
    table.add_row(
        "commits, builds", f"{summary['commits']}, {summary['builds']} and {summary['controls']} null controls"
    )
    table.add_row("requests", f"{summary['requests']}, of them {summary['h429']} answered 429")
    table.add_row("wall", f"{summary['wall_s']} s (forging {summary['forge_s']} s, night {summary['night_s']} s)")
    if summary["download_s"]:
        table.add_row("download", f"{summary['download_s']} s, apart from the wall time above")
    table.add_row("byte-identical", "yes" if summary["byte_identical"] else "NO: " + "; ".join(summary["red"]))
    table.add_row("adds up", "yes" if summary["adds_up"] else "NO: " + "; ".join(summary["problems"]))
    table.add_row("clock", summary["clock"])
    if kept is not None:
        table.add_row("kept in", str(kept))
    console.print(table)


@contextlib.contextmanager
def _folder(wanted: Path | None) -> Iterator[Path]:
    if wanted is not None:
        if wanted.exists() and any(wanted.iterdir()):
            raise ConfigError(f"{wanted} is not empty; name a new folder or remove it first")
        wanted.mkdir(parents=True, exist_ok=True)
        yield wanted.resolve()
        return
    place = Path(tempfile.mkdtemp(prefix="campaign-demo-"))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
