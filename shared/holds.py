"""holds.json: what a person put aside. Stubs of a held binary or path are not drawn, their drafts wait.

Written by `campaign hold` and `campaign unhold` under one lock, read by both daemons. A file that cannot be read holds
everything: a person's "not this one" must not be lost to a damaged byte.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec import field as default

from shared import durable
from shared.locks import locked
from shared.records import SCHEMA, NewerSchema, decode, encode
from shared.state import StateDir

log = logging.getLogger(__name__)


class Hold(Struct, frozen=True):
    """One hold. `what` is a binary's name, or a file or folder relative to the project root."""

    what: str
    reason: str
    since: str

    def covers(self, binary: str, tu: str) -> bool:
        """Whether it holds a stub of `binary` in `tu`."""
        return self.what == binary or tu == self.what or tu.startswith(self.what + "/")


class HoldList(Struct, frozen=True):
    """The whole file."""

    holds: tuple[Hold, ...] = default(default_factory=tuple)
    schema: int = SCHEMA


def path_of(state: StateDir) -> Path:
    """Where the list lies."""
    return state.root / "holds.json"


def load(state: StateDir) -> HoldList:
    """The list; empty when there is no file. Raises Corrupt, NewerSchema, msgspec.ValidationError, OSError."""
    try:
        return decode(HoldList, durable.read_json(path_of(state)))
    except FileNotFoundError:
        return HoldList()


@dataclass
class Holds:
    """The list as one process follows it: `moved` costs one stat while it is the same."""

    state: StateDir
    _now: HoldList = field(default_factory=HoldList)
    _broken: str = ""
    _seen: tuple[int, int, int] | None = None

    @classmethod
    def read(cls, state: StateDir) -> Holds:
        """The holds of a campaign, read now."""
        found = cls(state)
        found.moved()
        return found

    def moved(self) -> bool:
        """Reads the file if it is another than last time; True when it was."""
        try:
            status = path_of(self.state).stat()
            seen = (status.st_ino, status.st_mtime_ns, status.st_size)
        except FileNotFoundError:
            seen = None
        if seen == self._seen:
            return False
        self._seen = seen
        try:
            self._now, self._broken = load(self.state), ""
        except (OSError, durable.Corrupt, msgspec.ValidationError, NewerSchema) as error:
            self._broken = f"everything is held: {path_of(self.state)} cannot be read ({error}); correct or delete it"
            log.error("HOLDS-UNREADABLE reason=%r", str(error))
        return True

    @property
    def broken(self) -> str:
        """Why the file cannot be read, "" when it can."""
        return self._broken

    @property
    def holds(self) -> tuple[Hold, ...]:
        """The holds last read, oldest first."""
        return self._now.holds

    def reason_for(self, binary: str, tu: str) -> str:
        """Why a stub of `binary` in `tu` is held, "" when it is not, as of the last `moved()`."""
        if self._broken:
            return self._broken
        hold = next((hold for hold in self._now.holds if hold.covers(binary, tu)), None)
        return "" if hold is None else f"{hold.what} is held: {hold.reason or 'no reason given'}"


def change(state: StateDir, how: Callable[[tuple[Hold, ...]], tuple[Hold, ...]]) -> tuple[Hold, ...]:
    """Replaces the list by `how(list)` under its lock; returns the new one. Raises what `load` raises, DiskFull."""
    with locked(state.locks / "holds.lock"):
        known = load(state).holds
        made = how(known)
        if made != known:
            durable.write_json(path_of(state), encode(HoldList(made)))
    return made
