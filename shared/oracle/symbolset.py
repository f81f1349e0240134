"""Names across the drafts of a binary: every symbol any object needs must be defined exactly once.

An agreeing draft carries, as evidence, the names its object stopped or started defining and newly needs. Alone each is
right against the base; two from different objects may still contradict each other: one takes away the string the other
began to use. The one that removed or doubled the name is to blame.
"""

from __future__ import annotations

from collections.abc import Mapping

from shared.records import Evidence, Judgement, Verdict
from shared.target.base import STUB_MARK, Unit
from shared.target.objfile import ObjectFile

REMOVES, ADDS, NEEDS = "removes", "adds", "needs"


def symbol_delta(unit: Unit, found: ObjectFile) -> tuple[Evidence, ...]:
    """What the new object of `unit` changes in the names of the link."""
    own = {name for name in found.defined if not name.endswith(STUB_MARK)}
    rows = [(REMOVES, name) for name in sorted(set(unit.defined) - own)]
    rows += [(ADDS, name) for name in sorted(own - set(unit.defined))]
    rows += [(NEEDS, name) for name in sorted(found.needed - set(unit.needed))]
    return tuple(Evidence("symbol", where, mine=name, note=unit.object) for where, name in rows)


def set_conflicts(judgements: Mapping[str, Judgement]) -> dict[str, Judgement]:
    """ORPHANS-SYMBOL judgements (by draft id) for those of the agreeing drafts that contradict another's object.

    Drafts of one object never conflict here: they were compiled together.
    """
    rows = [
        (draft, e.where, e.mine, e.note)
        for draft, judgement in judgements.items()
        if judgement.passed
        for e in judgement.evidence
        if e.kind == "symbol" and e.where in (REMOVES, ADDS, NEEDS)
    ]
    needs: dict[str, tuple[str, str]] = {}
    for draft, where, name, source in rows:
        if where == NEEDS:
            needs.setdefault(name, (draft, source))
    added: dict[str, tuple[str, str]] = {}
    found: dict[str, Judgement] = {}
    for draft, where, name, source in rows:
        other = (
            needs.get(name) if where == REMOVES else added.setdefault(name, (draft, source)) if where == ADDS else None
        )
        if other is None or other[1] == source or draft in found:
            continue
        said = "needs it" if where == REMOVES else "defines it too"
        reason = f"{name}: {source} {where} it and {other[1]} {said} (draft {other[0]})"
        evidence = Evidence("symbol", source, mine=name, note=reason)
        found[draft] = Judgement(Verdict.ORPHANS_SYMBOL, reason, 0, judgements[draft].words, (evidence,))
    return found
