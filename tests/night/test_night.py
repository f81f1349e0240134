"""Whole nights on the small forged game: real daemons, real shards, a simulated model; every sum checked at the end."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import psutil
import pytest

from shared.config import load_campaign
from shared.demo.night.command import run_night
from shared.demo.night.count import Count, count_night, load_truth
from shared.demo.night.stage import FORGED, Stage, set_stage, start_daemon
from shared.durable import read_json
from shared.git import Git
from shared.journal import read_journal
from shared.presence import path_of
from tests.conftest import GAME, SMALL

CAMPAIGN = Path(sys.executable).parent / "campaign"
FIELDS = {
    *("seed", "binaries", "stubs_before", "stubs_after", "drafts", "functions_right", "verdicts", "gated", "banked"),
    *("banked_by", "reachable", "false_banks", "commits", "builds", "requests", "h429", "wall_s", "byte_identical"),
    "adds_up",
}


@contextlib.contextmanager
def staged(folder: Path, seed: int, *extra: str) -> Iterator[Stage]:
    stage = set_stage(folder, SMALL, seed, workers=8, extra=extra)
    try:
        yield stage
    finally:
        stage.end()
        start_daemon(stage.project, folder / "drafter.log", "drafter", "kill-agents").wait(60)


def count(stage: Stage, start: str) -> Count:
    campaign = load_campaign(stage.project / "campaign.toml")
    return count_night(campaign, stage.state, load_truth(stage.folder / FORGED), start, stage.folder)


def start_of(stage: Stage) -> str:
    return Git(stage.project).commit_of("main")


def check(counted: Count, stage: Stage) -> None:
    logs = "\n".join(f"{stage.folder / name}.log" for name in ("gater", "drafter"))
    assert counted.problems == [], logs
    assert counted.byte_identical
    assert counted.banked == counted.functions_right > 10
    rows = Counter(row["id"] for path in stage.state.waves.glob("*/drafts*.jsonl") for row in read_journal(path))
    assert max(rows.values()) == 1, "an agent ended twice"


def test_the_demo_adds_up_and_says_what_it_did(tmp_path: Path) -> None:
    command = [
        str(CAMPAIGN),
        "demo",
        "--sources",
        str(SMALL),
        "--waves",
        "6",
        "--json",
        "--dir",
        str(tmp_path / "demo"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = orjson.loads(done.stdout)
    assert FIELDS - summary.keys() == set()
    assert summary["adds_up"]
    assert summary["banked"] == summary["stubs_before"] - summary["stubs_after"]
    assert sum(summary["verdicts"].values()) == summary["drafts"]
    assert "simulated" in summary["model"]


def until(condition: Callable[[], bool], process: subprocess.Popen[bytes], limit_s: float = 90.0) -> None:
    deadline = time.monotonic() + limit_s
    while not condition() and process.poll() is None:
        assert time.monotonic() < deadline, "nothing happened within the limit"
        time.sleep(0.05)


def judged(stage: Stage) -> int:
    return len({row["id"] for row in read_journal(stage.state.journal / "drafts.jsonl")})


def kill(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait(10)


def play_with_kills(stage: Stage, waves: int, gater_at: list[int], drafter_at: list[int]) -> None:
    """A night in which each daemon is killed whenever so many drafts are judged, and started again at once."""
    gater_log, drafter_log = stage.folder / "gater.log", stage.folder / "drafter.log"

    def start_gater() -> subprocess.Popen[bytes]:
        return start_daemon(stage.project, gater_log, "gater", "run")

    def start_drafter() -> subprocess.Popen[bytes]:
        return start_daemon(stage.project, drafter_log, "drafter", "run", "--waves", str(waves))

    gater, drafter = start_gater(), start_drafter()
    try:
        for at, who in sorted([(at, "gater") for at in gater_at] + [(at, "drafter") for at in drafter_at]):
            until(lambda at=at: judged(stage) >= at, drafter)  # type: ignore[misc]
            if who == "gater":
                kill(gater)
                gater = start_gater()
            elif drafter.poll() is None:
                kill(drafter)
                drafter = start_drafter()
        assert drafter.wait(180) == 0, drafter_log
        stage.state.stop.touch()
        assert gater.wait(120) == 0, gater_log
    finally:
        for process in (gater, drafter):
            if process.poll() is None:
                kill(process)


def test_sigkill_of_either_daemon_ends_in_the_same_result(tmp_path: Path) -> None:
    with staged(tmp_path / "night", 3, "--latency-s", "0.3") as stage:
        start = start_of(stage)
        play_with_kills(stage, 6, gater_at=[3, 12], drafter_at=[1, 8])
        check(count(stage, start), stage)


def test_a_key_is_nowhere_but_in_its_file_and_nothing_outlives_the_night(tmp_path: Path) -> None:
    with staged(tmp_path / "night", 5) as stage:
        start = start_of(stage)
        run_night(stage, 4)
        check_keys(stage)
        assert count(stage, start).problems == []
    left = [p.pid for p in psutil.process_iter(["cmdline"]) if str(tmp_path) in " ".join(p.info["cmdline"] or [])]
    assert left == []


def check_keys(stage: Stage) -> None:
    key = stage.key.encode()
    holders = [
        path
        for path in stage.folder.rglob("*")
        if path.is_file()
        and not path.is_symlink()
        and ".git/objects" not in path.as_posix()
        and key in path.read_bytes()
    ]
    assert [path.name for path in holders] == ["rehearsal.key"]


def test_nothing_is_written_into_the_persons_checkout(tmp_path: Path) -> None:
    with staged(tmp_path / "night", 7) as stage:
        git = Git(stage.project)
        ignored_before = listing(stage.project)
        run_night(stage, 3)
        assert git.call("status", "--porcelain") == ""
        changed = set(listing(stage.project).items()) ^ set(ignored_before.items())
        assert {name.split("/")[0] for name, _ in changed} <= {"src"}


def listing(project: Path) -> dict[str, int]:
    """Every file of the checkout, `.git` and the state link aside, with its modification time."""
    return {
        path.relative_to(project).as_posix(): path.stat().st_mtime_ns
        for folder in project.iterdir()
        if folder.name not in (".git", ".run")
        for path in ([folder] if folder.is_file() else folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(8))
def test_many_kills(tmp_path: Path, seed: int) -> None:
    with staged(tmp_path / "night", seed, "--latency-s", "0.2") as stage:
        start = start_of(stage)
        play_with_kills(stage, 8, gater_at=[2, 7, 13, 19], drafter_at=[1, 5, 10, 16])
        check(count(stage, start), stage)


@pytest.mark.soak
def test_fifty_kills_of_the_gater_in_one_night(tmp_path: Path) -> None:
    """Killed whenever it has lived a random while; the drafter never notices."""
    rng = random.Random(50)
    stage = set_stage(tmp_path / "night", GAME, 50, workers=24, extra=("--latency-s", "1.0"))
    try:
        start = start_of(stage)
        log = stage.folder / "gater.log"
        gater = start_daemon(stage.project, log, "gater", "run")
        drafter = start_daemon(stage.project, stage.folder / "drafter.log", "drafter", "run", "--waves", "8")
        for _ in range(50):
            time.sleep(rng.uniform(0.3, 3.5))
            kill(gater)
            gater = start_daemon(stage.project, log, "gater", "run")
        assert drafter.wait(300) == 0
        while read_json(path_of(stage.state, "gater"))["pid"] != gater.pid:
            time.sleep(0.1)  # one that starts beside a stop file ends at once, as it should
        stage.state.stop.touch()
        assert gater.wait(300) == 0
        check(count(stage, start), stage)
    finally:
        stage.end()
        start_daemon(stage.project, stage.folder / "drafter.log", "drafter", "kill-agents").wait(60)
