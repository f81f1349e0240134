"""Wake-ups: fast for every rename, also right behind a claim; a replaced directory or a dead emitter is noticed."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.watch import Watch


class Spool:
    def __init__(self, root: Path) -> None:
        self.root, self.tmp, self.ready, self.claimed = root, root / "tmp", root / "ready", root / "claimed"
        for folder in (self.tmp, self.ready, self.claimed):
            folder.mkdir(parents=True)

    def publish(self, name: str) -> None:
        (self.tmp / name).write_text("x")
        (self.tmp / name).rename(self.ready / name)


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path / "spool")


@pytest.fixture
def watch(spool: Spool) -> Iterator[Watch]:
    found = Watch(spool.root, spool.ready)
    yield found
    found.close()


def test_a_rename_wakes_at_once_also_right_behind_a_claim(spool: Spool, watch: Watch) -> None:
    for number in range(20):
        spool.publish(f"m{number}")
        begun = time.monotonic()
        assert watch.wait(5.0)
        assert time.monotonic() - begun < 0.25
        (spool.ready / f"m{number}").rename(spool.claimed / f"m{number}")


def test_claims_and_other_folders_wake_nobody(spool: Spool, watch: Watch) -> None:
    spool.publish("m")
    assert watch.wait(5.0)
    (spool.ready / "m").rename(spool.claimed / "m")
    (spool.tmp / "x").write_text("x")
    assert not watch.wait(0.3)


def test_a_replaced_inbox_is_watched_anew(spool: Spool, watch: Watch) -> None:
    shutil.rmtree(spool.ready)
    spool.ready.mkdir()
    watch.wait(0.5)
    spool.publish("m")
    assert watch.wait(5.0)


def test_a_moved_spool_is_made_and_watched_anew(spool: Spool, watch: Watch) -> None:
    spool.root.rename(spool.root.parent / "away")
    assert watch.wait(5.0)
    spool.tmp.mkdir()
    spool.publish("m")
    assert watch.wait(5.0)


def test_a_dead_emitter_is_noticed(spool: Spool, watch: Watch) -> None:
    assert watch._observer is not None
    for emitter in watch._observer.emitters:
        emitter.stop()
        emitter.join(5)
    assert watch.wait(5.0)
    spool.publish("m")
    assert watch.wait(5.0)
