"""From a red build to a named culprit: evidence first, a clean rebuild next, bisection last.

Pure decisions over two callbacks, so that the same code is tested against a table of verdicts and runs on real builds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from shared.records import GateVerdict


class Outcome(StrEnum):
    """What one build of a slate came to. FAILED = compiler or linker error, RED = built, wrong hash."""

    GREEN = "green"
    RED = "red"
    FAILED = "failed"
    FAULT = "fault"


@dataclass(frozen=True)
class Build:
    """One build of a slate: its outcome, whom its evidence accuses with verdict and reason, and a one-line reason.

    An accused draft is BAD, or INTERACTION when it is right alone and only clashes with another.
    """

    outcome: Outcome
    accused: Mapping[str, tuple[GateVerdict, str]] = field(default_factory=dict)
    reason: str = ""


@dataclass
class Decision:
    """Verdict and reason of every draft of the slate, and what it cost."""

    verdicts: dict[str, tuple[GateVerdict, str]] = field(default_factory=dict)
    green: frozenset[str] = frozenset()
    builds: int = 0
    clean_builds: int = 0
    stale_state: bool = False  # a warm build was red where a clean one of the same set was green


Builder = Callable[[frozenset[str], bool], Build]
"""Builds a slate of draft ids; the flag asks for a build from clean."""


def decide(slate: frozenset[str], build: Builder, max_builds: int = 64) -> Decision:
    """Finds the largest set that builds green and says of every other draft why not.

    The base itself must be known green (null control). Drafts accused by evidence are dropped and the rest built again;
    a red build without evidence is repeated from clean before anyone is blamed; only then halves are tried.
    An instrument fault ends the search: what is undecided then is FAULT, never BAD.
    """
    search = _Search(build, max_builds)
    search.run(slate)
    return search.decision


class _Search:
    def __init__(self, build: Builder, max_builds: int) -> None:
        self._build = build
        self._max = max_builds
        self.decision = Decision()

    def run(self, slate: frozenset[str]) -> None:
        current = slate
        while current:
            built = self._try(current, clean=False)
            if built.outcome not in (Outcome.GREEN, Outcome.FAULT) and not self._drop(current, built):
                built = self._try(current, clean=True)
                self.decision.stale_state |= built.outcome is Outcome.GREEN
            if built.outcome is Outcome.GREEN:
                self._bank(current)
                return
            if built.outcome is Outcome.FAULT:
                self._fault(current, built.reason)
                return
            dropped = self._drop(current, built)
            if not dropped:
                break
            self.decision.verdicts.update(dropped)
            current -= dropped.keys()
        if current:
            self._bank(self._grow(frozenset(), current, known_red=len(current) > 1))

    def _grow(self, green: frozenset[str], rest: frozenset[str], *, known_red: bool) -> frozenset[str]:
        """`green` plus as much of `rest` as stays green, halving what is red; single drafts left over get a verdict."""
        built = Build(Outcome.RED) if known_red else self._try(green | rest, clean=False)
        if built.outcome is Outcome.GREEN:
            return green | rest
        if built.outcome is Outcome.FAULT:
            self._fault(rest, built.reason)
            return green
        if len(rest) == 1:
            self._blame(green, rest, built)
            return green
        ordered = sorted(rest)
        for part in (ordered[: len(ordered) // 2], ordered[len(ordered) // 2 :]):
            green = self._grow(green, frozenset(part), known_red=False)
        return green

    def _blame(self, green: frozenset[str], single: frozenset[str], built: Build) -> None:
        alone = self._try(single, clean=False) if green else built
        if alone.outcome is Outcome.FAULT:
            self._fault(single, alone.reason)
            return
        (name,) = single
        if alone.outcome is Outcome.GREEN:
            together = f"builds green alone, red together with {len(green)} others of its binary"
            self.decision.verdicts[name] = (GateVerdict.INTERACTION, together)
        else:
            self.decision.verdicts[name] = (GateVerdict.BAD, alone.reason or "the binary is red with it")

    def _try(self, slate: frozenset[str], *, clean: bool) -> Build:
        if self.decision.builds >= self._max:
            return Build(Outcome.FAULT, reason=f"undecided after {self._max} builds of this slate")
        self.decision.builds += 1
        self.decision.clean_builds += clean
        return self._build(slate, clean)

    def _drop(self, current: frozenset[str], built: Build) -> dict[str, tuple[GateVerdict, str]]:
        return {name: said for name, said in built.accused.items() if name in current}

    def _bank(self, names: frozenset[str]) -> None:
        self.decision.green = names
        for name in names:
            self.decision.verdicts[name] = (GateVerdict.BANKED, "the binary is byte-identical with it")

    def _fault(self, names: frozenset[str], reason: str) -> None:
        for name in names:
            self.decision.verdicts.setdefault(name, (GateVerdict.FAULT, reason or "the build could not be judged"))
