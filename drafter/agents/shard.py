"""The shard process: one pool, many agents, alive until it is told to end.

It ends on the stop file, on SIGTERM (a second one: at once), when no drafter has held its lock for `orphan_grace_s`, or
when its state cannot be written. What it started is on disk at every instant; docs/agents.md describes the files.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import click
import msgspec

from drafter.agents.breaker import Breaker
from drafter.agents.chat import Workbench
from drafter.agents.client import ModelClient, open_session
from drafter.agents.files import ShardFiles
from drafter.agents.fleet import Fleet
from drafter.agents.inbox import Inbox
from drafter.agents.keys import find_key, key_from
from drafter.agents.library import Library
from drafter.agents.limiter import Limiter
from drafter.agents.oracle import Oracle
from drafter.agents.prompt import load_prompts
from drafter.agents.telemetry import RateJournal
from drafter.agents.vitals import Vitals
from shared import durable
from shared.cli.overriding import set_option
from shared.config import Campaign, load_campaign
from shared.config.load import CONFIG_NAME
from shared.config.overrides import parse
from shared.config.schema import Pool
from shared.errors import AlreadyRunning, CampaignError, ConfigError, DiskFull
from shared.exits import Exit
from shared.locks import is_locked
from shared.log import setup_logging
from shared.state import StateDir, open_state

log = logging.getLogger(__name__)

TICK_S = 0.25
BEAT_S = 2.0
ORPHAN_CHECK_S = 5.0

OracleFactory = Callable[[Campaign, StateDir], Oracle]


@dataclass(frozen=True)
class Share:
    """share.json: what the drafter lets this shard have in flight."""

    workers: int


class Shard:
    """One run of the process."""

    def __init__(self, campaign: Campaign, files: ShardFiles, pool_name: str, pool: Pool) -> None:
        self._campaign = campaign
        self._files = files
        self._pool_name = pool_name
        self._pool = pool
        self._share = _ShareFile(files.share, min(campaign.drafter.workers, campaign.drafter.agents_per_shard))
        self._wake = asyncio.Event()
        self._terms = 0
        self._ending = ""
        self._deadline: float | None = None
        self._drafter_seen = time.monotonic()

    async def run(self, key: str, oracle: Oracle) -> Exit:
        """Works until it has to end. Raises nothing that is not a bug."""
        campaign, files, pool = self._campaign, self._files, self._pool
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._term)
        async with AsyncExitStack() as stack:
            rates = RateJournal(files.state.journal, files.shard)
            stack.callback(rates.close)
            stack.push_async_callback(oracle.close)
            session = await stack.enter_async_context(open_session(pool))
            breaker = Breaker(cool_s=3 * pool.backoff_s, cool_max_s=8 * pool.backoff_max_s, dead_s=pool.backoff_s)
            workers = self._share.read()
            limiter = Limiter(workers, breaker, pause_s=pool.backoff_s)
            vitals = Vitals(files, self._pool_name, campaign.digest())
            client = ModelClient(self._pool_name, pool, key, session, limiter, rates, on_response=vitals.advance)
            knowledge = files.state.knowledge
            library = Library(campaign.root, [binary.asm for binary in campaign.binaries.values()], knowledge)
            bench = Workbench(files, client, oracle, library, load_prompts(files.state), vitals.advance)
            fleet = Fleet(campaign, bench, Inbox(files), workers)
            fleet.on_row = lambda: self._row_written(vitals)
            code = await self._loop(fleet, limiter, vitals, rates)
            unfinished = fleet.unfinished()
            await fleet.abandon()
            try:
                vitals.ended(fleet, limiter, self._ending, code, unfinished)
            except (DiskFull, OSError) as error:
                log.error("EXIT-FILE-LOST reason=%r", str(error))
        log.info("SHARD-END shard=%s reason=%s unfinished=%d", files.shard, self._ending, len(unfinished))
        return code

    async def _loop(self, fleet: Fleet, limiter: Limiter, vitals: Vitals, rates: RateJournal) -> Exit:
        next_beat = next_orphan = 0.0
        while True:
            now = time.monotonic()
            try:
                if now >= next_orphan:
                    next_orphan = now + min(ORPHAN_CHECK_S, self._campaign.drafter.orphan_grace_s / 4)
                    await asyncio.to_thread(self._look_for_drafter)
                if now >= next_beat:
                    next_beat = now + BEAT_S
                    await asyncio.to_thread(rates.sync)
                    await asyncio.to_thread(vitals.beat, fleet, limiter, now - self._drafter_seen)
                if (workers := self._share.read()) != fleet.workers:
                    fleet.workers = workers
                    limiter.set_workers(workers)
                self._decide(fleet, now)
                if not fleet.closing:
                    await fleet.scan()
            except (DiskFull, OSError) as error:
                fleet.fault = fleet.fault or error
            if fleet.fault is not None:
                self._ending = f"fault: {fleet.fault}"
                return Exit.DISK_FULL if isinstance(fleet.fault, DiskFull) else Exit.FAULT
            if fleet.closing and (fleet.agents == 0 or self._terms > 1):
                return Exit.OK
            wait = fleet.start()
            await self._sleep(TICK_S if wait is None else min(wait, TICK_S))

    def _decide(self, fleet: Fleet, now: float) -> None:
        """Starts the ending when there is a reason, and saves everything when its grace is over."""
        if not fleet.closing:
            orphan = now - self._drafter_seen >= self._campaign.drafter.orphan_grace_s
            self._ending = (
                "stop" if self._files.state.stopping() else "term" if self._terms else "orphan" if orphan else ""
            )
            if not self._ending:
                return
            fleet.closing = True
            self._deadline = now + (0.0 if orphan else self._campaign.drafter.straggler_grace_s)
            log.info("SHARD-CLOSING reason=%s agents=%d queued=%d", self._ending, fleet.agents, len(fleet.queue))
        if self._deadline is not None and now >= self._deadline:
            self._deadline = None
            fleet.save_all()

    def _look_for_drafter(self) -> None:
        if is_locked(self._files.state.locks / "drafter.lock"):
            self._drafter_seen = time.monotonic()

    def _row_written(self, vitals: Vitals) -> None:
        vitals.advance()
        self._wake.set()  # a slot is free: refill it at once

    def _term(self) -> None:
        self._terms += 1
        log.info("SHARD-TERM count=%d", self._terms)
        self._wake.set()

    async def _sleep(self, duration_s: float) -> None:
        try:
            await asyncio.wait_for(self._wake.wait(), duration_s)
        except TimeoutError:
            return
        self._wake.clear()


class _ShareFile:
    """share.json, read again when it was replaced."""

    def __init__(self, path: Path, default: int) -> None:
        self._path = path
        self._stamp: tuple[int, int] | None = None
        self._workers = default

    def read(self) -> int:
        """The workers in effect; an unreadable file changes nothing and is said once."""
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return self._workers
        stamp = (status.st_ino, status.st_mtime_ns)
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._workers = max(0, msgspec.convert(durable.read_json(self._path), Share).workers)
                log.info("SHARE workers=%d", self._workers)
            except (durable.Corrupt, msgspec.ValidationError, OSError) as error:
                log.error("SHARE-IGNORED reason=%r", str(error))
        return self._workers


def hold_run_lock(files: ShardFiles, descriptor: int | None) -> None:
    """Makes sure this process holds run.lock for life and no child inherits it. Raises AlreadyRunning, ConfigError."""
    if descriptor is None:
        descriptor = os.open(files.run_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    os.set_inheritable(descriptor, False)
    try:
        same = os.path.samestat(os.fstat(descriptor), files.run_lock.stat())
    except OSError as error:
        raise ConfigError(f"--lock-fd {descriptor} is not {files.run_lock}: {error.strerror}") from error
    if not same:
        raise ConfigError(f"--lock-fd {descriptor} is not {files.run_lock}")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise AlreadyRunning(f"another process holds {files.run_lock}; this shard already runs") from error


def run_shard(
    root: Path,
    shard: str,
    pool: str,
    lock_fd: int | None,
    key_fd: int | None,
    oracle: OracleFactory,
    sets: Sequence[str] = (),
) -> Exit:
    """The process from its arguments to its exit code. Raises CampaignError."""
    campaign = load_campaign(root / CONFIG_NAME, [parse(text) for text in sets])
    if pool not in campaign.pools:
        raise ConfigError(f"there is no [pool.{pool}] table", campaign.path)
    settings = campaign.pools[pool]
    state = open_state(root)
    files = ShardFiles(state, shard)
    files.make()
    hold_run_lock(files, lock_fd)
    key = key_from(key_fd) if key_fd is not None else find_key(pool, settings, os.environ)
    files.exit.unlink(missing_ok=True)
    log.info("SHARD shard=%s pool=%s pid=%d settings=%s", shard, pool, os.getpid(), campaign.digest()[:12])

    async def main() -> Exit:
        return await Shard(campaign, files, pool, settings).run(key, oracle(campaign, state))

    return asyncio.run(main())


@click.command()
@click.option("--root", type=click.Path(path_type=Path, exists=True, file_okay=False), required=True, help="Project.")
@click.option("--shard", required=True, help="Id of this shard: its folder under shards/.")
@click.option("--pool", required=True, help="Pool of campaign.toml this shard serves.")
@click.option("--lock-fd", type=int, help="Inherited descriptor that holds run.lock; without it the lock is taken.")
@click.option("--key-fd", type=int, help="Inherited descriptor to read the key from; without it the config says where.")
@set_option
def main(root: Path, shard: str, pool: str, lock_fd: int | None, key_fd: int | None, sets: tuple[str, ...]) -> None:
    """Runs one shard of agents. Started by the drafter; by hand only to look at something."""
    from drafter.agents.judges import open_oracle

    sys.exit(run_main(root, shard, pool, lock_fd, key_fd, open_oracle, sets))


def run_main(
    root: Path,
    shard: str,
    pool: str,
    lock_fd: int | None,
    key_fd: int | None,
    oracle: OracleFactory,
    sets: Sequence[str] = (),
) -> int:
    """`run_shard` with logging and errors as one sentence; the exit code."""
    setup_logging()
    try:
        return run_shard(root, shard, pool, lock_fd, key_fd, oracle, sets)
    except CampaignError as error:
        log.error("%s", error)
        return error.exit_code


if __name__ == "__main__":
    main()
