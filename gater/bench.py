"""One gate's workspace: slates of drafts spliced into it and built, and whom a red build accuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gater.accuse import accuse
from gater.blame import Build, Decision, Outcome
from gater.steps import Steps
from shared.bases import read_whole_base
from shared.config import Campaign
from shared.oracle.cache import VerdictCache
from shared.oracle.group import judge_group
from shared.records import GateVerdict, Verdict
from shared.state import StateDir
from shared.target.base import Base, save_base
from shared.target.build import Built, build_binary
from shared.target.splice import Spliced, splice
from shared.workspace import Workspace

LOG_TAIL = 16 << 10
"""Characters of a failing build's own words that go to gate.log."""


@dataclass(frozen=True)
class Entry:
    """A draft as a job sees it."""

    id: str
    function: str
    tu: str
    text: bytes


class Bench:
    """One gate's workspace: splices slates into it and builds them."""

    def __init__(
        self,
        campaign: Campaign,
        workspace: Workspace,
        binaries: tuple[str, ...],
        bases: Mapping[str, Base],
        slate: list[Entry],
        steps: Steps,
        *,
        clean: bool,
    ) -> None:
        self.steps = steps
        self.builds = 0
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
        self.builds += 1
        for binary in self.binaries:
            self.steps.say("build", binary=binary, build=self.builds, drafts=len(names), clean=clean or self.clean)
            built = build_binary(
                self.tree,
                binary,
                self.campaign.binaries[binary],
                self.campaign.gate,
                inherit=(self.workspace.lock.fd,),
            )
            self._told(binary, built)
            if built.state == "green":
                self.hashes[binary] = built.digest
                continue
            if built.state == "fault":
                return Build(Outcome.FAULT, reason=built.reason)
            outcome = Outcome.FAILED if built.state == "failed" else Outcome.RED
            accused = self._accuse(names, binary, built, spliced)
            said = {name: f"{verdict.value}: {reason}" for name, (verdict, reason) in accused.items()}
            self.steps.say("accused", binary=binary, drafts=len(accused), of=len(names), said=said)
            return Build(outcome, accused, f"{binary}: {built.reason}")
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

    def keep(self, state: StateDir, binary: str, key: str) -> Path:
        """Stores the base this green build makes; it is filed under its inputs once it has landed."""
        base = read_whole_base(self.tree, binary, self.campaign)
        path = state.cache / "base" / binary / f"{key}.gate"
        path.parent.mkdir(parents=True, exist_ok=True)
        save_base(base, path)
        return path

    def _told(self, binary: str, built: Built) -> None:
        output = "" if built.state == "green" else built.log[-LOG_TAIL:]
        wall_s = round(built.wall_s, 3)
        self.steps.say(
            "built",
            binary=binary,
            build=self.builds,
            state=built.state,
            wall_s=wall_s,
            reason=built.reason,
            output=output,
        )

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
