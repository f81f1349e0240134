"""A person works on their branch while the gater gates: what they commit is taken in proven, or not at all."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

from tests.gater.conftest import GATER, Yard


def test_commits_to_a_shared_header_during_gates(yard: Callable[..., Yard]) -> None:
    scene = yard()
    header = scene.root / "include" / "common.h"
    first = header.read_text()
    scene.publish_truth()
    process = subprocess.Popen(
        [str(GATER), "--root", str(scene.root), "run"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for number in range(5):
            header.write_text(f"{first}\n/* note {number} */\n")
            scene.git("commit", "--quiet", "-m", f"note {number}", "--", "include/common.h")
            time.sleep(0.4)
        deadline = time.monotonic() + 90
        while scene.left() and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        process.terminate()
        process.wait(30)
    assert scene.left() == set()
    done = scene.gater("run", "--once")
    assert done.returncode == 0, done.stderr
    assert "note 4" in scene.git("show", "campaign:include/common.h")
    assert scene.red() == []


def test_a_header_that_breaks_the_build_never_reaches_the_landing_branch(yard: Callable[..., Yard]) -> None:
    scene = yard()
    header = scene.root / "include" / "common.h"
    first = header.read_text()
    scene.publish_truth()
    process = subprocess.Popen(
        [str(GATER), "--root", str(scene.root), "run"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        time.sleep(1.0)
        header.write_text(f"{first}\n#error mana is not ready\n")
        scene.git("commit", "--quiet", "-m", "does not build", "--", "include/common.h")
        deadline = time.monotonic() + 30
        while len(scene.left()) > 3 and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(1.0)
    finally:
        process.terminate()
        process.wait(30)
    assert "mana" not in scene.git("show", "campaign:include/common.h")
    assert scene.red() == []
