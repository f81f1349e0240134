"""Shard processes: started in a session of their own so that they outlive us, found by their lock, never by a name."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from drafter import runlock
from drafter.agents.files import ShardFiles
from drafter.agents.launch import launch_shard
from drafter.identity import Identity, Signalled, send, start_time
from shared import durable
from shared.errors import InstrumentFault
from shared.state import StateDir

SHARD_PROGRAM = (sys.executable, "-P", "-m", "drafter.agents.shard")
"""-P: a folder of that name in the project we run in must not be taken for ours."""


class Host(Protocol):
    """What the fleet asks of processes, so that a night can be simulated."""

    def launch(self, shard: str, pool: str) -> None:
        """Starts the process of a shard whose folder is made. Raises OSError, InstrumentFault."""
        ...

    def alive(self, shard: str) -> bool:
        """Some process holds the shard's lock."""
        ...

    def signal(self, shard: str, number: signal.Signals) -> Signalled:
        """Signals the shard's process, or nobody."""
        ...

    def reap(self) -> None:
        """Collects children that ended, so that none stays defunct (field report F55)."""
        ...


class ProcessHost:
    """Real processes. `keys` are the pools' keys, read once; `program` is the shard's argument list without options,
    `words` are options every shard gets: the command line's settings."""

    def __init__(
        self,
        root: Path,
        state: StateDir,
        keys: Mapping[str, str],
        program: Sequence[str] = SHARD_PROGRAM,
        words: Sequence[str] = (),
    ) -> None:
        self._root = root
        self._state = state
        self._keys = keys
        self._program = (*program, *words)
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def launch(self, shard: str, pool: str) -> None:
        """Locks run.lock, lets the child inherit it, and notes who the child is in launch.json."""
        files = ShardFiles(self._state, shard)
        lock = runlock.take(files.run_lock)
        if lock is None:
            raise InstrumentFault(f"{files.run_lock} is held although the shard is new; nothing is started")
        try:
            child = launch_shard(self._root, files, pool, self._keys.get(pool, ""), lock, self._program)
        finally:
            os.close(lock)
        self._children[shard] = child
        start = start_time(child.pid)
        if start is not None:
            durable.write_json(files.folder / "launch.json", {"pid": child.pid, "start": start, "pool": pool})

    def alive(self, shard: str) -> bool:
        """Whether run.lock is held."""
        return runlock.held(self._state.shards / shard / "run.lock")

    def signal(self, shard: str, number: signal.Signals) -> Signalled:
        """By pidfd, after the lock is seen held and the start time compared."""
        return signal_shard(self._state, shard, number)

    def reap(self) -> None:
        """Polls our own children; adopted ones are not ours to reap."""
        for shard in [shard for shard, child in self._children.items() if child.poll() is not None]:
            del self._children[shard]


def signal_shard(state: StateDir, shard: str, number: signal.Signals) -> Signalled:
    """Signals the process that holds a shard's lock, if it is known who that is."""
    if not runlock.held(state.shards / shard / "run.lock"):
        return Signalled.GONE
    identity = identify(state, shard)
    return Signalled.UNKNOWN if identity is None else send(identity, number)


def identify(state: StateDir, shard: str) -> Identity | None:
    """Who the shard's process is, by what we noted at its start or by its own heartbeat; None when neither tells."""
    for name in ("launch.json", "heartbeat.json"):
        with contextlib.suppress(OSError, durable.Corrupt, KeyError, TypeError, ValueError):
            value = durable.read_json(state.shards / shard / name)
            return Identity(int(value["pid"]), int(value["start"]))
    return None
