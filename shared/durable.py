"""Whole-file durable writes: the only way a state file is written.

Promise: after `write` returns, the file has the new content even across a power cut; at any instant before, readers see
the old content or none. No fallback to a plain write exists (field report F20), and a short write is an error (F18).
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import orjson

from shared.errors import CampaignError, DiskFull

JSON_OPTIONS = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE


def write(path: Path, data: bytes) -> None:
    """Replaces `path` by `data` durably. Raises DiskFull on ENOSPC/EDQUOT, OSError otherwise; the old file stays."""
    temp = stage(path.parent, path.name, data)
    try:
        temp.replace(path)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def write_json(path: Path, value: Any) -> None:
    """`write` of a JSON document. Raises what `write` raises, TypeError for a value that is not JSON."""
    write(path, orjson.dumps(value, option=JSON_OPTIONS))


def stage(folder: Path, name: str, data: bytes) -> Path:
    """Writes and fsyncs a temp file in `folder`; the caller renames the returned path. Raises DiskFull, OSError."""
    temp = folder / f".{name}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
    descriptor = -1
    try:
        descriptor = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        view = memoryview(data)
        while view:
            count = os.write(descriptor, view)
            if count == 0:
                raise OSError(errno.EIO, "write wrote nothing", str(temp))
            view = view[count:]
        if os.fstat(descriptor).st_size != len(data):
            raise OSError(errno.EIO, "short write", str(temp))
        os.fsync(descriptor)
    except OSError as error:
        temp.unlink(missing_ok=True)
        raise _translate(error, folder / name) from error
    finally:
        if descriptor >= 0:
            os.close(descriptor)
    return temp


def sync_directory(folder: Path) -> None:
    """Makes renames in `folder` durable. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_json(path: Path) -> Any:
    """The JSON document at `path`. Raises FileNotFoundError; Corrupt for an empty, all-NUL or torn file (F19)."""
    raw = path.read_bytes()
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        what = "is empty" if not raw else "holds only NUL bytes" if not raw.strip(b"\0") else f"is not JSON: {error}"
        raise Corrupt(f"{path}: {what}; move it aside, its content is derived again or recovered") from error


class Corrupt(CampaignError):
    """A state file exists but cannot be decoded."""


def _translate(error: OSError, path: Path) -> Exception:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"no space left to write {path}; free some and start again, nothing was half-written")
    return error
