"""The scheduler on a virtual clock: level, restarts, deaths, drains."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable

import pytest

from drafter.salvage import STRIKES
from shared.durable import read_json, write_json
from shared.errors import DiskFull
from shared.exits import Exit
from shared.journal import read_journal
from shared.spool import Spool, read_marker
from tests.drafter.sim import Night, made_cards

MakeNight = Callable[..., Night]


def published(night: Night) -> Counter[str]:
    """How often each draft is in a marker, whatever directory the marker is in."""
    spool = Spool(night.state)
    paths = [path for folder in (spool.ready, spool.claimed, spool.done) for path in folder.glob("*.json")]
    return Counter(draft.id for path in paths for draft in read_marker(path).drafts)


def rows(night: Night, *, drafts: bool = False) -> list[str]:
    """Ids of all targets' rows, or of those that have a draft."""
    found = (row for path in night.state.waves.glob("w*/drafts.*.jsonl") for row in read_journal(path))
    return [row["id"] for row in found if row.get("path") or not drafts]


def events(night: Night, name: str) -> list[dict[str, object]]:
    """Events of one kind."""
    return [row for row in read_journal(night.state.journal / "events.jsonl") if row["event"] == name]


def assert_whole(night: Night) -> None:
    """Every row's draft is in exactly one marker, no target has two rows, no error was recorded."""
    assert set(published(night).values()) <= {1}
    assert max(Counter(rows(night)).values()) == 1
    assert set(rows(night, drafts=True)) <= set(published(night))
    assert not [row for row in read_journal(night.state.journal / "events.jsonl") if row.get("level") == "error"]


def test_waves_end_when_all_is_published(night: MakeNight) -> None:
    played = night(waves=3)
    assert played.run(played.daemon(), 600) is Exit.OK
    assert len([row for row in events(played, "draw") if row["cards"]]) == 3
    assert_whole(played)
    played.settle()
    drawn = [row["wave"] for row in events(played, "draw") if row["cards"]]
    assert sorted(played.gater.closing) == drawn
    assert len(drawn) == 3
    assert sorted(played.gater.drafts) == sorted(rows(played))


def test_exhausted_frontier_ends_a_bounded_run(night: MakeNight) -> None:
    played = night(frontier=20, waves=50)
    assert played.run(played.daemon(), 3000) is Exit.OK
    assert not played.source.cards
    assert events(played, "frontier-exhausted")


def test_unbounded_run_waits_for_the_tree(night: MakeNight) -> None:
    played = night(frontier=20)
    daemon = played.daemon()
    assert played.run(daemon, 600) is None
    assert not played.source.cards
    fresh = made_cards(30, seed=3)[20:]
    played.source.cards.update({card.key: card for card in fresh})
    played.source.commits += 1
    assert played.run(daemon, 600) is None
    assert len(played.gater.drafts) == 30


def test_unbanked_cards_return_up_to_tries(night: MakeNight) -> None:
    played = night(frontier=20, chance=0.0, tries=2)
    played.run(played.daemon(), 3000)
    drawn = Counter(
        row["function"] for row in (r for p in played.state.waves.glob("w*/drafts.*.jsonl") for r in read_journal(p))
    )
    assert set(drawn.values()) == {2}
    later = [target for target in played.host.started if not target.startswith("w000001")]
    assert later


def test_no_card_is_drawn_while_the_gater_has_it(night: MakeNight) -> None:
    played = night(frontier=20, chance=0.0, tries=9)
    played.gater.on = False
    played.run(played.daemon(), 600)
    assert len(rows(played)) == 20


def test_queue_depth_bounds_drawing_alone(night: MakeNight) -> None:
    played = night(frontier=200, cards=10)
    played.gater.on = False
    daemon = played.daemon()
    played.run(daemon, 300)
    held = events(played, "draw-held")
    assert held
    before = len(rows(played))
    played.gater.on = True
    played.run(daemon, 300)
    assert len(rows(played)) > before
    assert events(played, "draw-free")


def test_the_fleet_stays_full(night: MakeNight) -> None:
    rng = random.Random(5)
    lengths: dict[str, float] = {}
    played = night(
        frontier=1500,
        workers=60,
        cards=240,
        lanes="[lane.default]\nbands = [[0, 100]]",
        length=lambda target: lengths.setdefault(target.id, rng.lognormvariate(2.5, 0.8)),
        chance=0.2,
        gate_s=20.0,
    )
    daemon = played.daemon()
    played.run(daemon, 30)
    start, busy = played.clock.now, played.host.busy_s
    played.run(daemon, 120)
    daemon = played.daemon()  # a restart in the middle costs nothing
    played.run(daemon, 120)
    assert (played.host.busy_s - busy) / (60 * (played.clock.now - start)) > 0.98
    assert played.host.peak <= 60
    played.leaving = True
    assert played.run(daemon, 1) is Exit.OK
    assert_whole(played)


def test_cold_start_ramps(night: MakeNight) -> None:
    played = night(
        frontier=500, workers=40, ramp_window_s=20.0, length=lambda _: 500.0, lanes="[lane.default]\nbands = [[0, 100]]"
    )
    text = (played.root / "campaign.toml").read_text().replace("ramp_window_s = 0.01", "ramp_window_s = 20.0")
    (played.root / "campaign.toml").write_text(text)
    daemon = played.daemon()
    levels = []
    for _ in range(24):
        played.run(daemon, 1.0)
        levels.append(played.host.agents)
    assert levels[9] in range(18, 23)  # 40 starts in 20 s
    assert levels[-1] == 40


def test_pools_share_the_ramp(night: MakeNight) -> None:
    played = night(frontier=500, workers=30, length=lambda _: 500.0)
    daemon = played.daemon()
    played.run(daemon, 5.0)
    assert daemon.fleet.lanes() == {"a": 22, "b": 12}  # 20 + 10 agents, and each pool's reserve
    assert [len(shard.running) for shard in played.host.shards.values()] == [20, 10]


@pytest.mark.parametrize("seed", range(6))
def test_deaths_and_restarts_lose_and_double_nothing(night: MakeNight, seed: int) -> None:
    rng = random.Random(seed)
    played = night(frontier=150, chance=0.7, length=lambda _: rng.uniform(2, 30), waves=8, per_shard=4)
    daemon = played.daemon()
    for _ in range(25):
        if played.run(daemon, rng.uniform(1, 15)) is not None:
            break
        if rng.random() < 0.5:
            daemon.close()
            daemon = played.daemon()
        alive = [name for name in played.host.shards if played.host.alive(name)]
        if alive and rng.random() < 0.3:
            played.host.kill(rng.choice(alive))
    else:
        assert played.run(daemon, 3000) is Exit.OK
    assert_whole(played)
    salvaged = [draft for draft in published(played) if ".s" in draft]
    assert all(draft.partition(".s")[0] in rows(played) for draft in salvaged)
    played.settle()
    assert sorted(played.gater.drafts) == sorted(published(played))


def test_a_dead_shard_is_salvaged_and_its_targets_go_on(night: MakeNight) -> None:
    played = night(frontier=6, workers=6, length=lambda _: 50.0, waves=1, lanes="[lane.default]\nbands = [[0, 100]]")
    daemon = played.daemon()
    played.run(daemon, 10)
    first = next(iter(played.host.shards))
    running = set(played.host.shards[first].running)
    assert running
    played.host.kill(first)
    assert played.run(daemon, 300) is Exit.OK
    assert {f"{target}.s1" for target in running} <= set(published(played))
    assert running <= set(rows(played))
    marker = next(
        read_marker(path)
        for path in Spool(played.state).done.glob("*.json")
        if any(".s1" in d.id for d in read_marker(path).drafts)
    )
    assert all(draft.unfinished for draft in marker.drafts if ".s1" in draft.id)
    assert_whole(played)


def test_a_target_that_kills_shards_ends_as_failed(night: MakeNight) -> None:
    played = night(
        frontier=1, waves=1, chance=0.0, stall=9e9, length=lambda _: 1000.0, lanes="[lane.default]\nbands = [[0, 100]]"
    )
    daemon = played.daemon()
    for _ in range(STRIKES):
        played.run(daemon, 100)
        (alive,) = (name for name in played.host.shards if played.host.shards[name].running and played.host.alive(name))
        played.host.kill(alive)
    assert played.run(daemon, 200) is Exit.OK
    (row,) = (row for path in played.state.waves.glob("w*/drafts.drafter.jsonl") for row in read_journal(path))
    assert row["outcome"] == "failed"


def test_a_stalled_shard_is_asked_then_killed_then_replaced(night: MakeNight) -> None:
    played = night(
        frontier=4, workers=4, waves=1, stall=60.0, length=lambda _: 1e9, lanes="[lane.default]\nbands = [[0, 100]]"
    )
    played.host.deaf = True
    daemon = played.daemon()
    played.run(daemon, 50)
    assert not played.host.signals
    played.host.length = lambda _: 5.0
    played.run(daemon, 70)
    assert [number for _, number in played.host.signals[:4]] == ["SIGTERM", "SIGTERM", "SIGKILL", "SIGKILL"]
    played.host.deaf = False
    assert played.run(daemon, 200) is Exit.OK
    assert_whole_but_salvage(played)


def assert_whole_but_salvage(night: Night) -> None:
    """As assert_whole; deaths are allowed."""
    assert set(published(night).values()) <= {1}
    assert set(rows(night, drafts=True)) <= set(published(night))


def test_stop_file_drains(night: MakeNight) -> None:
    played = night(frontier=200, length=lambda _: 40.0)
    daemon = played.daemon()
    played.run(daemon, 60)
    played.state.stop.touch()
    started = len(played.host.started)
    assert played.run(daemon, 30) is Exit.OK
    assert len(played.host.started) == started
    assert_whole(played)
    saved = [
        row
        for p in played.state.waves.glob("w*/drafts.*.jsonl")
        for row in read_journal(p)
        if row["outcome"] == "saved"
    ]
    assert saved
    # The next night goes on where this one ended: what lay in inboxes is dealt again.
    played.state.stop.unlink()
    played.waves = 2
    assert played.run(played.daemon(), 3000) is Exit.OK
    assert_whole(played)


def test_sigterm_leaves_the_shards_running(night: MakeNight) -> None:
    played = night(frontier=60, waves=2)
    daemon = played.daemon()
    played.run(daemon, 15)
    played.leaving = True
    assert played.run(daemon, 5) is Exit.OK
    assert played.host.agents > 0
    assert not played.host.signals
    assert set(rows(played)) <= set(published(played))
    played.leaving = False
    assert played.run(played.daemon(), 600) is Exit.OK
    assert not events(played, "shard-salvage")
    assert_whole(played)


def test_a_stub_banked_since_the_draw_is_dropped_at_dealing(night: MakeNight) -> None:
    played = night(frontier=30, workers=3, waves=1, lanes="[lane.default]\nbands = [[0, 100]]")
    daemon = played.daemon()
    played.run(daemon, 2)
    last = [card.key for card in daemon.desk.open["w000001"].cards][-1]
    played.source.bank(last)
    assert played.run(daemon, 600) is Exit.OK
    (row,) = (row for path in played.state.waves.glob("w*/drafts.drafter.jsonl") for row in read_journal(path))
    assert (row["binary"], row["function"], row["outcome"]) == (*last, "cancelled")


def test_a_surplus_shard_is_ended_when_its_work_is_done(night: MakeNight) -> None:
    played = night(frontier=100, workers=12, per_shard=4)
    played.run(played.daemon(), 12)
    assert len(played.host.shards) == 3
    text = (played.root / "campaign.toml").read_text().replace("workers = 12", "workers = 4")
    (played.root / "campaign.toml").write_text(text)
    daemon = played.daemon()
    played.run(daemon, 100)
    assert sum(shard.alive for shard in played.host.shards.values()) == 2
    assert_whole(played)


def test_an_adopted_shard_is_told_its_new_share(night: MakeNight) -> None:
    played = night(frontier=100, workers=12)
    played.run(played.daemon(), 5)
    text = (played.root / "campaign.toml").read_text().replace("workers = 12", "workers = 6")
    (played.root / "campaign.toml").write_text(text)
    played.run(played.daemon(), 1)
    assert [read_json(played.state.shards / name / "share.json")["workers"] for name in ("s0001", "s0002")] == [4, 2]


def test_a_full_disk_stops_no_agent_and_loses_nothing(night: MakeNight, monkeypatch: pytest.MonkeyPatch) -> None:
    played = night(frontier=60, waves=2, chance=0.0)
    daemon = played.daemon()
    played.run(daemon, 5)
    with monkeypatch.context() as patch:
        patch.setattr(Spool, "publish", _full)
        assert played.run(daemon, 15) is None
    assert events(played, "step-failed")
    assert played.run(daemon, 600) is Exit.OK
    assert set(rows(played, drafts=True)) == set(published(played))
    assert set(published(played).values()) == {1}


def test_a_drain_on_a_full_disk_ends_with_its_own_code(night: MakeNight, monkeypatch: pytest.MonkeyPatch) -> None:
    played = night(frontier=60)
    daemon = played.daemon()
    played.run(daemon, 15)
    monkeypatch.setattr(Spool, "publish", _full)
    played.state.stop.touch()
    assert played.run(daemon, 60) is Exit.DISK_FULL
    monkeypatch.undo()
    monkeypatch.setattr(os, "fsync", lambda _: None)
    played.state.stop.unlink()
    played.waves = 1
    assert played.run(played.daemon(), 600) is Exit.OK
    assert set(rows(played, drafts=True)) == set(published(played))


def _full(*_: object) -> None:
    raise DiskFull("no space left")


def test_unfinished_draw_is_void(night: MakeNight) -> None:
    played = night(frontier=30, waves=1)
    folder = played.state.waves / "w000001"
    (folder / "drafts").mkdir(parents=True)
    write_json(folder / "cards.json", [])
    assert played.run(played.daemon(), 300) is Exit.OK
    assert events(played, "load")[0]["void_draws"] == 1
    assert [row["wave"] for row in events(played, "draw") if row["cards"]] == ["w000001"]


def test_torn_files_do_not_stop_a_start(night: MakeNight) -> None:
    played = night(frontier=60, waves=4, chance=0.0, tries=1)
    daemon = played.daemon()
    played.run(daemon, 18)
    (played.state.waves / "w000001" / "wave.json").write_bytes(b"\0" * 200)
    shard = next(iter(played.host.shards))
    (played.state.shards / shard / "share.json").write_bytes(b"")
    (played.state.root / "night.json").write_bytes(b"{")
    with (played.state.journal / "events.jsonl").open("ab") as stream:
        stream.write(b'{"torn')
    daemon = played.daemon()
    assert played.run(daemon, 600) is Exit.OK
    assert events(played, "load")[-1]["unreadable_waves"] == ["w000001"]
    assert "w000001" not in {row["wave"] for row in events(played, "draw")[-3:]}
