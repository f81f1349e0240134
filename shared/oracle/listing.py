"""The aligned listing of a draft's code beside its target: what an agent reads to repair it. Bounded in size."""

from __future__ import annotations

from collections.abc import Iterator

from shared.oracle.comparing import Code, Comparison
from shared.oracle.explain import AsmReader
from shared.oracle.naming import Names, show_data
from shared.target.base import Base
from shared.target.insn import disassemble
from shared.target.shape import Step, align
from shared.target.vlink import Linked

MAX_LINES = 240
NEAR_LINES = 4
"""Equal lines shown before and after a difference when the whole would be too long."""

WIDTH = 46
_MARKS = {"same": " ", "replace": "r", "insert": "+", "delete": "-"}
LEGEND = "marks: r another instruction, + only yours, - only the target's, s same shape but another symbol; @n = word n"


def listing(base: Base, linked: Linked, function: str, asm: AsmReader) -> str:
    """`yours | target` for one function, then the data that differs; "" when the target has no such function."""
    comparison = Comparison(base, linked)
    code = comparison.code(function)
    if code is None:
        return ""
    lines = list(_code_lines(base, comparison, code, asm))
    shown = [text for text, _ in lines] if len(lines) <= MAX_LINES else list(_near_differences(lines))
    cut = [] if len(shown) <= MAX_LINES else [f"... {len(shown) - MAX_LINES} more lines"]
    head = f"{'':1} {'#':>4} {'yours':<{WIDTH}} | {'#':>4} target"
    return "\n".join([LEGEND, head, *shown[:MAX_LINES], *cut, *_data_lines(comparison)])


def _code_lines(base: Base, comparison: Comparison, code: Code, asm: AsmReader) -> Iterator[tuple[str, bool]]:
    """Each line with whether it is a difference."""
    found, placements = comparison.linked.found, comparison.linked.placements
    names = Names(base, comparison.unit)
    source = asm(code.name)
    wrong = {item.word for item in code.wrong}
    for step in align(code.mine, code.fields, code.target):
        mine = target = ""
        if step.mine is not None:
            entry = code.entries[step.mine]
            symbol = names.mine(found, placements, entry) if entry else ""
            mine = disassemble(code.mine[step.mine], code.address + 4 * step.mine, step.mine, symbol)
        if step.target is not None:
            operand = source.operands[step.target] if source and step.target < len(source.operands) else ""
            operand += _literal(base, names, operand)
            target = disassemble(code.target[step.target], code.address + 4 * step.target, step.target, operand)
        mark = "s" if step.op == "same" and step.mine in wrong else _MARKS[step.op]
        yield _line(mark, step, mine, target), mark != " "


def _literal(base: Base, names: Names, operand: str) -> str:
    """The string a target operand names, when it is the unit's own: its `.s` shows no content."""
    content = names.own_data(base.symbols[operand]) if operand in base.symbols else ""
    return f" {content.partition(' ')[2]}" if '"' in content else ""


def _line(mark: str, step: Step, mine: str, target: str) -> str:
    left = "" if step.mine is None else str(step.mine)
    right = "" if step.target is None else str(step.target)
    return f"{mark} {left:>4} {mine[: 2 * WIDTH]:<{WIDTH}} | {right:>4} {target[: 2 * WIDTH]}".rstrip()


def _near_differences(lines: list[tuple[str, bool]]) -> Iterator[str]:
    marked = [index for index, (_, differs) in enumerate(lines) if differs]
    wanted = {i for index in marked for i in range(index - NEAR_LINES, index + NEAR_LINES + 1)}
    skipped = 0
    for index, (text, _) in enumerate(lines):
        if index in wanted:
            if skipped:
                yield f"  ... {skipped} equal lines"
                skipped = 0
            yield text
        else:
            skipped += 1
    if skipped:
        yield f"  ... {skipped} equal lines"


def _data_lines(comparison: Comparison) -> Iterator[str]:
    differences, wrong = comparison.data
    for item in differences[:8]:
        mine = show_data(item.mine) if item.mine else "nothing"
        target = show_data(item.target) if item.target else "nothing"
        note = f" ({item.note})" if item.note else ""
        yield f"data {item.section} word {item.word}: yours {mine}, target {target}{note}"
    for place in wrong[:8] if comparison.linked is comparison.strict else ():
        yield f"data {place.section} word {place.word}: yours leads to 0x{place.mine:08X}, target 0x{place.target:08X}"
    for problem in comparison.strict.problems[:8]:
        if problem.kind not in ("size", "moved"):
            yield f"link: {problem.symbol or problem.section}: {problem.note}"
