"""The blame search against a table that knows the truth: no bad draft banks, every good one does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gater.blame import Build, Decision, Outcome, decide
from shared.records import GateVerdict

NAMED = (GateVerdict.BAD, "named by evidence")
NAMES = [f"d{n:02d}" for n in range(24)]


def table(bad: set[str], pairs: set[frozenset[str]], accused: set[str]):  # type: ignore[no-untyped-def]
    def build(slate: frozenset[str], clean: bool) -> Build:
        red = slate & bad or any(pair <= slate for pair in pairs)
        if not red:
            return Build(Outcome.GREEN)
        return Build(Outcome.RED, dict.fromkeys(slate & bad & accused, NAMED), "hash differs")

    return build


def check(decision: Decision, slate: frozenset[str]) -> None:
    assert decision.verdicts.keys() == slate
    assert decision.green == {n for n, (v, _) in decision.verdicts.items() if v is GateVerdict.BANKED}


@given(st.sets(st.sampled_from(NAMES), min_size=1), st.sets(st.sampled_from(NAMES)), st.sets(st.sampled_from(NAMES)))
def test_bad_never_bank_and_good_always_do(slate: set[str], bad: set[str], accused: set[str]) -> None:
    decision = decide(frozenset(slate), table(bad, set(), accused), max_builds=500)
    check(decision, frozenset(slate))
    assert decision.green == slate - bad
    for name in slate & bad:
        assert decision.verdicts[name][0] is GateVerdict.BAD


@given(st.sets(st.sampled_from(NAMES), min_size=2), st.data())
def test_a_clashing_pair_costs_one_of_the_two_and_no_strike(slate: set[str], data: st.DataObject) -> None:
    pair = frozenset(data.draw(st.lists(st.sampled_from(sorted(slate)), min_size=2, max_size=2, unique=True)))
    decision = decide(frozenset(slate), table(set(), {pair}, set()), max_builds=500)
    check(decision, frozenset(slate))
    lost = slate - decision.green
    assert len(lost) == 1
    assert lost <= pair
    assert decision.verdicts[lost.pop()][0] is GateVerdict.INTERACTION


def test_all_good_takes_one_build_and_evidence_takes_two() -> None:
    assert decide(frozenset(NAMES), table(set(), set(), set())).builds == 1
    assert decide(frozenset(NAMES), table({"d03", "d11"}, set(), {"d03", "d11"})).builds == 2


def test_a_fault_blames_nobody() -> None:
    decision = decide(frozenset(NAMES), lambda slate, clean: Build(Outcome.FAULT, reason="no space left"))
    assert {verdict for verdict, _ in decision.verdicts.values()} == {GateVerdict.FAULT}
    assert decision.builds == 1


def test_a_warm_red_that_is_green_from_clean_costs_nobody() -> None:
    decision = decide(frozenset(NAMES), lambda slate, clean: Build(Outcome.GREEN if clean else Outcome.RED))
    assert decision.green == frozenset(NAMES)
    assert decision.stale_state


def test_running_out_of_builds_is_a_fault_not_a_verdict() -> None:
    decision = decide(frozenset(NAMES), table(set(NAMES), set(), set()), max_builds=4)
    assert GateVerdict.FAULT in {verdict for verdict, _ in decision.verdicts.values()}
    assert not decision.green
