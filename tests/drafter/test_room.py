"""Drawing stops with a reason before the disk is full, and goes on by itself when there is room again."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from shared import durable
from shared.journal import read_journal
from tests.drafter.sim import Night


def test_no_wave_is_drawn_on_a_nearly_full_disk(night: Callable[..., Night], monkeypatch: pytest.MonkeyPatch) -> None:
    made = night(frontier=60, workers=8)
    free = [100]
    monkeypatch.setattr(
        os, "statvfs", lambda _: SimpleNamespace(f_bavail=free[0], f_frsize=1 << 20, f_files=0, f_favail=0)
    )
    daemon = made.daemon()
    assert made.run(daemon, 30.0) is None
    assert not made.host.started
    free[0] = 5000
    assert made.run(daemon, 30.0) is None
    assert made.host.started
    rows = list(read_journal(made.state.journal / "events.jsonl"))
    assert sum(1 for row in rows if row["event"] == "draw-held-disk") == 1
    assert "100 MiB free" in next(row["reason"] for row in rows if row["event"] == "draw-held-disk")
    assert sum(1 for row in rows if row["event"] == "draw-free-disk") == 1


def test_a_limit_that_moved_is_journaled_once_with_its_reason(night: Callable[..., Night]) -> None:
    made = night(frontier=20, workers=8)
    daemon = made.daemon()
    assert made.run(daemon, 3.0) is None
    shard = daemon.fleet.shards[0]
    beat = {"progress": 1, "limit": 4.0, "workers": 6, "limit_why": "cut 1: 3 of 10 answers were provider or soft 429s"}
    durable.write_json(shard.folder / "heartbeat.json", beat)
    assert made.run(daemon, 3.0) is None
    rows = [row for row in read_journal(made.state.journal / "events.jsonl") if row["event"] == "limit"]
    assert [(row["shard"], row["limit"], row["reason"]) for row in rows] == [(shard.id, 4.0, beat["limit_why"])]
