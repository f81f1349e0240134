"""Whether a daemon or shard lives: its kernel lock says so, never a process id (field reports F48, F53)."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from shared.state import StateDir


def running(state: StateDir, name: str, path: Path | None = None) -> bool:
    """Whether some process holds the lock of daemon `name` (or the lock at `path`). Raises OSError.

    The look takes a shared lock for an instant; daemons wait longer than that for theirs.
    """
    place = path or state.locks / f"{name}.lock"
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
