"""What one verdict of the pre-filter costs beside the bare compile it cannot do without.

    python tests/benchmarks/prefilter.py [--quick]

CPU of the process tree; each draft is judged and barely compiled in turn, in several rounds, and the median round
counts. Start-up (reading the base, one control compile per TU, asking make) is paid before. Two states of a game are
measured: all stubs, and nearly finished, where the compiles are as long as they get. Then the same drafts come from the
verdict cache. Prints one JSON object; exit 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from shared.config import Campaign, load_campaign  # noqa: E402
from shared.demo.forge import forge  # noqa: E402
from shared.demo.mutants import Body, Corpus, Kind, load_corpus, mutants  # noqa: E402
from shared.oracle.cache import VerdictCache  # noqa: E402
from shared.oracle.judge import Judge  # noqa: E402
from shared.proc import child_environment  # noqa: E402
from shared.records import Verdict  # noqa: E402
from shared.target.base import read_base  # noqa: E402
from shared.target.build import build_binary  # noqa: E402
from shared.target.mirror import Mirror  # noqa: E402
from shared.target.splice import splice  # noqa: E402
from shared.target.stubs import find_stubs  # noqa: E402

LONG_MS, LONG_RATIO, SHORT_OVER_MS, CACHE_RATIO = 40.0, 1.25, 8.0, 50.0
OPEN_AT_END = 3
"""Stubs left in a TU of the nearly finished state."""


@dataclass(frozen=True)
class Draft:
    """One draft to judge, and whether it is the right body."""

    body: Body
    text: bytes
    right: bool


@dataclass
class Cost:
    """CPU milliseconds of one draft, one entry per round."""

    bare: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)


class State:
    """One tree with its judges and drafts; `costs` fill as rounds go by."""

    def __init__(self, tree: Path, drafts: Sequence[Draft], campaign: Campaign, scratch: Path) -> None:
        scratch.mkdir()
        self.drafts, self.campaign, self.scratch = drafts, campaign, scratch
        self.judges = {
            name: Judge(tree, campaign, read_base(tree, name, binary), scratch=scratch)
            for name, binary in campaign.binaries.items()
        }
        self.mirrors: dict[tuple[str, str], Mirror] = {}
        self.costs = [Cost() for _ in drafts]
        self.verdicts: Counter[str] = Counter()
        for number, draft in enumerate(drafts):
            key = (draft.body.binary, draft.body.tu)
            if key not in self.mirrors:
                judge = self.judges[draft.body.binary]
                assert judge.control(draft.body.tu).passed, key
                recipe = judge.context(draft.body.tu).parts[0].recipe
                self.mirrors[key] = Mirror(tree, recipe, scratch / f"bare{number}")

    def round(self, number: int) -> None:
        """Every draft once each way, in alternating order; a new cache, so that nothing is a hit."""
        cache = VerdictCache(self.scratch / f"cache{number}")
        for judge in self.judges.values():
            judge.cache = cache
        self.verdicts.clear()
        for place, draft in enumerate(self.drafts):
            arms = [lambda d=draft: self.bare(d), lambda d=draft: self.ours(d)]
            rows = [self.costs[place].bare, self.costs[place].ours]
            for arm in (0, 1) if (place + number) % 2 else (1, 0):
                rows[arm].append(arms[arm]())

    def ours(self, draft: Draft) -> float:
        """CPU of one verdict."""
        started = _cpu_ms(resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        verdict = self.judges[draft.body.binary].judge(draft.body.tu, draft.body.function, draft.text)
        spent = _cpu_ms(resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN) - started
        assert verdict.verdict is not Verdict.FAULT, verdict
        assert verdict.passed or not draft.right, verdict
        self.verdicts[verdict.verdict] += 1
        return spent

    def bare(self, draft: Draft) -> float:
        """CPU of the same commands on the same text: the compilers alone, without what it takes to start them."""
        mirror = self.mirrors[draft.body.binary, draft.body.tu]
        context = self.judges[draft.body.binary].context(draft.body.tu)
        mirror.write(splice(context.source, {draft.body.function: draft.text}, context.stubs).text)
        environment = child_environment({"TMPDIR": str(mirror.temp)})
        started = _cpu_ms(resource.RUSAGE_CHILDREN)
        for command in mirror.recipe.with_flags(tuple(self.campaign.filter.flags)):
            done = subprocess.run(command, cwd=mirror.root, env=environment, capture_output=True, check=False)
            if done.returncode:
                break
        return _cpu_ms(resource.RUSAGE_CHILDREN) - started


def _cpu_ms(*whose: int) -> float:
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, whose)) * 1000


def drafts_of(corpus: Corpus, bodies: Sequence[Body], count: int) -> list[Draft]:
    """Right bodies and mutants, one half each, as far as the bodies reach."""
    step = max(1, 2 * len(bodies) // count)
    right = [Draft(body, body.text.encode(), True) for body in bodies[::step]][: count // 2]
    own = Corpus(tuple(bodies), corpus.addresses, corpus.strings)
    known = {(body.binary, body.function): body for body in bodies}
    # An extra function is refused before any compile, which would only flatter us.
    kinds = [kind for kind in Kind if kind is not Kind.EXTRA_FUNCTION]
    wrong = mutants(own, seed=1, n=count - len(right), kinds=kinds)
    return right + [Draft(known[m.binary, m.function], m.text.encode(), False) for m in wrong]


def nearly_finished(tree: Path, corpus: Corpus, campaign: Campaign) -> set[tuple[str, str]]:
    """Banks all but a few functions of each TU in `tree`; returns the open ones. TUs that match as a group stay."""
    units: dict[str, dict[str, bytes]] = {}
    for body in corpus.bodies:
        units.setdefault(body.tu, {})[body.function] = body.text.encode()
    for tu in {body.tu for body in corpus.bodies if not body.alone}:
        units[tu].clear()
    for tu, bodies in units.items():
        for function in sorted(bodies)[:: max(1, len(bodies) // OPEN_AT_END)][:OPEN_AT_END]:
            del bodies[function]
        source = (tree / tu).read_bytes()
        (tree / tu).write_bytes(splice(source, bodies, find_stubs(source)).text)
    for name, binary in campaign.binaries.items():
        built = build_binary(tree, name, binary, campaign.gate)
        assert built.state == "green", (name, built.reason)
    return {(body.binary, body.function) for body in corpus.bodies if body.function not in units[body.tu]}


def from_cache(states: Sequence[State]) -> dict[str, object]:
    """Wall time of all drafts, fresh and again from the cache, in this process."""
    walls = []
    for _ in range(2):
        started = time.perf_counter()
        for state in states:
            for judge in state.judges.values():
                judge.cache = VerdictCache(state.scratch / "cache-wall")
            for draft in state.drafts:
                state.judges[draft.body.binary].judge(draft.body.tu, draft.body.function, draft.text)
        walls.append((time.perf_counter() - started) * 1000 / sum(len(state.drafts) for state in states))
    fresh, again = walls
    return {
        "wall_ms": round(fresh, 3),
        "cached_wall_ms": round(again, 4),
        "ratio": round(fresh / again, 1),
        "goal": f">= {CACHE_RATIO:g} x",
        "met": fresh / again >= CACHE_RATIO,
    }


def median_round(costs: Sequence[Cost]) -> tuple[float, float]:
    """Mean CPU milliseconds per draft, (bare, ours), of the round in the middle."""
    rounds = [
        (statistics.fmean(cost.bare[i] for cost in costs), statistics.fmean(cost.ours[i] for cost in costs))
        for i in range(len(costs[0].bare))
    ]
    return sorted(rounds, key=lambda pair: pair[1] / pair[0])[len(rounds) // 2]


def part(costs: Sequence[Cost], long: bool) -> dict[str, object]:
    """The figures of the drafts whose bare compile is long, or of the others."""
    own = [cost for cost in costs if (statistics.median(cost.bare) >= LONG_MS) is long]
    if not own:
        return {"drafts": 0, "met": True}
    bare, ours = median_round(own)
    met = ours <= LONG_RATIO * bare if long else ours - bare <= SHORT_OVER_MS
    figures = {"bare_ms": bare, "ours_ms": ours, "over_ms": ours - bare, "ratio": ours / bare}
    return {"drafts": len(own), **{name: round(value, 3) for name, value in figures.items()}, "met": met}


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the small game of the tests, in less than 30 s")
    quick = parser.parse_args().quick
    count, rounds = (60, 1) if quick else (220, 3)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        place = Path(folder)
        sources = ROOT / "tests" / "fixtures" / "small" if quick else ROOT / "shared" / "demo" / "game"
        forged = forge(place / "forged", sources)
        corpus = load_corpus(place / "forged")
        campaign = load_campaign(forged.project / "campaign.toml")
        late = place / "late"
        shutil.copytree(forged.project, late, symlinks=True)
        still_open = nearly_finished(late, corpus, campaign)
        early_bodies = [body for body in corpus.bodies if body.alone]
        late_bodies = [body for body in early_bodies if (body.binary, body.function) in still_open]
        states = [
            State(forged.project, drafts_of(corpus, early_bodies, count // 2), campaign, place / "early-scratch"),
            State(late, drafts_of(corpus, late_bodies, count // 2), campaign, place / "late-scratch"),
        ]
        for number in range(rounds):
            for state in states:
                state.round(number)
        verdicts = sum((state.verdicts for state in states), Counter[str]())
        cache = from_cache(states)
        for state in states:
            for judge in state.judges.values():
                judge.close()
    costs = [cost for state in states for cost in state.costs]
    bare, ours = median_round(costs)
    parts = {"long": part(costs, True), "short": part(costs, False), "cache": cache}
    met = all(figures["met"] for figures in parts.values())
    result = {
        "name": "prefilter",
        "unit": "CPU ms per draft, process tree",
        "baseline": round(bare, 3),
        "ours": round(ours, 3),
        "ratio": round(ours / bare, 3),
        "goal": f"from {LONG_MS:g} ms of bare compile <= {LONG_RATIO:g} x, else <= {SHORT_OVER_MS:g} ms more",
        "met": met,
        **parts,
        "sizes": {
            "quick": quick,
            "functions": forged.functions,
            "drafts": len(costs),
            "rounds": rounds,
            "verdicts": dict(sorted(verdicts.items())),
            "wall_s": round(time.monotonic() - started, 1),
        },
    }
    sys.stdout.write(json.dumps(result) + "\n")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
