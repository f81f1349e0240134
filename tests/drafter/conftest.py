"""Fixtures of the drafter's tests."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.records import Card, Target
from tests.drafter.project import make_project
from tests.drafter.sim import Night, SimGater, SimHost, SimSource, VirtualClock, made_cards


@pytest.fixture
def night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Night]:
    """Makes a played campaign. fsync is off: these tests kill nothing for real."""
    monkeypatch.setattr(os, "fsync", lambda _: None)

    def make(
        *,
        frontier: list[Card] | int = 80,
        length: Callable[[Target], float] = lambda _: 10.0,
        gate_s: float = 20.0,
        chance: float = 1.0,
        waves: int | None = None,
        **settings: object,
    ) -> Night:
        root, state = make_project(tmp_path, tus=1, stubs=1, **settings)
        clock = VirtualClock()
        source = SimSource(made_cards(frontier) if isinstance(frontier, int) else frontier)
        host = SimHost(state, clock, length)
        gater = SimGater(state, clock, source, gate_s, chance)
        return Night(root, state, clock, host, source, gater, waves)

    return make
