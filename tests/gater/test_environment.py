"""What a person may delete under a running gater costs time, never a verdict."""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.config import load_campaign
from shared.oracle.cache import VerdictCache
from shared.oracle.judge import Judge
from shared.records import Verdict
from shared.target.base import read_base
from shared.target.build import build_binary
from tests.gater.conftest import GATER, Yard


@pytest.mark.parametrize("folder", ["workspaces", "cache", "tmp"])
def test_a_folder_deleted_while_it_judges(yard: Callable[..., Yard], folder: str) -> None:
    scene = yard()
    scene.publish_truth()
    process = subprocess.Popen(
        [str(GATER), "--root", str(scene.root), "run", "--once"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )

    def delete() -> None:
        for _ in range(3):
            time.sleep(0.7)
            shutil.rmtree(scene.state.root / folder, ignore_errors=True)

    vandal = threading.Thread(target=delete)
    vandal.start()
    try:
        process.wait(120)
    finally:
        process.kill()
        vandal.join()
    again = scene.gater("run", "--once")
    assert again.returncode == 0, again.stderr
    standing = scene.standing()
    wrong = {n: row["reason"] for n, row in standing.items() if row["verdict"] not in ("BANKED", "ALREADY")}
    assert wrong == {}
    assert scene.left() == set()


def test_a_tree_that_lost_its_headers_is_a_fault_and_not_cached(yard: Callable[..., Yard], tmp_path: Path) -> None:
    scene = yard()
    campaign = load_campaign(scene.root / "campaign.toml")
    assert build_binary(scene.root, "main", campaign.binaries["main"], campaign.gate).state == "green"
    base = read_base(scene.root, "main", campaign.binaries["main"])
    right = next(t for t in scene.truth if t.binary == "main" and t.group is None)
    cache = VerdictCache(tmp_path / "verdicts")
    with Judge(scene.root, campaign, base, cache=cache) as judge:
        judge.control(right.tu)
        (scene.root / "include").rename(scene.root / "away")
        assert judge.judge(right.tu, right.function, right.text).verdict is Verdict.FAULT
        (scene.root / "away").rename(scene.root / "include")
        assert judge.judge(right.tu, right.function, right.text).verdict is Verdict.AGREE
