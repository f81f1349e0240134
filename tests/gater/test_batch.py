"""The batch lane: drafts wait for their cadence, a person can ask for a round, one round takes all in chunks."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

from gater.cadence import Cadence, ask, asked
from gater.desk import Desk, Item, Stage
from shared.records import DraftRef
from tests.gater.conftest import GATER, Yard


def settings(scene: Yard, *lines: str) -> None:
    config = scene.root / "campaign.toml"
    text = config.read_text()
    if "[gate]" in text:
        text = text.replace("[gate]\n", "[gate]\n" + "".join(f"{line}\n" for line in lines), 1)
    else:
        text += "\n[gate]\n" + "".join(f"{line}\n" for line in lines)
    config.write_text(text)
    scene.git("commit", "--quiet", "-am", "settings")


def test_a_round_takes_all_that_waits_in_chunks(yard: Callable[..., Yard]) -> None:
    scene = yard(batch=True)
    settings(scene, "batch_max = 2")
    drafts = [(t.binary, t.function, t.text) for t in scene.truth if t.binary == "main" and t.group is None]
    scene.publish(drafts)
    done = scene.gater("batch", "--now")
    assert "nothing waits" in done.stdout
    done = scene.gater("run", "--once")
    assert done.returncode == 0, done.stderr
    rows = [row for row in scene.ledger("batch") if row["binaries"] == ["main"]]
    assert len(rows) >= 2
    assert all(row["slate"] <= 2 for row in rows)
    scene.check()


def test_a_round_is_asked_of_a_running_gater(yard: Callable[..., Yard]) -> None:
    scene = yard(batch=True)
    settings(scene, "batch_every_s = 100000.0")
    # A marker that stays in the way: with it in hand, nothing but the cadence or a person starts a round.
    other = next(t for t in scene.truth if t.binary != "main")
    main = [(t.binary, t.function, t.text) for t in scene.truth if t.binary == "main" and t.group is None]
    scene.publish(main)
    process = subprocess.Popen(
        [str(GATER), "--root", str(scene.root), "run"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 60
        while len(scene.standing()) < len(main) and time.monotonic() < deadline:
            time.sleep(0.05)
        scene.publish([(other.binary, other.function, other.text)])
        done = scene.gater("batch", "--now", "--timeout", "60")
        assert done.returncode == 0, done.stderr
        assert "nothing waits" in done.stdout or "were gated" in done.stdout
        while scene.verdicts()["BANKED"] < len(main) + 1 and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        process.terminate()
        process.wait(30)
    assert scene.verdicts()["BANKED"] == len(main) + 1
    assert not list((scene.state.spool / "requests").iterdir())


def test_a_round_begins_when_asked_and_ends_with_what_waited_then(yard: Callable[..., Yard]) -> None:
    scene = yard()
    desk = Desk()

    def wait(name: str) -> None:
        ref = DraftRef(id=name, binary="main", function=name, attempt=1, path="", digest="", size=0)
        desk.add(Item(ref, "", "", 0, b"", stage=Stage.WAITING, why_waiting="batch"))

    wait("a")
    cadence = Cadence(scene.state, 1e6)
    assert not cadence.due(desk, idle=False)
    ask(scene.state)
    assert cadence.due(desk, idle=False)
    wait("b")
    desk.items["a"].stage = Stage.GATING
    assert cadence.due(desk, idle=False)
    assert asked(scene.state)
    desk.items["a"].stage = Stage.DONE
    assert not cadence.due(desk, idle=False)
    assert not asked(scene.state)
    assert cadence.due(desk, idle=True)
