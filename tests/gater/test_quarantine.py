"""A draft that kills its judge: three deaths alone make it a FAULT; nothing that was beside it pays for that."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import pytest
from sdnotify import SystemdNotifier

from gater.daemon import Gater
from gater.jobs import filter_job
from shared.config import load_campaign
from tests.gater.conftest import Yard


class DeadlyPool:
    """Runs jobs here, two in flight; a filter job with the deadly draft breaks all that are in the pool with it."""

    def __init__(self, deadly: str) -> None:
        self.deadly = deadly
        self.running = 0
        self.deaths = 0
        self._waiting: list[tuple[Callable[..., Any], tuple[Any, ...], Callable[[Future[Any]], None]]] = []

    def free(self) -> int:
        return 2 - self.running

    def submit(self, job: Callable[..., Any], *args: Any, done: Callable[[Future[Any]], None]) -> None:
        self.running += 1
        self._waiting.append((job, args, done))

    def settle(self) -> None:
        """Ends what is in flight, as one pool."""
        jobs, self._waiting = self._waiting, []
        broken = any(self._deadly(job, args) for job, args, _ in jobs)
        self.deaths += broken
        for job, args, done in jobs:
            future: Future[Any] = Future()
            if broken:
                future.set_exception(BrokenProcessPool("a worker died"))
            else:
                future.set_result(job(*args))
            done(future)

    def _deadly(self, job: Callable[..., Any], args: tuple[Any, ...]) -> bool:
        return job is filter_job and any(entry.id == self.deadly for entry in args[5])

    def finished(self) -> None:
        self.running -= 1

    def close(self) -> None:
        pass


def test_only_the_draft_that_kills_alone_is_quarantined(
    yard: Callable[..., Yard], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", tempfile.gettempdir())  # a job sets its own; this one runs in our process
    scene = yard()
    scene.publish_truth()
    gater = Gater(load_campaign(scene.root / "campaign.toml"), scene.state, "once", SystemdNotifier())
    gater.jobs.close()
    deadly = "w000001-2"
    pool = DeadlyPool(deadly)
    gater.jobs = pool  # type: ignore[assignment]
    try:
        gater.start()
        for _ in range(200):
            gater.turn()
            pool.settle()
            if not gater.desk.active() and not gater.settler.claimed and not gater.spool.waiting():
                break
    finally:
        gater.close()
    verdicts = {name: row["verdict"] for name, row in scene.standing().items()}
    assert verdicts.pop(deadly) == "FAULT"
    assert set(verdicts.values()) == {"BANKED"}
    assert 3 <= pool.deaths <= 4
    scene.check()
