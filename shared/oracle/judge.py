"""The pre-filter's judge of one binary: refuse, splice, compile, link virtually, compare, explain.

A judge is bound to one state of a private tree and to the base of that state; it never writes into the tree. It may be
used from several threads. A verdict against a draft stands only where the unit without any draft agrees (the control):
otherwise the instrument is wrong, not the draft.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from shared.config import Campaign
from shared.errors import CampaignError, DiskFull
from shared.oracle.cache import VerdictCache
from shared.oracle.compiling import Compilers
from shared.oracle.context import Part, TuContext
from shared.oracle.diagnostics import first_error
from shared.oracle.explain import explain, explain_error
from shared.oracle.hygiene import check_draft, normalise
from shared.oracle.key import filter_key
from shared.oracle.listing import listing
from shared.oracle.symbolset import symbol_delta
from shared.records import Evidence, Judgement, Verdict
from shared.target.base import Base
from shared.target.objfile import read_object
from shared.target.splice import Spliced, splice
from shared.target.vlink import Linked, link

log = logging.getLogger(__name__)

_PROBE = b"#error this line is compiled\n"


@dataclass(frozen=True)
class Look:
    """A verdict and, where there is code to compare, the listing of it beside the target."""

    judgement: Judgement
    listing: str = ""


class Judge:
    """Judges drafts of one binary. Close it to delete its scratch files; it is a context manager."""

    def __init__(
        self,
        tree: Path,
        campaign: Campaign,
        base: Base,
        *,
        cache: VerdictCache | None = None,
        scratch: Path | None = None,
    ) -> None:
        """`tree` is at the commit of `base` and stays so; `scratch` defaults to TMPDIR."""
        self.tree, self.campaign, self.base, self.cache = tree, campaign, base, cache
        self.compilers = Compilers(tree, campaign.filter, scratch)
        self.compiles = 0
        self._contexts: dict[str, TuContext] = {}
        self._controls: dict[str, Judgement] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Deletes the scratch files."""
        self.compilers.close()

    def context(self, tu: str) -> TuContext:
        """What is known of a translation unit. Raises MissingInput, InstrumentFault, ConfigError."""
        with self._lock:
            known = self._contexts.get(tu)
        if known is None:
            known = TuContext(self.tree, self.campaign, self.base, tu)
            with self._lock:
                self._contexts[tu] = known
        return known

    def judge_tu(self, tu: str, drafts: Mapping[str, bytes]) -> dict[str, Judgement]:
        """Each draft (by function) alone in its translation unit."""
        return {function: self.judge(tu, function, text) for function, text in drafts.items()}

    def judge(self, tu: str, function: str, draft: bytes) -> Judgement:
        """The verdict on one draft alone. A broken instrument is a FAULT verdict, never an exception."""
        try:
            return self._judge(self.context(tu), function, normalise(draft))
        except DiskFull:
            raise
        except (CampaignError, OSError) as error:
            log.warning("FILTER-FAULT binary=%s function=%s: %s", self.base.binary, function, error)
            return Judgement(Verdict.FAULT, str(error))

    def look(self, tu: str, function: str, draft: bytes) -> Look:
        """`judge`, with the aligned listing a model can repair from ("" when there is no code to compare)."""
        seen: list[Linked] = []
        try:
            context = self.context(tu)
            text = normalise(draft)
            judgement = self._judge(context, function, text, seen)
            if judgement.closeness is None or judgement.passed:
                return Look(judgement)
            if not seen:  # the verdict came from the cache
                spliced = splice(context.source, {function: text}, context.stubs)
                built = [self.build(part, spliced) for part in context.parts]
                seen = [linked for linked in built if isinstance(linked, Linked) and not linked.equal]
            return Look(judgement, listing(self.base, seen[-1], function, context.asm) if seen else "")
        except DiskFull:
            raise
        except (CampaignError, OSError) as error:
            log.warning("FILTER-FAULT binary=%s function=%s: %s", self.base.binary, function, error)
            return Look(Judgement(Verdict.FAULT, str(error)))

    def control(self, tu: str) -> Judgement:
        """The verdict on the unit with no draft in it: AGREE, or a FAULT that says what is wrong."""
        with self._lock:
            known = self._controls.get(tu)
        if known is None:
            known = self._control(self.context(tu))
            if known.verdict is Verdict.AGREE:
                with self._lock:
                    self._controls[tu] = known
        return known

    def key(self, part: Part, spliced: Spliced) -> str:
        """The cache key of a spliced unit."""
        limits = self.campaign.filter
        return filter_key(
            text=spliced.text,
            functions=[where.function for where in spliced.ranges],
            recipe=part.recipe,
            flags=limits.flags,
            limits=[limits.compile_timeout_s, limits.compile_memory_mib, limits.draft_max_kib],
            surroundings=part.surroundings,
            base=self.base,
            unit=part.unit,
        )

    def keep(self, key: str, judgement: Judgement) -> None:
        """Puts a verdict into the cache, if there is one."""
        if self.cache:
            self.cache.put(key, judgement)

    def build(self, part: Part, spliced: Spliced) -> Linked | Judgement:
        """Compiles and links a spliced unit: the linked object, or the verdict when there is none.

        The verdict's evidence of an error names the function it lies in. Raises BadObject.
        """
        with self._lock:
            self.compiles += 1
        compiled = self.compilers.compile(part.recipe, spliced.text)
        if compiled.state == "fault":
            return Judgement(Verdict.FAULT, compiled.reason, evidence=_tail(compiled.stderr))
        if compiled.state == "error":
            function = spliced.ranges[0].function if spliced.ranges else ""
            error = first_error(compiled.stderr, part.recipe.source, spliced)
            if spliced.ranges and not (error and error.function) and not self._still_compiles(part):
                lost = (
                    f"the unit without drafts no longer compiles here either: {error.text if error else 'no word why'}"
                )
                return Judgement(Verdict.FAULT, lost, evidence=_tail(compiled.stderr))
            return explain_error(error, compiled.stderr, function, part.recipe.source)
        return link(self.base, part.unit, read_object(compiled.object))

    def _still_compiles(self, part: Part) -> bool:
        """An error outside every draft may be the tree's: a folder that was deleted under us blames nobody."""
        return self.compilers.compile(part.recipe, self.context(part.unit.tu).source).state == "ok"

    def _judge(self, context: TuContext, function: str, draft: bytes, seen: list[Linked] | None = None) -> Judgement:
        stubs = context.stubs_of(function)
        if not stubs:
            return Judgement(
                Verdict.NOT_A_STUB, f"{function} has no stub in {context.tu}: never open, or banked already"
            )
        if len(stubs) > 1:
            lines = ", ".join(str(stub.line) for stub in stubs)
            return Judgement(Verdict.REFUSED, f"{function} has {len(stubs)} stubs in {context.tu}, lines {lines}")
        if all(part.unit.function(function) is None for part in context.parts):
            return Judgement(Verdict.NOT_A_STUB, f"{function} is not in the link of {self.base.binary}")
        spliced = splice(context.source, {function: draft}, context.stubs)
        results: list[Judgement] = []
        for part in context.parts:
            results.append(self._judge_part(context, part, function, draft, spliced, seen))
            if not results[-1].passed:
                break
        return all_agree(results)

    def _judge_part(
        self,
        context: TuContext,
        part: Part,
        function: str,
        draft: bytes,
        spliced: Spliced,
        seen: list[Linked] | None,
    ) -> Judgement:
        key = self.key(part, spliced)
        known = self.cache.get(key) if self.cache else None
        if known is not None:
            return known
        result = self.refusal(context, function, draft) or self._fresh(context, part, function, spliced, seen)
        if result.verdict is Verdict.FAULT:
            return result
        result = msgspec.structs.replace(result, key=key)
        self.keep(key, result)
        return result

    def refusal(self, context: TuContext, function: str, draft: bytes) -> Judgement | None:
        """The REFUSED verdict of a normalised draft that breaks a rule, None when it may be compiled."""
        violations = check_draft(
            draft,
            function,
            include_dirs=context.include_dirs,
            project_macros=context.macros.allowed,
            barred_macros=context.macros.barred,
            max_bytes=self.campaign.filter.draft_max_kib * 1024,
        )
        if not violations:
            return None
        evidence = tuple(Evidence("rule", f"{function}.c:{v.line}", note=str(v)) for v in violations)
        return Judgement(Verdict.REFUSED, str(violations[0]), evidence=evidence)

    def _fresh(
        self, context: TuContext, part: Part, function: str, spliced: Spliced, seen: list[Linked] | None
    ) -> Judgement:
        linked = self.build(part, spliced)
        if seen is not None and isinstance(linked, Linked):
            seen.append(linked)
        if isinstance(linked, Judgement):
            result = linked
        elif linked.equal:
            return self._agree(context, part, function, linked)
        else:
            result = explain(self.base, linked, function, context.asm, context.filed_address)
        if result.verdict is Verdict.FAULT:
            return result
        control = self.control(context.tu)
        return result if control.passed else control

    def _agree(self, context: TuContext, part: Part, function: str, linked: Linked) -> Judgement:
        target = part.unit.function(function)
        words = target.size // 4 if target else None
        if context.stubs_of(function)[0].conditional and not self._compiled_at_all(context, part, function):
            return Judgement(Verdict.NOT_A_STUB, f"the build of {self.base.binary} does not compile this stub's branch")
        if target is not None and all(s.name != function for s in linked.found.symbols):
            return Judgement(Verdict.SHAPE, f"the object has no function {function}", words, words)
        evidence = symbol_delta(part.unit, linked.found)
        return Judgement(Verdict.AGREE, "every word and all data equal after relocation", 0, words, evidence)

    def _compiled_at_all(self, context: TuContext, part: Part, function: str) -> bool:
        """For a stub under someone's `#if`: an error in its place must stop the compile, or nothing there is read."""
        probe = splice(context.source, {function: _PROBE}, context.stubs)
        return self.compilers.compile(part.recipe, probe.text).state == "error"

    def _control(self, context: TuContext) -> Judgement:
        plain = Spliced(context.source, ())
        for part in context.parts:
            key = self.key(part, plain)
            known = self.cache.get(key) if self.cache else None
            if known is None:
                known = self._control_part(part, plain)
                self.keep(key, known)
            if not known.passed:
                return known
        return Judgement(Verdict.AGREE, "control: the unit without drafts agrees")

    def _control_part(self, part: Part, plain: Spliced) -> Judgement:
        linked = self.build(part, plain)
        what = f"the unit {part.recipe.source} itself, without any draft,"
        if isinstance(linked, Judgement):
            return Judgement(Verdict.FAULT, f"{what} does not compile here: {linked.reason}", evidence=linked.evidence)
        if not linked.equal:
            why = linked.problems[0].note if linked.problems else "words differ"
            return Judgement(
                Verdict.FAULT,
                f"{what} does not give {self.base.binary}'s bytes with its compile command: {why}; "
                "RECIPE-MISMATCH, correct `compile` or filter.flags",
            )
        return Judgement(Verdict.AGREE, "control: the unit without drafts agrees")


def judge_for_binaries(judges: Mapping[str, Judge], tu: str, function: str, draft: bytes) -> Judgement:
    """The verdict over every binary that compiles `tu`: AGREE only if all agree, else the first that does not."""
    results: list[Judgement] = []
    for binary, judge in judges.items():
        result = judge.judge(tu, function, draft)
        if not result.passed:
            return (
                msgspec.structs.replace(result, reason=f"in {binary}: {result.reason}") if len(judges) > 1 else result
            )
        results.append(result)
    return all_agree(results) if results else Judgement(Verdict.FAULT, f"no binary compiles {tu}")


def all_agree(results: Sequence[Judgement]) -> Judgement:
    """One judgement of several of the same draft: the last if it does not pass, else the first with all evidence."""
    if len(results) == 1 or not results[-1].passed:
        return results[-1]
    evidence = tuple(dict.fromkeys(e for result in results for e in result.evidence))
    return msgspec.structs.replace(results[0], evidence=evidence, cached=all(r.cached for r in results))


def _tail(stderr: str) -> tuple[Evidence, ...]:
    lines = stderr.strip().splitlines()
    return (Evidence("diagnostic", note=lines[-1][:400]),) if lines else ()
