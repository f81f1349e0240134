"""From a linked object that is not equal to a verdict with evidence, for the one draft that is in it."""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from shared.oracle.comparing import Code, Comparison, Wrong
from shared.oracle.diagnostics import FirstError
from shared.oracle.naming import Names, partners, show_data, target_address
from shared.records import Evidence, Judgement, Verdict
from shared.target.asmfile import AsmFunction
from shared.target.base import Base
from shared.target.reloc import NAMES
from shared.target.vlink import Linked, Problem

SHOWN = 12
"""Pieces of evidence kept in a verdict; the listing of compile-and-diff shows all."""

AsmReader = Callable[[str], AsmFunction | None]
"""The stub's own `.s` of a function, for the names it uses; None when it cannot be read."""


AddressBook = Callable[[str], int | None]
"""Where the project's symbol files, or the name itself, put a name that the link does not know."""


def explain(base: Base, linked: Linked, function: str, asm: AsmReader, addresses: AddressBook) -> Judgement:
    """The verdict on the draft of `function`, alone in `linked`, which is not equal to the image."""
    comparison = Comparison(base, linked)
    code = comparison.code(function)
    words = len(code.target) if code else None
    evidence = _Evidence(base, comparison, asm, addresses)
    distance = code.distance if code else 0
    if code is not None:
        evidence.function(code)
    differences, wrong = comparison.data
    for difference in differences:
        distance += difference.distance
        evidence.add(
            "section",
            difference.section,
            difference.word,
            show_data(difference.mine) if difference.mine else "",
            show_data(difference.target) if difference.target else "",
            difference.note or "the data beside the code differs",
        )
    distance += _elsewhere(comparison, function, evidence)
    for item in wrong:
        evidence.wrong(item, None)
    for problem in linked.problems:
        if problem.kind not in ("size", "moved") or not distance:
            evidence.problem(problem)
    verdict, reason = _verdict(linked, function, code, distance, evidence)
    return Judgement(verdict, reason, distance, words, tuple(evidence.found[:SHOWN]))


def explain_error(error: FirstError | None, stderr: str, function: str, source: str) -> Judgement:
    """The verdict on a compile the compiler refused: its first error, with the draft's own line number."""
    if error is None:
        last = stderr.strip().splitlines()[-1:] or ["no message"]
        return Judgement(Verdict.COMPILE_FAIL, f"does not compile: {last[0][:300]}")
    where = f"{posixpath.basename(error.file)}:{error.line}"
    if error.function:
        where = f"{error.function}.c:{error.line}"
    found = [Evidence("diagnostic", where, note=error.text[:400])]
    other = error.other
    if other is not None:
        place = f"{other[0]}.c:{other[1]}" if other[0] else f"{posixpath.basename(other[2])}:{other[1]}"
        found.append(Evidence("diagnostic", place, note="the other side of the clash" if error.clash else "see here"))
    outside = error.function != function or (other is not None and other[0] != function)
    if error.clash and outside:
        against = f", against {found[1].where}" if len(found) > 1 else ""
        name = f" of {error.name}" if error.name else ""
        reason = f"declaration clash{name} in {source} at {where}{against}: {error.text[:200]}"
        return Judgement(Verdict.TU_CONFLICT, reason, evidence=tuple(found))
    return Judgement(Verdict.COMPILE_FAIL, f"{where}: {error.text[:300]}", evidence=tuple(found))


def _verdict(
    linked: Linked, function: str, code: Code | None, distance: int, evidence: _Evidence
) -> tuple[Verdict, str]:
    if code is None:
        return Verdict.SHAPE, f"the target has no function {function}"
    if distance:
        if not code.mine:
            return Verdict.SHAPE, f"the object has no function {function}"
        if code.distance:
            sizes = "" if len(code.mine) == len(code.target) else f", {len(code.mine)} words for {len(code.target)}"
            return Verdict.SHAPE, f"shape differs: closeness {distance}{sizes}"
        notes = [e.note for e in evidence.found if e.kind in ("section", "word")]
        beside = notes[0] if notes else "data or code beside the function differs"
        return Verdict.SHAPE, f"the function's own shape is right, not what comes with it: {beside}"
    problems = linked.problems
    taken = [
        p for p in problems if p.kind in ("orphan", "doubled") or (p.kind == "own-orphan" and p.function != function)
    ]
    if taken:
        return Verdict.ORPHANS_SYMBOL, f"{taken[0].symbol}: {taken[0].note}"
    unknown = [p for p in problems if p.kind in ("unresolved", "own-orphan")]
    if unknown:
        right = next((e.target for e in evidence.found if e.mine == unknown[0].symbol and e.target), "")
        hint = f"; the target has {right} there" if right else ""
        return Verdict.UNRESOLVED, f"{unknown[0].symbol}: {unknown[0].note}{hint}"
    if problems:
        first = problems[0]
        return Verdict.MISMATCH, f"{first.section} {first.symbol}: {first.note}".replace("  ", " ")
    count = evidence.wrong_symbols
    first_wrong = next((e for e in evidence.found if e.kind == "relocation"), None)
    if first_wrong is None:
        return Verdict.MISMATCH, "words differ that no relocation explains"
    more = f" and {count - 1} more" if count > 1 else ""
    return Verdict.MISMATCH, f"names {first_wrong.mine} where the target has {first_wrong.target}{more}"


def _elsewhere(comparison: Comparison, function: str, evidence: _Evidence) -> int:
    """Distance in code that is not the draft's: other functions it changed, functions it added."""
    distance = 0
    moved = bool(comparison.data[0])  # what others name has merely moved behind data that grew
    for name in comparison.others:
        if name == function:
            continue
        other = comparison.code(name)
        if other is not None and not other.equal and (other.distance or not moved):
            distance += other.distance
            note = f"changes {name} as well" if other.mine else f"takes {name} away"
            evidence.add("word", name, None, "", "", note)
    for symbol in comparison.added:
        distance += max(1, symbol.size // 4)
        evidence.add("section", ".text", None, symbol.name, "", f"adds the function {symbol.name}")
    return distance


class _Evidence:
    def __init__(self, base: Base, comparison: Comparison, asm: AsmReader, addresses: AddressBook) -> None:
        self.base, self.comparison, self.asm, self.addresses = base, comparison, asm, addresses
        gone = frozenset(comparison.unit.defined) - frozenset(comparison.linked.found.defined)
        self.names = Names(base, comparison.unit, gone)
        self.found: list[Evidence] = []
        self.wrong_symbols = 0
        self._named: set[tuple[str, str]] = set()

    def add(self, kind: str, where: str, word: int | None, mine: str, target: str, note: str) -> None:
        if len(self.found) < 4 * SHOWN:
            self.found.append(Evidence(kind, where, word, mine, target, note))

    def function(self, code: Code) -> None:
        if code.distance and code.mine:
            keep = [0xFFFFFFFF ^ field for field in code.fields]
            first = next(
                (i for i, (a, b) in enumerate(zip(code.mine, code.target, strict=False)) if (a ^ b) & keep[i]),
                min(len(code.mine), len(code.target)),
            )
            mine = f"{code.mine[first]:08X}" if first < len(code.mine) else ""
            target = f"{code.target[first]:08X}" if first < len(code.target) else ""
            self.add("word", code.name, first, mine, target, "the first word whose shape differs")
            return
        operands = self.asm(code.name) if code.wrong else None
        for item in code.wrong:
            hint = operands.operands[item.word] if operands and item.word < len(operands.operands) else ""
            self.wrong(item, code, hint)

    def wrong(self, item: Wrong, code: Code | None, hint: str = "") -> None:
        linked = self.comparison.linked
        placement = linked.placements.get(item.section)
        mine = self.names.mine(linked.found, linked.placements, item.entry)
        partner = None
        if placement is not None:
            other = partners(placement.applied).get(item.entry.offset)
            if other is not None and code is not None:
                index = item.word + (other - item.entry.offset) // 4
                partner = code.target[index] if 0 <= index < len(code.target) else None
        address = target_address(self.base, item.place, item.entry, item.target, partner)
        target = f"{item.target:08X}" if address is None else self.names.at(address, hint)
        note = NAMES[item.entry.type]
        if target == mine and linked is not self.comparison.strict:
            return  # only moved, because a size before it changed
        if target == mine:
            note += f", which is 0x{address or 0:08X} in the target and 0x{item.entry.meant:08X} here"
        if (mine, target) not in self._named:
            self._named.add((mine, target))
            self.wrong_symbols += 1
        self.add("relocation", code.name if code else item.section, item.word, mine, target, note)

    def problem(self, problem: Problem) -> None:
        word = None
        target = ""
        code = self.comparison.code(problem.function) if problem.function else None
        if code is not None and problem.offset >= 0:
            word, target = self._right(code, problem)
        if not target and problem.kind == "unresolved":
            address = self.addresses(problem.symbol)
            target = "" if address is None else self.names.at(address)
        self.add("symbol", problem.function or problem.section, word, problem.symbol, target, problem.note)

    def _right(self, code: Code, problem: Problem) -> tuple[int | None, str]:
        """Word and right name of a relocation whose name the link does not know."""
        for index, entry in enumerate(code.entries):
            if entry is None or entry.offset != problem.offset:
                continue
            if code.distance or index >= len(code.target):
                return index, ""
            known = next((e.target for e in self.found if e.kind == "relocation" and e.word == index), "")
            if known:
                return index, known
            placement = self.comparison.linked.placements[problem.section]
            other = partners(placement.applied).get(entry.offset)
            partner = code.target[index + (other - entry.offset) // 4] if other is not None else None
            address = target_address(self.base, code.address + 4 * index, entry, code.target[index], partner)
            operands = self.asm(code.name)
            hint = operands.operands[index] if operands and index < len(operands.operands) else ""
            return index, "" if address is None else self.names.at(address, hint)
        return None, ""
