"""Locks between processes: flock through filelock, fail closed, files never deleted.

A lock file that is unlinked while held lets two processes hold it (field report F33), so nothing here ever removes one.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from filelock import Timeout, UnixFileLock

from shared.errors import AlreadyRunning, InstrumentFault

LOOK_S = 1.0
"""`campaign status` looks at a lock by taking it for an instant: one try could fail falsely."""


class HeldLock:
    """A lock that is held until `release` or the end of the process. `fd` can be given to a child to keep it held."""

    def __init__(self, lock: UnixFileLock, path: Path, fd: int) -> None:
        self._lock = lock
        self.path = path
        self.fd = fd
        """The descriptor the kernel lock hangs on; a child that inherits it keeps the lock after we die."""

    def release(self) -> None:
        """Frees it; a second call does nothing."""
        self._lock.release(force=True)

    def __enter__(self) -> HeldLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def try_lock(path: Path) -> HeldLock | None:
    """The lock, or None when another process holds it. Raises InstrumentFault when flock does not work here (F37)."""
    return lock(path, 0.0)


def lock(path: Path, timeout_s: float) -> HeldLock | None:
    """The lock within `timeout_s` seconds (-1: wait for ever), else None. Raises InstrumentFault when flock fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptors: list[int] = []
    handle = UnixFileLock(
        str(path),
        thread_local=False,
        is_singleton=False,
        fallback_to_soft=False,
        preserve_lock_file=True,
        on_acquired=descriptors.append,
    )
    try:
        handle.acquire(timeout=timeout_s, poll_interval=0.02)
    except Timeout:
        return None
    except (OSError, NotImplementedError) as error:
        owner = "unknown"
        with contextlib.suppress(OSError):
            owner = str(path.stat().st_uid)
        raise InstrumentFault(
            f"cannot lock {path} (owner uid {owner}, we are {os.geteuid()}): {error}; "
            "the state directory must be ours and on a file system with flock"
        ) from error
    return HeldLock(handle, path, descriptors[-1])


def only_one(path: Path, what: str) -> HeldLock:
    """The lock that makes `what` the only one of its kind. Raises AlreadyRunning."""
    held = lock(path, LOOK_S)
    if held is None:
        raise AlreadyRunning(f"another {what} already runs here ({path} is locked); stop it first or leave it running")
    return held


def is_locked(path: Path) -> bool:
    """Whether some process holds the lock right now; a missing file is not locked. Raises InstrumentFault."""
    if not path.exists():
        return False
    held = try_lock(path)
    if held is None:
        return True
    held.release()
    return False


@contextlib.contextmanager
def locked(path: Path, timeout_s: float = -1) -> Iterator[HeldLock]:
    """Holds the lock for a block. Raises AlreadyRunning when `timeout_s` passes first."""
    held = lock(path, timeout_s)
    if held is None:
        raise AlreadyRunning(f"{path} was still locked by another process after {timeout_s:g} s")
    try:
        yield held
    finally:
        held.release()
