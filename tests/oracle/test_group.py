"""Drafts of one unit together: conflicts among good ones, and an inlining unit that matches only as a group."""

from __future__ import annotations

from pathlib import Path

from shared.oracle.cache import VerdictCache
from shared.oracle.group import Draft, GroupJudged, judge_group
from shared.records import Verdict
from tests.games import Game

INLINED, RNG = "src/main/inlined.c", "src/main/rng.c"


def judged(
    game: Game,
    tu: str,
    drafts: dict[str, Draft],
    rejects: dict[str, Draft] | None = None,
    cache: VerdictCache | None = None,
) -> GroupJudged:
    bases = {name: base for name, base in game.bases.items() if tu in base.tus}
    return judge_group(game.project, game.campaign, bases, tu, drafts, rejects or {}, cache)


def bodies(game: Game, tu: str) -> dict[str, Draft]:
    """Right bodies of a unit by an id that is not the function's name."""
    found = {b.function: b.text for b in game.bodies if b.tu == tu}
    return {f"id-{function}": (function, text) for function, text in found.items()}


def test_all_right_bodies_of_every_unit_agree_together(small_game: Game) -> None:
    for tu in {body.tu for body in small_game.bodies}:
        result = judged(small_game, tu, bodies(small_game, tu))
        assert all(j.passed for j in result.drafts.values()), (tu, result)


def test_an_inlining_unit_matches_as_a_group_and_names_its_members(small_game: Game) -> None:
    drafts = bodies(small_game, INLINED)
    result = judged(small_game, INLINED, drafts)
    grouped = [j for j in result.drafts.values() if "together" in j.reason]
    assert len(grouped) == 2
    assert {e.where for e in grouped[0].evidence} == {function for function, _ in drafts.values()}
    assert result.compiles <= 2 * (len(drafts) + 2)


def test_a_wrong_callee_of_a_group_does_not_take_right_functions_with_it(small_game: Game) -> None:
    """near() is wrong; square() and distance() still match as a group without it."""
    drafts = bodies(small_game, INLINED)
    near = next(name for name, (_, text) in drafts.items() if b" < " in text)
    drafts[near] = (drafts[near][0], drafts[near][1].replace(b" < ", b" <= "))
    result = judged(small_game, INLINED, drafts)
    assert {name: j.passed for name, j in result.drafts.items()} == {name: name != near for name in drafts}


def test_kept_rejects_are_revived_by_the_draft_they_waited_for(small_game: Game) -> None:
    drafts = bodies(small_game, INLINED)
    square = next(name for name, (_, text) in drafts.items() if b"return v * v" in text)
    rejects = {name: draft for name, draft in drafts.items() if name != square}
    result = judged(small_game, INLINED, {square: drafts[square]}, rejects)
    assert result.drafts[square].passed
    assert set(result.revived) == set(rejects)
    assert all(j.passed for j in result.revived.values())
    alone = judged(small_game, INLINED, {}, {name: rejects[name] for name in list(rejects)[:1]})
    assert not alone.revived


def test_good_drafts_that_declare_the_same_thing_differently_conflict(small_game: Game) -> None:
    clamp = small_game.body("main", "clamp").text
    rng = small_game.body("main", "rng_next").text
    drafts = {
        "a": ("rng_next", b"struct Pair { s32 a; };\n" + rng),
        "b": ("clamp", b"struct Pair { s32 b; };\n" + clamp),
    }
    result = judged(small_game, RNG, drafts)
    assert result.drafts["a"].verdict is Verdict.AGREE
    assert result.drafts["b"].verdict is Verdict.TU_CONFLICT
    assert "struct Pair" in result.drafts["b"].reason
    assert "rng_next" in result.drafts["b"].reason


def test_alternatives_keep_their_own_verdicts_and_the_plainer_one_is_tried(small_game: Game) -> None:
    clamp = small_game.body("main", "clamp").text
    clashing = b"extern u32 odd_one;\nstruct Pair { s32 b; };\n" + clamp
    rng = b"struct Pair { s32 a; };\n" + small_game.body("main", "rng_next").text
    result = judged(small_game, RNG, {"ugly": ("clamp", clashing), "plain": ("clamp", clamp), "rng": ("rng_next", rng)})
    assert {name: j.verdict for name, j in result.drafts.items()} == {
        "ugly": Verdict.AGREE,
        "plain": Verdict.AGREE,
        "rng": Verdict.AGREE,
    }


def test_wrong_drafts_beside_right_ones_change_nothing_for_them(small_game: Game) -> None:
    drafts = bodies(small_game, RNG)
    wrong = next(name for name, (function, _) in drafts.items() if function == "clamp")
    drafts[wrong] = ("clamp", drafts[wrong][1].replace(b"value < low", b"value <= low + 1"))
    result = judged(small_game, RNG, drafts)
    assert {name: j.passed for name, j in result.drafts.items()} == {name: name != wrong for name in drafts}


def test_the_second_time_nothing_is_compiled(small_game: Game, tmp_path: Path) -> None:
    cache = VerdictCache(tmp_path / "verdicts")
    drafts = bodies(small_game, INLINED) | {"x": ("nobody", b"void nobody(void) {}\n")}
    first = judged(small_game, INLINED, drafts, cache=cache)
    second = judged(small_game, INLINED, drafts, cache=cache)
    assert first.compiles > 0
    assert second.compiles == 0
    assert {n: j.verdict for n, j in second.drafts.items()} == {n: j.verdict for n, j in first.drafts.items()}
    assert second.drafts["x"].verdict is Verdict.NOT_A_STUB
