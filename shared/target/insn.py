"""Instructions as text, by rabbitizer. Only for people and models: no verdict depends on it."""

from __future__ import annotations

import rabbitizer

LUI, GP = 0x0F, 28


def disassemble(word: int, address: int, index: int, operand: str = "") -> str:
    """One instruction at word `index` of its function, blanks squeezed.

    `operand` is the symbol it names and stands in the place of the immediate or jump target, as %hi, %lo or %gp_rel
    where the instruction says so. Branches lead to `@n`, word n of the same function.
    """
    instruction = rabbitizer.Instruction(word, vram=address)
    shown = _wrap(word, operand) if operand else None
    if shown is None and instruction.isBranch():
        shown = f"@{index + 1 + (((word & 0xFFFF) ^ 0x8000) - 0x8000)}"
    text: str = instruction.disassemble(immOverride=shown)
    return " ".join(text.split())


def _wrap(word: int, operand: str) -> str:
    opcode = word >> 26
    if opcode in (0x02, 0x03):
        return operand
    if opcode == LUI:
        return f"%hi({operand})"
    return f"%gp_rel({operand})" if (word >> 21) & 31 == GP else f"%lo({operand})"
