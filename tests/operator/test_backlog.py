"""`campaign backlog`: what is kept of every draft, read back per open stub, closest first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from shared.config import load_campaign
from shared.operator.evidence.backlog import collect
from shared.state import StateDir
from tests.drafter.project import bank, make_project
from tests.operator.night import append, verdict
from tests.operator.test_init import campaign as run_campaign

WORD = {"kind": "word", "where": "main_0_4", "word": 3, "mine": "27BDFFE8", "target": "27BDFFE0", "note": "first"}


@pytest.fixture
def scene(tmp_path: Path) -> tuple[Path, StateDir]:
    return make_project(tmp_path, tus=2, stubs=10)


def backlog(root: Path, *words: str) -> dict[str, Any]:
    done = run_campaign(root, "backlog", "--json", *words)
    assert done.returncode == 0, done.stderr
    value = orjson.loads(done.stdout)
    assert isinstance(value, dict)
    return value


def names(value: dict[str, Any]) -> list[str]:
    return [entry["function"] for entry in value["functions"]]


def test_the_best_draft_of_each_open_stub_closest_first(scene: tuple[Path, StateDir]) -> None:
    root, state = scene
    far = {"closeness": 9, "words": 13, "evidence": [WORD]}
    near = {"closeness": 2, "words": 13, "evidence": [WORD, WORD]}
    (state.waves / "w000001" / "drafts").mkdir(parents=True)
    (state.waves / "w000001" / "drafts" / "w000001-0104-1.c").write_text("int x;\n")
    append(
        state.journal / "drafts.jsonl",
        verdict(4, "MISMATCH?", **far),
        verdict(104, "MISMATCH?", function="main_0_4", **near),
        verdict(5, "COMPILE-FAIL", reason="main_0_5.c:3: error: expected ';'"),
        verdict(6, "MISMATCH", closeness=0, words=10),
        verdict(7, "MISMATCH", closeness=0, words=11),
        verdict(8, "AGREE", closeness=0, words=12),
        verdict(8, "BAD", stage="gate", reason="the image differs"),
        verdict(9, "MISMATCH?", closeness=1, words=13),
        verdict(900, "MISMATCH?", function="never_was", closeness=1, words=13),
    )
    bank(root, "main", 0, "main_0_9")
    value = backlog(root)
    assert names(value) == ["main_0_8", "main_0_7", "main_0_6", "main_0_4", "main_0_5"]
    assert (value["open"], value["with_drafts"], value["never_drafted"], value["unread_rows"]) == (39, 5, 34, 0)
    by_name = {entry["function"]: entry for entry in value["functions"]}
    assert by_name["main_0_8"]["class"] == "gate"
    assert by_name["main_0_8"]["closeness"] == 0
    four = by_name["main_0_4"]
    assert (four["closeness"], four["words"], four["tried"], four["draft_exists"]) == (2, 13, 2, True)
    assert four["stuck"] == WORD
    assert len(four["mismatches"]) == 2
    assert by_name["main_0_5"]["instructions"] == 9  # of its assembly: nothing could be compared
    text = run_campaign(root, "backlog", "--top", "1").stdout
    assert "5 of 39 open stubs" in text
    assert "1 shown" in text
    assert "main/main_0_8  BAD (gate)  0/12 words off, 1 draft" in text


def test_a_binary_is_chosen_and_an_unknown_one_is_one_sentence(scene: tuple[Path, StateDir]) -> None:
    root, state = scene
    append(
        state.journal / "drafts.jsonl",
        verdict(1, "MISMATCH?", closeness=1, words=13),
        verdict(2, "MISMATCH?", binary="ovl", function="ovl_0_2", closeness=1, words=13),
    )
    assert names(backlog(root, "--binary", "ovl")) == ["ovl_0_2"]
    done = run_campaign(root, "backlog", "--binary", "nope")
    assert (done.returncode, "known are main, ovl" in done.stderr) == (2, True)


@pytest.mark.parametrize("content", [b"", b"\0" * 64, b'{"a": [1, 2', b"[1]\n", b'{"schema": 9, "id": "x"}\n'])
def test_damaged_rows_cost_themselves_only(scene: tuple[Path, StateDir], content: bytes) -> None:
    root, state = scene
    path = state.journal / "drafts.jsonl"
    append(path, verdict(1, "MISMATCH?", closeness=1, words=13))
    with path.open("ab") as stream:
        stream.write(content)
    value = backlog(root)
    assert names(value) == ["main_0_1"]
    assert value["unread_rows"] == bool(content)


def test_hundred_thousand_rows_take_bounded_memory(scene: tuple[Path, StateDir]) -> None:
    root, state = scene
    evidence = [WORD | {"note": "x" * 100}] * 4
    row = orjson.dumps(verdict(1, "MISMATCH?", closeness=5, words=13, evidence=evidence))
    parts = row.split(b"w000001-0001-1")
    with (state.journal / "drafts.jsonl").open("wb") as stream:
        for number in range(100_000):
            stream.write(f"w{number:06d}-0001-1".encode().join(parts) + b"\n")
    code = (
        "import resource, sys\nfrom pathlib import Path\n"
        "from tests.operator.test_backlog import collect, load_campaign, open_at\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "value = open_at(Path(sys.argv[1]))\n"
        "print(value['functions'][0]['tried'], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(root)], capture_output=True, text=True, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 0, done.stderr
    tried, grown_kib = map(int, done.stdout.split())
    assert tried == 100_000
    size_kib = (state.journal / "drafts.jsonl").stat().st_size // 1024
    assert grown_kib < 48 * 1024 < size_kib


def open_at(root: Path) -> dict[str, Any]:
    from shared.state import open_state

    campaign = load_campaign(root / "campaign.toml")
    return collect(campaign, open_state(root), binary=None, top=10)
