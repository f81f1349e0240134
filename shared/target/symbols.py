"""Names and addresses from splat symbol files, and addresses that names carry themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from shared.errors import MissingInput

_LINE = re.compile(r"^\s*([A-Za-z_$.][\w$.]*)\s*=\s*(0[xX][0-9A-Fa-f]+|\d+)\s*;\s*(?://(.*))?$")
_ENCODED = re.compile(r"(?:^|_)(8[0-9A-Fa-f]{7})(?:_[0-9A-Fa-f]+)?$")


@dataclass(frozen=True, slots=True)
class NamedAddress:
    """One line of a symbol file. `attributes` are its `key:value` words (type, size, segment, rom...)."""

    name: str
    address: int
    attributes: dict[str, str] = field(default_factory=dict)


def parse_symbols(text: str) -> list[NamedAddress]:
    """The assignments of a splat symbol file or of a linker-script list; other lines are skipped."""
    found = []
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        words = (word.split(":") for word in (match[3] or "").split())
        attributes = {pair[0]: pair[1] for pair in words if len(pair) == 2}
        found.append(NamedAddress(match[1], int(match[2], 0), attributes))
    return found


def read_symbols(tree: Path, files: Iterable[str]) -> dict[str, int]:
    """Name -> address of a binary's symbol files; a later file wins. Raises MissingInput."""
    found: dict[str, int] = {}
    for file in files:
        try:
            text = (tree / file).read_text("utf-8", "surrogateescape")
        except FileNotFoundError as error:
            raise MissingInput(f"MISSING {tree / file}: campaign.toml names it as a symbol file") from error
        found.update((row.name, row.address) for row in parse_symbols(text))
    return found


def encoded_address(name: str) -> int | None:
    """The address a name such as `func_8001C9D0`, `D_us_801AD26C` or `func_800B0858_1DD908` carries, None without."""
    match = _ENCODED.search(name)
    return int(match[1], 16) if match else None
