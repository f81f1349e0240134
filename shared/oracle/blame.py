"""Which of several drafts in one object are wrong, by evidence: the object tells, no search is needed.

Strong evidence first: a function whose own shape or names are off, or that needs a name nobody has. Only without any
is the data looked at: a good function whose string merely moved, because another's grew, is not to blame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from shared.oracle.comparing import Code, Comparison
from shared.oracle.naming import partners, show_data, target_address
from shared.records import Verdict
from shared.target.base import Base
from shared.target.objfile import STB_LOCAL, Section
from shared.target.reloc import R_HI16, Applied
from shared.target.vlink import Linked

Blame = dict[str, tuple[Verdict, str]]
"""Function -> verdict and reason."""


def blame(
    base: Base, linked: Linked, functions: Iterable[str], asm_data: Callable[[str], Sequence[str]] | None = None
) -> Blame:
    """The drafts among `functions` the evidence names; empty when it names none.

    `asm_data` gives the data symbols of a stub's own `.s`, which vanish with it.
    """
    drafted = list(functions)
    comparison = Comparison(base, linked)
    codes = {name: code for name in drafted if (code := comparison.code(name)) is not None}
    named = dict(_strong(linked, comparison, codes))
    return named or dict(_weak(base, linked, comparison, codes, asm_data))


def _strong(
    linked: Linked, comparison: Comparison, codes: dict[str, Code]
) -> Iterator[tuple[str, tuple[Verdict, str]]]:
    for problem in linked.problems:
        if problem.function in codes:
            verdict = Verdict.UNRESOLVED if problem.kind in ("unresolved", "own-orphan") else Verdict.MISMATCH
            yield problem.function, (verdict, f"{problem.symbol}: {problem.note}")
    for name, code in codes.items():
        if code.distance:
            yield name, (Verdict.SHAPE, f"shape differs: closeness {code.distance}")
            continue
        for item in code.wrong:
            symbol = comparison.linked.found.symbols[item.entry.symbol]
            if symbol.bind != STB_LOCAL:
                yield name, (Verdict.MISMATCH, f"word {item.word} names {symbol.name}, the target something else")
                break


def _weak(
    base: Base,
    linked: Linked,
    comparison: Comparison,
    codes: dict[str, Code],
    asm_data: Callable[[str], Sequence[str]] | None,
) -> Iterator[tuple[str, tuple[Verdict, str]]]:
    found = comparison.linked.found
    grown = {p.section for p in linked.problems if p.kind in ("size", "unplaced")}
    for name, code in codes.items():
        literal = _other_literal(base, comparison, code)
        if literal:
            yield name, (Verdict.SHAPE, literal)
            continue
        for entry in code.entries:
            section = _local_section(comparison, entry)
            if section is not None and section.name in grown and comparison.unit.part(section.name) is None:
                yield name, (Verdict.SHAPE, f"brings {section.name} of its own")
                break
    for wrong in comparison.data[1]:
        symbol = found.symbols[wrong.entry.symbol]
        owner = comparison.linked.function_at(symbol.section, symbol.value + wrong.entry.addend)
        if owner is not None and owner.name in codes:
            yield owner.name, (Verdict.MISMATCH, f"{wrong.section} word {wrong.word} leads elsewhere in {owner.name}")
    if asm_data is not None:
        for problem in linked.problems:
            if problem.kind in ("orphan", "own-orphan"):
                for name in codes:
                    if problem.symbol in asm_data(name):
                        yield name, (Verdict.ORPHANS_SYMBOL, f"{problem.symbol}: {problem.note}")


def _local_section(comparison: Comparison, entry: Applied | None) -> Section | None:
    if entry is None:
        return None
    symbol = comparison.linked.found.symbols[entry.symbol]
    sections = comparison.linked.found.sections
    return sections[symbol.section] if symbol.bind == STB_LOCAL and 0 < symbol.section < len(sections) else None


def _other_literal(base: Base, comparison: Comparison, code: Code) -> str:
    """Says which literal of a function differs from the target's; "" when all merely moved or are equal."""
    for item in code.wrong:
        section = _local_section(comparison, item.entry)
        placement = comparison.linked.placements.get(section.name) if section else None
        if section is None or placement is None or item.entry.type == R_HI16:
            continue
        owner = comparison.linked.placements[item.section]
        other = partners(owner.applied).get(item.entry.offset)
        index = item.word + (other - item.entry.offset) // 4 if other is not None else -1
        partner = code.target[index] if 0 <= index < len(code.target) else None
        address = target_address(base, item.place, item.entry, item.target, partner)
        offset = comparison.linked.found.symbols[item.entry.symbol].value + item.entry.addend
        part = placement.part
        if address is None or not part.address <= address < part.address + part.size:
            return f"word {item.word} names {section.name}, the target something else"
        mine, want = placement.data[max(offset, 0) :], part.data[address - part.address :]
        if show_data(mine) != show_data(want):
            return f"brings {show_data(mine)} where the target has {show_data(want)}"
    return ""
