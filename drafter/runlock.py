"""The lock a shard holds for life. Its descriptor is made here, inherited by the child, then closed here without
unlocking: the kernel keeps the lock until the last copy of the descriptor is gone, so no death can look like absence.

`shared.locks` cannot do that: its release always unlocks, which would free the child's lock too (field report F34).
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from shared.errors import InstrumentFault


def take(path: Path) -> int | None:
    """A locked descriptor, close-on-exec, or None when some process holds the lock. Raises InstrumentFault, OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError as error:
        os.close(descriptor)
        raise InstrumentFault(
            f"cannot lock {path}: {error.strerror}; the state directory must be on a file system with flock"
        ) from error
    return descriptor


def held(path: Path) -> bool:
    """Whether some process holds the lock now; a missing file is not held. Raises InstrumentFault, OSError."""
    if not path.exists():
        return False
    descriptor = take(path)
    if descriptor is None:
        return True
    os.close(descriptor)
    return False
