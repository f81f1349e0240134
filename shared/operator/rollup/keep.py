"""cache/operator/rollup.json: what was folded so far, and up to which byte of which file.

A file is known by device and inode; one that was replaced or shrank makes everything be read anew. Readers keep it, not
the daemons: a daemon that is down or older must not cost a person the answer. Anything that runs `status` or `metrics`
once a minute keeps it warm; two at once do no harm, the last one's file stays.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from shared import durable
from shared.errors import CampaignError
from shared.operator.rollup import fold
from shared.state import StateDir

log = logging.getLogger(__name__)

FORM = 1
"""Raised when folding changes; an older file is then made anew."""
CHUNK = 8 << 20
SAVE_BYTES = 128 << 10
"""Less than this is cheaper to read again than to write down."""
COLD_BYTES = 32 << 20
"""A reading above this takes a while, so that a person is told."""


@dataclass
class Rollup:
    """What is known of all journals. `data` is made by `fold.fresh`; `read_bytes` were read for this answer."""

    data: dict[str, Any]
    read_bytes: int = 0
    cold: bool = False
    bad_lines: int = 0
    problems: list[str] = field(default_factory=list)


def load(state: StateDir, *, fresh: bool = False, told: Callable[[int], None] | None = None) -> Rollup:
    """The roll-up, brought up to date. `told(bytes)` is called before a long reading. Never raises for a bad file."""
    path = state.cache / "operator" / "rollup.json"
    data = None if fresh else _known(path)
    files = list(_files(state))
    if data is None or _replaced(data, files):
        data = _empty()
    todo = [(place, name, kind, size, data["files"].get(name)) for place, name, kind, size, _, _ in files]
    waiting = sum(size - (mark[2] if mark else 0) for _, _, _, size, mark in todo)
    rolled = Rollup(data, cold=waiting > COLD_BYTES)
    if rolled.cold and told is not None:
        told(waiting)
    identity = {name: (device, inode) for _, name, _, _, device, inode in files}
    for place, name, kind, size, mark in todo:
        offset, bad = (mark[2], mark[3]) if mark else (0, 0)
        if size > offset:
            try:
                taken, worse = _read(place, offset, size, fold.FOLDS[kind], data, name)
            except OSError as error:
                rolled.problems.append(f"{name}: {error.strerror}")
                continue
            rolled.read_bytes += taken
            offset, bad = offset + taken, bad + worse
        data["files"][name] = [*identity[name], offset, bad]
        rolled.bad_lines += bad
    if rolled.read_bytes > SAVE_BYTES or (rolled.read_bytes and not path.exists()):
        _save(path, data, rolled)
    return rolled


def _empty() -> dict[str, Any]:
    return {"form": FORM, "files": {}} | fold.fresh()


def _known(path: Path) -> dict[str, Any] | None:
    try:
        data = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None
    whole = isinstance(data, dict) and data.get("form") == FORM and data.keys() >= fold.fresh().keys()
    return data if whole else None


def _replaced(data: dict[str, Any], files: list[tuple[Path, str, str, int, int, int]]) -> bool:
    for _, name, _, size, device, inode in files:
        mark = data["files"].get(name)
        if mark and (mark[0] != device or mark[1] != inode or size < mark[2]):
            log.info("ROLLUP-ANEW file=%s reason='replaced or shorter than before'", name)
            return True
    return False


def _files(state: StateDir) -> Iterator[tuple[Path, str, str, int, int, int]]:
    """(path, name, kind, size, device, inode) of everything that is folded."""
    journal = state.journal
    places = [
        *(("rate", path) for path in sorted(journal.glob("rate-*.jsonl"))),
        ("drafts", journal / "drafts.jsonl"),
        ("ledger", journal / "ledger.jsonl"),
        ("events", journal / "events.jsonl"),
        ("steps", journal / "gater.jsonl"),
        *(("agents", path) for path in sorted(state.waves.glob("*/drafts.*.jsonl"))),
    ]
    for kind, path in places:
        try:
            status = path.stat()
        except OSError:
            continue
        name = path.relative_to(state.root).as_posix()
        yield path, name, kind, status.st_size, status.st_dev, status.st_ino


def _read(path: Path, offset: int, size: int, take: fold.Fold, data: Any, name: str) -> tuple[int, int]:
    """Folds the whole lines in [offset, size); returns bytes taken and lines that were no records."""
    taken = bad = 0
    rest = b""
    loads = orjson.loads
    with path.open("rb") as stream:
        stream.seek(offset)
        left = size - offset
        while left > 0 and (block := stream.read(min(CHUNK, left))):
            left -= len(block)
            block = rest + block
            end = block.rfind(b"\n") + 1
            rest = block[end:]
            taken += end
            for line in block[:end].splitlines():
                try:
                    take(data, loads(line), name)
                except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError, IndexError):
                    bad += bool(line.strip())
    return taken, bad


def _save(path: Path, data: dict[str, Any], rolled: Rollup) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        durable.write(path, orjson.dumps(data))
    except (OSError, CampaignError) as error:
        rolled.problems.append(f"the roll-up could not be kept: {error}")
