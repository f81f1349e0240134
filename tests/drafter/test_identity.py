"""No signal reaches a process that is not ours (field reports F53, F54)."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from drafter import runlock
from drafter.clock import RealClock
from drafter.ending import end_agents
from drafter.host import signal_shard
from drafter.identity import Identity, Signalled, send, start_time
from shared.durable import write_json
from shared.state import StateDir, create_state


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait(5)


@pytest.fixture
def state(tmp_path: Path) -> StateDir:
    (tmp_path / "project").mkdir()
    return create_state(tmp_path / "project", "tiny", tmp_path / "home")


def test_a_recycled_pid_is_not_signalled(sleeper: subprocess.Popen[bytes]) -> None:
    start = start_time(sleeper.pid)
    assert start is not None
    assert send(Identity(sleeper.pid, start - 1), signal.SIGKILL) is Signalled.FOREIGN
    assert sleeper.poll() is None
    assert send(Identity(sleeper.pid, start), signal.SIGTERM) is Signalled.SENT
    assert sleeper.wait(5) == -signal.SIGTERM
    assert send(Identity(sleeper.pid, start), signal.SIGTERM) is Signalled.GONE


def test_a_shard_without_its_lock_is_not_signalled(state: StateDir, sleeper: subprocess.Popen[bytes]) -> None:
    folder = state.shards / "s0001"
    folder.mkdir()
    write_json(folder / "launch.json", {"pid": sleeper.pid, "start": start_time(sleeper.pid), "pool": "a"})
    (folder / "run.lock").touch()
    assert signal_shard(state, "s0001", signal.SIGKILL) is Signalled.GONE
    assert sleeper.poll() is None


def test_an_unknown_holder_is_neither_signalled_nor_taken_for_dead(state: StateDir) -> None:
    folder = state.shards / "s0001"
    folder.mkdir()
    descriptor = runlock.take(folder / "run.lock")
    assert descriptor is not None
    assert signal_shard(state, "s0001", signal.SIGKILL) is Signalled.UNKNOWN
    outcome = end_agents(state, RealClock(), 0.1)
    assert outcome.unknown == ["s0001"]
    assert runlock.held(folder / "run.lock")
    os.close(descriptor)
    assert not runlock.held(folder / "run.lock")


def test_the_lock_outlives_our_copy_of_its_descriptor(state: StateDir) -> None:
    path = state.shards / "run.lock"
    descriptor = runlock.take(path)
    assert descriptor is not None
    child = subprocess.Popen(["sleep", "60"], pass_fds=(descriptor,))
    os.close(descriptor)
    assert runlock.held(path)
    child.kill()
    child.wait(5)
    assert not runlock.held(path)
