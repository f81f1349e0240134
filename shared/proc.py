"""Runs one child program with limits on time, memory, output and file size. No shell, ever.

The child gets its own session; on timeout the whole group is killed. With `isolate` it also gets its own PID namespace
(so that nothing it started outlives it, and it dies with us) and no network, where the kernel allows both.
"""

from __future__ import annotations

import contextlib
import functools
import os
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from shared.errors import InstrumentFault, MissingTool

KEPT_ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "VIRTUAL_ENV")
"""What a child sees of our environment: nothing else, so that no key can reach a compiler."""


@dataclass(frozen=True)
class Limits:
    """Limits of one child; None = unlimited. `output_kib` bounds stdout and stderr each; the rest is dropped."""

    timeout_s: float
    memory_mib: int | None = None
    output_kib: int = 1024
    file_mib: int | None = 512
    processes: int | None = None


@dataclass(frozen=True)
class Ran:
    """What became of a child. `returncode` is negative for a signal, as in subprocess."""

    argv: tuple[str, ...]
    returncode: int
    stdout: bytes
    stderr: bytes
    timed_out: bool
    truncated: bool
    wall_s: float

    @property
    def ok(self) -> bool:
        """Ended by itself with code 0."""
        return self.returncode == 0 and not self.timed_out


def child_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The reduced environment children run in, messages in the C locale."""
    kept = {name: os.environ[name] for name in KEPT_ENVIRONMENT if name in os.environ}
    return kept | {"LC_ALL": "C"} | dict(extra or {})


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    limits: Limits,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    inherit: Sequence[int] = (),
    isolate: bool = False,
) -> Ran:
    """Runs `argv` to its end or its time limit.

    `inherit` are descriptors the child keeps open (a lock it must hold). Raises MissingTool when the program is not
    found, InstrumentFault when it cannot be started; never raises for what the child does.
    """
    started = time.monotonic()
    environment = child_environment(env)
    if "/" not in argv[0] and shutil.which(argv[0], path=environment.get("PATH")) is None:
        raise MissingTool(f"{argv[0]} is not installed or not on PATH; install it and try again")
    command = [*_wrapper(isolate), *_prlimit(limits), *argv]
    try:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=environment,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=tuple(inherit),
            start_new_session=True,
        )
    except FileNotFoundError as error:
        if not cwd.is_dir():
            raise InstrumentFault(f"MISSING {cwd}: the folder to run {argv[0]} in is not there") from error
        raise MissingTool(
            f"{error.filename or argv[0]} is not installed or not on PATH; install it and try again"
        ) from error
    except OSError as error:
        raise InstrumentFault(f"{argv[0]} could not be started: {error.strerror}") from error
    timed_out = True
    try:
        stdout, stderr, truncated, timed_out = _communicate(process, stdin, limits, started)
    finally:
        if timed_out or process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdout, process.stderr, process.stdin):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
    return Ran(tuple(argv), process.returncode, stdout, stderr, timed_out, truncated, time.monotonic() - started)


def _communicate(
    process: subprocess.Popen[bytes], stdin: bytes, limits: Limits, started: float
) -> tuple[bytes, bytes, bool, bool]:
    assert process.stdout is not None
    assert process.stderr is not None
    cap = limits.output_kib * 1024
    kept: dict[IO[bytes], bytearray] = {process.stdout: bytearray(), process.stderr: bytearray()}
    dropped = False
    pending = memoryview(stdin)
    with selectors.DefaultSelector() as selector:
        for stream in kept:
            selector.register(stream, selectors.EVENT_READ)
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            selector.register(process.stdin, selectors.EVENT_WRITE)
        while selector.get_map():
            left = limits.timeout_s - (time.monotonic() - started)
            if left <= 0:
                return bytes(kept[process.stdout]), bytes(kept[process.stderr]), dropped, True
            for key, _ in selector.select(min(left, 1.0)):
                stream = key.fileobj  # type: ignore[assignment]
                if stream is process.stdin:
                    try:
                        pending = pending[os.write(key.fd, pending[:65536]) :]
                    except BlockingIOError:
                        continue
                    except BrokenPipeError:
                        pending = memoryview(b"")
                    if not pending:
                        selector.unregister(process.stdin)
                        process.stdin.close()
                    continue
                chunk = os.read(key.fd, 65536)
                if not chunk:
                    selector.unregister(stream)
                    continue
                room = cap - len(kept[stream])
                kept[stream] += chunk[:room]
                dropped |= len(chunk) > room
            if process.poll() is not None and not selector.select(0):
                break
    try:
        process.wait(max(0.0, limits.timeout_s - (time.monotonic() - started)))
    except subprocess.TimeoutExpired:
        return bytes(kept[process.stdout]), bytes(kept[process.stderr]), dropped, True
    return bytes(kept[process.stdout]), bytes(kept[process.stderr]), dropped, False


def _prlimit(limits: Limits) -> list[str]:
    options = ["--core=0"]
    if limits.memory_mib is not None:
        options.append(f"--as={limits.memory_mib << 20}")
    if limits.file_mib is not None:
        options.append(f"--fsize={limits.file_mib << 20}")
    if limits.processes is not None:
        options.append(f"--nproc={limits.processes}")
    options.append(f"--cpu={int(limits.timeout_s) + 1}")
    return ["prlimit", *options, "--"]


def _wrapper(isolate: bool) -> list[str]:
    return list(isolation()) if isolate else []


@functools.cache
def isolation() -> tuple[str, ...]:
    """The prefix this kernel allows us: PID and network namespace, PID namespace alone, or none (empty).

    `setpriv` ends `unshare` when the thread that started it ends, and `--kill-child` then all below it: without the
    first a worker killed in the middle of a build would leave it running, with its workspace locked.
    """
    base = ("setpriv", "--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--kill-child=KILL")
    user = () if os.geteuid() == 0 else ("--user", "--map-current-user")
    for prefix in ((*base, "--net", *user), (*base, *user)):
        try:
            done = subprocess.run([*prefix, "true"], capture_output=True, timeout=10, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return ()
        if done.returncode == 0:
            return prefix
    return ()
