"""Rounds on disk: waves/t<number>/ with the drafts, their rows, and pairs.json, which is written last.

A round exists once pairs.json does, and its marker follows from it: a death in between is made good at the next start.
What was tried is read from these files and nowhere else.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from msgspec import Struct

from shared import durable
from shared.journal import Journal
from shared.records import SCHEMA, AgentRow, DraftRef, Marker, encode
from shared.spool import Spool, draft_ref, file_name
from shared.state import StateDir

BACKEND = "twin"
PRIORITY = 3
_ROUND = re.compile(r"t(\d{6,})")


class Pair(Struct, frozen=True, omit_defaults=True):
    """One target tried with one exemplar. `target` and `body` are digests of what the draft was made from."""

    id: str
    binary: str
    function: str
    target: str
    exemplar: str
    body: str
    kind: str = "twin"  # twin | cousin

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What is tried once: until the target's code or the exemplar's text is another."""
        return (self.binary, self.function, self.target, self.body)


@dataclass(frozen=True)
class Made:
    """A draft to be published, its pair without an id."""

    pair: Pair
    text: bytes


@dataclass
class Rounds:
    """All rounds of a campaign. The drafter is their only writer."""

    state: StateDir
    tried: set[tuple[str, str, str, str]] = field(default_factory=set)
    last: int = 0

    def load(self) -> None:
        """Reads what was tried, and publishes a round whose marker a death left out. Raises DiskFull, OSError."""
        spool = Spool(self.state)
        for folder in sorted(self.state.waves.iterdir()):
            number = _ROUND.fullmatch(folder.name)
            pairs = _read(folder / "pairs.json") if number else None
            if number is None or pairs is None:
                continue
            self.last = max(self.last, int(number[1]))
            self.tried.update(pair.key for pair in pairs)
            marker = self._marker(int(number[1]), pairs)
            if marker is not None and not (spool.poison / file_name(marker)).exists():
                spool.publish(marker)

    def publish(self, made: Sequence[Made], at: str) -> Marker | None:
        """A new round of these drafts and its marker; None for nothing. Raises DiskFull, OSError."""
        if not made:
            return None
        number = self.last + 1
        name = f"t{number:06d}"
        folder = self.state.waves / name
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "drafts").mkdir(parents=True)
        pairs = []
        with Journal(folder / f"drafts.{BACKEND}.jsonl") as rows:
            for index, draft in enumerate(made):
                pair = msgspec.structs.replace(draft.pair, id=f"{name}-{index:04d}-1")
                path = folder / "drafts" / f"{pair.id}.c"
                durable.write(path, draft.text)
                pairs.append(pair)
                rows.append(encode(self._row(self._ref(pair), at)))
            rows.sync()
        durable.write_json(folder / "pairs.json", {"schema": SCHEMA, "pairs": msgspec.to_builtins(pairs)})
        durable.sync_directory(self.state.waves)
        self.last = number
        self.tried.update(pair.key for pair in pairs)
        marker = self._marker(number, pairs)
        if marker is not None:
            Spool(self.state).publish(marker)
        return marker

    def _marker(self, number: int, pairs: Sequence[Pair]) -> Marker | None:
        name = f"t{number:06d}"
        refs = []
        for pair in pairs:
            try:
                refs.append(self._ref(pair))
            except OSError:
                return None
        return Marker(id=name, wave=name, sequence=number, drafts=tuple(refs), priority=PRIORITY)

    def _ref(self, pair: Pair) -> DraftRef:
        path = self.state.waves / pair.id.partition("-")[0] / "drafts" / f"{pair.id}.c"
        return draft_ref(
            self.state,
            path,
            id=pair.id,
            binary=pair.binary,
            function=pair.function,
            attempt=1,
            backend=BACKEND,
            notes=f"{pair.kind} of {pair.exemplar}",
        )

    def _row(self, ref: DraftRef, at: str) -> AgentRow:
        return AgentRow(
            id=ref.id,
            binary=ref.binary,
            function=ref.function,
            attempt=1,
            outcome="match",
            path=ref.path,
            digest=ref.digest,
            size=ref.size,
            backend=BACKEND,
            notes=ref.notes,
            at=at,
        )


def _read(path: Path) -> list[Pair] | None:
    """The pairs of a round; None for a void one, or one nobody can read: its number is drawn again."""
    try:
        return msgspec.convert(durable.read_json(path)["pairs"], list[Pair])
    except (OSError, durable.Corrupt, msgspec.ValidationError, KeyError, TypeError):
        return None
