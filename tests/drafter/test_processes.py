"""The real command with real processes: adoption, drain, duplicates, no late imports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from drafter import runlock
from shared import redlist
from shared.exits import Exit
from shared.journal import read_journal
from shared.spool import read_marker
from shared.state import StateDir
from tests.drafter.project import git, make_project

HERE = Path(__file__).parent
DEADLINE_S = 30.0


def command(*words: str, root: Path) -> list[str]:
    """The drafter's argument list."""
    return [sys.executable, str(HERE / "run_drafter.py"), "--root", str(root), *words]


@contextmanager
def drafter(root: Path, *words: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A running drafter; killed at the end if it still runs."""
    with (root.parent / "drafter.log").open("ab") as log:
        process = subprocess.Popen(
            command("run", *words, root=root),
            stderr=log,
            env=os.environ | {"PYTHONPATH": str(HERE.parent.parent)} | environment,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(10)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[tuple[Path, StateDir]]:
    root, state = make_project(tmp_path, tus=4, stubs=10, cards=80, lanes="[lane.default]\nbands = [[0, 2000]]")
    tell(state, delay_s=0.2)
    yield root, state
    state.stop.touch()
    subprocess.run(command("kill-agents", "--grace", "0", root=root), check=False, capture_output=True)


def tell(state: StateDir, **plan: Any) -> None:
    """What fake shards started from now on do."""
    (state.root / "fake.json").write_text(json.dumps(plan))


def wait_for(what: Any, *args: Any) -> None:
    """Until `what(*args)` is true. Raises AssertionError after a while."""
    until = time.monotonic() + DEADLINE_S
    while not what(*args):
        assert time.monotonic() < until, f"{what} did not happen"
        time.sleep(0.05)


def rows(state: StateDir) -> list[dict[str, Any]]:
    return [row for path in state.waves.glob("w*/drafts.*.jsonl") for row in read_journal(path)]


def launched(state: StateDir) -> list[dict[str, Any]]:
    return [row for row in read_journal(state.root / "launched.jsonl") if row.get("target")]


def published(state: StateDir) -> Counter[str]:
    return Counter(draft.id for path in state.spool.glob("ready/*.json") for draft in read_marker(path).drafts)


def events(state: StateDir, name: str) -> list[dict[str, Any]]:
    return [row for row in read_journal(state.journal / "events.jsonl") if row["event"] == name]


def live_shards(state: StateDir) -> list[str]:
    return [folder.name for folder in state.shards.iterdir() if runlock.held(folder / "run.lock")]


def assert_whole(state: StateDir, targets: int) -> None:
    """Every target has one row, every draft one marker, and the wave is closed."""
    assert Counter(row["id"] for row in rows(state)) == Counter({row["id"]: 1 for row in rows(state)})
    assert len(rows(state)) == targets
    assert set(published(state).values()) == {1}
    assert {row["id"] for row in rows(state) if row.get("path")} <= set(published(state))
    assert [path.name for path in state.spool.glob("ready/*-end.json")]
    assert not [row for row in read_journal(state.journal / "events.jsonl") if row.get("level") == "error"]


@pytest.mark.parametrize("pause", [0.4, 1.1])
def test_killed_drafter_is_replaced_without_costing_an_agent(project: tuple[Path, StateDir], pause: float) -> None:
    root, state = project
    with drafter(root, "--waves", "1") as first:
        wait_for(lambda: len(launched(state)) > 8)
        time.sleep(pause)
        first.kill()
    before = set(live_shards(state))
    assert before
    with drafter(root, "--waves", "1") as second:
        assert second.wait(DEADLINE_S) == Exit.OK
    assert {row["shard"] for row in events(state, "shard-adopt")} == before
    assert {row["shard"] for row in events(state, "shard-start")} == before  # nothing started again
    assert max(Counter(row["target"] for row in launched(state)).values()) == 1
    assert_whole(state, 80)
    assert not live_shards(state)


@pytest.mark.parametrize("point", ["draw.wave", "deal.inbox:5", "publish.tmp:2", "publish.ready"])
def test_death_at_a_point_changes_nothing(project: tuple[Path, StateDir], point: str) -> None:
    root, state = project
    tell(state, delay_s=0.05)
    with drafter(root, "--waves", "1", CAMPAIGN_FAILPOINT=point) as first:
        assert first.wait(DEADLINE_S) == -signal.SIGKILL
    with drafter(root, "--waves", "1") as second:
        assert second.wait(DEADLINE_S) == Exit.OK
    assert_whole(state, 80)


def test_killed_shards_are_salvaged_by_the_next_drafter(project: tuple[Path, StateDir]) -> None:
    root, state = project
    tell(state, delay_s=0.1, die_after=3)
    with drafter(root, "--waves", "1") as first:
        wait_for(lambda: len(rows(state)) > 2)
        first.kill()
    wait_for(lambda: not live_shards(state))
    tell(state, delay_s=0.05)
    with drafter(root, "--waves", "1") as second:
        assert second.wait(DEADLINE_S) == Exit.OK
    assert_whole(state, 80)
    # At most: the first drafter may have died between saving a draft and saying so.
    said = sum(int(row["drafts"]) for row in events(state, "shard-salvage"))
    assert 0 < said <= sum(".s" in draft for draft in published(state))


def test_stop_file_is_noticed_within_a_second_and_publishes_everything(project: tuple[Path, StateDir]) -> None:
    root, state = project
    tell(state, delay_s=1.0)
    with drafter(root) as process:
        wait_for(lambda: len(rows(state)) > 3)
        state.stop.touch()
        touched = time.monotonic()
        wait_for(lambda: events(state, "drain"))
        assert time.monotonic() - touched < 1.0
        assert process.wait(DEADLINE_S) == Exit.OK
    assert not live_shards(state)
    assert {row["id"] for row in rows(state)} == set(published(state))
    assert any(row["outcome"] == "saved" for row in rows(state))
    with drafter(root) as again:
        assert again.wait(DEADLINE_S) == Exit.DRAINED
    assert len(events(state, "draw")) == 1


def test_sigterm_ends_the_drafter_alone(project: tuple[Path, StateDir]) -> None:
    root, state = project
    with drafter(root, "--waves", "1") as process:
        wait_for(lambda: len(rows(state)) > 3)
        process.terminate()
        assert process.wait(DEADLINE_S) == Exit.OK
    assert live_shards(state)
    ended = subprocess.run(command("kill-agents", "--json", root=root), check=False, capture_output=True)
    assert ended.returncode == Exit.OK
    assert len(json.loads(ended.stdout)["ended"]) == 2
    assert not live_shards(state)


def test_kill_agents_kills_what_does_not_listen(project: tuple[Path, StateDir]) -> None:
    root, state = project
    tell(state, hang=True)
    with drafter(root, "--waves", "1") as process:
        wait_for(lambda: len(live_shards(state)) == 2)
        wait_for(lambda: len(list(state.shards.glob("*/heartbeat.json"))) == 2)
        process.kill()
    bystander = subprocess.Popen(["sleep", "60"])
    ended = subprocess.run(
        command("kill-agents", "--grace", "0.2", "--json", root=root), check=False, capture_output=True
    )
    assert sorted(json.loads(ended.stdout)["killed"]) == ["s0001", "s0002"]
    assert not live_shards(state)
    assert bystander.poll() is None
    bystander.kill()
    bystander.wait(5)


def test_a_second_drafter_is_refused(project: tuple[Path, StateDir]) -> None:
    root, state = project
    with drafter(root):
        wait_for(lambda: live_shards(state))
        with drafter(root) as second:
            assert second.wait(DEADLINE_S) == Exit.ALREADY_RUNNING
        drawn = subprocess.run(command("draw", root=root), check=False, capture_output=True)
        assert drawn.returncode == Exit.ALREADY_RUNNING
        shown = subprocess.run(command("draw", "--dry-run", "--json", root=root), check=False, capture_output=True)
        assert shown.returncode == Exit.OK
        assert json.loads(shown.stdout)["balanced"]


def test_a_binary_on_the_red_list_is_not_drawn(project: tuple[Path, StateDir]) -> None:
    root, state = project

    def preview() -> dict[str, Any]:
        shown = subprocess.run(command("draw", "--dry-run", "--json", root=root), check=True, capture_output=True)
        value: dict[str, Any] = json.loads(shown.stdout)
        return value

    assert "RED" not in preview()["skipped"]
    redlist.red(state, "main", redlist.Red("c", "wrong hash", "now"), "clean build")
    assert preview()["skipped"]["RED"] > 0
    assert not any(card["binary"] == "main" for card in preview()["cards"])
    redlist.green(state, ["main"], "c", "clean build")
    assert "RED" not in preview()["skipped"]


def test_nothing_is_imported_after_ready(project: tuple[Path, StateDir]) -> None:
    root, state = project
    tell(state, delay_s=0.02)
    script = HERE / "imports_after_ready.py"
    done = subprocess.run(
        [sys.executable, str(script), "--root", str(root), "run", "--waves", "1"],
        check=False,
        capture_output=True,
        env=os.environ | {"PYTHONPATH": str(HERE.parent.parent)},
        timeout=DEADLINE_S,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout) == []


def test_draw_writes_a_wave_that_the_next_drafter_deals(project: tuple[Path, StateDir]) -> None:
    root, state = project
    drawn = subprocess.run(command("draw", "--json", root=root), check=True, capture_output=True)
    assert json.loads(drawn.stdout)["written"]
    tell(state, delay_s=0.02)
    with drafter(root, "--waves", "1") as process:
        assert process.wait(DEADLINE_S) == Exit.OK
    assert_whole(state, 80)
    assert len(events(state, "draw")) == 1


def test_mistakes_are_one_sentence(project: tuple[Path, StateDir]) -> None:
    root, state = project
    git(root, "branch", "-m", "elsewhere")
    done = subprocess.run(command("run", root=root), check=False, capture_output=True, text=True)
    assert done.returncode == Exit.REPOSITORY
    assert "Traceback" not in done.stderr
    (root / "campaign.toml").write_text((root / "campaign.toml").read_text().partition("[pool.a]")[0])
    done = subprocess.run(command("run", root=root), check=False, capture_output=True, text=True)
    assert done.returncode == Exit.USAGE
    assert "Traceback" not in done.stderr
    assert not list(state.waves.iterdir())
