"""An oracle without a compiler: it compares text. And the shard process with it in place of the real one."""

from __future__ import annotations

import re
import sys
import time
from asyncio import to_thread
from pathlib import Path

from drafter.agents.drafts import normal
from drafter.agents.oracle import Look
from shared.config import Campaign
from shared.records import Card, Judgement, Verdict
from shared.state import StateDir
from tests.agents.conftest import TRUTH

CLOSENESS = re.compile(r"closeness (\d+)")


class TextOracle:
    """AGREE for exactly the right body; else a shape whose closeness stands in the draft's comment (default 9)."""

    def __init__(self, slow_s: float = 0.0) -> None:
        self.asked: list[str] = []
        self._slow_s = slow_s

    async def judge(self, card: Card, code: str) -> Look:
        self.asked.append(code)
        if self._slow_s:
            await to_thread(time.sleep, self._slow_s)
        if normal(code) == normal(TRUTH[card.function]):
            return Look(Judgement(Verdict.AGREE, "equal", 0, 12))
        if "undeclared" in code:
            return Look(Judgement(Verdict.COMPILE_FAIL, "draft:2: `undeclared` is not declared"))
        if "BANKED" in code:
            return Look(Judgement(Verdict.NOT_A_STUB, "banked already"))
        if "FAULT" in code:
            return Look(Judgement(Verdict.FAULT, "the compiler was killed"))
        found = CLOSENESS.search(code)
        return Look(Judgement(Verdict.SHAPE, "differs", int(found[1]) if found else 9, 12), "  1 | addiu | nop")

    async def close(self) -> None:
        return None


def _open(_campaign: Campaign, _state: StateDir) -> TextOracle:
    return TextOracle()


if __name__ == "__main__":
    import argparse

    from drafter.agents.shard import run_main

    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path)
    for flag in ("--shard", "--pool"):
        parser.add_argument(flag)
    for flag in ("--lock-fd", "--key-fd"):
        parser.add_argument(flag, type=int)
    given, _ = parser.parse_known_args()
    sys.exit(run_main(given.root, given.shard, given.pool, given.lock_fd, given.key_fd, _open))
