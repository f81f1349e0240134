"""Drawing stops with a reason before the disk is full, and goes on by itself when there is room again."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import SimpleNamespace

import pytest

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
