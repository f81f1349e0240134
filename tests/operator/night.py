"""A night on disk, written by hand: every journal, with sums that a test can know."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from shared import durable, redlist
from shared.journal import Journal
from shared.records import SCHEMA
from shared.state import StateDir
from tests.drafter.project import git, make_project

START = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=30)
CARDS = 10


def at(minute: float) -> str:
    """The stamp `minute` minutes into the night."""
    return (START + timedelta(minutes=minute)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def append(path: Path, *records: dict[str, Any]) -> None:
    """Appends records to a journal."""
    with Journal(path) as journal:
        for record in records:
            journal.append({"schema": SCHEMA} | record)


def verdict(number: int, verdict: str, *, stage: str = "filter", **more: Any) -> dict[str, Any]:
    """A row of journal/drafts.jsonl."""
    key = f"w000001-{number:04d}-1"
    return {
        "at": at(5),
        "stage": stage,
        "verdict": verdict,
        "reason": f"because {verdict}",
        "id": key,
        "digest": f"{number:064x}",
        "path": f"waves/w000001/drafts/{key}.c",
        "binary": "main",
        "function": f"main_0_{number}",
        "marker": "w000001-0001",
        "wave": "w000001",
        "tu": "src/main/f0.c",
        "model": "model-a",
    } | more


def make_night(base: Path) -> tuple[Path, StateDir]:
    """Ten cards: 8 agents ended, 6 drafts, 6 judged, 4 agreed, 3 gated, 2 banked; 60 requests, 6 refused."""
    root, state = make_project(base, tus=2, stubs=10)
    head = git(root, "rev-parse", "HEAD")
    branch = git(root, "symbolic-ref", "--short", "HEAD")
    with (root / "campaign.toml").open("a") as stream:
        stream.write(f'\n[landing]\nfollow = "{branch}"\n')
    git(root, "commit", "-qam", "settings")
    wave = state.waves / "w000001"
    (wave / "drafts").mkdir(parents=True)
    durable.write_json(
        wave / "wave.json",
        {
            "id": "w000001",
            "number": 1,
            "lane": "default",
            "band": [0, 10],
            "commit": head,
            "cards": CARDS,
            "attempts": 1,
            "parameters": {"night": "n1"},
            "schema": SCHEMA,
        },
    )
    events = state.journal / "events.jsonl"
    append(events, {"at": at(0), "event": "start", "night": "n1", "next_wave": 1, "workers": 9})
    for minute in range(20):
        append(
            events,
            {
                "at": at(minute),
                "event": "fleet",
                "workers": 9,
                "level": 6,
                "span_s": 60.0,
                "busy_s": 360.0,
                "idle_s": {"ramp": 120.0, "rate-limit": 60.0},
            },
        )
    append(events, {"at": at(21), "event": "step-failed", "level": "error", "reason": "no luck"})
    for number in range(60):
        source = {0: "platform", 1: "provider", 2: "soft"}.get(number % 30, "")
        append(
            state.journal / "rate-20260101.s0001.jsonl",
            {
                "at": at(number / 3),
                "pool": "a",
                "model": "model-a",
                "result": "http-429" if source else "ok",
                "source": source,
                "tokens_in": 100,
                "tokens_out": 10,
                "cost_usd": 0.01,
            },
        )
    for number in range(8):
        draft = f"waves/w000001/drafts/w000001-{number:04d}-1.c" if number < 6 else ""
        if draft:
            durable.write(state.root / draft, b'void f(void) { asm("nop"); goto x; x: ; }\n')
        append(
            wave / "drafts.s0001.jsonl",
            {
                "id": f"w000001-{number:04d}-1",
                "binary": "main",
                "function": f"main_0_{number}",
                "attempt": 1,
                "outcome": "draft" if draft else "no-draft",
                "path": draft,
                "model": "model-a",
                "cost_usd": 0.05 if number else None,
                "at": at(number + 1),
            },
        )
    journal = state.journal / "drafts.jsonl"
    append(journal, *(verdict(n, "AGREE") for n in range(4)), verdict(4, "MISMATCH?", closeness=3, words=20))
    append(journal, verdict(5, "COMPILE-FAIL"))
    append(journal, verdict(0, "BANKED", stage="gate", commit=head), verdict(1, "BANKED", stage="gate", commit=head))
    append(journal, verdict(2, "BAD", stage="gate"), verdict(3, "WAITING"))
    append(
        state.journal / "ledger.jsonl",
        {
            "kind": "batch",
            "at": at(6),
            "gate": "g1-1",
            "binaries": ["main"],
            "wall_s": 12.5,
            "builds": 2,
            "banked": 2,
            "commit": head,
            "verdicts": {"BANKED": 2, "BAD": 1},
            "markers": ["w000001-0001"],
        },
    )
    redlist.red(state, "ovl", redlist.Red(head, "wrong hash", at(4), culprit=head), "control")
    append(
        state.journal / "gater.jsonl",
        {"at": at(4), "event": "control", "binary": "main", "commit": head, "state": "green"},
        {"at": at(4), "event": "control", "binary": "ovl", "commit": head, "state": "red"},
        {"at": at(5), "event": "gate", "gate": "g1-1", "binaries": ["main"], "slate": 3},
        {"at": at(9), "event": "gate", "gate": "g1-2", "binaries": ["ovl"], "slate": 1},
    )
    durable.write_json(state.root / "night.json", {"id": "n1", "started": at(0), "first_wave": 1, "schema": SCHEMA})
    return root, state
