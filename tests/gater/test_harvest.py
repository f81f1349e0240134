"""Notes of banked functions are kept once, bounded, as data; nothing waits for them."""

from __future__ import annotations

from collections.abc import Callable

from gater.harvest import MOST, Harvest
from shared.journal import read_journal
from shared.records import DraftRef
from tests.gater.conftest import Yard


def ref(digest: str, notes: str) -> DraftRef:
    return DraftRef("w000001-1", "main", "f", 1, "x.c", digest, 1, backend="chat", model="m", notes=notes)


def test_notes_are_kept_once_and_bounded(yard: Callable[..., Yard]) -> None:
    scene = yard()
    path = scene.state.knowledge / "harvest.jsonl"
    assert Harvest(scene.state).take(ref("d1", "loop wants a do-while\x1b[2J" + "x" * MOST), "c1")
    assert not Harvest(scene.state).take(ref("d1", "again"), "c1"), "a restart keeps none twice"
    assert not Harvest(scene.state).take(ref("d2", "  "), "c1")
    (row,) = read_journal(path)
    assert (row["digest"], row["commit"], row["verified"], row["cut"]) == ("d1", "c1", False, True)
    assert len(row["notes"]) == MOST
    assert "\x1b" not in row["notes"]


def test_a_failure_is_counted_and_holds_nothing(yard: Callable[..., Yard]) -> None:
    scene = yard()
    (scene.state.knowledge / "harvest.jsonl").mkdir()
    harvest = Harvest(scene.state)
    assert not harvest.take(ref("d1", "note"), "c1")
    assert harvest.faults == 1
    good = next(t for t in scene.truth if t.group is None and t.binary == "main")
    scene.publish([(good.binary, good.function, good.text)])
    assert scene.gater("run", "--once", "--clean-cache").returncode == 0
    assert scene.verdicts() == {"BANKED": 1}
    scene.check()
