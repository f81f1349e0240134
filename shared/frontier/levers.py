"""Levers: idioms a function's words show, each with a page of advice (shared/frontier/knowledge/levers).

A tell is a guess from the words alone, made to sort work and to pick advice; no verdict depends on one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

LEVERS = (
    "jtbl",
    "loop",
    "call-heavy",
    "extend-tell",
    "swaprepeat-tell",
    "s16-div-tell",
    "float",
    "rodata",
    "tiny",
    "o0",
    "cc1",
    "UNKNOWN",
)
"""All built-in levers, in the order they are shown."""
UNKNOWN = "UNKNOWN"
RECIPE_LEVERS = frozenset({"o0", "cc1"})
"""Levers that speak of how the file was compiled, not of how the function was written."""

TINY = 12
"""Words below which a function is tiny."""
CALLS = 6
"""Calls from which a function is call-heavy; from 4 when every eighth word is one."""
NEAR = 4
"""Words between the two halves of an idiom, at most: the scheduler moves them apart by one or two."""

_SOFT_FLOAT = re.compile(r"__(?:add|sub|mul|div|neg|eq|ne|lt|le|gt|ge|cmp|float|fix|extend|trunc)\w*[sd]f\w*")
_FLOAT_OPCODES = frozenset({0x11, 0x31, 0x35, 0x39, 0x3D})
_BRANCHES = frozenset({0x01, 0x04, 0x05, 0x06, 0x07, 0x14, 0x15, 0x16, 0x17})
_COMPARES = frozenset({0x2A, 0x2B})
_COMPARE_IMMEDIATE = frozenset({0x0A, 0x0B})
_RA, _SP, _FP = 31, 29, 30


def levers_of(words: Sequence[int], operands: Sequence[str], data: Sequence[str]) -> tuple[str, ...]:
    """Levers of a function from its words, the symbols they name and the data its `.s` brings; never empty.

    `cc1` is not among them: it needs the other functions of the file (`epilogue`).
    """
    found = {
        "jtbl": any(is_table_jump(word) for word in words),
        "loop": any(_is_branch(word) and word & 0x8000 for word in words),
        "call-heavy": _call_heavy(words),
        "extend-tell": _extends(words),
        "swaprepeat-tell": _selects(words) >= 2,
        "s16-div-tell": _divides(words, operands),
        "float": any(word >> 26 in _FLOAT_OPCODES for word in words) or any(map(_SOFT_FLOAT.match, operands)),
        "rodata": bool(data),
        "tiny": len(words) < TINY,
        "o0": _unoptimised(words),
    }
    return tuple(name for name, shown in found.items() if shown) or (UNKNOWN,)


def is_table_jump(word: int) -> bool:
    """`jr` through a register that is not the return address: a jump table, or a call through a pointer at the end."""
    return word >> 26 == 0 and word & 0x3F == 0x08 and (word >> 21) & 31 != _RA


def is_call(word: int) -> bool:
    """`jal` or `jalr`."""
    return word >> 26 == 0x03 or (word >> 26 == 0 and word & 0x3F == 0x09)


def epilogue(words: Sequence[int]) -> str:
    """Where the frame is released: `slot` behind `jr $ra`, `before` it with a nop behind, "" when not told.

    Compilers of one family differ here from version to version, and one version is the same throughout a file.
    """
    for index in range(len(words) - 1, 0, -1):
        if words[index - 1] == 0x03E00008:
            if _releases(words[index]):
                return "slot"
            released = any(_releases(word) for word in words[max(0, index - 4) : index - 1])
            return "before" if words[index] == 0 and released else ""
    return ""


def _releases(word: int) -> bool:
    return word >> 16 == 0x27BD and not word & 0x8000


def _is_branch(word: int) -> bool:
    opcode = word >> 26
    return opcode in _BRANCHES or (opcode in (0x11, 0x12) and (word >> 21) & 31 == 8)


def _call_heavy(words: Sequence[int]) -> bool:
    calls = sum(map(is_call, words))
    return calls >= CALLS or (calls >= 4 and calls * 8 >= len(words))


def _extends(words: Sequence[int]) -> bool:
    """`sll r, x, 16|24` and soon after `sra y, r, 16|24`: a value narrowed to a signed short or char."""
    for index, word in enumerate(words):
        if word >> 26 or word & 0x3F or not word or (word >> 6) & 31 not in (16, 24):
            continue
        register, amount = (word >> 11) & 31, (word >> 6) & 31
        for later in words[index + 1 : index + 1 + NEAR]:
            shifts = later >> 26 == 0 and later & 0x3F == 0x03
            if shifts and (later >> 16) & 31 == register and (later >> 6) & 31 == amount:
                return True
    return False


def _selects(words: Sequence[int]) -> int:
    """Compares whose branch skips a few words ahead: each is one `?:`, `MIN` or `MAX`."""
    count = 0
    for index, word in enumerate(words):
        compares = word >> 26 in _COMPARE_IMMEDIATE or (word >> 26 == 0 and word & 0x3F in _COMPARES)
        if not compares:
            continue
        for later in words[index + 1 : index + 3]:
            if later >> 26 in (0x04, 0x05) and not later & 0x8000 and 1 <= later & 0xFFFF <= NEAR:
                count += 1
                break
    return count


def _divides(words: Sequence[int], operands: Sequence[str]) -> bool:
    """A literal loaded in two halves, a multiplication and its high word: a division by a constant."""
    for index, word in enumerate(words):
        if word >> 26 or word & 0x3F not in (0x18, 0x19):
            continue
        high = any(later >> 26 == 0 and later & 0x3F == 0x10 for later in words[index + 1 : index + 9])
        before = range(max(0, index - 16), index)
        literal = any(words[at] >> 26 == 0x0F and not operands[at] for at in before)
        if high and literal:
            return True
    return False


def _unoptimised(words: Sequence[int]) -> bool:
    """A frame pointer that is a copy of the stack pointer, and locals that live in memory behind it."""
    if not any(word in (0x03A0F021, 0x03A0F025) for word in words[:8]):
        return False
    memory = sum(1 for word in words if word >> 26 >= 0x20 and (word >> 21) & 31 == _FP)
    return memory * 5 >= len(words)
