"""`campaign status` and its roll-ups: the sums, what it says of each trouble, and that nothing damaged stops it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from shared import durable
from shared.config import load_campaign
from shared.operator.rollup import keep
from shared.operator.rollup.keep import load
from shared.operator.status.collect import collect
from shared.operator.status.show import lines
from shared.presence import Presence
from shared.state import StateDir
from tests.operator.night import append, at, make_night, verdict
from tests.operator.test_init import campaign as run_campaign


@pytest.fixture
def night(tmp_path: Path) -> tuple[Path, StateDir]:
    """Project root and state directory."""
    return make_night(tmp_path)


def test_the_sums_of_a_night(night: tuple[Path, StateDir]) -> None:
    root, _ = night
    done = run_campaign(root, "status", "--json")
    assert done.returncode == 0, done.stderr
    value = orjson.loads(done.stdout)
    funnel = value["funnel"]
    steps = ("drawn", "ended", "drafted", "judged", "agreed", "gated", "banked")
    assert [funnel[name] for name in steps] == [10, 8, 6, 6, 4, 3, 2]
    assert funnel["verdicts"] == {"BANKED": 2, "BAD": 1, "WAITING": 1, "MISMATCH?": 1, "COMPILE-FAIL": 1}
    night_requests = value["requests"]["night"]
    assert [night_requests[name] for name in ("requests", "ok", "platform", "provider", "soft")] == [60, 54, 2, 2, 2]
    assert night_requests["usd"] == pytest.approx(0.6)
    assert value["spend"] == {"usd": pytest.approx(0.35), "known_agents": 7, "agents": 8}
    assert value["idle"]["busy"] == 120
    assert value["idle"]["idle"]["ramp"] == 40
    assert value["idle"]["idle"]["rate-limit"] == 20
    assert value["source"]["open"] == 40
    assert value["source"]["banked"] == 0  # the log says 2; the source has the last word
    assert [known["binary"] for known in value["red"]] == ["ovl"]
    assert value["gating"] == []  # the gater is down: its builds died with it
    assert value["last_error"]["reason"] == "no luck"
    assert value["troubles"] == []
    text = run_campaign(root, "status").stdout
    for words in (
        "drafter and gater not running",
        "10 drawn > 8 ended 80%",
        "429s of the night",
        "no luck",
        "red: ovl",
    ):
        assert words in text
    assert max(map(len, text.splitlines())) <= 80


def test_reading_on_gives_what_reading_anew_gives(
    night: tuple[Path, StateDir], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, state = night
    monkeypatch.setattr(keep, "SAVE_BYTES", 0)
    load(state)
    append(state.journal / "drafts.jsonl", verdict(3, "BANKED", stage="gate"), verdict(2, "BANKED", stage="gate"))
    append(state.journal / "rate-20260102.s0002.jsonl", {"at": at(3), "pool": "b", "result": "ok"})
    with (state.journal / "events.jsonl").open("ab") as stream:
        stream.write(b'{"torn')
    on = load(state)
    assert 0 < on.read_bytes < 2000
    anew = load(state, fresh=True)
    assert on.data == anew.data
    assert on.data["waves"]["w000001"]["banked"] == 4
    assert on.data["waves"]["w000001"]["verdicts"]["WAITING"] == 0
    assert load(state).read_bytes == 0


def test_a_replaced_journal_is_read_anew(night: tuple[Path, StateDir], monkeypatch: pytest.MonkeyPatch) -> None:
    _, state = night
    monkeypatch.setattr(keep, "SAVE_BYTES", 0)
    load(state)
    path = state.journal / "drafts.jsonl"
    durable.write(path, path.read_bytes().split(b"\n")[0] + b"\n")
    assert load(state).data["waves"]["w000001"]["judged"] == 1


@pytest.mark.parametrize(
    "name",
    [
        *(
            "night.json",
            "waves/w000001/wave.json",
            "journal/drafts.jsonl",
            "journal/events.jsonl",
            "journal/ledger.jsonl",
        ),
        *("journal/gater.jsonl", "cache/operator/rollup.json", "cache/operator/stubs.json", "daemons/drafter.json"),
        *("waves/w000001/drafts.s0001.jsonl", "journal/rate-20260101.s0001.jsonl", "daemons/metrics.json"),
    ],
)
@pytest.mark.parametrize("content", [b"", b"\0" * 64, b'{"a": [1, 2', b"[1]\n"])
def test_any_one_damaged_file_costs_its_part_at_most(
    night: tuple[Path, StateDir], monkeypatch: pytest.MonkeyPatch, name: str, content: bytes
) -> None:
    root, state = night
    monkeypatch.setattr(keep, "SAVE_BYTES", 0)
    settings = load_campaign(root / "campaign.toml")
    Presence(state, "drafter", settings)
    collect(settings, state)
    (state.root / name).parent.mkdir(exist_ok=True)
    (state.root / name).write_bytes(content)
    value = collect(settings, state)
    assert lines(value)
    assert value["machine"]["cores"] >= 1


def test_what_is_not_in_effect_is_said(night: tuple[Path, StateDir]) -> None:
    root, state = night
    settings = load_campaign(root / "campaign.toml")
    Presence(state, "gater", settings)
    descriptor = os.open(state.locks / "gater.lock", os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        known = collect(settings, state)["daemons"]["gater"]
        assert (known["running"], known["not_in_effect"]) == (True, [])
        assert [gate["binaries"] for gate in collect(settings, state)["gating"]] == [["ovl"]]
        path = root / "campaign.toml"
        path.write_text(path.read_text().replace("workers = 9", "workers = 8"))
        changed = collect(load_campaign(path), state)
        assert changed["daemons"]["gater"]["not_in_effect"] == ["campaign.toml"]
        assert any("a restart is due" in line for line in lines(changed))
    finally:
        os.close(descriptor)


def test_a_drain_shows_what_is_waited_for_and_the_bound(night: tuple[Path, StateDir]) -> None:
    root, state = night
    descriptor = os.open(state.locks / "drafter.lock", os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        done = run_campaign(root, "drain", "--wait", "--timeout", "0.3")
        assert (done.returncode, "waiting for drafter" in done.stdout) == (1, True)
        stop = collect(load_campaign(root / "campaign.toml"), state)["stop"]
        assert stop["waited_for"]["drafter"]
        assert stop["agents_bound_s"] == pytest.approx(0.3 + 1.0 + 60)
    finally:
        os.close(descriptor)
    assert run_campaign(root, "drain", "--wait").stdout.splitlines()[-1] == "drained: both daemons have ended"
    assert "campaign resume" in run_campaign(root, "status").stdout
    assert "lifted" in run_campaign(root, "resume").stdout
    assert not state.stopping()


def test_the_json_path_loads_no_heavy_library(night: tuple[Path, StateDir]) -> None:
    root, _ = night
    run_campaign(root, "status")
    code = (
        "import sys, shared.cli.main as m\n"
        "try: m.main()\nexcept SystemExit: pass\n"
        "sys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--root", str(root), "status", "--json"], capture_output=True, text=True
    )
    orjson.loads(done.stdout)
    heavy = {"rich", "aiohttp", "elftools", "rabbitizer", "matplotlib", "apprise", "watchdog", "tree_sitter_c", "yaml"}
    assert heavy & set(done.stderr.split()) == set()
