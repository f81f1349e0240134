"""Judging the drafts of one translation unit together, in every binary that compiles it.

First each draft alone. Then the best agreeing draft of every function all together: two good drafts may declare the
same thing differently. Then, where shapes were refused, those and the kept rejects with them: an inlining compiler
matches some units only as a group. What the evidence names is dropped until the rest is stable; at most n + 2 compiles
more per object, n being the functions tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shared.config import Campaign
from shared.errors import CampaignError
from shared.oracle.blame import Blame, blame
from shared.oracle.cache import VerdictCache
from shared.oracle.hygiene import normalise
from shared.oracle.judge import Judge, judge_for_binaries
from shared.oracle.quality import added_declarations, ugliness
from shared.oracle.symbolset import symbol_delta
from shared.records import Evidence, Judgement, Verdict
from shared.target.base import Base
from shared.target.splice import splice

Draft = tuple[str, bytes]
"""(function, text)."""


@dataclass(frozen=True)
class GroupJudged:
    """Judgements by draft id. `revived` are kept rejects that agree as part of the unit's group; `compiles` counts."""

    drafts: Mapping[str, Judgement]
    revived: Mapping[str, Judgement] = field(default_factory=dict)
    compiles: int = 0


def judge_group(
    tree: Path,
    campaign: Campaign,
    bases: Mapping[str, Base],
    tu: str,
    drafts: Mapping[str, Draft],
    rejects: Mapping[str, Draft],
    cache: VerdictCache | None = None,
) -> GroupJudged:
    """Judges `drafts` (id -> function and text) alone and together; `rejects` are earlier ones, best first.

    `bases` are those of every binary that compiles `tu`; `tree` is at their commit. Several drafts of one function are
    alternatives. A broken instrument is a FAULT verdict, never an exception.
    """
    judges = {name: Judge(tree, campaign, base, cache=cache) for name, base in bases.items()}
    try:
        return _Group(judges, tu, drafts, rejects).run()
    finally:
        for judge in judges.values():
            judge.close()


@dataclass(frozen=True)
class _Together:
    equal: bool
    delta: tuple[Evidence, ...] = ()
    named: Blame = field(default_factory=dict)
    fault: str = ""


class _Group:
    def __init__(
        self, judges: Mapping[str, Judge], tu: str, drafts: Mapping[str, Draft], rejects: Mapping[str, Draft]
    ) -> None:
        self.judges, self.tu = judges, tu
        self.drafts = {name: (function, normalise(text)) for name, (function, text) in drafts.items()}
        self.rejects = {name: (function, normalise(text)) for name, (function, text) in rejects.items()}
        self.alone: dict[str, Judgement] = {}

    def run(self) -> GroupJudged:
        for name, (function, text) in self.drafts.items():
            self.alone[name] = judge_for_binaries(self.judges, self.tu, function, text)
        result = dict(self.alone)
        agreed = self._best_agreeing()
        result.update(self._clear_conflicts(agreed))
        revived: dict[str, Judgement] = {}
        for name, judgement in self._shapes_together(agreed).items():
            (result if name in self.drafts else revived)[name] = judgement
        return GroupJudged(result, revived, sum(judge.compiles for judge in self.judges.values()))

    def _best_agreeing(self) -> dict[str, str]:
        """Function -> id of its best agreeing draft: fewest added declarations, least ugly, first."""
        best: dict[str, tuple[tuple[int, int, int], str]] = {}
        for order, (name, (function, text)) in enumerate(self.drafts.items()):
            if self.alone[name].passed:
                rank = (added_declarations(text), ugliness(text), order)
                if function not in best or rank < best[function][0]:
                    best[function] = (rank, name)
        return {function: name for function, (_, name) in best.items()}

    def _clear_conflicts(self, agreed: dict[str, str]) -> dict[str, Judgement]:
        """Takes out of `agreed` what does not go together; their new judgements."""
        out: dict[str, Judgement] = {}
        limit = len(agreed) + 2
        while len(agreed) > 1 and limit:
            limit -= 1
            outcome = self._together(agreed)
            if outcome.equal:
                break
            if outcome.fault:
                fault = Judgement(Verdict.FAULT, f"all agreeing drafts of {self.tu} together: {outcome.fault}")
                out.update(dict.fromkeys(agreed.values(), fault))
                agreed.clear()
                break
            named = {f: why for f, why in outcome.named.items() if f in agreed}
            if not named:
                named = {list(agreed)[-1]: (Verdict.TU_CONFLICT, "the image differs with all of them in")}
            for function, (_, reason) in named.items():
                partners = ", ".join(f for f in agreed if f not in named) or ", ".join(
                    f for f in named if f != function
                )
                text = f"agrees alone, not with {partners} in {self.tu}: {reason}"
                out[agreed[function]] = Judgement(Verdict.TU_CONFLICT, text, 0, self.alone[agreed[function]].words)
            if len(named) == len(agreed) > 1:  # they accuse each other; one of them can stay
                out.pop(agreed[next(iter(named))])
                named.pop(next(iter(named)))
            for function in named:
                del agreed[function]
        return out

    def _shapes_together(self, agreed: Mapping[str, str]) -> dict[str, Judgement]:
        """Judgements of refused shapes and rejects that agree as a group with the agreeing ones."""
        tried = self._candidates(agreed)
        limit = len(tried) + 2
        while tried and limit:
            limit -= 1
            outcome = self._together({**agreed, **tried})
            if outcome.equal:
                members = ", ".join([*agreed, *tried])
                reason = f"agrees together with the others of {self.tu}: {members}"
                evidence = tuple(Evidence("rule", function, note="group member") for function in [*agreed, *tried])
                together = Judgement(Verdict.AGREE, reason, 0, evidence=(*evidence, *outcome.delta))
                return dict.fromkeys(tried.values(), together)
            if outcome.fault:
                return {}
            named = [function for function in self._roots(outcome.named, tried) if function in tried]
            if not named:
                return {}
            for function in named:
                del tried[function]
        return {}

    def _candidates(self, agreed: Mapping[str, str]) -> dict[str, str]:
        tried: dict[str, tuple[int, str]] = {}
        for name, (function, _) in self.drafts.items():
            judgement = self.alone[name]
            distance = judgement.closeness if judgement.closeness is not None else 1 << 30
            if (
                judgement.verdict is Verdict.SHAPE
                and function not in agreed
                and distance < tried.get(function, (1 << 31, ""))[0]
            ):
                tried[function] = (distance, name)
        chosen = {function: name for function, (_, name) in tried.items()}
        if not chosen and not self.rejects:
            return {}
        context = next(iter(self.judges.values())).context(self.tu) if self.judges else None
        for name, (function, text) in self.rejects.items():
            if function in agreed or function in chosen or context is None or len(context.stubs_of(function)) != 1:
                continue
            if next(iter(self.judges.values())).refusal(context, function, text) is None:
                chosen[function] = name
        return chosen

    def _roots(self, named: Blame, tried: Mapping[str, str]) -> list[str]:
        """Of the accused, those that mention no other accused one: a caller looks wrong when what it inlined is."""
        accused = [function for function in named if function in tried]
        texts = {function: self._text(tried[function]) for function in accused}
        roots = [f for f in accused if not any(g != f and g.encode() in texts[f] for g in accused)]
        return roots or accused

    def _text(self, name: str) -> bytes:
        return (self.drafts.get(name) or self.rejects[name])[1]

    def _together(self, chosen: Mapping[str, str]) -> _Together:
        texts = {function: self._text(name) for function, name in chosen.items()}
        named: Blame = {}
        delta: tuple[Evidence, ...] = ()
        equal = True
        for judge in self.judges.values():
            try:
                outcome = _one_binary(judge, self.tu, texts)
            except (CampaignError, OSError) as error:
                return _Together(False, fault=str(error))
            if outcome.fault:
                return outcome
            equal &= outcome.equal
            named.update(outcome.named)
            delta += outcome.delta
        return _Together(equal, delta, named)


def _one_binary(judge: Judge, tu: str, texts: Mapping[str, bytes]) -> _Together:
    context = judge.context(tu)
    spliced = splice(context.source, texts, context.stubs)
    named: Blame = {}
    delta: tuple[Evidence, ...] = ()
    equal = True
    for part in context.parts:
        key = judge.key(part, spliced)
        known = judge.cache.get(key) if judge.cache else None
        if known is not None:
            equal &= known.passed
            if known.passed:
                delta += known.evidence
            else:
                named.update(_kept_blame(known, list(texts)))
            continue
        linked = judge.build(part, spliced)
        if isinstance(linked, Judgement):
            if linked.verdict is Verdict.FAULT:
                return _Together(False, fault=linked.reason)
            found = _accused_by_compiler(linked, list(texts))
        else:
            found = {} if linked.equal else blame(judge.base, linked, texts, context.asm_data)
            if linked.equal:
                change = symbol_delta(part.unit, linked.found)
                delta += change
                judge.keep(key, Judgement(Verdict.AGREE, "all together", evidence=change))
                continue
        equal = False
        named.update(found)
        if len(texts) > 1:
            verdict = next(iter(found.values()))[0] if found else Verdict.SHAPE
            evidence = tuple(Evidence("rule", function, note=why) for function, (_, why) in found.items())
            judge.keep(key, Judgement(verdict, "not equal together", evidence=evidence))
    return _Together(equal, delta, named)


def _kept_blame(known: Judgement, functions: Sequence[str]) -> Blame:
    """The blame a cached verdict holds; that of a single draft is the draft's own."""
    if len(functions) == 1:
        return {functions[0]: (known.verdict, known.reason)}
    return {e.where: (known.verdict, e.note) for e in known.evidence if e.where in functions}


def _accused_by_compiler(judgement: Judgement, functions: Sequence[str]) -> Blame:
    """The draft an error lies in, else the one its note points to."""
    for evidence in judgement.evidence:
        name = evidence.where.rpartition(".c:")[0]
        if name in functions:
            return {name: (Verdict.TU_CONFLICT, judgement.reason)}
    return {}
