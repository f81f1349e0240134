"""`gater gate-only`, `gater recover` and holds: a person's word about which drafts are judged, and when."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from shared import durable, holds
from shared.demo.night.count import Truth
from shared.journal import Journal
from shared.records import AgentRow, encode
from shared.state import utc_now
from tests.gater.conftest import Yard


def alone(scene: Yard) -> list[Truth]:
    return [t for t in scene.truth if t.group is None and t.binary == "main"]


def lay(folder: Path, *drafts: tuple[Truth, bytes]) -> None:
    for truth, text in drafts:
        path = folder / truth.binary / f"{truth.function}.c"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)


def test_a_folder_of_drafts_goes_through_filter_gate_and_ledger(yard: Callable[..., Yard], tmp_path: Path) -> None:
    scene = yard()
    good, bad, *_ = alone(scene)
    folder = tmp_path / "mine"
    lay(folder, (good, good.text), (bad, bad.text.replace(b"{", b"{ this is wrong;", 1)))
    done = scene.gater("gate-only", "--drafts", str(folder))
    assert done.returncode == 1, done.stderr
    assert f"BANKED main/{good.function}" in done.stdout
    assert f"COMPILE-FAIL main/{bad.function}" in done.stdout
    assert "1 of 2 drafts are banked" in done.stdout
    assert {row["mode"] for row in scene.standing().values()} == {"gate-only"}
    (folder / "main" / f"{bad.function}.c").unlink()
    again = scene.gater("gate-only", "--drafts", str(folder))
    assert again.returncode == 0, again.stderr
    assert scene.verdicts()["BANKED"] == 1, "what is banked already stays so"
    lay(folder, (bad, bad.text))
    with scene.running():
        asked = scene.gater("gate-only", "--drafts", str(folder))
        assert asked.returncode == 0, asked.stderr
    assert scene.verdicts()["BANKED"] == 2
    scene.markers = 3
    assert scene.red() == []


def test_what_cannot_be_handed_in_is_said(yard: Callable[..., Yard], tmp_path: Path) -> None:
    scene = yard()
    assert scene.gater("gate-only").returncode == 2
    assert "nothing was handed in" in scene.gater("gate-only", "--drafts", str(tmp_path)).stderr
    (tmp_path / "nowhere").mkdir()
    (tmp_path / "nowhere" / "f.c").write_text("int f(void) { return 0; }\n")
    assert "no binary of this project" in scene.gater("gate-only", "--drafts", str(tmp_path)).stderr
    done = scene.gater("gate-only", "w000099")
    assert done.returncode == 2
    assert "there is no wave" in done.stderr
    assert "nothing to judge" in scene.gater("recover").stdout


def test_a_wave_is_judged_again_but_for_what_is_banked(yard: Callable[..., Yard]) -> None:
    scene = yard()
    first, second, *_ = alone(scene)
    scene.publish([(first.binary, first.function, first.text)])
    assert scene.gater("run", "--once").returncode == 0
    folder = scene.state.waves / "w000001"
    durable.write(folder / "drafts" / "d2.c", second.text)
    with Journal(folder / "drafts.s1.jsonl") as rows:
        for number, truth in ((1, first), (2, second)):
            names = {"binary": truth.binary, "function": truth.function, "attempt": 1, "outcome": "match"}
            path = f"waves/w000001/drafts/d{number}.c"
            rows.append(encode(AgentRow(id=f"w000001-{number}", path=path, at=utc_now(), **names)))
    done = scene.gater("gate-only", "w000001")
    assert done.returncode == 0, done.stderr
    assert "left out: 1 BANKED" in done.stdout
    assert "1 of 1 drafts are banked" in done.stdout


def test_a_reject_is_recovered_when_the_tree_gives_what_it_lacked(yard: Callable[..., Yard]) -> None:
    scene = yard()
    truth = alone(scene)[0]
    text = truth.text.replace(b"{", b"{ late_t unused; (void)sizeof(unused);", 1)
    scene.publish([(truth.binary, truth.function, text)])
    assert scene.gater("run", "--once").returncode == 0
    assert scene.verdicts() == {"COMPILE-FAIL": 1}
    header = scene.root / "include" / "common.h"
    header.write_text(header.read_text().replace("#endif", "typedef int late_t;\n#endif"))
    if "late_t" not in header.read_text():
        header.write_text(header.read_text() + "typedef int late_t;\n")
    scene.git("commit", "--quiet", "-am", "late_t")
    assert scene.gater("run", "--once").returncode == 0
    done = scene.gater("recover")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 of 1 drafts are banked" in done.stdout
    (row,) = scene.standing().values()
    assert (row["mode"], row["verdict"]) == ("recover", "BANKED")
    assert scene.red() == []


def test_a_held_binary_is_left_alone_until_the_hold_is_lifted(yard: Callable[..., Yard]) -> None:
    scene = yard()
    truth = alone(scene)[0]
    hold = holds.Hold(truth.tu, "I am at it", utc_now())
    holds.change(scene.state, lambda known: (*known, hold))
    with scene.running():
        scene.publish([(truth.binary, truth.function, truth.text)])
        scene.wait_for(lambda: scene.verdicts()["WAITING"] == 1)
        assert "I am at it" in next(iter(scene.standing().values()))["reason"]
        holds.change(scene.state, lambda _: ())
        scene.wait_for(lambda: scene.verdicts()["BANKED"] == 1)
    scene.check()
