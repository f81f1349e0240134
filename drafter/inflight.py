"""Which cards the gater still has in hand, read from the spool and waiting/. No card in flight is drawn again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from drafter.draw import Key
from drafter.markers import PRIORITY
from shared import durable
from shared.records import Marker, NewerSchema
from shared.spool import Spool, read_marker
from shared.state import StateDir

RED = "red"
"""The gater's reason to let a draft wait for its base."""


class InGater:
    """What is between publication and verdict.

    `marked` are cards in markers, `held` cards in waiting/, `waves` those with drafts not judged yet, `red` binaries
    whose drafts wait because their base does not build.
    """

    def __init__(self, state: StateDir) -> None:
        self._spool = Spool(state)
        self._waiting = state.waiting
        self._markers: dict[str, Marker | None] = {}
        self._waits: dict[Path, tuple[Key, str] | None] = {}
        self.marked: set[Key] = set()
        self.held: set[Key] = set()
        self.red: set[str] = set()
        self.waves: set[str] = set()

    def scan(self) -> None:
        """Looks again. The order is the one drafts move in, so a draft that moves meanwhile is met at least once."""
        names = [*_names(self._spool.ready), *_names(self._spool.claimed)]
        self._markers = {name: self._markers.get(name) or self._read(name) for name in names}
        held = list(self._waiting_files())
        self._waits = {path: self._waits.get(path) or _waits(path) for path in held}
        markers = [marker for marker in self._markers.values() if marker is not None]
        self.marked = {(draft.binary, draft.function) for marker in markers for draft in marker.drafts}
        waits = [entry for entry in self._waits.values() if entry is not None]
        self.held = {key for key, _ in waits}
        self.red = {binary for (binary, _), why in waits if why == RED}
        self.waves = {marker.wave for marker in markers if marker.drafts and marker.priority == PRIORITY}

    def _read(self, name: str) -> Marker | None:
        for folder in (self._spool.ready, self._spool.claimed):
            try:
                return read_marker(folder / name)
            except (OSError, durable.Corrupt, msgspec.ValidationError, NewerSchema):
                continue
        return None

    def _waiting_files(self) -> Iterator[Path]:
        for folder in self._waiting.iterdir():
            if folder.is_dir():
                yield from (path for path in folder.iterdir() if path.suffix == ".json" and path.name[0] != ".")


def _names(folder: Path) -> Iterable[str]:
    return [path.name for path in folder.iterdir() if path.suffix == ".json" and path.name[0] != "."]


def _waits(path: Path) -> tuple[Key, str] | None:
    try:
        value: Any = durable.read_json(path)
        return ((str(value["ref"]["binary"]), str(value["ref"]["function"])), str(value["why"]))
    except (OSError, durable.Corrupt, KeyError, TypeError):
        return None
