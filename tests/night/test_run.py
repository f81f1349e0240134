"""`campaign run`: both daemons in the foreground, for real, on the small forged game."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import orjson

from shared.exits import Exit
from shared.operator.liveness import running
from tests.night.test_night import staged

CAMPAIGN = Path(sys.executable).parent / "campaign"


def run(root: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([CAMPAIGN, "--root", root, "run", *words], capture_output=True, check=False, timeout=240)


def test_prepare_plan_and_run(tmp_path: Path) -> None:
    with staged(tmp_path, 5) as stage:
        root, state = stage.project, stage.state
        shown = run(root, "--waves", "3", "--dry-run", "--workers", "6", "--pool", "rehearsal-a=1", "--json")
        assert shown.returncode == 0, shown.stderr
        plan: dict[str, Any] = orjson.loads(shown.stdout)
        assert [wave["wave"] for wave in plan["waves"]] == ["w000001", "w000002", "w000003"]
        assert plan["pools"]["rehearsal-a"]["workers"] == 6
        assert plan["pools"]["rehearsal-b"]["workers"] == 0
        assert plan["highest_spend"]["usd"] == 36.0
        assert stage.key.encode() not in shown.stdout
        assert not list(state.waves.iterdir())

        ready = run(root, "--waves", "0", "--json")
        assert ready.returncode == 0, ready.stderr
        prepared = orjson.loads(ready.stdout)
        assert set(prepared["controls"].values()) == {"green"}
        assert prepared["frontier"] > 10
        assert prepared["oracle_workspaces"] == 1
        assert not list(state.journal.glob("rate-*"))

        done = run(root, "--waves", "2", "--tag", "trial")
        assert done.returncode == 0, done.stderr
        text = done.stdout.decode()
        assert "tag trial" in text
        assert "red       no binary" in text
        assert b"night.tag = 'trial' (command line)" in done.stderr
        assert all(len(line) <= 120 for line in text.splitlines())
        wave = orjson.loads((state.waves / "w000001" / "wave.json").read_bytes())
        assert wave["parameters"]["tag"] == "trial"
        assert not state.stopping()
        assert not any(running(state, name) for name in ("drafter", "gater"))


def test_ctrl_c_drains_and_twice_stops_at_once(tmp_path: Path) -> None:
    with staged(tmp_path, 6) as stage:
        state = stage.state
        for times in (1, 2):
            command = [CAMPAIGN, "--root", stage.project, "run", "--waves", "9", "--json"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                _wait(lambda: any(running(state, "", path) for path in state.shards.glob("*/run.lock")))
                for _ in range(times):
                    process.send_signal(signal.SIGINT)
                    time.sleep(0.5)
                out, _ = process.communicate(timeout=120)
            assert process.returncode == (Exit.OK if times == 1 else Exit.INTERRUPTED)
            assert orjson.loads(out)["ended"] == ("drained" if times == 1 else "stopped at once")
            assert not state.stopping()
            locks = [state.locks / f"{name}.lock" for name in ("drafter", "gater")]
            assert not any(running(state, "", path) for path in [*locks, *state.shards.glob("*/run.lock")])
        stop = state.stop
        stop.touch()
        assert run(stage.project, "--waves", "1").returncode == Exit.DRAINED
        assert stop.exists()


def _wait(true: Any) -> None:
    deadline = time.monotonic() + 90
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)
