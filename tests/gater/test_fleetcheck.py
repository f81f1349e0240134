"""`gater fleet-check`: clean rebuilds at the landing head, the red list, and what it does to a binary's drafts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from shared import redlist
from shared.bases import Bases
from shared.config import load_campaign
from tests.gater.conftest import Yard, read


def write_sum(scene: Yard, right: str, *, wrong: bool) -> str:
    sums = scene.root / "config" / "checksums.sha1"
    lines = ["0" * 40 + line[40:] if wrong and "main" in line else line for line in right.splitlines()]
    return commit(scene, sums, "\n".join(lines) + "\n")


def commit(scene: Yard, path: Path, text: str) -> str:
    """A commit of the person's that gets onto the landing branch past the gater, as a forced push would."""
    path.write_text(text)
    scene.git("add", str(path))
    scene.git("commit", "--quiet", "-m", f"edit {path.name}")
    scene.git("update-ref", "refs/heads/campaign", "main")
    return scene.git("rev-parse", "main")


def test_a_red_binary_is_listed_with_its_culprit_and_its_drafts_wait(yard: Callable[..., Yard]) -> None:
    scene = yard()
    first, second, *_ = [t for t in scene.truth if t.group is None and t.binary == "main"]
    scene.publish([(first.binary, first.function, first.text)])
    assert scene.gater("run", "--once").returncode == 0
    header = scene.root / "include" / "common.h"
    right = (scene.root / "config" / "checksums.sha1").read_text()
    commit(scene, header, header.read_text() + "/* one */\n")
    culprit = write_sum(scene, right, wrong=True)
    commit(scene, header, header.read_text() + "/* two */\n")

    done = scene.gater("fleet-check", "--all")
    assert done.returncode == 1, done.stderr
    assert f"turned red by: {culprit}" in done.stdout
    listed = read(scene.state.root / "red.json")
    assert set(listed["red"]) == {"main"}
    assert listed["red"]["main"]["culprit"] == culprit
    assert {name: check["state"] for name, check in listed["checked"].items()} == {
        name: "red" if name == "main" else "green" for name in listed["checked"]
    }

    scene.publish([(second.binary, second.function, second.text)])
    assert scene.gater("run", "--once").returncode == 0
    (waiting,) = [row for row in scene.standing().values() if row["function"] == second.function]
    assert (waiting["verdict"], waiting["binary"]) == ("WAITING", "main")
    assert read(scene.state.root / "red.json")["red"]["main"]["culprit"] == culprit, "a control forgets no culprit"

    write_sum(scene, right, wrong=False)
    assert scene.gater("run", "--once").returncode == 0
    assert scene.verdicts() == {"BANKED": 2}
    assert read(scene.state.root / "red.json")["red"] == {}
    assert scene.gater("fleet-check", "main").returncode == 0


def test_a_running_gater_takes_in_what_a_fleet_check_finds(yard: Callable[..., Yard]) -> None:
    """Same inputs, another answer: an ignored file or the machine changed. The cached base is believed no more."""
    scene = yard()
    first, second, *_ = [t for t in scene.truth if t.group is None and t.binary == "main"]
    scene.publish([(first.binary, first.function, first.text)])
    with scene.running():
        scene.wait_for(lambda: scene.verdicts()["BANKED"] == 1)
        assert read(scene.state.root / "red.json")["checked"]["main"]["oracle"] == "gate"
        campaign = load_campaign(scene.root / "campaign.toml")
        digest = Bases(campaign, scene.state).digest("main", scene.git("rev-parse", "campaign"))
        redlist.red(scene.state, "main", redlist.Red("c", "red from clean", "now", digest=digest), "clean build")
        scene.publish([(second.binary, second.function, second.text)])
        scene.wait_for(lambda: scene.verdicts()["WAITING"] == 1)
        redlist.green(scene.state, ["main"], "c", "clean build")
        scene.wait_for(lambda: scene.verdicts()["BANKED"] == 2)


def test_a_binary_nobody_knows_is_a_usage_error(yard: Callable[..., Yard]) -> None:
    scene = yard()
    done = scene.gater("fleet-check", "nowhere")
    assert done.returncode == 2
    assert "is no binary of this project" in done.stderr
    assert scene.gater("fleet-check", "--all", "main").returncode == 2
