"""Append-only JSONL journals: one writing process per file, one O_APPEND write per record.

SIGKILL loses nothing that `append` returned from; a power cut loses at most what came since the last `sync`.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson

from shared.durable import sync_directory
from shared.errors import DiskFull

log = logging.getLogger(__name__)


class Journal:
    """Writer of one journal file. A torn tail left by an earlier death is closed with a newline at open."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        fresh = not path.exists()
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        if fresh:
            sync_directory(path.parent)
        size = os.fstat(self._descriptor).st_size
        self.torn = size > 0 and os.pread(self._descriptor, 1, size - 1) != b"\n"
        if self.torn:
            os.write(self._descriptor, b"\n")
            log.warning("JOURNAL-REPAIRED file=%s reason=torn-tail", path.name)

    def append(self, record: Any, *, durable: bool = False) -> None:
        """Writes one record; `durable` also fsyncs. Raises DiskFull, OSError; a partial line never joins the next."""
        line = orjson.dumps(record) + b"\n"
        start = os.fstat(self._descriptor).st_size
        try:
            written = os.write(self._descriptor, line)
            if written != len(line):
                raise OSError(errno.ENOSPC, "short write", str(self.path))
        except OSError as error:
            os.ftruncate(self._descriptor, start)
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise DiskFull(
                    f"no space left to append to {self.path}; free some, nothing was half-written"
                ) from error
            raise
        if durable:
            self.sync()

    def sync(self) -> None:
        """Makes everything appended so far durable. Raises OSError."""
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Syncs and closes."""
        if self._descriptor >= 0:
            os.fsync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass
class Reading:
    """What one pass over a journal met: records yielded, bad lines by number, and whether the tail was torn."""

    records: int = 0
    bad_lines: list[int] = field(default_factory=list)
    torn_tail: bool = False


def read_journal(path: Path, reading: Reading | None = None) -> Iterator[dict[str, Any]]:
    """Yields the records of `path` in order; a missing file yields none.

    A line that is not a JSON object is skipped and counted in `reading`: as the torn tail when it is the last and has
    no newline, else by its 1-based number. The reader never repairs: only the writer may.
    """
    seen = reading if reading is not None else Reading()
    try:
        stream = path.open("rb")
    except FileNotFoundError:
        return
    with stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            try:
                record = orjson.loads(line)
                if not isinstance(record, dict):
                    raise orjson.JSONDecodeError("not an object", "", 0)
            except orjson.JSONDecodeError:
                if line.endswith(b"\n"):
                    seen.bad_lines.append(number)
                else:
                    seen.torn_tail = True
                continue
            seen.records += 1
            yield record
