"""The night: from the first start after a drain to the next drain. `night.json` names the one that is on.

A drafter that was killed or stopped goes on with the same night; one that drained ends it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from shared import durable
from shared.records import SCHEMA, NewerSchema, decode, encode
from shared.state import StateDir


class Night(Struct, frozen=True):
    """One night. `first_wave` is the number its first wave has or will have."""

    id: str
    started: str
    first_wave: int
    schema: int = SCHEMA


def begin(state: StateDir, stamp: str, next_wave: int) -> Night:
    """The night that is on, or a new one. Raises DiskFull, OSError."""
    try:
        return decode(Night, durable.read_json(_path(state)))
    except (FileNotFoundError, durable.Corrupt, msgspec.ValidationError, NewerSchema):
        night = Night("n" + "".join(c for c in stamp if c.isdigit())[:14], stamp, next_wave)
        durable.write_json(_path(state), encode(night))
        return night


def end(state: StateDir) -> None:
    """The night is over. Raises OSError."""
    _path(state).unlink(missing_ok=True)


def _path(state: StateDir) -> Path:
    return state.root / "night.json"
