"""The spool: how drafts get from the drafter to the gater. State = which directory a marker is in.

publish: tmp/ -> ready/      claim: ready/ -> claimed/      settle: claimed/ -> done/ | poison/
Order is (priority, sequence), both in the file name; never mtime, never the wall clock.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import orjson

from shared import durable
from shared.errors import CampaignError
from shared.failpoint import failpoint
from shared.hashing import digest_bytes
from shared.records import DraftRef, Marker, NewerSchema, decode, encode
from shared.state import StateDir

log = logging.getLogger(__name__)

_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_NAME = re.compile(r"^(?P<priority>\d)-(?P<sequence>\d{10})-(?P<id>[A-Za-z0-9_.-]+)\.json$")


@dataclass(frozen=True)
class Claimed:
    """A marker the gater holds, and where its file is."""

    marker: Marker
    path: Path


class Spool:
    """One campaign's spool. Publishing is for the drafter (and people), claiming for the holder of the gater lock."""

    def __init__(self, state: StateDir) -> None:
        self.state = state
        self.folder = state.spool
        self.tmp = self.folder / "tmp"
        self.ready = self.folder / "ready"
        self.claimed = self.folder / "claimed"
        self.done = self.folder / "done"
        self.poison = self.folder / "poison"
        self._odd: set[str] = set()

    def publish(self, marker: Marker) -> Path:
        """Makes `marker` visible to the gater, durably; the drafts it names must be durable already.

        Idempotent by id: a marker of this id in any directory is left as it is. Raises DiskFull, OSError.
        """
        name = file_name(marker)
        for folder in (self.ready, self.claimed, self.done):
            if (folder / name).exists():
                return folder / name
        failpoint("publish.drafts")
        temp = durable.stage(self.tmp, name, orjson.dumps(encode(marker), option=durable.JSON_OPTIONS))
        failpoint("publish.tmp")
        target = self.ready / name
        temp.rename(target)
        durable.sync_directory(self.ready)
        failpoint("publish.ready")
        return target

    def next_sequence(self) -> int:
        """One more than any sequence in the spool; the caller is the only publisher of its id space."""
        names = (name for folder in (self.ready, self.claimed, self.done, self.poison) for name in _list(folder))
        return 1 + max((int(match["sequence"]) for match in map(_NAME.match, names) if match), default=0)

    def waiting(self) -> list[Path]:
        """Files in ready/ in the order they are to be taken; one that is no marker by its name is said once."""
        found = []
        for name in sorted(_list(self.ready)):
            if _NAME.match(name):
                found.append(self.ready / name)
            elif name not in self._odd:
                self._odd.add(name)
                log.warning("MARKER-IGNORED file=%r reason='not named <priority>-<sequence>-<id>.json'", name)
        return found

    def take_up(self) -> list[Claimed]:
        """Markers a dead gater had claimed: ours again. Call with the gater lock held."""
        return list(self._read_all(self.claimed, sorted(_list(self.claimed))))

    def claim(self, limit: int = 1000) -> list[Claimed]:
        """Moves up to `limit` ready markers into claimed/ and reads them. An undecodable one goes to poison/.

        A marker of a newer schema is left where it is. Call with the gater lock held.
        """
        moved: list[str] = []
        for path in self.waiting()[:limit]:
            if self._newer(path):
                continue
            try:
                path.rename(self.claimed / path.name)
            except FileNotFoundError:
                continue
            moved.append(path.name)
        if moved:
            durable.sync_directory(self.claimed)
            durable.sync_directory(self.ready)
            failpoint("claim.renamed")
        return list(self._read_all(self.claimed, moved))

    def settle(self, *claimed: Claimed) -> None:
        """Moves finished markers to done/, durably as one; a second call does nothing. Raises OSError."""
        for marker in claimed:
            with contextlib.suppress(FileNotFoundError):
                marker.path.rename(self.done / marker.path.name)
        if claimed:
            durable.sync_directory(self.done)
            durable.sync_directory(self.claimed)
            failpoint("settle.done")

    def set_aside(self, path: Path, reason: str) -> None:
        """Moves a marker nobody can act on to poison/ with a reason file. It never blocks those behind it."""
        durable.write_json(self.poison / f"{path.name}.reason", {"file": path.name, "reason": reason})
        path.rename(self.poison / path.name)
        durable.sync_directory(self.poison)
        log.error("MARKER-POISON file=%s reason=%r", path.name, reason)

    def counts(self) -> dict[str, int]:
        """Markers by state."""
        folders = {"ready": self.ready, "claimed": self.claimed, "done": self.done, "poison": self.poison}
        return {name: sum(1 for entry in _list(folder) if _NAME.match(entry)) for name, folder in folders.items()}

    def _newer(self, path: Path) -> bool:
        try:
            value = durable.read_json(path)
        except (OSError, durable.Corrupt):
            return False
        try:
            decode(Marker, value)
        except NewerSchema as error:
            log.warning("MARKER-NEWER file=%s reason=%r", path.name, str(error))
            return True
        except msgspec.ValidationError:
            return False
        return False

    def _read_all(self, folder: Path, names: Sequence[str]) -> Iterator[Claimed]:
        for name in names:
            if not _NAME.match(name):
                continue
            path = folder / name
            try:
                marker = read_marker(path)
            except FileNotFoundError:
                continue
            except (durable.Corrupt, msgspec.ValidationError, OSError, CampaignError) as error:
                self.set_aside(path, str(error))
                continue
            problem = self._problem(marker)
            if problem:
                self.set_aside(path, problem)
                continue
            yield Claimed(marker, path)

    def _problem(self, marker: Marker) -> str:
        """Why nobody can act on a marker, "" when one can. Not trusted: its words name files and reach commits."""
        for name in (marker.id, marker.wave, *(draft.id for draft in marker.drafts)):
            if not _ID.fullmatch(name):
                return f"{name!r} is not an id: letters, digits, `_`, `.` and `-`, at most 64"
        if len({draft.id for draft in marker.drafts}) < len(marker.drafts):
            return "two of its drafts have the same id"
        return next(filter(None, (self._draft_problem(draft) for draft in marker.drafts)), "")

    def _draft_problem(self, draft: DraftRef) -> str:
        try:
            data = read_regular(self.state.resolve(draft.path), draft.size)
        except (OSError, ValueError, CampaignError) as error:
            return f"draft {draft.id}: {draft.path!r} cannot be read: {error}"
        if digest_bytes(data) != draft.digest:
            return f"draft {draft.id}: {draft.path!r} does not have the digest the marker names"
        return ""


def read_regular(path: Path, size: int) -> bytes:
    """The bytes of a regular file of exactly `size` bytes. Never follows a link, never waits for a pipe or a device.

    Raises OSError, or CampaignError when it is something else.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size != size:
            raise CampaignError(f"{path} is not the regular file of {size} bytes it is said to be")
        return stream.read(size)


def read_marker(path: Path) -> Marker:
    """The marker at `path`. Raises FileNotFoundError, durable.Corrupt, NewerSchema, msgspec.ValidationError."""
    value: Any = durable.read_json(path)
    return decode(Marker, value)


def file_name(marker: Marker) -> str:
    """Name of the marker's file: its order, then its id."""
    return f"{marker.priority}-{marker.sequence:010d}-{marker.id}.json"


def draft_ref(state: StateDir, path: Path, **fields: Any) -> DraftRef:
    """A reference to the durable draft file at `path`. Raises OSError."""
    data = path.read_bytes()
    return DraftRef(path=state.relative(path), digest=digest_bytes(data), size=len(data), **fields)


def _list(folder: Path) -> list[str]:
    return [entry.name for entry in os.scandir(folder)]
