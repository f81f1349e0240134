"""What one `.s` tells about its function: hashes of its shape, the symbols it names, its levers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from shared.frontier.levers import epilogue, is_call, is_table_jump, levers_of
from shared.target.asmfile import AsmFunction

_TABLE = re.compile(r"^(?:jtbl|jumptable|switchdata)", re.IGNORECASE)
_BASE = re.compile(r"[+-](?:0x[0-9A-Fa-f]+|\d+)$")
_REGISTERS_ONLY = frozenset({0x00, 0x11, 0x12, 0x10, 0x1C})
"""Opcodes without an immediate in the low 16 bits, their branches aside."""


@dataclass(frozen=True, slots=True)
class Features:
    """One function of the target. `symbols` are data it names, `callees` functions, in order of appearance.

    `gid` hashes opcodes and registers alone, `twin` all bits but relocated fields, with the symbols as the pattern they
    repeat in. `carve`: a jump table it uses that its `.s` does not bring, "" when there is none.
    """

    address: int
    instructions: int
    gid: str
    twin: str
    callees: tuple[str, ...]
    symbols: tuple[str, ...]
    levers: tuple[str, ...]
    epilogue: str
    carve: str


def features_of(function: AsmFunction, data: Sequence[str]) -> Features:
    """Features of a function whose `.s` brings the data symbols `data`."""
    names = [base(operand) for operand in function.operands]
    calls = [name for name, word in zip(names, function.words, strict=True) if name and word >> 26 in (0x02, 0x03)]
    callees = _once(calls)
    own = {*data, function.name, *callees}
    return Features(
        address=function.address,
        instructions=function.instructions,
        gid=_hash(skeleton(function.words)),
        twin=_hash(_masked(function)),
        callees=callees,
        symbols=tuple(symbol for symbol in _once(names) if symbol not in own),
        levers=levers_of(function.words, function.operands, data),
        epilogue=epilogue(function.words),
        carve=_carve(function.words, names, data),
    )


def base(operand: str) -> str:
    """The symbol of an operand, without what is added to it."""
    return _BASE.sub("", operand)


def skeleton(words: Sequence[int]) -> list[int]:
    """The words with every immediate masked: offsets, constants, shift amounts, branch and jump targets."""
    return [word & _keep(word) for word in words]


def _keep(word: int) -> int:
    opcode = word >> 26
    if opcode in (0x02, 0x03):
        return 0xFC000000
    if opcode not in _REGISTERS_ONLY:
        return 0xFFFF0000
    if opcode == 0:
        return 0xFFFFF83F if word & 0x3F in (0x00, 0x02, 0x03) else 0xFFFFFFFF
    return 0xFFFF0000 if (word >> 21) & 31 == 8 else 0xFFFFFFFF


def _masked(function: AsmFunction) -> list[int]:
    seen: dict[str, int] = {}
    found: list[int] = []
    for word, operand in zip(function.words, function.operands, strict=True):
        if operand:
            field = 0x03FFFFFF if word >> 26 in (0x02, 0x03) else 0xFFFF
            found += [word & ~field, 1 + seen.setdefault(operand, len(seen))]
        else:
            found += [word, 0]
    return found


def _hash(words: Iterable[int]) -> str:
    return blake2b(b"".join(word.to_bytes(4, "big") for word in words), digest_size=8).hexdigest()


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name))


def _carve(words: Sequence[int], names: Sequence[str], data: Sequence[str]) -> str:
    if not any(map(is_table_jump, words)):
        return ""
    tables = (name for name, word in zip(names, words, strict=True) if _TABLE.match(name) and not is_call(word))
    return next((name for name in tables if name not in data), "")
