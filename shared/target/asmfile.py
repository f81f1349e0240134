"""splat's per-function `.s` files: words, operands, the data they bring.

Comments are `/* ROM VRAM WORD */` or `/* VRAM WORD */`; WORD is in *file* byte order (a little-endian 0x03A0F021 reads
21F0A003). Only what stands between a function's label and its end counts: alignment nops follow `endlabel`, migrated
rodata precedes the code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from shared.errors import InstrumentFault, MissingInput
from shared.target.objfile import ByteOrder

_COMMENT = re.compile(r"/\*\s*(?:[0-9A-Fa-f]+\s+)?([0-9A-Fa-f]{8})\s+([0-9A-Fa-f]{8})\s*\*/\s*(.*?)\s*$")
_LABEL = re.compile(r"^\s*(glabel|leaf|nested|dlabel|jlabel|alabel|endlabel|enddlabel)\s+([\w.$]+)")
_SIZE = re.compile(r"^\s*nonmatching\s+([\w.$]+)\s*,\s*(0x[0-9A-Fa-f]+|\d+)")
_SECTION = re.compile(r"^\s*\.(?:section\s+)?(\.?[A-Za-z]\w*)")
_SYMBOL = re.compile(r"%(?:hi|lo|gp_rel|got|call16)\(\s*([^)\s]+)\s*\)")
_JUMP = re.compile(r"^(?:jal|j)\s+([A-Za-z_$][\w.$]*)\s*$")


@dataclass(frozen=True, slots=True)
class AsmFunction:
    """One function of a `.s`. `operands` has, per word, the symbol the text names (with its `+off`), "" for none."""

    name: str
    address: int
    size: int
    words: tuple[int, ...]
    operands: tuple[str, ...]

    @property
    def instructions(self) -> int:
        """Words of code, delay slots and inner nops included."""
        return len(self.words)


@dataclass(frozen=True, slots=True)
class AsmFile:
    """What one `.s` defines: its functions and the data symbols in front of them."""

    functions: tuple[AsmFunction, ...]
    data: tuple[str, ...]

    def function(self, name: str) -> AsmFunction | None:
        """The function of that name."""
        return next((f for f in self.functions if f.name == name), None)


def read_asm(path: Path, byte_order: ByteOrder) -> AsmFile:
    """`parse_asm` of a file. Raises MissingInput, InstrumentFault."""
    try:
        text = path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError as error:
        raise MissingInput(f"MISSING {path}: a stub names it; split the target again") from error
    except OSError as error:
        raise InstrumentFault(f"{path}: cannot be read: {error.strerror}") from error
    return parse_asm(text, byte_order)


def parse_asm(text: str, byte_order: ByteOrder) -> AsmFile:
    """Functions and data symbols of a `.s`."""
    functions: list[AsmFunction] = []
    data: list[str] = []
    sizes: dict[str, int] = {}
    name = ""
    address = 0
    in_text = True
    words: list[int] = []
    operands: list[str] = []

    def close() -> None:
        nonlocal name
        if name and words:
            functions.append(AsmFunction(name, address, sizes.get(name, 4 * len(words)), tuple(words), tuple(operands)))
        name = ""
        words.clear()
        operands.clear()

    for line in text.splitlines():
        label = _LABEL.match(line)
        if label:
            kind = label[1]
            if kind in ("glabel", "leaf", "nested") and in_text:
                close()
                name = label[2]
            elif kind in ("endlabel", "enddlabel"):
                close()
            elif kind in ("glabel", "dlabel") and not in_text:
                data.append(label[2])
            continue
        size = _SIZE.match(line)
        if size:
            sizes[size[1]] = int(size[2], 0)
            continue
        section = _SECTION.match(line)
        if section and section[1].lstrip(".") in ("text", "rodata", "data", "bss", "late_rodata", "sdata", "sbss"):
            in_text = section[1].lstrip(".") == "text"
            close()
            continue
        if not name:
            continue
        comment = _COMMENT.search(line)
        if comment:
            if not words:
                address = int(comment[1], 16)
            words.append(int.from_bytes(bytes.fromhex(comment[2]), byte_order))
            operand = _SYMBOL.search(comment[3]) or _JUMP.match(re.sub(r"\s+", " ", comment[3]))
            operands.append(operand[1] if operand else "")
    close()
    return AsmFile(tuple(functions), tuple(data))
