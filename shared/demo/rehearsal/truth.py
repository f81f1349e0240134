"""The right bodies a forged project comes with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from shared.errors import ConfigError


class Entry(Struct, frozen=True):
    """One function of truth.json."""

    binary: str
    function: str
    tu: str
    file: str
    instructions: int = 0
    group: str | None = None


class _Document(Struct, frozen=True):
    functions: list[Entry]


@dataclass(frozen=True)
class Truth:
    """Entries and bodies by (binary, function)."""

    entries: dict[tuple[str, str], Entry]
    bodies: dict[tuple[str, str], str]

    def names(self, binary: str) -> list[str]:
        """All functions of a binary, sorted."""
        return sorted(function for owner, function in self.entries if owner == binary)


def load_truth(folder: Path) -> Truth:
    """Reads truth.json in `folder` (or beside it, when `folder` is the one of the bodies). Raises ConfigError."""
    if not (folder / "truth.json").is_file() and (folder.parent / "truth.json").is_file():
        folder = folder.parent
    path = folder / "truth.json"
    try:
        document = msgspec.json.decode(path.read_bytes(), type=_Document)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}; --truth wants a forged project's folder", path) from error
    except msgspec.DecodeError as error:
        raise ConfigError(f"is not the truth of a forged project: {error}", path) from error
    entries = {(entry.binary, entry.function): entry for entry in document.functions}
    bodies = {}
    for key, entry in entries.items():
        body = folder / entry.file
        if not body.is_file():
            body = folder / "truth" / entry.binary / f"{entry.function}.c"
        try:
            bodies[key] = body.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"the body of {entry.binary} {entry.function} cannot be read", body) from error
    return Truth(entries, bodies)
