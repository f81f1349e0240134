"""Names across the drafts of a binary."""

from __future__ import annotations

from shared.oracle.judge import Judge
from shared.oracle.symbolset import set_conflicts
from shared.records import Evidence, Judgement, Verdict
from tests.games import Game


def agree(*rows: tuple[str, str, str]) -> Judgement:
    return Judgement(Verdict.AGREE, "equal", 0, 8, tuple(Evidence("symbol", w, mine=n, note=o) for w, n, o in rows))


def test_what_one_draft_takes_away_and_another_began_to_use() -> None:
    found = set_conflicts({"a": agree(("removes", "D_1", "a.o")), "b": agree(("needs", "D_1", "b.o"))})
    assert list(found) == ["a"]
    assert found["a"].verdict is Verdict.ORPHANS_SYMBOL
    assert "a.o removes it and b.o needs it" in found["a"].reason


def test_what_two_drafts_define() -> None:
    found = set_conflicts({"a": agree(("adds", "tbl", "a.o")), "b": agree(("adds", "tbl", "b.o"))})
    assert list(found) == ["b"]
    assert "b.o adds it and a.o defines it too" in found["b"].reason


def test_one_object_does_not_conflict_with_itself_and_rejects_do_not_count() -> None:
    rejected = Judgement(Verdict.SHAPE, "no", 3, 8, (Evidence("symbol", "needs", mine="D_1", note="b.o"),))
    drafts = {"a": agree(("removes", "D_1", "a.o")), "b": agree(("needs", "D_1", "a.o")), "c": rejected}
    assert set_conflicts(drafts) == {}


def test_an_agreeing_draft_says_which_names_it_changes(small_game: Game) -> None:
    """text_fail's own string goes with its stub; its draft keeps using the shared one."""
    body = next(b for b in small_game.bodies if b"failed: " in b.text)
    with Judge(small_game.project, small_game.campaign, small_game.bases["main"]) as judge:
        judgement = judge.judge(body.tu, body.function, body.text)
    changes = {(e.where, e.mine) for e in judgement.evidence}
    assert len(changes) == 1
    where, name = changes.pop()
    assert where == "removes"
    address = small_game.bases["main"].symbols[name]
    unit = small_game.bases["main"].tus[body.tu][0]
    rodata = unit.part(".rodata")
    assert rodata is not None
    assert rodata.data[address - rodata.address :].startswith(b"failed: \0")


def test_right_bodies_of_a_whole_binary_do_not_conflict(small_game: Game) -> None:
    judgements = {}
    with Judge(small_game.project, small_game.campaign, small_game.bases["main"]) as judge:
        for body in small_game.bodies:
            if body.binary == "main":
                judgements[body.function] = judge.judge(body.tu, body.function, body.text)
    assert set_conflicts(judgements) == {}
