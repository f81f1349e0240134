"""red.json: which binaries do not build to their expected hash, since which commit, and when each was last proven.

Written by the gater's null controls and landings and by `gater fleet-check`, under one lock; read by both daemons and
by `campaign status`. A red binary's cards are not drawn and its drafts wait without a strike.
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
from shared.state import StateDir, utc_now

log = logging.getLogger(__name__)


class Red(Struct, frozen=True, omit_defaults=True):
    """One red binary. `digest` is that of its inputs; `culprit` the commit that turned it red, "" when not known."""

    commit: str
    reason: str
    since: str
    culprit: str = ""
    digest: str = ""


class Check(Struct, frozen=True, omit_defaults=True):
    """The last answer about one binary. `state`: green | red | fault. `oracle`: control | clean build | gate."""

    commit: str
    at: str
    state: str
    oracle: str
    wall_s: float = 0.0


class RedList(Struct, frozen=True):
    """The whole file."""

    red: dict[str, Red] = default(default_factory=dict)
    checked: dict[str, Check] = default(default_factory=dict)
    schema: int = SCHEMA


def path_of(state: StateDir) -> Path:
    """Where the list lies."""
    return state.root / "red.json"


def read(state: StateDir) -> RedList:
    """The list; one that is absent, damaged or of a newer release is empty, the latter two said in the log."""
    try:
        return decode(RedList, durable.read_json(path_of(state)))
    except FileNotFoundError:
        return RedList()
    except (OSError, durable.Corrupt, msgspec.ValidationError, NewerSchema) as error:
        log.error("RED-LIST-UNREADABLE reason=%r", str(error))
        return RedList()


def green(state: StateDir, binaries: list[str], commit: str, oracle: str, wall_s: float = 0.0) -> list[str]:
    """Notes that these were proven at `commit`; returns those that were red until now. Raises DiskFull, OSError."""

    def change(known: RedList) -> RedList:
        now = utc_now()
        checks = {name: Check(commit, now, "green", oracle, round(wall_s, 3)) for name in binaries}
        red = {name: entry for name, entry in known.red.items() if name not in checks}
        return RedList(red, known.checked | checks)

    before = _update(state, change)
    return [name for name in binaries if name in before.red]


def red(state: StateDir, binary: str, entry: Red, oracle: str, wall_s: float = 0.0) -> None:
    """Notes that `binary` is red. It stays red since it first was; a culprit once named stays for the same inputs."""

    def change(known: RedList) -> RedList:
        old = known.red.get(binary)
        merged = entry
        if old is not None:
            same = old.digest == entry.digest
            culprit = entry.culprit or (old.culprit if same else "")
            merged = msgspec.structs.replace(entry, since=old.since, culprit=culprit)
        check = Check(entry.commit, utc_now(), "red", oracle, round(wall_s, 3))
        return RedList(known.red | {binary: merged}, known.checked | {binary: check})

    _update(state, change)


def _update(state: StateDir, change: Callable[[RedList], RedList]) -> RedList:
    with locked(state.locks / "red.lock"):
        known = read(state)
        durable.write_json(path_of(state), encode(change(known)))
    return known


@dataclass
class Watched:
    """The list as one process follows it: asking costs one stat while the file is the same."""

    state: StateDir
    now: RedList = field(default_factory=RedList)
    _seen: tuple[int, int] | None = None

    def moved(self) -> bool:
        """Reads the list if its file is another than last time; True when it was."""
        try:
            status = path_of(self.state).stat()
            seen = (status.st_ino, status.st_mtime_ns)
        except FileNotFoundError:
            seen = None
        if seen == self._seen:
            return False
        self._seen = seen
        self.now = read(self.state)
        return True
