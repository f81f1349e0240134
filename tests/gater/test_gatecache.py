"""The gate's cache key: every input of a gate is in it, by name; a fault is never kept."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import msgspec

from gater.gatecache import GateCache, Kept, draft_key, gate_parts
from shared.config import load_campaign
from shared.demo.forge import Forged
from shared.hashing import digest_json


def test_every_input_is_a_part_and_each_makes_a_miss(forged_small: Forged) -> None:
    campaign = load_campaign(forged_small.project / "campaign.toml")
    slate = [draft_key("src/a.c", "f", b"one"), draft_key("src/a.c", "g", b"two")]
    plain = gate_parts(campaign, {"main": "d1"}, slate, "gate")
    longer = msgspec.structs.replace(campaign.gate, build_timeout_s=campaign.gate.build_timeout_s + 1)
    others = {
        "inputs of main": gate_parts(campaign, {"main": "d2"}, slate, "gate"),
        "slate": gate_parts(campaign, {"main": "d1"}, slate[:1], "gate"),
        "workspace": gate_parts(campaign, {"main": "d1"}, slate, "batch"),
        "limits": gate_parts(dataclasses.replace(campaign, gate=longer), {"main": "d1"}, slate, "gate"),
    }
    for part, other in others.items():
        assert {name for name in plain if plain[name] != other[name]} == {part}
    assert "inputs of cave" in gate_parts(campaign, {"main": "d1", "cave": "d3"}, slate, "gate")
    keys = {digest_json(parts) for parts in (plain, *others.values())}
    assert len(keys) == len(others) + 1
    assert draft_key("src/a.c", "f", b"one") != draft_key("src/b.c", "f", b"one")
    assert gate_parts(campaign, {"main": "d1"}, reversed(slate), "gate") == plain


def test_a_fault_is_never_kept_and_a_damaged_entry_is_a_miss(tmp_path: Path) -> None:
    cache = GateCache(tmp_path)
    cache.put("a" * 64, Kept({}, {"d": ("BANKED", ""), "e": ("FAULT", "killed")}, {}, {}, {}))
    assert cache.get("a" * 64) is None
    kept = Kept({"slate": "x"}, {"d": ("BANKED", "")}, {"src/a.c": b"text"}, {"main": "h"}, {"main": "k.gate"})
    cache.put("b" * 64, kept)
    assert cache.get("b" * 64) == kept
    (path,) = tmp_path.glob("b*")
    path.write_bytes(path.read_bytes()[:-3])
    assert cache.get("b" * 64) is None
