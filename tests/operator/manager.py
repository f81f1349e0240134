"""A real systemd as PID 1 of private namespaces, over a folder of unit files. Nothing of the host's is touched.

A system manager that is told SYSTEMD_UNIT_PATH ignores every unit of the image, so the targets it wants are stubs here.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SYSTEMD = "/lib/systemd/systemd"
STUBS = (
    "test",
    "sysinit",
    "basic",
    "shutdown",
    "umount",
    "multi-user",
    "default",
    "sockets",
    "timers",
    "paths",
    "slices",
)
UNIFIED = (Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup"))
_START = """
set -e
mount -t tmpfs tmpfs /run; mkdir -p /run/lock /run/systemd
mount -t tmpfs tmpfs /sys/fs/cgroup; mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount --make-rshared /
exec env -i PATH="$PATH" container=test SYSTEMD_UNIT_PATH="$1" """ + (
    f"{SYSTEMD} --system --unit=test.target --show-status=0 --log-target=console\n"
)


@dataclass(frozen=True)
class Manager:
    """A running manager; `pid` is its PID as we see it."""

    pid: int

    def ctl(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """One systemctl call inside."""
        done = subprocess.run(
            ["nsenter", "-t", str(self.pid), "-a", "systemctl", *words], capture_output=True, text=True, timeout=90
        )
        assert not check or done.returncode == 0, (words, done.stdout, done.stderr)
        return done

    def show(self, unit: str, name: str) -> str:
        """One property of a unit."""
        return self.ctl("show", "--property", name, "--value", unit).stdout.strip()

    def main_pid(self, unit: str) -> int:
        """PID of a unit's main process, as seen inside."""
        return int(self.show(unit, "MainPID"))

    def kill(self, unit: str, number: signal.Signals) -> None:
        """Signals the main process of a unit from inside."""
        words = ["nsenter", "-t", str(self.pid), "-a", "kill", f"-{number.value}", str(self.main_pid(unit))]
        subprocess.run(words, check=True, timeout=20)

    def inside(self, *words: str) -> str:
        """Output of a command run in all its namespaces."""
        argv = ["nsenter", "-t", str(self.pid), "-a", *words]
        return subprocess.run(argv, capture_output=True, text=True, timeout=20, check=True).stdout


def why_not() -> str:
    """Why no manager can be had here, "" when it can."""
    if os.geteuid() != 0:
        return "private namespaces with a cgroup tree need root"
    for tool in ("unshare", "nsenter", "systemctl"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    return "" if Path(SYSTEMD).exists() else "systemd is not installed"


def _cgroup() -> Path:
    base = next(
        place for place in UNIFIED if (place / "cgroup.procs").exists() and (place / "cgroup.controllers").exists()
    )
    folder = base / f"decomp-test-{os.getpid()}"
    folder.mkdir(exist_ok=True)
    return folder


@contextmanager
def manager(units: Path, log: Path) -> Iterator[Manager]:
    """Starts a manager over `units`; ends it and everything in it."""
    for name in STUBS:
        (units / f"{name}.target").write_text("[Unit]\nDefaultDependencies=no\n")
    group = _cgroup()
    with log.open("ab") as stream:
        process = subprocess.Popen(
            [
                "bash",
                "-c",
                f"echo $$ > {group}/cgroup.procs; exec unshare --pid --fork --mount --cgroup --ipc --uts "
                '--kill-child --mount-proc --propagation private bash -c "$0" start "$1"',
                _START,
                str(units),
            ],
            stdout=stream,
            stderr=stream,
            stdin=subprocess.DEVNULL,
        )
    try:
        inner = _child(process.pid)
        found = Manager(inner)
        wait_for(lambda: found.ctl("is-active", "test.target", check=False).stdout.strip() == "active", 20, log)
        yield found
    finally:
        process.kill()
        process.wait(10)
        _empty(group)


def _child(pid: int) -> int:
    until = time.monotonic() + 10
    while time.monotonic() < until:
        words = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if words and b"systemd" in Path(f"/proc/{words[0]}/cmdline").read_bytes():
            return int(words[0])
        time.sleep(0.05)
    raise AssertionError("systemd did not start")


def _empty(group: Path) -> None:
    for _ in range(100):
        with contextlib.suppress(OSError):
            for folder in sorted(group.rglob("*"), key=lambda p: -len(p.parts)):
                if folder.is_dir():
                    folder.rmdir()
            group.rmdir()
            return
        time.sleep(0.05)


def wait_for(what: Callable[[], bool], limit_s: float = 30.0, log: Path | None = None) -> None:
    """Until `what()`; the log's end is in the error."""
    until = time.monotonic() + limit_s
    while not what():
        assert time.monotonic() < until, log.read_text(errors="replace")[-3000:] if log else "it did not happen"
        time.sleep(0.1)
