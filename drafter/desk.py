"""The work at hand: open waves, targets not dealt yet, and what is known of every card. Derived from disk at start."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Iterator

from drafter.draw import Key
from drafter.history import History
from drafter.shard import Shard
from drafter.tail import Tail
from drafter.waves import WaveState, poll, rows_name
from shared.records import AgentRow, Wave
from shared.state import StateDir

log = logging.getLogger(__name__)


class Desk:
    """Open waves by id, oldest first, and the queue of targets: older waves first, in the order of their cards."""

    def __init__(self, state: StateDir) -> None:
        self.open: dict[str, WaveState] = {}
        self.history = History()
        self._queue: list[tuple[int, str]] = []
        self._judged = Tail(state.journal / "drafts.jsonl")
        self._numbers: dict[str, int] = {}
        self.waves: list[Wave] = []

    @property
    def undealt(self) -> int:
        """Targets in the queue."""
        return len(self._queue)

    def remember(self, wave: WaveState) -> None:
        """Takes a wave's draw and rows into the history."""
        self._numbers[wave.id] = wave.wave.number
        self.waves.append(wave.wave)
        for card in wave.cards:
            self.history.draw(card.key, wave.wave.number)
        for row in wave.rows.values():
            self.history.row(row, wave.wave.number)
        for row in wave.salvaged.values():
            self.history.row(row, wave.wave.number)

    def put(self, wave: WaveState, dealt: set[str]) -> None:
        """Opens a wave: its targets that have no row and are not `dealt` are queued."""
        self.open[wave.id] = wave
        for target in wave.targets:
            if target not in wave.rows and target not in dealt:
                self.again(wave, target)

    def again(self, wave: WaveState, target: str) -> None:
        """Queues a target."""
        heapq.heappush(self._queue, (wave.wave.number, target))

    def lane_of(self, target: str) -> str:
        """The lane of a target's wave, "" when the wave is not open any more."""
        wave = self.open.get(target.partition("-")[0])
        return wave.wave.lane if wave else ""

    def next(self) -> tuple[WaveState, str] | None:
        """Takes the next target off the queue."""
        while self._queue:
            _, target = heapq.heappop(self._queue)
            wave = self.open.get(target.partition("-")[0])
            if wave is not None and target not in wave.rows:
                return wave, target
        return None

    def read_rows(self, shards: list[Shard]) -> list[tuple[WaveState, AgentRow]]:
        """Rows that came since the last call; each target's shard has one less dealt. Raises OSError."""
        names = {shard.id: rows_name(shard.id) for shard in shards}
        fresh = []
        for wave in self.open.values():
            if wave.finished:
                continue
            for row in poll(wave, names.values()):
                self.history.row(row, wave.wave.number)
                fresh.append((wave, row))
                for shard in shards:
                    if row.id in shard.dealt:
                        shard.dealt.discard(row.id)
                        shard.rows += 1
        return fresh

    def read_verdicts(self) -> None:
        """Takes the gater's new verdicts into the history. Raises OSError."""
        for record in self._judged.read():
            number = self._numbers.get(str(record.get("wave")))
            if number is not None:
                self.history.judged(
                    (str(record.get("binary")), str(record.get("function"))),
                    number,
                    str(record.get("id")),
                    str(record.get("verdict")),
                    str(record.get("reason")),
                )

    def close(self, wave: WaveState) -> None:
        """Nothing of the wave will follow."""
        del self.open[wave.id]

    def working(self) -> Iterator[Key]:
        """Cards whose target has no row yet."""
        for wave in self.open.values():
            for target, card in wave.targets.items():
                if target not in wave.rows:
                    yield card.key
