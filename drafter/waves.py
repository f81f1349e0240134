"""Waves on disk: waves/<id>/ wave.json cards.json skipped.json, agents' rows in drafts.<shard>.jsonl.

`wave.json` is written last: a folder without it is an unfinished draw, which is void and removed at the next start.
Target ids derive from the wave and the card's place in cards.json, so they are the same after any restart.
"""

from __future__ import annotations

import logging
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from drafter.draw import Plan
from drafter.tail import Tail
from shared import durable
from shared.failpoint import failpoint
from shared.journal import Journal
from shared.records import AgentRow, Card, NewerSchema, Wave, decode, encode
from shared.state import StateDir

log = logging.getLogger(__name__)

_WAVE = re.compile(r"w(\d{6,})")
OURS = "drafter"
"""In the place of a shard's id: rows the drafter itself writes, for targets dropped before an agent took them."""
SALVAGE = "salvage.jsonl"
"""Drafts of dead shards that were published although their target goes on: AgentRows beside the targets' own."""


@dataclass
class WaveState:
    """One wave and what became of it so far.

    `rows` has one row a target at most; `salvaged` are additional drafts; `skipped` is known to who drew it alone.
    """

    folder: Path
    wave: Wave
    cards: tuple[Card, ...]
    targets: dict[str, Card]
    skipped: dict[str, int] = field(default_factory=dict)
    rows: dict[str, AgentRow] = field(default_factory=dict)
    salvaged: dict[str, AgentRow] = field(default_factory=dict)
    tails: dict[str, Tail] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """`w000001` and so on."""
        return self.wave.id

    @property
    def finished(self) -> bool:
        """Every target has a verdict row."""
        return len(self.rows) == len(self.targets)

    def drafts(self) -> Iterator[AgentRow]:
        """Every row that has a draft."""
        return (row for rows in (self.rows, self.salvaged) for row in rows.values() if row.path)

    def take(self, record: dict[str, Any], known: dict[str, AgentRow]) -> AgentRow | None:
        """Adds one row to `known`; None when it is not a row of this wave or one for that id is there already."""
        try:
            row = decode(AgentRow, record)
        except (msgspec.ValidationError, NewerSchema) as error:
            log.warning("ROW-UNREADABLE wave=%s reason=%r", self.id, str(error))
            return None
        if row.id in known:
            return None
        if known is self.rows and row.id not in self.targets:
            log.warning("ROW-FOREIGN wave=%s id=%r", self.id, row.id)
            return None
        known[row.id] = row
        return row


@dataclass(frozen=True)
class Found:
    """What lay in waves/ at start."""

    waves: list[WaveState]
    void: int
    unreadable: list[str]


def wave_id(number: int) -> str:
    """The id of wave `number`."""
    return f"w{number:06d}"


def number_of(name: str) -> int | None:
    """The number in a wave's id, None when the name is not one."""
    match = _WAVE.fullmatch(name)
    return int(match[1]) if match else None


def last_number(state: StateDir) -> int:
    """The highest wave number on disk, 0 when there is none. Unreadable waves count, an unfinished draw does not."""
    numbers = (number_of(entry.name) for entry in state.waves.iterdir() if (entry / "wave.json").exists())
    return max((number for number in numbers if number is not None), default=0)


def load_waves(state: StateDir, *, clean: bool) -> Found:
    """Reads all waves with their rows, in order; `clean` also removes unfinished draws. Raises OSError.

    Only the holder of the drafter lock may clean: for anybody else an unfinished draw may be one under way.
    """
    waves, void, unreadable = [], 0, []
    folders = sorted((entry for entry in state.waves.iterdir() if number_of(entry.name) is not None), key=_order)
    for folder in folders:
        if not (folder / "wave.json").exists():
            void += 1
            if clean:
                shutil.rmtree(folder)
            continue
        try:
            wave = decode(Wave, durable.read_json(folder / "wave.json"))
            cards = tuple(decode(Card, card) for card in durable.read_json(folder / "cards.json"))
        except (durable.Corrupt, msgspec.ValidationError, NewerSchema, OSError) as error:
            log.error("WAVE-UNREADABLE wave=%s reason=%r", folder.name, str(error))
            unreadable.append(folder.name)
            continue
        state_of = _state(folder, wave, cards, {})
        poll(state_of, (path.name for path in folder.glob("drafts.*.jsonl")))
        for record in Tail(folder / SALVAGE).read():
            state_of.take(record, state_of.salvaged)
        waves.append(state_of)
    return Found(waves, void, unreadable)


def write_wave(
    state: StateDir, planned: Plan, number: int, attempts: int, parameters: dict[str, Any], at: str
) -> WaveState:
    """Writes a draw durably; it exists once wave.json does. Raises DiskFull, OSError, leaving at most a void folder."""
    folder = state.waves / wave_id(number)
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("drafts", "transcripts"):
        (folder / name).mkdir(parents=True)
    durable.sync_directory(state.waves)
    wave = Wave(
        id=wave_id(number),
        number=number,
        lane=planned.turn.lane,
        band=planned.turn.band,
        commit=planned.commit,
        cards=len(planned.kept),
        attempts=attempts,
        parameters=parameters,
        created=at,
    )
    durable.write_json(folder / "cards.json", [encode(card) for card in planned.kept])
    durable.write_json(
        folder / "skipped.json",
        {"frontier": planned.frontier, "kept": len(planned.kept), "skipped": planned.skipped},
    )
    failpoint("draw.wave")
    durable.write_json(folder / "wave.json", encode(wave))
    return _state(folder, wave, planned.kept, planned.skipped)


def poll(wave: WaveState, names: Iterable[str]) -> list[AgentRow]:
    """New rows of a wave from the named row files. Raises OSError."""
    fresh = []
    for name in names:
        tail = wave.tails.get(name)
        if tail is None:
            tail = wave.tails[name] = Tail(wave.folder / name)
        for record in tail.read():
            row = wave.take(record, wave.rows)
            if row is not None:
                fresh.append(row)
    return fresh


def rows_name(shard: str) -> str:
    """Name of a shard's row file in a wave's folder: a journal has one writing process."""
    return f"drafts.{shard}.jsonl"


def append_row(wave: WaveState, row: AgentRow, *, salvaged: bool = False) -> None:
    """Writes a row of our own, durably, and takes it. Raises DiskFull, OSError."""
    name = SALVAGE if salvaged else rows_name(OURS)
    with Journal(wave.folder / name) as journal:
        journal.append(encode(row), durable=True)
    known = wave.salvaged if salvaged else wave.rows
    known.setdefault(row.id, row)


def _state(folder: Path, wave: Wave, cards: tuple[Card, ...], skipped: dict[str, int]) -> WaveState:
    targets = {
        f"{wave.id}-{index:04d}-{attempt}": msgspec.structs.replace(card, attempt=attempt)
        for attempt in range(1, wave.attempts + 1)
        for index, card in enumerate(cards)
    }
    return WaveState(folder, wave, cards, targets, skipped)


def _order(folder: Path) -> int:
    return number_of(folder.name) or 0
