"""Telemetry for any window, each byte of the journals read once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shared.journal import Journal
from shared.rates import summary
from shared.state import StateDir, open_state


def opened(tmp_path: Path) -> StateDir:
    (tmp_path / "home").mkdir()
    (tmp_path / ".run").symlink_to(tmp_path / "home")
    return open_state(tmp_path)


def row(minute: int, second: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "at": f"2026-05-01T10:{minute:02d}:{second:02d}.000Z",
        "wave": "w000001",
        "model": "m",
        "result": "ok",
        "tokens_in": 10,
        "tokens_cached": 4,
        "tokens_out": 1,
        "cost_usd": 0.5,
    } | more


def write(state: StateDir, name: str, *rows: dict[str, Any]) -> None:
    with Journal(state.journal / name) as journal:
        for one in rows:
            journal.append(one)


def test_a_window_and_a_wave(tmp_path: Path) -> None:
    state = opened(tmp_path)
    refused = {"result": "http-429", "source": "provider", "cost_usd": None}
    write(
        state,
        "rate-2026-05-01.s0001.jsonl",
        row(0),
        row(1, **refused),
        row(2, **refused | {"source": "platform"}),
        row(4, **refused),
        row(5, 30, wave="w000002", model="n"),
    )
    write(state, "rate-2026-05-01.s0002.jsonl", row(3, result="http-500", cost_usd=None))
    whole = summary(state)
    assert (whole.requests, whole.ok, whole.failed) == (6, 2, 1)
    assert whole.h429 == {"provider": 2, "platform": 1}
    assert whole.longest_429_minutes == 2
    assert (whole.tokens_in, whole.tokens_cached, whole.tokens_out) == (60, 24, 6)
    assert (whole.cost_usd, whole.cost_known) == (1.0, 2)
    assert whole.per_minute == round(6 / 5.5, 1)
    assert set(whole.models) == {"m", "n"}
    assert whole.models["n"]["requests"] == 1
    assert summary(state, wave="w000001").requests == 5
    assert summary(state, wave="w000009").cost_usd is None
    assert summary(state, since="2026-05-01T10:02:00Z", until="2026-05-01T10:04:00Z").requests == 2
    assert summary(state, since="2026-05-02T10:02:00Z").requests == 0
    assert summary(state, wave="w000002").per_minute is None


def test_what_was_read_is_not_read_again(tmp_path: Path) -> None:
    state = opened(tmp_path)
    name = "rate-2026-05-01.s0001.jsonl"
    write(state, name, *(row(number % 60) for number in range(2000)))
    assert summary(state).requests == 2000
    path = state.journal / name
    kept = path.read_bytes()
    with path.open("r+b") as stream:
        stream.write(b"x" * (len(kept) - 1))  # what was read already is not looked at
    write(state, name, row(1), row(2))
    with path.open("ab") as stream:
        stream.write(b'{"torn')
    assert summary(state).requests == 2002
    assert summary(state).bad_lines == 0
    path.unlink()
    path.write_bytes(kept[: kept.index(b"\n") + 1] + b"no json\n")
    again = summary(state)
    assert (again.requests, again.bad_lines) == (1, 1)
