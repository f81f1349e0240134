"""`campaign hold`: what a person put aside is not drawn, and cannot be lost."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from drafter.draw import HELD, Frontier, Limits, plan
from drafter.history import History
from shared import durable
from shared.config import Lane
from shared.holds import Holds, path_of
from shared.state import StateDir
from tests.drafter.project import make_project
from tests.drafter.sim import made_cards
from tests.operator.test_init import campaign as run_campaign


@pytest.fixture
def scene(tmp_path: Path) -> tuple[Path, StateDir]:
    return make_project(tmp_path, tus=2, stubs=2)


def test_hold_and_unhold_are_seen_by_a_reader_that_was_there_before(scene: tuple[Path, StateDir]) -> None:
    root, state = scene
    holds = Holds.read(state)
    assert run_campaign(root, "holds").stdout == "nothing is held\n"
    assert run_campaign(root, "hold", "ovl", "--reason", "being re-split").returncode == 0
    assert run_campaign(root, "hold", "./src/main/f1.c").returncode == 0
    assert holds.moved()
    assert holds.reason_for("ovl", "src/ovl/f0.c") == "ovl is held: being re-split"
    assert holds.reason_for("main", "src/main/f1.c") == "src/main/f1.c is held: no reason given"
    assert holds.reason_for("main", "src/main/f1.cc") == holds.reason_for("main", "src/main/f0.c") == ""
    since = {h.what: h.since for h in holds.holds}
    run_campaign(root, "hold", "ovl", "--reason", "later")
    value = orjson.loads(run_campaign(root, "holds", "--json").stdout)
    assert {h["what"]: h["reason"] for h in value["holds"]} == {"ovl": "later", "src/main/f1.c": ""}
    assert {h["what"]: h["since"] for h in value["holds"]} == since
    assert run_campaign(root, "unhold", str(root / "src/main/f1.c")).returncode == 0
    assert holds.moved()
    assert not holds.moved()
    assert holds.reason_for("main", "src/main/f1.c") == ""
    again = run_campaign(root, "unhold", "src/main/f1.c")
    assert (again.returncode, again.stdout) == (1, "src/main/f1.c was not held; held: ovl\n")


@pytest.mark.parametrize("what", ["nope", "../..", ".", "/etc"])
def test_what_is_no_binary_and_no_path_of_the_project_is_refused(scene: tuple[Path, StateDir], what: str) -> None:
    root, state = scene
    done = run_campaign(root, "hold", what)
    assert (done.returncode, "neither a binary" in done.stderr) == (2, True)
    assert not path_of(state).exists()


@pytest.mark.parametrize("content", [b"", b"\0\0", b"[1]", b'{"schema": 9}', b'{"holds": [1]}'])
def test_a_damaged_list_holds_everything_and_is_not_overwritten(scene: tuple[Path, StateDir], content: bytes) -> None:
    root, state = scene
    durable.write(path_of(state), content)
    assert "everything is held" in Holds.read(state).reason_for("main", "src/main/f0.c")
    for words in (["hold", "ovl"], ["unhold", "ovl"], ["holds"]):
        done = run_campaign(root, *words)
        assert (done.returncode, "everything is held" in done.stderr, "Traceback" in done.stderr) == (3, True, False)
    assert path_of(state).read_bytes() == content
    path_of(state).unlink()
    assert Holds.read(state).reason_for("main", "src/main/f0.c") == ""


def test_held_stubs_are_skipped_and_counted() -> None:
    cards = made_cards(60)
    of_main = sum(card.binary == "main" for card in cards)
    lanes = {"all": Lane(bands=[(0, 1000)])}
    frontier = Frontier("c", tuple(cards))
    planned = plan(
        frontier, History(), set(), set(), lanes, 1, Limits(90, 9), lambda binary, tu: "x" * (binary == "main")
    )
    assert planned.balanced
    assert planned.skipped == {HELD: of_main}
    assert 0 < of_main < len(cards)
