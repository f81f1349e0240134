"""GNU ld link maps: where every input section of every object was placed.

Only the part after "Linker script and memory map" is read. A long section name stands on a line of its own with its
figures on the next; assignments and fill lines are skipped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from shared.errors import InstrumentFault, MissingInput

_START = "Linker script and memory map"
_OUTPUT = re.compile(r"^(\S+)(?:\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)(?:\s+load address 0x[0-9a-f]+)?)?\s*$")
_INPUT = re.compile(r"^ ([^\s*(][^\s(]*)(?:\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)\s+(\S.*))?$")
_FIGURES = re.compile(r"^\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)(?:\s+(?!load address)(\S.*))?(?:\s+load address.*)?$")
_NOT_OUTPUT = ("LOAD", "OUTPUT(", "START", "END", "Cross")


@dataclass(frozen=True, slots=True)
class Placed:
    """One input section in the image. `object` is spelled as in the map; `previous_end` is where the last one ended."""

    output: str
    object: str
    section: str
    address: int
    size: int
    previous_end: int


def load_map(path: Path) -> list[Placed]:
    """`parse_map` of a file. Raises MissingInput, InstrumentFault."""
    try:
        text = path.read_text("utf-8", "surrogateescape")
    except FileNotFoundError as error:
        raise MissingInput(f"MISSING {path}: the build did not leave its link map") from error
    placed = parse_map(text)
    if not placed:
        raise InstrumentFault(f"{path}: is not a GNU ld link map, or places nothing")
    return placed


def parse_map(text: str) -> list[Placed]:
    """Input sections in link order, empty ones included. Addresses are cut to 32 bits (ld sign-extends some)."""
    _, _, body = text.partition(_START)
    placed: list[Placed] = []
    output = ""
    name = ""
    opened = False
    end = 0
    for line in body.splitlines():
        if not line:
            continue
        if line[0] != " ":
            match = _OUTPUT.match(line)
            if match and not line.startswith(_NOT_OUTPUT):
                output, name, opened = match[1], "", match[2] is None
                end = _word(match[2]) if match[2] else 0
            continue
        if opened:
            opened = False
            match = _FIGURES.match(line)
            if match and not match[3]:
                end = _word(match[1])
                continue
        if name:
            pending, name = name, ""
            match = _FIGURES.match(line)
            if match:
                if match[3]:
                    end = _place(placed, output, match[3], pending, _word(match[1]), _word(match[2]), end)
                continue
        match = _INPUT.match(line)
        if match is None:
            continue
        if match[2] is None:
            name = match[1]
        else:
            end = _place(placed, output, match[4], match[1], _word(match[2]), _word(match[3]), end)
    return placed


def _place(placed: list[Placed], output: str, name: str, section: str, address: int, size: int, end: int) -> int:
    if output and output != "/DISCARD/":
        placed.append(Placed(output, name.strip(), section, address, size, end))
    return address + size if size else end


def _word(digits: str) -> int:
    return int(digits, 16) & 0xFFFFFFFF
