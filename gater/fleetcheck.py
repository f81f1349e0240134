"""`gater fleet-check`: every binary from clean at the landing head, and which commit turned a red one red.

It builds in a workspace of its own and takes no lock of the gater's, so it runs beside it; what it finds goes to
red.json, which the gater follows. A red binary's cached base is dropped: before the gater judges on it again, it proves
it from clean.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from shared import redlist
from shared.bases import Bases
from shared.config import Campaign
from shared.errors import CampaignError, InstrumentFault, RedBase
from shared.git import Git
from shared.inputs import touches
from shared.redlist import Red
from shared.state import StateDir, utc_now
from shared.workspace import Workspace, acquire

log = logging.getLogger(__name__)

MAX_BISECT = 12
"""Clean builds spent on naming a culprit at most: enough for four thousand commits."""


@dataclass(frozen=True)
class Answer:
    """One binary's answer. `state`: green | red | fault; `culprit`: a commit, or a sentence why none is named."""

    binary: str
    state: str
    commit: str
    reason: str
    culprit: str = ""
    builds: int = 0
    wall_s: float = 0.0


@dataclass
class FleetCheck:
    """One check of a project at `commit`."""

    campaign: Campaign
    state: StateDir
    commit: str
    bases: Bases = field(init=False)
    git: Git = field(init=False)

    def __post_init__(self) -> None:
        self.bases = Bases(self.campaign, self.state)
        self.git = Git(self.campaign.root)

    def run(self, binaries: list[str]) -> Iterator[Answer]:
        """An answer per binary, in order. Raises InstrumentFault when another fleet check holds the workspace."""
        workspace = acquire(self.campaign, self.state, "fleet", 1)
        if workspace is None:
            raise InstrumentFault("another fleet check runs (workspaces/fleet-0 is held); wait for it or end it")
        try:
            workspace.wipe()
            for binary in binaries:
                yield self._one(workspace, binary)
        finally:
            workspace.release()

    def _one(self, workspace: Workspace, binary: str) -> Answer:
        started = time.monotonic()
        good = redlist.read(self.state).checked.get(binary)
        state, reason = self._build(workspace, binary, self.commit)
        wall = time.monotonic() - started
        if state == "green":
            redlist.green(self.state, [binary], self.commit, "clean build", wall)
            return Answer(binary, state, self.commit, reason, builds=1, wall_s=wall)
        if state == "fault":
            return Answer(binary, state, self.commit, reason, builds=1, wall_s=wall)
        digest = self.bases.digest(binary, self.commit)
        self.bases.path(binary, digest).unlink(missing_ok=True)
        last = good.commit if good is not None and good.state == "green" else ""
        self._note(binary, reason, "", digest, wall)
        culprit, builds = self._culprit(workspace, binary, last)
        if culprit:
            self._note(binary, reason, culprit, digest, wall)
        return Answer(binary, state, self.commit, reason, culprit, 1 + builds, time.monotonic() - started)

    def _note(self, binary: str, reason: str, culprit: str, digest: str, wall_s: float) -> None:
        entry = Red(self.commit, reason, utc_now(), culprit, digest)
        redlist.red(self.state, binary, entry, "clean build", wall_s)

    def _build(self, workspace: Workspace, binary: str, commit: str) -> tuple[str, str]:
        try:
            self.bases.build(workspace, binary, commit)
        except RedBase as error:
            return "red", str(error)
        except CampaignError as error:
            return "fault", str(error)
        return "green", "the image is the expected one, built from clean"

    def _culprit(self, workspace: Workspace, binary: str, good: str) -> tuple[str, int]:
        """The commit after `good` that turned the binary red, by clean builds where several may have; builds spent."""
        suspects = self.suspects(binary, good)
        if not suspects:
            why = "no commit on record was proven green before" if not good else f"no input changed since {good[:12]}"
            return why, 0
        low, high, builds = 0, len(suspects) - 1, 0
        while low < high and builds < MAX_BISECT:
            middle = (low + high) // 2
            workspace.wipe()
            builds += 1
            state, _ = self._build(workspace, binary, suspects[middle])
            if state == "fault":
                return (
                    f"one of {high - low + 1} commits after {good[:12]}: a build in between could not be judged",
                    builds,
                )
            low, high = (middle + 1, high) if state == "green" else (low, middle)
        if low < high:
            return f"one of {high - low + 1} commits up to {suspects[high][:12]}", builds
        return suspects[low], builds

    def suspects(self, binary: str, good: str) -> list[str]:
        """Commits after `good` up to the head that touch an input of `binary`, oldest first."""
        if not good or self.git.find(good) is None or not self.git.is_ancestor(good, self.commit):
            return []
        found = []
        for line in self.git.call("rev-list", "--reverse", "--first-parent", f"{good}..{self.commit}").splitlines():
            if touches(self.campaign, self.git.changed(f"{line}^1", line), [binary]):
                found.append(line)
        return found
