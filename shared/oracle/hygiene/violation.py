"""What a refusal says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Rule(StrEnum):
    """The rules of a draft. docs/gater.md explains each to an operator."""

    SIZE = "size"
    ENCODING = "encoding"  # NUL or control bytes, or text that was not normalised
    CHARACTER = "character"  # a byte that starts no C token: $, @, `, stray backslash, non-ASCII outside text
    TRIGRAPH = "trigraph"
    DIGRAPH = "digraph"
    LITERAL = "literal"  # raw strings, digit separators: lexed differently by different C standards
    PARSE = "parse"  # unterminated, unbalanced or unfinished text
    NESTING = "nesting"
    DIRECTIVE = "directive"
    INCLUDE = "include"
    STUB = "stub"  # INCLUDE_ASM and its kin: verbatim assembly
    ASM = "asm"
    ATTRIBUTE = "attribute"
    MACRO = "macro"  # predefined macros whose value depends on the build, and macros barred by the project
    ITEM = "item"  # text at file scope that is neither a declaration nor the function
    DEFINITION = "definition"


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule. `line` counts from 1 in the draft's own text."""

    rule: Rule
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.rule} (line {self.line}): {self.message}"
