"""The ledger row of a finished wave: its sums are those of its drafts, its gates and its requests."""

from __future__ import annotations

from collections.abc import Callable

from shared import durable
from shared.records import Wave, encode
from shared.state import utc_now
from tests.gater.conftest import Yard


def test_a_waves_row_adds_up(yard: Callable[..., Yard]) -> None:
    scene = yard()
    good, bad, *_ = [t for t in scene.truth if t.group is None and t.binary == "main"]
    scene.publish([(good.binary, good.function, good.text), (bad.binary, bad.function, b"broken\n")])
    wave = Wave("w000001", 1, "main", (5, 50), scene.start, 2, 1, {"tag": "trial"}, utc_now())
    durable.write_json(scene.state.waves / "w000001" / "wave.json", encode(wave))
    durable.write_json(scene.state.root / "credit.json", {"schema": 1, "pool": {"a": {"left": 3.5, "limit": 10}}})
    scene.publish([], closing=True)
    assert scene.gater("run", "--once").returncode == 0
    (row,) = scene.ledger("wave")
    batches = scene.ledger("batch")
    assert (row["tag"], row["targets"], row["drafts"], row["gated"], row["banked"]) == ("trial", 2, 2, 1, 1)
    assert sum(row["verdicts"].values()) == row["drafts"]
    assert row["commits"] == [batch["commit"] for batch in batches]
    assert row["builds"] == sum(batch["builds"] for batch in batches) > 0
    assert 0 < row["gate_s"] <= row["since_start_s"]
    assert row["credit_usd"] == {"a": 3.5}
    assert row["memory_available_mib"] > 0
    assert row.get("red", []) == []
    scene.check()
