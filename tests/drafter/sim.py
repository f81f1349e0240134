"""The real scheduler on a virtual clock: shards and gater are played in this process, through the files they use."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from drafter.agents.files import ShardFiles
from drafter.daemon import TICK_S, Daemon
from drafter.draw import Frontier, Key
from drafter.identity import Signalled
from shared import durable
from shared.config import load_campaign
from shared.exits import Exit
from shared.records import Card, Target, decode
from shared.spool import Spool
from shared.state import StateDir
from tests.drafter.fake_shard import finish


@dataclass
class VirtualClock:
    """Time that passes only in `wait`; `players` move whenever it does."""

    now: float = 0.0
    players: list[Callable[[], None]] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds
        for play in self.players:
            play()

    def stamp(self) -> str:
        return f"2026-01-01T00:00:00.{int(self.now * 1000) % 1000:03d}Z"


@dataclass
class SimShard:
    """A shard played here. `ask`: it was told to end."""

    files: ShardFiles
    workers: int
    running: dict[str, tuple[Target, float]] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    queue: list[Target] = field(default_factory=list)
    alive: bool = True
    rows: int = 0
    beat: int = -1


class SimHost:
    """Plays all shards. `length(target)` is how many seconds an agent takes."""

    def __init__(self, state: StateDir, clock: VirtualClock, length: Callable[[Target], float]) -> None:
        self.state = state
        self.clock = clock
        self.length = length
        self.shards: dict[str, SimShard] = {}
        self.started: list[str] = []
        self.finished: list[str] = []
        self.signals: list[tuple[str, str]] = []
        self.busy_s = 0.0
        self.peak = 0
        self.deaf = False
        self._last = clock.now
        clock.players.append(self.play)

    def launch(self, shard: str, pool: str) -> None:
        files = ShardFiles(self.state, shard)
        assert shard not in self.shards, "launched twice"
        self.shards[shard] = SimShard(files, durable.read_json(files.share)["workers"])

    def alive(self, shard: str) -> bool:
        return shard in self.shards and self.shards[shard].alive

    def signal(self, shard: str, number: signal.Signals) -> Signalled:
        if not self.alive(shard):
            return Signalled.GONE
        self.signals.append((shard, number.name))
        if number is signal.SIGKILL:
            self.kill(shard)
        elif not self.deaf:
            self._end(self.shards[shard], "term")
        return Signalled.SENT

    def reap(self) -> None:
        pass

    def kill(self, shard: str) -> None:
        """As SIGKILL: the inbox and the drafts stay as they are."""
        self.shards[shard].alive = False

    @property
    def agents(self) -> int:
        return sum(len(shard.running) for shard in self.shards.values() if shard.alive)

    def play(self) -> None:
        self.busy_s += self.agents * (self.clock.now - self._last)
        self._last = self.clock.now
        for shard in self.shards.values():
            if shard.alive:
                self._play(shard)
        self.peak = max(self.peak, self.agents)

    def _play(self, shard: SimShard) -> None:
        if self.state.stopping():
            self._end(shard, "stop")
            return
        for name, (target, due) in list(shard.running.items()):
            if self.clock.now >= due:
                del shard.running[name]
                shard.rows += 1
                self.finished.append(name)
                finish(shard.files, target, "match")
        for path in sorted(shard.files.inbox.glob("*.json")):
            if path.stem not in shard.seen:
                shard.seen.add(path.stem)
                shard.queue.append(decode(Target, durable.read_json(path)))
        while shard.queue and len(shard.running) < shard.workers:
            target = shard.queue.pop(0)
            shard.running[target.id] = (target, self.clock.now + self.length(target))
            self.started.append(target.id)
            draft = shard.files.draft(target.wave, target.id)
            durable.write(draft, b"int best_so_far;\n")
        if shard.rows != shard.beat:
            shard.beat = shard.rows
            durable.write_json(shard.files.heartbeat, {"progress": shard.rows})

    def _end(self, shard: SimShard, reason: str) -> None:
        for name, (target, _) in shard.running.items():
            self.finished.append(name)
            finish(shard.files, target, "saved")
        shard.running.clear()
        durable.write_json(shard.files.exit, {"reason": reason})
        shard.alive = False


class SimGater:
    """Settles every marker `delay` seconds after it became ready; banks each draft with the given chance."""

    def __init__(self, state: StateDir, clock: VirtualClock, source: SimSource, delay: float, chance: float) -> None:
        self.spool = Spool(state)
        self.clock = clock
        self.source = source
        self.delay = delay
        self.chance = chance
        self.random = random.Random(7)
        self.held = [(claimed, 0.0) for claimed in self.spool.take_up()]
        self.drafts: list[str] = []
        self.markers: list[str] = []
        self.closing: list[str] = []
        self.on = True
        clock.players.append(self.play)

    def play(self) -> None:
        if not self.on:
            return
        self.held += [(claimed, self.clock.now + self.delay) for claimed in self.spool.claim()]
        due = [claimed for claimed, when in self.held if self.clock.now >= when]
        self.held = [(claimed, when) for claimed, when in self.held if self.clock.now < when]
        for claimed in due:
            for draft in claimed.marker.drafts:
                self.drafts.append(draft.id)
                if self.random.random() < self.chance:
                    self.source.bank((draft.binary, draft.function))
            self.markers.append(claimed.marker.id)
            if claimed.marker.closing:
                self.closing.append(claimed.marker.wave)
            self.spool.settle(claimed)


class SimSource:
    """A frontier of made-up cards; banking one makes a new commit."""

    def __init__(self, cards: list[Card]) -> None:
        self.cards = {card.key: card for card in cards}
        self.commits = 0
        self._frontier = self._make()

    def head(self) -> str:
        return f"{self.commits:040d}"

    def read(self, commit: str) -> Frontier:
        assert commit == self.head()
        if self._frontier.commit != commit:
            self._frontier = self._make()
        return self._frontier

    def bank(self, key: Key) -> None:
        if self.cards.pop(key, None) is not None:
            self.commits += 1

    def _make(self) -> Frontier:
        return Frontier(self.head(), tuple(self.cards.values()))


def made_cards(count: int, seed: int = 1) -> list[Card]:
    """Cards of 4 to 60 instructions in TUs of ten."""
    rng = random.Random(seed)
    return [
        Card(
            binary="main" if number % 3 else "ovl",
            function=f"f{number}",
            tu=f"src/t{number // 10}.c",
            asm="",
            address=number * 64,
            instructions=rng.randint(4, 60),
        )
        for number in range(count)
    ]


@dataclass
class Night:
    """A campaign with everything around the daemon played."""

    root: Path
    state: StateDir
    clock: VirtualClock
    host: SimHost
    source: SimSource
    gater: SimGater
    waves: int | None = None
    leaving: bool = False

    def daemon(self, short: Callable[[], str] = lambda: "") -> Daemon:
        """A fresh drafter on what is on disk, started."""
        daemon = Daemon(
            load_campaign(self.root / "campaign.toml"),
            self.state,
            self.host,
            self.source,
            self.clock,
            waves=self.waves,
            leave=lambda: self.leaving,
            short=short,
        )
        daemon.start()
        return daemon

    def run(self, daemon: Daemon, seconds: float) -> Exit | None:
        """Turns until the daemon ends or the time is up."""
        until = self.clock.now + seconds
        while self.clock.now < until:
            code = daemon.turn()
            if code is not None:
                daemon.close()
                return code
            self.clock.wait(TICK_S)
        return None

    def settle(self) -> None:
        """Lets the gater finish."""
        for _ in range(1000):
            self.clock.wait(1.0)
            if not any(self.gater.spool.counts()[name] for name in ("ready", "claimed")):
                return
        raise AssertionError("the gater did not finish")
