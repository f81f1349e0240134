"""The jobs that burn cores: self-contained, idempotent, over picklable values. They run in worker processes.

Each takes a workspace of its own, judges, and gives back facts; nothing here writes a journal, a commit or the spool.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from gater.bench import Bench, Entry
from gater.blame import decide
from gater.gatecache import GateCache, Kept, draft_key, gate_key
from gater.steps import Steps
from shared.bases import Bases
from shared.config import Campaign
from shared.errors import CampaignError, InstrumentFault, RedBase
from shared.oracle.cache import VerdictCache
from shared.oracle.group import judge_group
from shared.records import GateVerdict, Judgement
from shared.state import StateDir
from shared.target.base import Base, load_base
from shared.workspace import Workspace, acquire

SEAT_WAIT_S = 60.0


@dataclass(frozen=True)
class ControlResult:
    """A null control: `state` is green, red or fault."""

    binary: str
    commit: str
    state: str
    reason: str
    path: Path | None = None
    wall_s: float = 0.0


@dataclass(frozen=True)
class FilterResult:
    """Judgements by draft id; `revived` are kept rejects that now agree as part of the TU's group."""

    judgements: Mapping[str, Judgement]
    revived: Mapping[str, Judgement] = field(default_factory=dict)
    wall_s: float = 0.0


@dataclass(frozen=True)
class GateResult:
    """Verdicts by draft id and, for the green ones, the files as built and each binary's hash and new base."""

    verdicts: Mapping[str, tuple[GateVerdict, str]]
    files: Mapping[str, bytes]
    hashes: Mapping[str, str]
    bases: Mapping[str, Path]
    builds: int
    clean_builds: int
    stale_state: bool
    wall_s: float
    key: str = ""
    cached: bool = False


def control_job(
    campaign: Campaign, state: StateDir, binary: str, commit: str, slots: int, clean: bool = False
) -> ControlResult:
    """The null control of one binary: green from cache, or one build of the base with no draft in it.

    `clean`: known red, so neither a cached base nor what earlier builds left in a workspace is believed.
    """
    started = time.monotonic()
    bases = Bases(campaign, state)
    try:
        bases.ensure(binary, commit, slots=slots, clean=clean)
    except RedBase as error:
        return ControlResult(binary, commit, "red", str(error), None, time.monotonic() - started)
    except CampaignError as error:
        return ControlResult(binary, commit, "fault", str(error), None, time.monotonic() - started)
    path = bases.path(binary, bases.digest(binary, commit))
    return ControlResult(binary, commit, "green", "", path, time.monotonic() - started)


def filter_job(
    campaign: Campaign,
    state: StateDir,
    commit: str,
    tu: str,
    bases: Mapping[str, Path],
    drafts: list[Entry],
    rejects: list[Entry],
    slots: int,
) -> FilterResult:
    """Judges the drafts of one TU, alone and together, for every binary that compiles it. Raises CampaignError."""
    started = time.monotonic()
    seat = _seat(campaign, state, "filter", slots)
    try:
        seat.sync(commit, read_only=True)
        loaded = _load(bases)
        cache = VerdictCache(state.cache / "verdicts")
        judged = judge_group(
            seat.tree,
            campaign,
            loaded,
            tu,
            {entry.id: (entry.function, entry.text) for entry in drafts},
            {entry.id: (entry.function, entry.text) for entry in rejects},
            cache,
        )
    finally:
        seat.release()
    return FilterResult(judged.drafts, judged.revived, time.monotonic() - started)


def gate_job(
    campaign: Campaign,
    state: StateDir,
    commit: str,
    binaries: tuple[str, ...],
    bases: Mapping[str, Path],
    slate: list[Entry],
    gate: str,
    kind: str,
    slots: int,
) -> GateResult:
    """Builds the slate, finds what is green by evidence, and brings back the green files. Raises CampaignError.

    `kind` names the workspaces: "gate" builds warm, "batch" is one workspace of its own whose builds are all clean.
    """
    started = time.monotonic()
    with Steps(state, gate) as steps:
        steps.say("start", binaries=list(binaries), drafts=len(slate), base=commit, kind=kind)
        key = gate_key(campaign, {n: p.stem for n, p in bases.items()}, map(_draft_key, slate), kind)
        cache = GateCache(state.cache / "gates")
        result = _kept(cache.get(key), key, state, slate)
        steps.say("cache", hit=result is not None, key=key[:12])
        if result is None:
            workspace = _seat(campaign, state, kind, 1 if kind == "batch" else slots)
            try:
                workspace.sync(commit)
                steps.say("workspace", name=workspace.folder.name)
                bench = Bench(campaign, workspace, binaries, _load(bases), slate, steps, clean=kind == "batch")
                result = _judge_slate(bench, state, key)
            finally:
                workspace.release()
            result = replace(result, wall_s=time.monotonic() - started)
            cache.put(key, _to_keep(result, slate))
        counts = Counter(verdict.value for verdict, _ in result.verdicts.values())
        steps.say("end", builds=result.builds, verdicts=dict(counts))
    return result


def _judge_slate(bench: Bench, state: StateDir, key: str) -> GateResult:
    decision = decide(frozenset(bench.slate), bench.build)
    if decision.green:
        bench.assure(decision)
    return GateResult(
        verdicts=decision.verdicts,
        files=bench.files(decision.green),
        hashes=dict(bench.hashes),
        bases={name: bench.keep(state, name, key) for name in bench.binaries} if decision.green else {},
        builds=decision.builds,
        clean_builds=decision.clean_builds,
        stale_state=decision.stale_state,
        wall_s=0.0,
        key=key,
    )


def _draft_key(entry: Entry) -> str:
    return draft_key(entry.tu, entry.function, entry.text)


def _to_keep(result: GateResult, slate: list[Entry]) -> Kept:
    verdicts = {_draft_key(e): result.verdicts[e.id] for e in slate}
    said = {name: (verdict.value, reason) for name, (verdict, reason) in verdicts.items()}
    bases = {name: path.name for name, path in result.bases.items()}
    return Kept(said, dict(result.files), dict(result.hashes), bases)


def _kept(kept: Kept | None, key: str, state: StateDir, slate: list[Entry]) -> GateResult | None:
    """A finished gate as a result, None when something of it left the cache."""
    if kept is None:
        return None
    bases = {name: state.cache / "base" / name / file for name, file in kept.bases.items()}
    if not all(path.exists() for path in bases.values()):
        return None
    said = {entry.id: kept.verdicts[_draft_key(entry)] for entry in slate}
    verdicts = {name: (GateVerdict(verdict), reason) for name, (verdict, reason) in said.items()}
    return GateResult(verdicts, kept.files, kept.hashes, bases, 0, 0, False, 0.0, key, cached=True)


def _load(paths: Mapping[str, Path]) -> dict[str, Base]:
    loaded = {}
    for binary, path in paths.items():
        base = load_base(path)
        if base is None:
            raise InstrumentFault(f"MISSING {path}: the base of {binary} left the cache; its null control runs again")
        loaded[binary] = base
    return loaded


def _seat(campaign: Campaign, state: StateDir, kind: str, slots: int) -> Workspace:
    deadline = time.monotonic() + SEAT_WAIT_S
    while True:
        seat = acquire(campaign, state, kind, slots)
        if seat is not None:
            os.environ["TMPDIR"] = str(seat.tmp)
            return seat
        if time.monotonic() > deadline:
            raise InstrumentFault(
                f"all {slots} {kind} workspaces stayed held for {SEAT_WAIT_S:.0f} s; an orphan build?"
            )
        time.sleep(0.05)
