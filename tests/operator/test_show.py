"""`campaign show`: what became of every attempt at a function, safe to print."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import orjson

from tests.drafter.project import make_project
from tests.gater.conftest import Yard
from tests.operator.night import append, make_night, verdict
from tests.operator.test_init import campaign as run_campaign


def test_every_attempt_with_its_verdicts_and_cost(tmp_path: Path) -> None:
    root, _ = make_night(tmp_path)
    value = orjson.loads(run_campaign(root, "show", "main_0_2", "--json").stdout)
    (entry,) = value["attempts"]
    assert (entry["id"], entry["wave"], entry["cost_usd"]) == ("w000001-0002-1", "w000001", 0.05)
    assert [(row["stage"], row["verdict"]) for row in entry["verdicts"]] == [("filter", "AGREE"), ("gate", "BAD")]
    assert entry["draft_exists"]
    assert "no green build" in entry["no_diff"]
    (without,) = orjson.loads(run_campaign(root, "show", "main_0_7", "--json").stdout)["attempts"]
    assert (without["verdicts"], without["draft"], without["outcome"]) == ([], "", "no-draft")


def test_what_a_model_wrote_cannot_drive_the_terminal(tmp_path: Path) -> None:
    root, state = make_project(tmp_path, tus=1, stubs=3)
    bad = "\x1b]0;owned\x07\x1b[2J\u202e\r\n\x9b31m"
    evidence = [{"kind": "word", "where": bad, "mine": bad, "target": bad, "note": bad}]
    append(
        state.journal / "drafts.jsonl",
        verdict(1, "MISMATCH?", reason=bad, evidence=evidence, model=bad, path="../../" + bad),
        verdict(1, bad),
    )
    done = run_campaign(root, "show", "main_0_1")
    assert done.returncode == 0, done.stderr
    assert all(c.isprintable() or c == "\n" for c in done.stdout)


def test_a_function_nobody_knows_is_one_sentence(tmp_path: Path) -> None:
    root, _ = make_project(tmp_path, tus=1, stubs=1)
    done = run_campaign(root, "show", "nope")
    assert (done.returncode, "neither an open stub" in done.stderr) == (2, True)


def test_the_closest_draft_beside_its_target(yard: Callable[[], Yard]) -> None:
    place = yard()
    row = next(t for t in place.truth if t.binary == "sky" and t.tu.startswith("src/sky"))
    name = row.function.encode()
    wrong = b"int " + name + b"(void) { return 4711; }\n"
    folder = place.state.waves / "w000001" / "drafts"
    place.publish([("sky", row.function, wrong)])
    assert run_campaign(place.root, "progress", "--build", "--binary", "sky", "-o", str(folder / "r")).returncode == 0
    path = next(folder.glob("*.c")).relative_to(place.state.root).as_posix()
    append(
        place.state.journal / "drafts.jsonl",
        verdict(1, "MISMATCH?", binary="sky", function=row.function, path=path, closeness=3, words=9),
    )
    done = run_campaign(place.root, "show", row.function, "--binary", "sky")
    assert done.returncode == 0, done.stderr
    assert "yours" in done.stdout, done.stdout
    assert "0x1267" in done.stdout
