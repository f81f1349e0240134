"""Drafts put into the spool by a person's word: a folder of them, a wave again, or rejects whose tree has changed.

Each becomes an ordinary marker; whoever holds the gater lock judges it as any other. No model is called.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from gater.rows import DraftRow
from gater.wavesum import agents_of
from shared import durable
from shared.config import Campaign
from shared.errors import ConfigError
from shared.hashing import digest_bytes, digest_json
from shared.journal import read_journal
from shared.locks import is_locked
from shared.operator.evidence.stubs import open_stubs
from shared.records import DraftRef, Marker, NewerSchema, Verdict, decode
from shared.spool import Spool, draft_ref, read_marker
from shared.state import StateDir, utc_now

MARKER_DRAFTS = 200
PERSON, RECOVER = 0, 1
SETTLED = frozenset({"BANKED", "ALREADY"})


@dataclass
class Handed:
    """What was put into the spool, and what was left out by counted reason."""

    markers: list[str] = field(default_factory=list)
    drafts: list[DraftRef] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)
    misnamed: int = 0  # rejects of closeness 0 that an older judge called MISMATCH? instead of MISMATCH


def hand_folder(campaign: Campaign, state: StateDir, folder: Path) -> Handed:
    """Publishes `folder`/<binary>/<function>.c. Raises ConfigError for a folder that holds no draft."""
    result = Handed()
    for path in sorted(folder.glob("*/*.c")):
        binary = path.parent.name
        if binary not in campaign.binaries:
            known = ", ".join(campaign.binaries)
            raise ConfigError(f"{binary!r} is no binary of this project; the folders are named after {known}", path)
        text = path.read_bytes()
        digest = digest_bytes(text)
        name = f"hand-{digest_json([binary, path.stem, digest])[:16]}"
        kept = state.root / "handed" / f"{name}.c"
        kept.parent.mkdir(exist_ok=True)
        durable.write(kept, text)
        names = {"binary": binary, "function": path.stem, "attempt": 1, "backend": "hand"}
        result.drafts.append(draft_ref(state, kept, id=name, **names))
    if not result.drafts:
        raise ConfigError(f"{folder} holds no <binary>/<function>.c; nothing was handed in")
    return _publish(state, result, {ref.id: "hand" for ref in result.drafts}, PERSON)


def hand_wave(state: StateDir, wave: str) -> Handed:
    """Publishes the drafts of a wave again but for those that are banked or in hand. Raises ConfigError."""
    if not (state.waves / wave).is_dir():
        raise ConfigError(f"there is no wave {wave!r}; `ls .run/waves` shows which there are")
    result, standing, busy = Handed(), _standing(state), in_hand(state)
    for row in agents_of(state, wave):
        known = standing.get(row.id)
        if not row.path:
            result.left["no draft"] += 1
        elif known is not None and known.verdict in SETTLED:
            result.left[known.verdict] += 1
        elif row.id in busy:
            result.left["in hand"] += 1
        elif not state.resolve(row.path).is_file():
            result.left["file gone"] += 1
        else:
            fields = {name: getattr(row, name) for name in ("binary", "function", "attempt", "backend", "model")}
            result.drafts.append(draft_ref(state, state.resolve(row.path), id=row.id, notes=row.notes, **fields))
    return _publish(state, result, {ref.id: wave for ref in result.drafts}, PERSON)


def hand_rejects(campaign: Campaign, state: StateDir, top: int) -> Handed:
    """Publishes the `top` closest rejects of every open stub. What did not change since costs a look into the cache."""
    result, busy = Handed(), in_hand(state)
    stubs = open_stubs(campaign).places
    rows: dict[tuple[str, str], list[DraftRow]] = {}
    for row in _standing(state).values():
        if row.verdict in SETTLED:
            result.left[row.verdict] += 1
        elif row.id in busy:
            result.left["in hand"] += 1
        elif (row.binary, row.function) not in stubs:
            result.left["not an open stub"] += 1
        elif not state.resolve(row.path).is_file():
            result.left["file gone"] += 1
        else:
            rows.setdefault((row.binary, row.function), []).append(row)
            result.misnamed += row.verdict == Verdict.SHAPE.value and row.closeness == 0
    waves = {}
    for found in rows.values():
        found.sort(key=lambda row: (row.closeness is None, row.closeness or 0))
        result.left["farther than the closest"] += len(found[top:])
        for row in found[:top]:
            fields = {name: getattr(row, name) for name in ("id", "binary", "function", "attempt", "backend", "model")}
            result.drafts.append(draft_ref(state, state.resolve(row.path), **fields))
            waves[row.id] = row.wave
    return _publish(state, result, waves, RECOVER)


def in_hand(state: StateDir) -> set[str]:
    """Ids of drafts that wait, or that a marker in ready/ or claimed/ names: they are judged anyway."""
    found = {path.stem for path in state.waiting.glob("*/*.json")}
    for folder in (state.spool / "ready", state.spool / "claimed"):
        for path in folder.glob("*.json"):
            try:
                found.update(ref.id for ref in read_marker(path).drafts)
            except (OSError, durable.Corrupt, msgspec.ValidationError, NewerSchema):
                continue
    return found


def follow(state: StateDir, handed: Handed) -> bool:
    """Waits until the markers are settled (or set aside as poison); False when the gater ends first."""
    ends = (state.spool / "done", state.spool / "poison")
    left = set(handed.markers)
    while True:
        left -= {marker for marker in left for folder in ends if any(folder.glob(f"*-{marker}.json"))}
        if not left:
            return True
        if not is_locked(state.locks / "gater.lock"):
            return False
        time.sleep(0.2)


def verdicts(state: StateDir, handed: Handed) -> dict[str, DraftRow]:
    """The standing of what was handed in, by draft id."""
    wanted = {ref.id for ref in handed.drafts}
    return {name: row for name, row in _standing(state).items() if name in wanted}


def _standing(state: StateDir) -> dict[str, DraftRow]:
    return {row.id: row for row in _rows(state)}


def _rows(state: StateDir) -> Iterator[DraftRow]:
    for value in read_journal(state.journal / "drafts.jsonl"):
        try:
            yield decode(DraftRow, value)
        except (msgspec.ValidationError, NewerSchema):
            continue


def _publish(state: StateDir, result: Handed, waves: dict[str, str], priority: int) -> Handed:
    spool = Spool(state)
    by_wave: dict[str, list[DraftRef]] = {}
    for ref in result.drafts:
        by_wave.setdefault(waves[ref.id], []).append(ref)
    for wave, refs in by_wave.items():
        for start in range(0, len(refs), MARKER_DRAFTS):
            sequence = spool.next_sequence()
            name = f"{'hand' if priority == PERSON else 'recover'}-{sequence:06d}"
            part = tuple(refs[start : start + MARKER_DRAFTS])
            spool.publish(Marker(name, wave, sequence, part, priority=priority, created=utc_now()))
            result.markers.append(name)
    return result
