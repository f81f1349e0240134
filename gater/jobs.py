"""The jobs that burn cores: self-contained, idempotent, over picklable values. They run in worker processes.

Each takes a workspace of its own, judges, and gives back facts; nothing here writes a journal, a commit or the spool.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gater.accuse import accuse
from gater.blame import Build, Decision, Outcome, decide
from shared.bases import Bases, read_whole_base
from shared.config import Campaign
from shared.errors import CampaignError, InstrumentFault, RedBase
from shared.oracle.cache import VerdictCache
from shared.oracle.group import judge_group
from shared.records import GateVerdict, Judgement, Verdict
from shared.state import StateDir
from shared.target.base import Base, load_base, save_base
from shared.target.build import Built, build_binary
from shared.target.splice import Spliced, splice
from shared.workspace import Workspace, acquire

SEAT_WAIT_S = 60.0


@dataclass(frozen=True)
class Entry:
    """A draft as a job sees it."""

    id: str
    function: str
    tu: str
    text: bytes


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
    workspace = _seat(campaign, state, kind, 1 if kind == "batch" else slots)
    try:
        workspace.sync(commit)
        bench = _Bench(campaign, workspace, binaries, _load(bases), slate, clean=kind == "batch")
        decision = decide(frozenset(entry.id for entry in slate), bench.build)
        if decision.green:
            bench.assure(decision)
        kept = {name: bench.keep(state, name, gate) for name in binaries} if decision.green else {}
        return GateResult(
            decision.verdicts,
            bench.files(decision.green),
            dict(bench.hashes),
            kept,
            decision.builds,
            decision.clean_builds,
            decision.stale_state,
            time.monotonic() - started,
        )
    finally:
        workspace.release()


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


class _Bench:
    """One gate's workspace: splices slates into it and builds them."""

    def __init__(
        self,
        campaign: Campaign,
        workspace: Workspace,
        binaries: tuple[str, ...],
        bases: Mapping[str, Base],
        slate: list[Entry],
        *,
        clean: bool,
    ) -> None:
        self.clean = clean
        self.cache = VerdictCache(workspace.state.cache / "verdicts")
        self.campaign = campaign
        self.tree = workspace.tree
        self.workspace = workspace
        self.binaries = binaries
        self.bases = bases
        self.slate = {entry.id: entry for entry in slate}
        self.sources = {tu: (self.tree / tu).read_bytes() for tu in {entry.tu for entry in slate}}
        self.hashes: dict[str, str] = {}
        self.built: frozenset[str] | None = None

    def build(self, names: frozenset[str], clean: bool) -> Build:
        """One build of every binary of the set with the named drafts in."""
        spliced = self._place(names)
        if clean or self.clean:
            self._clean()
        self.hashes.clear()
        self.built = None
        for binary in self.binaries:
            built = build_binary(
                self.tree,
                binary,
                self.campaign.binaries[binary],
                self.campaign.gate,
                inherit=(self.workspace.lock.fd,),
            )
            if built.state == "green":
                self.hashes[binary] = built.digest
                continue
            if built.state == "fault":
                return Build(Outcome.FAULT, reason=built.reason)
            outcome = Outcome.FAILED if built.state == "failed" else Outcome.RED
            return Build(outcome, self._accuse(names, binary, built, spliced), f"{binary}: {built.reason}")
        self.built = names
        return Build(Outcome.GREEN)

    def assure(self, decision: Decision) -> None:
        """Leaves the tree as built with exactly the green set: the search may have ended on another slate."""
        if self.built != decision.green:
            decision.builds += 1
            last = self.build(decision.green, False)
            if last.outcome is not Outcome.GREEN:
                for name in decision.green:
                    decision.verdicts[name] = (GateVerdict.FAULT, f"was green, then not: {last.reason}")
                decision.green = frozenset()

    def files(self, green: frozenset[str]) -> dict[str, bytes]:
        """The TUs of the green set as they were built."""
        return {tu: (self.tree / tu).read_bytes() for tu in {self.slate[name].tu for name in green}}

    def keep(self, state: StateDir, binary: str, gate: str) -> Path:
        """Stores the base this green build makes; it is filed under its inputs once it has landed."""
        base = read_whole_base(self.tree, binary, self.campaign)
        path = state.cache / "base" / binary / f"{gate}.gate"
        path.parent.mkdir(parents=True, exist_ok=True)
        save_base(base, path)
        return path

    def _place(self, names: frozenset[str]) -> dict[str, Spliced]:
        placed: dict[str, Spliced] = {}
        for tu, source in self.sources.items():
            bodies = {e.function: e.text for e in self.slate.values() if e.id in names and e.tu == tu}
            placed[tu] = splice(source, bodies)
            path = self.tree / tu
            if path.read_bytes() != placed[tu].text:
                path.write_bytes(placed[tu].text)
                self._remove_objects(tu)
        return placed

    def _remove_objects(self, tu: str) -> None:
        """A file written within one clock tick of its object would look built."""
        for base in self.bases.values():
            for unit in base.tus.get(tu, ()):
                (self.tree / unit.object).unlink(missing_ok=True)

    def _clean(self) -> None:
        for base in self.bases.values():
            for unit in base.units:
                (self.tree / unit.object).unlink(missing_ok=True)

    def _accuse(
        self, names: frozenset[str], binary: str, built: Built, spliced: Mapping[str, Spliced]
    ) -> dict[str, tuple[GateVerdict, str]]:
        """Drafts to blame for a red build: each judged anew on this very base, else whom the build's own words name."""
        named = self._judge_again(names)
        if named:
            return named
        by_place = {(e.tu, e.function): e.id for e in self.slate.values() if e.id in names}
        said = accuse(self.tree, self.bases[binary], built, spliced)
        return {by_place[place]: (GateVerdict.BAD, why) for place, why in said.items() if place in by_place}

    def _judge_again(self, names: frozenset[str]) -> dict[str, tuple[GateVerdict, str]]:
        """One compile a draft names every culprit at once; a build names those of its first failing step."""
        named: dict[str, tuple[GateVerdict, str]] = {}
        for tu, source in self.sources.items():
            drafts = {e.id: (e.function, e.text) for e in self.slate.values() if e.id in names and e.tu == tu}
            if not drafts:
                continue
            (self.tree / tu).write_bytes(source)
            self._remove_objects(tu)
            bases = {name: base for name, base in self.bases.items() if tu in base.tus}
            for name, judged in judge_group(self.tree, self.campaign, bases, tu, drafts, {}, self.cache).drafts.items():
                if judged.verdict in (Verdict.TU_CONFLICT, Verdict.ORPHANS_SYMBOL):
                    named[name] = (GateVerdict.INTERACTION, judged.reason)
                elif not judged.passed and judged.verdict is not Verdict.FAULT:
                    named[name] = (GateVerdict.BAD, f"{judged.verdict.value}: {judged.reason}")
        return named
