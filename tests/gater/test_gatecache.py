"""The gate cache: every input of a gate is in its key, and only what can still land is kept."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import msgspec

from gater.gatecache import GateCache, Kept, draft_key, gate_key
from shared.config import load_campaign
from shared.demo.forge import Forged


def test_every_input_makes_a_miss(forged_small: Forged) -> None:
    campaign = load_campaign(forged_small.project / "campaign.toml")
    slate = [draft_key("src/a.c", "f", b"one"), draft_key("src/a.c", "g", b"two")]
    plain = gate_key(campaign, {"main": "d1"}, slate, "gate")
    longer = msgspec.structs.replace(campaign.gate, build_timeout_s=campaign.gate.build_timeout_s + 1)
    larger = msgspec.structs.replace(campaign.gate, build_memory_mib=campaign.gate.build_memory_mib + 1)
    others = [
        gate_key(campaign, {"main": "d2"}, slate, "gate"),
        gate_key(campaign, {"main": "d1", "cave": "d3"}, slate, "gate"),
        gate_key(campaign, {"main": "d1"}, slate[:1], "gate"),
        gate_key(campaign, {"main": "d1"}, [slate[0], draft_key("src/b.c", "g", b"two")], "gate"),
        gate_key(campaign, {"main": "d1"}, [slate[0], draft_key("src/a.c", "h", b"two")], "gate"),
        gate_key(campaign, {"main": "d1"}, [slate[0], draft_key("src/a.c", "g", b"2")], "gate"),
        gate_key(campaign, {"main": "d1"}, slate, "batch"),
        gate_key(dataclasses.replace(campaign, gate=longer), {"main": "d1"}, slate, "gate"),
        gate_key(dataclasses.replace(campaign, gate=larger), {"main": "d1"}, slate, "gate"),
    ]
    assert len({plain, *others}) == len(others) + 1
    assert gate_key(campaign, {"main": "d1"}, reversed(slate), "gate") == plain


def test_only_what_can_land_is_kept(tmp_path: Path) -> None:
    cache, bases = GateCache(tmp_path / "gates"), tmp_path / "bases"
    files, hashes, base = {"src/a.c": b"text"}, {"main": "h"}, {"main": "k.gate"}
    cache.put("a", Kept({"d": ("BANKED", ""), "e": ("FAULT", "killed")}, files, hashes, base))
    cache.put("b", Kept({"d": ("BAD", "red")}, {}, {}, {}))
    assert cache.get("a") is cache.get("b") is None
    kept = Kept({"d": ("BANKED", "")}, files, hashes, base)
    for key in ("c", "d", "e"):
        cache.put(key, kept)
        assert cache.get(key) == kept
    cache.drop("d")
    assert cache.get("d") is None
    (bases / "main").mkdir(parents=True)
    (bases / "main" / "k.gate").touch()
    damaged = tmp_path / "gates" / "e.gate"
    damaged.write_bytes(damaged.read_bytes()[:-3])
    assert cache.get("e") is None
    cache.sweep(bases)
    assert [path.name for path in cache.folder.iterdir()] == ["c.gate"]
    (bases / "main" / "k.gate").unlink()
    cache.sweep(bases)
    assert list(cache.folder.iterdir()) == []
