"""Which process is which, and signals that cannot hit another one.

A pid alone proves nothing: it may have been given to a stranger (field reports F53, F54). A process is known by pid and
start time, and is signalled through a pidfd opened before the comparison, so that a recycled pid is never hit.
"""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Signalled(StrEnum):
    """What became of a signal."""

    SENT = "sent"
    GONE = "gone"  # no process of that pid
    FOREIGN = "foreign"  # the pid belongs to a process that started at another time
    UNKNOWN = "unknown"  # its start time cannot be read: neither signalled nor taken for dead


@dataclass(frozen=True)
class Identity:
    """A process: pid and start time in clock ticks since boot (field 22 of /proc/<pid>/stat)."""

    pid: int
    start: int


def start_time(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot, None when it is gone or cannot be read."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The name is in parentheses and may hold anything, parentheses and blanks included.
    fields = stat[stat.rfind(b")") + 2 :].split()
    return int(fields[19]) if len(fields) > 19 else None


def send(identity: Identity, number: signal.Signals) -> Signalled:
    """Sends a signal to exactly this process, or to none."""
    try:
        descriptor = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return Signalled.GONE
    except OSError:
        return Signalled.UNKNOWN
    try:
        start = start_time(identity.pid)
        if start is None:
            return Signalled.UNKNOWN
        if start != identity.start:
            return Signalled.FOREIGN
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(descriptor, number)
            return Signalled.SENT
        return Signalled.GONE
    except OSError:
        return Signalled.UNKNOWN
    finally:
        os.close(descriptor)
