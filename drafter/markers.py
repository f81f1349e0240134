"""From rows to markers: a draft is final when its row is there, and every final draft is in exactly one marker.

What is published is read from the spool, never remembered: a death between two steps neither doubles nor loses a draft.
Marker ids are `<wave>-<n>`; the last of a wave, published when every target has its row, ends in `-end`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import msgspec

from drafter.clock import Clock
from drafter.events import Events
from drafter.waves import WaveState
from shared import durable
from shared.hashing import digest_file
from shared.records import AgentRow, DraftRef, Marker
from shared.spool import Spool, read_marker
from shared.state import StateDir

PRIORITY = 2
UNFINISHED = frozenset({"saved"})
"""Outcomes whose draft is the best so far of an agent that was ended early."""

_FILE = re.compile(r"\d-\d{10}-(?P<id>(?P<wave>w\d{6,})-(?P<n>\d{4})(?P<end>-end)?)\.json")


@dataclass
class _Out:
    """What one wave has in the spool."""

    drafts: set[str] = field(default_factory=set)
    last: int = 0
    since: float | None = None


class Publisher:
    """Publishes the markers of waves. The drafter is the only publisher of priority 2."""

    def __init__(self, state: StateDir, events: Events, clock: Clock, *, marker_drafts: int, flush_s: float) -> None:
        self.state = state
        self.spool = Spool(state)
        self._events = events
        self._clock = clock
        self._marker_drafts = marker_drafts
        self._flush_s = flush_s
        self._out: dict[str, _Out] = {}
        self._closed: set[str] = set()
        self._lost: set[str] = set()
        self._seen: set[str] = set()
        self._unmarked: dict[str, str] = {}
        self._sequence = 1

    def load(self) -> None:
        """Reads what is published already; writes nothing. Call it once, before the first `publish`. Raises OSError."""
        self._sequence = self.spool.next_sequence()
        self._closed = {path.parent.name for path in self.state.waves.glob("w*/closed.json")}
        # In the order a marker moves, so that one the gater moves meanwhile is met at least once.
        for folder in (self.spool.ready, self.spool.claimed, self.spool.done, self.spool.poison):
            for path in folder.iterdir():
                match = _FILE.fullmatch(path.name)
                if match is None or match["wave"] in self._closed:
                    continue
                out = self._out.setdefault(match["wave"], _Out())
                out.last = max(out.last, int(match["n"]))
                if match["end"]:
                    self._closed.add(match["wave"])
                    self._unmarked[match["wave"]] = match["id"]
                    continue
                try:
                    out.drafts.update(draft.id for draft in self._read(path.name).drafts)
                except (durable.Corrupt, msgspec.ValidationError, FileNotFoundError) as error:
                    # Nobody can act on it, so its drafts count as unpublished and go out again.
                    self._events.error("marker-unreadable", file=path.name, reason=str(error))

    def repair(self) -> None:
        """Writes what a death between a closing marker and its note left out. Raises DiskFull, OSError."""
        for wave, marker in self._unmarked.items():
            self._close(wave, marker)
        self._unmarked.clear()

    def begin(self, wave: str) -> None:
        """The wave was drawn by us: since when its drafts wait is known from the first on."""
        self._seen.add(wave)

    def closed(self, wave: str) -> bool:
        """The wave's closing marker is published: nothing of it will follow."""
        return wave in self._closed

    def unpublished(self, wave: WaveState) -> list[AgentRow]:
        """Final drafts of the wave without a marker, in the order of their rows."""
        out = self._out.get(wave.id)
        known = out.drafts if out else set()
        return [row for row in wave.drafts() if row.id not in known and row.id not in self._lost]

    def publish(self, wave: WaveState, *, flush: bool = False) -> Marker | None:
        """Publishes a marker when one is due: enough drafts, flush interval up, wave finished, or `flush`.

        Drafts found at the first look after a start are due at once: since when they wait is unknown.
        Raises DiskFull, OSError; the next call tries again.
        """
        if self.closed(wave.id):
            return None
        first = wave.id not in self._seen
        self._seen.add(wave.id)
        out = self._out.setdefault(wave.id, _Out())
        rows = self.unpublished(wave)
        now = self._clock.monotonic()
        if not rows:
            out.since = None
        elif out.since is None:
            out.since = now
        late = out.since is not None and now - out.since >= self._flush_s
        due = bool(rows) and (flush or first or late or len(rows) >= self._marker_drafts)
        if not due and not wave.finished:
            return None
        return self._send(wave, out, rows)

    def _send(self, wave: WaveState, out: _Out, rows: list[AgentRow]) -> Marker | None:
        refs = [ref for ref in map(self._reference, rows) if ref is not None]
        if not refs and not wave.finished:
            return None
        number = out.last + 1
        end = "-end" if wave.finished else ""
        marker = Marker(
            id=f"{wave.id}-{number:04d}{end}",
            wave=wave.id,
            sequence=self._sequence,
            drafts=tuple(refs),
            priority=PRIORITY,
            closing=wave.finished,
            created=self._clock.stamp(),
        )
        self.spool.publish(marker)
        self._sequence += 1
        out.last = number
        out.drafts.update(ref.id for ref in refs)
        out.since = None
        self._events.emit("marker", marker=marker.id, wave=wave.id, drafts=len(refs), closing=marker.closing)
        if marker.closing:
            self._close(wave.id, marker.id)
        return marker

    def _close(self, wave: str, marker: str) -> None:
        self._closed.add(wave)
        self._out.pop(wave, None)
        folder = self.state.waves / wave
        if folder.is_dir():
            durable.write_json(folder / "closed.json", {"marker": marker})

    def _reference(self, row: AgentRow) -> DraftRef | None:
        try:
            path = self.state.resolve(row.path)
            problem = "" if digest_file(path) == row.digest else "its content is not what its row says"
        except OSError as error:
            problem = f"it cannot be read: {error.strerror}"
        if problem:
            self._lost.add(row.id)
            self._events.error("draft-lost", id=row.id, path=row.path, reason=problem)
            return None
        return DraftRef(
            id=row.id,
            binary=row.binary,
            function=row.function,
            attempt=row.attempt,
            path=row.path,
            digest=row.digest,
            size=row.size,
            unfinished=row.outcome in UNFINISHED,
            backend=row.backend,
            model=row.model,
            notes=row.notes,
        )

    def _read(self, name: str) -> Marker:
        # The gater may move it while we look; it only moves onwards.
        for folder in (self.spool.ready, self.spool.claimed, self.spool.done, self.spool.poison):
            if (folder / name).exists():
                try:
                    return read_marker(folder / name)
                except FileNotFoundError:
                    continue
        raise FileNotFoundError(name)
