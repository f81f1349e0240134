"""The pre-filter against the real build: what it lets through, the whole binary confirms."""

from __future__ import annotations

import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from shared.config import load_campaign
from shared.demo.forge import Forged
from shared.demo.mutants import Body, Corpus, Kind, Mutant, load_corpus, mutants
from shared.oracle.judge import Judge, judge_for_binaries
from shared.records import Judgement, Verdict
from shared.target.base import read_base
from tests.oracle.realbuild import RealBuild

WORKERS = 2
STRICTER = {Kind.EXTRA_FUNCTION, Kind.OWN_DATA}
"""Kinds the filter may refuse although the image stays the same: code or data that this link happens to throw away."""


@dataclass(frozen=True)
class Row:
    """One mutant with both answers."""

    mutant: Mutant
    judgement: Judgement
    build: frozenset[str]

    @property
    def false_accept(self) -> bool:
        return self.judgement.passed and self.build != {"green"}

    @property
    def false_reject(self) -> bool:
        return not self.judgement.passed and self.build == {"green"}


class Bench:
    """A forged game with judges on one tree, and as many build trees as there are workers."""

    def __init__(self, dest: Path, scratch: Path) -> None:
        project = dest / "project"
        self.corpus = load_corpus(dest)
        self.units = {(body.binary, body.function): body.tu for body in self.corpus.bodies}
        campaign = load_campaign(project / "campaign.toml")
        bases = {name: read_base(project, name, binary) for name, binary in campaign.binaries.items()}
        self.judges = {name: Judge(project, campaign, base, scratch=scratch) for name, base in bases.items()}
        self.builds = [RealBuild.copy(project, scratch / f"tree{i}", campaign, bases) for i in range(WORKERS)]

    def rows(self, wrong: list[Mutant]) -> list[Row]:
        """Both answers for each mutant."""
        with ThreadPoolExecutor(WORKERS) as pool:
            parts = pool.map(lambda i: [self._row(m, self.builds[i]) for m in wrong[i::WORKERS]], range(WORKERS))
            return [row for part in parts for row in part]

    def _row(self, mutant: Mutant, build: RealBuild) -> Row:
        tu = self.units[mutant.binary, mutant.function]
        text = mutant.text.encode()
        judges = {name: judge for name, judge in self.judges.items() if tu in judge.base.tus}
        judged = judge_for_binaries(judges, tu, mutant.function, text)
        return Row(mutant, judged, frozenset(build.states(tu, mutant.function, text)))


@pytest.fixture(scope="module")
def bench(forged_game: Path, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(forged_game, tmp_path_factory.mktemp("mutants"))


@pytest.fixture(scope="module")
def bench64(forged_game64: Forged, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(forged_game64.project.parent, tmp_path_factory.mktemp("mutants64"))


def figures(rows: list[Row]) -> dict[str, object]:
    """Counts for the record."""
    builds = Counter("green" if row.build == {"green"} else "red" for row in rows)
    return {
        "mutants": len(rows),
        "kinds": dict(sorted(Counter(row.mutant.kind.value for row in rows).items())),
        "verdicts": dict(sorted(Counter(row.judgement.verdict.value for row in rows).items())),
        "builds": dict(sorted(builds.items())),
        "false_accepts": sum(row.false_accept for row in rows),
        "false_rejects": dict(sorted(Counter(row.mutant.kind.value for row in rows if row.false_reject).items())),
    }


def check(rows: list[Row]) -> None:
    """No false accept, no fault, and no right draft refused but for the kinds that break a rule."""
    assert [row for row in rows if row.false_accept] == []
    assert [row for row in rows if row.judgement.verdict is Verdict.FAULT or "fault" in row.build] == []
    assert [row for row in rows if row.false_reject and row.mutant.kind not in STRICTER] == []
    assert any(row.judgement.passed for row in rows)


def test_no_mutant_agrees_that_the_build_refutes(bench: Bench) -> None:
    wrong = mutants(bench.corpus, seed=1, n=200)
    assert {mutant.kind for mutant in wrong} == set(Kind)
    rows = bench.rows(wrong)
    assert len(rows) == 200
    check(rows)


def test_no_mutant_agrees_that_a_big_endian_build_refutes(bench64: Bench) -> None:
    check(bench64.rows(mutants(bench64.corpus, seed=1, n=100)))


@pytest.mark.soak
@pytest.mark.parametrize("seed", [2, 3])
def test_no_mutant_in_thousands_agrees_that_the_build_refutes(
    bench: Bench, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    started = time.monotonic()
    rows = bench.rows(mutants(bench.corpus, seed=seed, n=1300))
    with capsys.disabled():
        print(json.dumps({"soak": "mutants", "seed": seed, **figures(rows), "wall_s": time.monotonic() - started}))  # noqa: T201
    assert len(rows) >= 1000
    check(rows)


def test_mutants_are_the_same_for_the_same_seed_and_differ_from_the_right_body() -> None:
    text = (
        "extern s16 D_80010010;\ns32 func_80010000(s32 a);\n\n"
        "s32 first(s32 a) {\n    a = func_80010000(a + 1);\n    p->x = p->y;\n"
        '    D_80010010 = puts("one");\n    return a;\n}\n'
    )
    bodies = (
        Body("main", "first", "src/main/a.c", 0x80010100, text),
        Body("main", "func_80010000", "src/main/a.c", 0x80010000, "s32 func_80010000(s32 a) {\n    return a;\n}\n"),
        Body(
            "main",
            "func_80010040",
            "src/main/a.c",
            0x80010040,
            "s32 func_80010040(s32 b) {\n    return D_80010014;\n}\n",
        ),
        Body("main", "last", "src/main/a.c", 0x80010200, 's32 last(void) {\n    return puts("two") + g_a + g_b;\n}\n'),
    )
    names = {"D_80010010": 0x80010010, "D_80010014": 0x80010014, "g_a": 0x80010018, "g_b": 0x8001001C}
    corpus = Corpus(bodies, {"main": names})
    made = mutants(corpus, seed=5, n=60)
    assert made == mutants(corpus, seed=5, n=60)
    assert made != mutants(corpus, seed=6, n=60)
    assert {mutant.kind for mutant in made} == set(Kind)
    right = {body.function: body.text for body in bodies}
    assert all(mutant.text != right[mutant.function] for mutant in made)
    assert len({(mutant.function, mutant.text) for mutant in made}) == len(made)
