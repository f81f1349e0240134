"""Two `.s` of equal words side by side: which symbol, and which constant, of one is which of the other."""

from __future__ import annotations

import re
from dataclasses import dataclass

from shared.hashing import digest_bytes
from shared.target.asmfile import AsmFunction

_OPERAND = re.compile(r"(?P<name>[^+-]+)(?P<offset>[+-].*)?")
_JUMPS = frozenset((0x02, 0x03))
_BRANCHES = frozenset((0x01, 0x04, 0x05, 0x06, 0x07, 0x14, 0x15, 0x16, 0x17))
_LUI, _ORI, _ADDIU, _COP1, _BC = 0x0F, 0x0D, 0x09, 0x11, 0x08
_UNSIGNED = frozenset((0x0C, 0x0D, 0x0E))
_REACH = 8
"""How many words after a `lui` its other half is looked for."""


@dataclass(frozen=True, slots=True)
class Keys:
    """What a function is found by: `exact` = relocated fields masked, `gid` = all immediates masked too."""

    exact: str
    gid: str


def keys(function: AsmFunction) -> Keys:
    """The two keys of a function. A jump inside the function counts by where in it it leads."""
    exact = [_masked(function, index) for index in range(len(function.words))]
    loose = [word & 0xFFFF0000 if _has_immediate(word) else word for word in exact]
    return Keys(_digest(exact), _digest(loose))


def pair_symbols(exemplar: AsmFunction, target: AsmFunction) -> dict[str, str] | None:
    """Symbol of the exemplar -> symbol of the target, the functions' own names included; None when it is ambiguous."""
    pairs = {exemplar.name: target.name}
    moved: list[str] = []
    for mine, theirs in zip(exemplar.operands, target.operands, strict=True):
        if bool(mine) != bool(theirs):
            return None
        if not mine:
            continue
        left, right = _OPERAND.fullmatch(mine), _OPERAND.fullmatch(theirs)
        if left is None or right is None:
            return None
        if left["offset"] != right["offset"]:
            moved.append(left["name"])  # a symbol of its own on one side: the others of that name must tell
            continue
        if pairs.setdefault(left["name"], right["name"]) != right["name"]:
            return None
    return pairs if all(name in pairs for name in moved) else None


def pair_constants(exemplar: AsmFunction, target: AsmFunction) -> dict[int, int] | None:
    """Constant of the exemplar's code -> that of the target's, only those that differ; None when it is ambiguous."""
    mine, theirs = _constants(exemplar), _constants(target)
    if [index for index, _ in mine] != [index for index, _ in theirs]:
        return None
    pairs: dict[int, int] = {}
    for (_, left), (_, right) in zip(mine, theirs, strict=True):
        if pairs.setdefault(left, right) != right:
            return None
    return {left: right for left, right in pairs.items() if left != right}


def _masked(function: AsmFunction, index: int) -> int:
    word, opcode = function.words[index], function.words[index] >> 26
    if opcode in _JUMPS:
        place = function.address + 4 * index
        inside = (((place + 4) & 0xF0000000) | ((word & 0x03FFFFFF) << 2)) - function.address
        known = not function.operands[index] and 0 <= inside < 4 * len(function.words)
        return (word & 0xFC000000) | (inside >> 2 if known else 0)
    return word & 0xFFFF0000 if function.operands[index] else word


def _has_immediate(word: int) -> bool:
    opcode = word >> 26
    if opcode in (0x00, 0x10, 0x11, 0x12, 0x13) or opcode in _JUMPS or opcode in _BRANCHES:
        return False
    return opcode >= 0x08


def _constants(function: AsmFunction) -> list[tuple[int, int]]:
    """(word, value) of every immediate that names no symbol; a `lui` and its other half are one value."""
    halves: dict[int, int] = {}
    joined: set[int] = set()
    words = function.words
    for index, word in enumerate(words):
        if word >> 26 != _LUI or function.operands[index]:
            continue
        register, high = (word >> 16) & 31, (word & 0xFFFF) << 16
        halves[index] = high
        for other in range(index + 1, min(index + _REACH, len(words))):
            low = words[other]
            if (low >> 21) & 31 == register and low >> 26 in (_ORI, _ADDIU) and not function.operands[other]:
                halves[index] = (high + _immediate(low)) & 0xFFFFFFFF
                joined.add(other)
                break
    return [
        (index, halves.get(index, _immediate(word)))
        for index, word in enumerate(words)
        if _has_immediate(word) and not function.operands[index] and index not in joined
    ]


def _immediate(word: int) -> int:
    value = word & 0xFFFF
    return value if word >> 26 in _UNSIGNED or value < 0x8000 else value - 0x10000


def _digest(words: list[int]) -> str:
    return digest_bytes(b"".join(word.to_bytes(4, "big") for word in words))
