"""Instructions as text, by rabbitizer. Only for people and models: no verdict depends on it."""

from __future__ import annotations

import rabbitizer

_BRANCH_FIELD = 0xFFFF


def disassemble(word: int, address: int, operand: str = "") -> str:
    """One instruction. `operand` replaces the immediate or jump target (`%lo(name)`, `name`)."""
    instruction = rabbitizer.Instruction(word, vram=address)
    if not operand and instruction.isBranch():
        offset = ((word & _BRANCH_FIELD) ^ 0x8000) - 0x8000
        operand = f".{offset + 1:+d}"
    text: str = instruction.disassemble(immOverride=operand or None)
    return " ".join(text.split())
