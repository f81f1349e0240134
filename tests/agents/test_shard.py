"""The shard as a real process: from the inbox to rows, through every way it can end."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from drafter.agents.files import ShardFiles
from drafter.agents.launch import launch_shard
from shared import durable
from shared.demo.rehearsal.server import Rehearsal
from shared.demo.rehearsal.settings import Faults, Mix, Pace, Settings
from shared.demo.rehearsal.truth import load_truth
from shared.hashing import digest_file
from shared.journal import Reading, read_journal
from shared.records import AgentRow, Target, decode, encode
from tests.agents.conftest import FUNCTIONS, KEY, TRUTH, Tiny

PROGRAM = (sys.executable, "-m", "tests.agents.fakes")
REAP_S = 15.0
NO_FAULTS = Faults(
    provider_429=0,
    http_502=0,
    soft_error=0,
    cut=0,
    empty_choices=0,
    no_finish=0,
    malformed=0,
    prose=0,
    platform_every=0,
)
ALL_RIGHT = Mix(right=1, right_after_diff=0, wrong_symbol=0, wrong_shape=0, compile_error=0, truncated=0, gives_up=0)


def write_truth(folder: Path) -> Path:
    """The tiny project's truth, as the forge would write it."""
    rows = []
    for name, body in TRUTH.items():
        path = folder / "truth/main" / f"{name}.c"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body)
        rows.append({"binary": "main", "function": name, "tu": "src/main/a.c", "file": f"truth/main/{name}.c"})
    (folder / "truth.json").write_text(json.dumps({"functions": rows}))
    return folder


@dataclass
class Served:
    """A rehearsal in a thread of this process."""

    rehearsal: Rehearsal
    url: str


@contextlib.contextmanager
def serving(folder: Path, settings: Settings) -> Iterator[Served]:
    """Serves the rehearsal of the tiny project's truth."""
    rehearsal = Rehearsal(settings, load_truth(write_truth(folder)), KEY)
    loop = asyncio.new_event_loop()
    ready = threading.Event()
    found: list[int] = []

    async def start() -> None:
        runner = web.AppRunner(rehearsal.application(), access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        found.append(runner.addresses[0][1])
        ready.set()

    def run() -> None:
        loop.run_until_complete(start())
        loop.run_forever()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield Served(rehearsal, f"http://127.0.0.1:{found[0]}/v1")
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


@dataclass
class Running:
    """A shard process under test."""

    tiny: Tiny
    files: ShardFiles
    process: subprocess.Popen[bytes]

    def deal(self, *targets: Target) -> None:
        deal(self.files, *targets)

    def rows(self, wave: str = "w000001") -> list[AgentRow]:
        """Rows so far; no line may be bad."""
        reading = Reading()
        rows = [decode(AgentRow, record) for record in read_journal(self.files.rows(wave), reading)]
        assert reading.bad_lines == []
        return rows

    def until(self, condition: Callable[[], Any], what: str) -> None:
        deadline = time.monotonic() + REAP_S
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain until {what}:\n{self.log()}"
            assert self.process.poll() is None or condition(), f"ended before {what}:\n{self.log()}"
            time.sleep(0.02)

    def wait(self) -> int:
        return self.process.wait(REAP_S)

    def log(self) -> str:
        return self.files.log.read_text()

    def exit(self) -> dict[str, Any]:
        return dict(durable.read_json(self.files.exit))


def deal(files: ShardFiles, *targets: Target) -> None:
    """What the drafter does."""
    files.make()
    for target in targets:
        durable.write_json(files.target(target.id), encode(target))


class Stage:
    """Starts shards of one project and ends whatever is left of them."""

    def __init__(self, tiny: Tiny) -> None:
        self.tiny = tiny
        self._running: list[Running] = []

    def start(self, shard: str = "s0001", failpoint: str = "") -> Running:
        files = ShardFiles(self.tiny.state, shard)
        files.make()
        lock = os.open(files.run_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if failpoint:
            os.environ["CAMPAIGN_FAILPOINT"] = failpoint
        try:
            process = launch_shard(self.tiny.root, files, "test", KEY, lock, PROGRAM)
        finally:
            os.environ.pop("CAMPAIGN_FAILPOINT", None)
            os.close(lock)
        self._running.append(Running(self.tiny, files, process))
        return self._running[-1]

    def end(self) -> None:
        for running in self._running:
            if running.process.poll() is None:
                running.process.kill()
            running.process.wait(REAP_S)


@pytest.fixture
def stage(tiny: Tiny) -> Iterator[Stage]:
    """Shards of the tiny project, with a drafter that holds its lock."""
    lock = os.open(tiny.state.locks / "drafter.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    made = Stage(tiny)
    yield made
    made.end()
    os.close(lock)


def locked(path: Path) -> bool:
    """Whether some process holds the lock."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def check_rows(running: Running, rows: list[AgentRow]) -> None:
    """No target has two rows, and every draft a row names is whole."""
    assert len({row.id for row in rows}) == len(rows)
    for row in rows:
        if row.path:
            assert digest_file(running.tiny.state.root / row.path) == row.digest


def test_targets_become_rows_whatever_their_wave(stage: Stage, tmp_path: Path) -> None:
    tiny = stage.tiny
    with serving(tmp_path / "truth", Settings(seed=3, mix=ALL_RIGHT)) as served:
        tiny.configure(served.url)
        running = stage.start()
        running.deal(*(tiny.target(number) for number in range(4)), tiny.target(0, "w000002"))
        running.until(lambda: len(running.rows()) == 4 and running.rows("w000002"), "all targets have rows")
        rows = running.rows() + running.rows("w000002")
        assert {row.outcome for row in rows} == {"match"}
        assert {row.function for row in rows} == set(FUNCTIONS)
        check_rows(running, rows)
        running.until(lambda: not list(running.files.inbox.iterdir()), "the inbox is empty")
        assert served.rehearsal.report.document()["reachable"] == [["main", name] for name in sorted(FUNCTIONS)]
        beat = durable.read_json(running.files.heartbeat)
        assert (beat["pid"], beat["pool"]) == (running.process.pid, "test")
        running.process.terminate()
        assert running.wait() == 0
    assert running.exit()["reason"] == "term"
    assert running.exit()["outcomes"] == {"match": 5}
    assert running.exit()["progress"] >= 5 * 3
    rates = [r for path in tiny.state.journal.glob("rate-*.s0001.jsonl") for r in read_journal(path)]
    assert len(rates) == sum(row.requests for row in rows)


def test_a_mixed_fleet_under_faults_ends_as_planned(stage: Stage, tmp_path: Path) -> None:
    tiny = stage.tiny
    faults = Faults(
        provider_429=0.1, http_502=0.1, soft_error=0.1, cut=0.1, empty_choices=0.05, no_finish=0.05,
        malformed=0.3, prose=0.3, platform_every=20, platform_burst_s=0.2, retry_after_s=0.05,
    )  # fmt: skip
    with serving(tmp_path / "truth", Settings(seed=11, faults=faults, looks=0.5)) as served:
        tiny.configure(served.url, retries=8)
        running = stage.start()
        targets = [tiny.target(n, f"w{a:06d}", attempt=a) for a in range(1, 11) for n in range(4)]
        running.deal(*targets)
        waves = sorted({target.wave for target in targets})
        running.until(lambda: sum(len(running.rows(wave)) for wave in waves) == len(targets), "all have rows")
        running.process.terminate()
        running.wait()
    rows = {(row.function, row.attempt): row for wave in waves for row in running.rows(wave)}
    document = served.rehearsal.report.document()
    expected = {
        "right": ("match", "AGREE"), "right-after-diff": ("match", "AGREE"), "wrong-symbol": ("near", "MISMATCH?"),
        "wrong-shape": ("near", "MISMATCH?"), "compile-error": ("near", "COMPILE-FAIL"), "truncated": ("truncated", ""),
        "gives-up": ("gave-up", ""),
    }  # fmt: skip
    assert len(document["plans"]) == len(targets)
    for plan in document["plans"]:
        row = rows[plan["function"], plan["attempt"]]
        assert (row.outcome, row.verdict) == expected[plan["script"]], (plan, row)
    assert len(document["scripts"]) >= 6
    assert document["results"]["platform-429"]
    assert document["results"].get("http-400", 0) == 0


@pytest.mark.parametrize("how", ["stop", "term", "orphan"])
def test_the_end_saves_what_is_in_flight_and_leaves_what_was_not_started(
    stage: Stage, tmp_path: Path, how: str
) -> None:
    tiny = stage.tiny
    slow = Settings(
        mix=Mix(right=0, right_after_diff=1), faults=NO_FAULTS, pace=Pace(median_s=0.8, spread=0.0), looks=0
    )
    with serving(tmp_path / "truth", slow) as served:
        tiny.configure(served.url, orphan=1.0 if how == "orphan" else 60.0)
        files = ShardFiles(tiny.state, "s0001")
        files.make()
        durable.write_json(files.share, {"workers": 2})
        if how == "orphan":
            fcntl.flock(os.open(tiny.state.locks / "drafter.lock", os.O_RDWR), fcntl.LOCK_UN)
            stage.tiny.state.locks.joinpath("drafter.lock").unlink()
        running = stage.start()
        running.deal(*(tiny.target(number) for number in range(4)))
        running.until(lambda: len(list(tiny.state.waves.glob("*/drafts/*.c"))) == 2, "two agents have a draft")
        asked = time.monotonic()
        if how == "stop":
            tiny.state.stop.touch()
        elif how == "term":
            running.process.terminate()
        assert running.wait() == 0
        took = time.monotonic() - asked
    assert took < 5
    rows = running.rows()
    check_rows(running, rows)
    assert len(rows) >= 2
    assert {row.outcome for row in rows} <= {"saved", "match"}
    assert all(row.path for row in rows)
    left = sorted(path.stem for path in running.files.inbox.glob("*.json"))
    assert len(left) + len(rows) == 4
    assert running.exit()["reason"] == how
    assert running.exit()["unfinished"] == left
    assert not locked(running.files.run_lock)


def test_a_second_sigterm_ends_at_once_and_loses_nothing(stage: Stage, tmp_path: Path) -> None:
    tiny = stage.tiny
    slow = Settings(mix=ALL_RIGHT, faults=NO_FAULTS, pace=Pace(median_s=30, spread=0.0))
    with serving(tmp_path / "truth", slow) as served:
        tiny.configure(served.url)
        running = stage.start()
        running.deal(tiny.target(0), tiny.target(1))
        running.until(lambda: len(list(tiny.state.waves.glob("*/transcripts/*"))) == 2, "both have begun")
        time.sleep(0.3)
        running.process.terminate()
        time.sleep(0.3)
        running.process.terminate()
        assert running.wait() == 0
    assert running.rows() == []
    assert len(running.exit()["unfinished"]) == 2
    assert len(list(running.files.inbox.glob("*.json"))) == 2


@pytest.mark.parametrize("point", ["agent.draft", "agent.row", "agent.draft:3", "agent.row:3"])
def test_a_death_at_a_fail_point_loses_no_draft_and_doubles_no_row(stage: Stage, tmp_path: Path, point: str) -> None:
    tiny = stage.tiny
    with serving(tmp_path / "truth", Settings(seed=5, mix=Mix(right=1, right_after_diff=2, wrong_shape=1))) as served:
        tiny.configure(served.url, retries=8)
        first = stage.start(failpoint=point)
        first.deal(*(tiny.target(number) for number in range(4)))
        assert first.wait() == -signal.SIGKILL
        assert not locked(first.files.run_lock)
        drafts = {path.name: path.read_bytes() for path in tiny.state.waves.glob("*/drafts/*.c")}
        assert drafts
        second = stage.start()
        second.until(lambda: len(second.rows()) == 4, "all targets have rows")
        second.until(lambda: not list(second.files.inbox.iterdir()), "the inbox is empty")
        check_rows(second, second.rows())
        assert all((tiny.state.waves / "w000001/drafts" / name).exists() for name in drafts)
        reached = {tuple(key) for key in served.rehearsal.report.document()["functions_right"]}
        assert {(row.binary, row.function) for row in second.rows() if row.outcome == "match"} == reached


def test_sigkill_at_any_moment(stage: Stage, tmp_path: Path) -> None:
    tiny = stage.tiny
    pace = Pace(median_s=0.05)
    with serving(tmp_path / "truth", Settings(seed=7, pace=pace, mix=ALL_RIGHT)) as served:
        tiny.configure(served.url, retries=8)
        deal(ShardFiles(tiny.state, "s0001"), *(tiny.target(n, f"w00000{w}") for w in range(1, 6) for n in range(4)))
        for delay in (0.5, 0.7):
            running = stage.start()
            time.sleep(delay)
            running.process.kill()
            running.wait()
        last = stage.start()
        waves = [f"w00000{wave}" for wave in range(1, 6)]
        last.until(lambda: sum(len(last.rows(wave)) for wave in waves) == 20, "all targets have rows")
        for wave in waves:
            check_rows(last, last.rows(wave))
            assert {row.outcome for row in last.rows(wave)} == {"match"}


def test_a_cancelled_target_ends_at_its_next_turn(stage: Stage, tmp_path: Path) -> None:
    tiny = stage.tiny
    slow = Settings(mix=ALL_RIGHT, faults=NO_FAULTS, pace=Pace(median_s=0.5, spread=0.0), looks=1)
    with serving(tmp_path / "truth", slow) as served:
        tiny.configure(served.url)
        files = ShardFiles(tiny.state, "s0001")
        files.make()
        durable.write_json(files.share, {"workers": 1})
        running = stage.start()
        first, second = tiny.target(0), tiny.target(1)
        running.deal(first, second)
        files.cancel(second.id).touch()
        files.cancel("w000009-0001-1").touch()
        running.until(
            lambda: served.rehearsal.report.changed and files.transcript(first.wave, first.id).exists(), "begun"
        )
        files.cancel(first.id).touch()
        running.until(lambda: len(running.rows()) == 2, "both have rows")
        running.until(lambda: not list(files.inbox.iterdir()), "the inbox is empty")
    rows = {row.id: row for row in running.rows()}
    assert {row.outcome for row in rows.values()} == {"cancelled"}
    assert rows[second.id].requests == 0
    assert rows[first.id].requests <= 1


def test_the_share_is_read_again_when_it_changes(stage: Stage, tmp_path: Path) -> None:
    tiny = stage.tiny
    with serving(tmp_path / "truth", Settings(mix=ALL_RIGHT, faults=NO_FAULTS)) as served:
        tiny.configure(served.url)
        files = ShardFiles(tiny.state, "s0001")
        files.make()
        durable.write_json(files.share, {"workers": 0, "pool": "test"})
        running = stage.start()
        running.deal(tiny.target(0))
        running.until(lambda: "SHARE workers=0" in running.log(), "the share was read")
        time.sleep(0.6)
        assert running.rows() == []
        durable.write(files.share, b"nonsense")
        running.until(lambda: "SHARE-IGNORED" in running.log(), "nonsense was ignored")
        durable.write_json(files.share, {"workers": 3})
        running.until(lambda: running.rows(), "the target has a row")


def test_what_cannot_be_read_in_the_inbox_is_left_and_said_once(stage: Stage, tmp_path: Path) -> None:
    tiny = stage.tiny
    with serving(tmp_path / "truth", Settings(mix=ALL_RIGHT, faults=NO_FAULTS)) as served:
        tiny.configure(served.url)
        running = stage.start()
        good = tiny.target(0)
        newer = encode(tiny.target(1)) | {"schema": 99}
        durable.write_json(running.files.inbox / "newer.json", newer)
        durable.write(running.files.inbox / "empty.json", b"")
        durable.write_json(running.files.inbox / "other-name.json", encode(tiny.target(2)))
        durable.write_json(running.files.inbox / "evil.json", encode(tiny.target(2)) | {"id": "../../evil"})
        running.deal(good)
        running.until(lambda: running.rows(), "the good one has a row")
        time.sleep(0.6)
    log = running.log()
    for name in ("newer", "empty", "other-name", "evil"):
        assert log.count(f"TARGET-IGNORED file='{name}.json'") == 1
        assert (running.files.inbox / f"{name}.json").exists()


def test_the_key_is_nowhere_but_in_the_request(stage: Stage, tmp_path: Path) -> None:
    tiny = stage.tiny
    with serving(tmp_path / "truth", Settings(mix=ALL_RIGHT)) as served:
        tiny.configure(served.url)
        tiny.key_file.unlink()  # it comes through the pipe alone
        running = stage.start()
        running.deal(tiny.target(0))
        running.until(lambda: running.rows(), "the target has a row")
        proc = Path(f"/proc/{running.process.pid}")
        assert KEY.encode() not in (proc / "cmdline").read_bytes()
        assert KEY.encode() not in (proc / "environ").read_bytes()
        running.process.terminate()
        running.wait()
    assert running.rows()[0].outcome == "match"
    for path in tiny.state.root.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


def test_mistakes_at_the_start_are_one_sentence(stage: Stage) -> None:
    tiny = stage.tiny
    running = stage.start()
    running.until(lambda: running.files.heartbeat.exists(), "it runs")
    base = [*PROGRAM, "--root", str(tiny.root), "--pool", "test", "--shard"]
    twice = subprocess.run([*base, "s0001"], capture_output=True, text=True, timeout=REAP_S, check=False)
    assert twice.returncode == 5
    assert "already runs" in twice.stderr
    other = subprocess.run(
        [*base[:-2], "nope", "--shard", "s2"], capture_output=True, text=True, timeout=REAP_S, check=False
    )
    assert other.returncode == 2
    assert "[pool.nope]" in other.stderr
    tiny.key_file.unlink()
    keyless = subprocess.run([*base, "s0003"], capture_output=True, text=True, timeout=REAP_S, check=False)
    assert keyless.returncode == 2
    assert "key_file cannot be read" in keyless.stderr
    assert "Traceback" not in twice.stderr + other.stderr + keyless.stderr
