"""Where jobs that burn cores run: one process pool, chosen here and nowhere else.

Jobs are module-level functions over picklable values, self-contained and idempotent. A worker ends when the gater does,
so a killed gater leaves no build behind; a worker that dies takes only its own job with it.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import select
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

log = logging.getLogger(__name__)


class Jobs:
    """Runs at most `workers` jobs at once. After a worker's death a fresh pool takes over."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.running = 0
        self._pool = self._fresh()

    def free(self) -> int:
        """How many more jobs can start at once."""
        return self.workers - self.running

    def submit(self, job: Callable[..., Any], *args: Any, done: Callable[[Future[Any]], None]) -> None:
        """Starts a job; `done` is called with its future from another thread.

        The future raises BrokenProcessPool when a worker died while the job was in the pool.
        """
        try:
            future = self._pool.submit(job, *args)
        except BrokenProcessPool:
            log.warning("WORKER-DIED note=fresh-pool")
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = self._fresh()
            future = self._pool.submit(job, *args)
        self.running += 1
        future.add_done_callback(done)

    def finished(self) -> None:
        """Gives a place back; called by the owner when it has taken a job's result."""
        self.running -= 1

    def close(self) -> None:
        """Ends the workers; running jobs are cut."""
        for process in list((self._pool._processes or {}).values()):
            process.kill()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _fresh(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.workers, mp_context=context, initializer=_start_worker, initargs=(os.getpid(),))


def _start_worker(gater: int) -> None:
    """Ties the worker to the gater by pidfd: polling it works for any process, child of ours or not."""
    descriptor = os.pidfd_open(gater)
    threading.Thread(target=_end_with, args=(descriptor,), daemon=True).start()


def _end_with(descriptor: int) -> None:
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    poller.poll()
    os._exit(1)
