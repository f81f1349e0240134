"""The compiling side of the agents' oracle: a private worktree at the landing head, and one judge per binary.

Used from several threads. When the head has moved, the next judging waits until the others have left the tree, moves
it, and starts with new judges; a verdict always belongs to one commit.
"""

from __future__ import annotations

import fcntl
import logging
import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import msgspec

from shared.bases import Bases
from shared.config import Campaign
from shared.errors import CampaignError, InstrumentFault
from shared.git import Git
from shared.oracle.cache import VerdictCache
from shared.oracle.judge import Judge, Look
from shared.records import Judgement, Verdict
from shared.state import StateDir
from shared.target.base import Base
from shared.workspace import Workspace, acquire

log = logging.getLogger(__name__)

SEATS = 64
"""Worktrees of oracles at most: one per shard process."""
LOOK_S = 1.0
BASE_WAIT_S = 20.0
"""The gater makes a base of every head it lands; only when none comes in this time is one built here."""


def slot_count(campaign: Campaign) -> int:
    """Compilers of oracles at most, machine-wide."""
    return campaign.filter.oracle_slots or max(1, (os.cpu_count() or 2) - 1)


@dataclass
class Generation:
    """The tree at one commit, with the judges made for it so far; a binary without one has its reason in `faults`."""

    commit: str
    judges: dict[str, Judge] = field(default_factory=dict)
    faults: dict[str, CampaignError] = field(default_factory=dict)
    making: defaultdict[str, threading.Lock] = field(default_factory=lambda: defaultdict(threading.Lock))
    users: int = 0


class Bench:
    """One oracle process's tree. Close it to give the seat back."""

    def __init__(self, campaign: Campaign, state: StateDir) -> None:
        self._campaign = campaign
        self._state = state
        self._bases = Bases(campaign, state)
        self._cache = VerdictCache(state.cache / "verdicts")
        self._git = Git(campaign.root)
        self._seat: Workspace | None = None
        self._now: Generation | None = None
        self._looked = float("-inf")
        self._free = threading.Condition()

    def look(self, binary: str, tu: str, function: str, code: bytes) -> Look:
        """The verdict over every binary that compiles `tu`, `binary` first. A broken instrument is a FAULT verdict."""
        try:
            with self._generation() as generation:
                judges = self._judges(generation, binary, tu)
                with oracle_slot(self._state, slot_count(self._campaign)):
                    return _look_in_all(judges, tu, function, code)
        except (CampaignError, OSError) as error:
            log.warning("ORACLE-FAULT binary=%s function=%r reason=%r", binary, function, str(error))
            return Look(Judgement(Verdict.FAULT, str(error)))

    def close(self) -> None:
        """Deletes scratch files and gives the seat back."""
        with self._free:
            self._drop()
            if self._seat is not None:
                self._seat.release()
                self._seat = None

    @contextmanager
    def _generation(self) -> Iterator[Generation]:
        with self._free:
            generation = self._current()
            generation.users += 1
        try:
            yield generation
        finally:
            with self._free:
                generation.users -= 1
                self._free.notify_all()

    def _current(self) -> Generation:
        """The generation of the landing head; waits for the others when the tree has to move. Holds the condition."""
        if self._now is not None and time.monotonic() - self._looked < LOOK_S:
            return self._now
        head = self._git.find(f"refs/heads/{self._campaign.landing.branch}") or self._git.commit_of(
            self._campaign.landing.follow
        )
        while self._now is not None and self._now.commit != head and self._now.users:
            self._free.wait()
        self._looked = time.monotonic()
        if self._now is None or self._now.commit != head:
            self._drop()
            if self._seat is None:
                self._seat = acquire(self._campaign, self._state, "oracle", SEATS)
                if self._seat is None:
                    raise InstrumentFault(f"all {SEATS} oracle workspaces are held; end shards that are not needed")
            self._seat.sync(head, read_only=True)
            self._now = Generation(head)
            log.info("ORACLE-BASE commit=%s tree=%s", head[:12], self._seat.folder.name)
        return self._now

    def _judges(self, generation: Generation, binary: str, tu: str) -> dict[str, Judge]:
        """The judge of `binary`, then those of the other binaries that compile `tu` too."""
        judges = {binary: self._judge(generation, binary)}
        for other, settings in self._campaign.binaries.items():
            if other != binary and _below(tu, settings.sources):
                judge = self._judge(generation, other)
                if tu in judge.base.tus:
                    judges[other] = judge
        return judges

    def _judge(self, generation: Generation, binary: str) -> Judge:
        with generation.making[binary]:
            if binary in generation.faults:
                raise generation.faults[binary]  # a red base stays red until the head moves
            known = generation.judges.get(binary)
            if known is None:
                assert self._seat is not None
                try:
                    base = self._base(binary, generation.commit)
                except CampaignError as error:
                    generation.faults[binary] = error
                    raise
                known = Judge(self._seat.tree, self._campaign, base, cache=self._cache, scratch=self._seat.tmp)
                generation.judges[binary] = known
            return known

    def _base(self, binary: str, commit: str) -> Base:
        deadline = time.monotonic() + BASE_WAIT_S
        while (base := self._bases.find(binary, commit)) is None:
            if time.monotonic() >= deadline:
                return self._bases.ensure(binary, commit, slots=self._campaign.gate.slots or (os.cpu_count() or 2))
            time.sleep(0.25)
        return base

    def _drop(self) -> None:
        if self._now is not None:
            for judge in self._now.judges.values():
                judge.close()
        self._now = None


def _look_in_all(judges: Mapping[str, Judge], tu: str, function: str, code: bytes) -> Look:
    look = Look(Judgement(Verdict.FAULT, f"no binary compiles {tu}"))
    for binary, judge in judges.items():
        look = judge.look(tu, function, code)
        if not look.judgement.passed:
            if len(judges) > 1:
                reason = f"in {binary}: {look.judgement.reason}"
                look = Look(msgspec.structs.replace(look.judgement, reason=reason), look.listing)
            break
    return look


@contextmanager
def oracle_slot(state: StateDir, count: int) -> Iterator[None]:
    """Holds one of the machine's `count` oracle slots: locks/oracle-<n>.lock, freed by the kernel whatever happens."""
    descriptors = [
        os.open(state.locks / f"oracle-{number}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        for number in range(count)
    ]
    try:
        while not any(_try(descriptor) for descriptor in descriptors):
            time.sleep(0.01)
        yield
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _below(path: str, folders: list[str]) -> bool:
    place = PurePosixPath(path)
    return any(place == PurePosixPath(folder) or PurePosixPath(folder) in place.parents for folder in folders)
