"""SIGKILL of the gater at each durable step, then a restart: one landing per bank, every marker settled once."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections.abc import Callable

import pytest

from tests.gater.conftest import GATER, Yard

POINTS = (
    "claim.renamed",
    "filter.row:3",
    "gate.green",
    "land.commit",
    "land.ref",
    "land.follow",
    "settle.ledger",
    "settle.done",
)


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_each_durable_step(yard: Callable[..., Yard], point: str) -> None:
    scene = yard()
    scene.publish_truth()
    killed = scene.gater("run", "--once", CAMPAIGN_FAILPOINT=point)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    done = scene.gater("run", "--once")
    assert done.returncode == 0, done.stderr
    assert scene.left() == set()
    scene.check()


def test_a_restart_costs_no_finished_build(yard: Callable[..., Yard]) -> None:
    scene = yard()
    scene.publish_truth()
    killed = scene.gater("run", "--once", CAMPAIGN_FAILPOINT="gate.green")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    finished = [path.parent.name for path in scene.state.gate.glob("*/steps.jsonl") if '"end"' in path.read_text()]
    assert finished
    assert scene.gater("run", "--once").returncode == 0
    hits = [row for row in scene.ledger("batch") if row.get("cached")]
    assert len(hits) >= 1
    assert all(row["builds"] == 0 and row["banked"] == row["slate"] for row in hits)
    assert scene.left() == set()
    scene.check()


def test_homonyms_of_one_text_are_each_credited_after_a_death(yard: Callable[..., Yard]) -> None:
    scene = yard()
    by_name = {(t.function, t.text): [o for o in scene.truth if o.function == t.function] for t in scene.truth}
    twins = next(found for found in by_name.values() if len({t.tu for t in found}) > 1)
    scene.publish([(t.binary, t.function, twins[0].text) for t in twins])
    killed = scene.gater("run", "--once", CAMPAIGN_FAILPOINT=f"land.follow:{len({t.tu for t in twins})}")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert scene.gater("run", "--once").returncode == 0
    banked = [row for row in scene.standing().values() if row["verdict"] == "BANKED"]
    assert sorted(row["tu"] for row in banked) == sorted(t.tu for t in twins)
    scene.check()


def kill_at_random(scene: Yard, rng: random.Random, times: int, longest_s: float) -> None:
    for _ in range(times):
        process = subprocess.Popen(
            [str(GATER), "--root", str(scene.root), "run", "--once"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            process.wait(rng.uniform(0.2, longest_s))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)
        time.sleep(0.05)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
def test_killed_five_times_at_random(yard: Callable[..., Yard], seed: int) -> None:
    scene = yard(batch=seed % 2 == 1)
    scene.publish_truth()
    kill_at_random(scene, random.Random(seed), 5, 4.0)
    done = scene.gater("run", "--once")
    assert done.returncode == 0, done.stderr
    assert scene.left() == set()
    scene.check()
