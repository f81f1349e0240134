"""New commits of the person's branch: merged into the landing branch once the binaries they touch are proven green."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from gater.jobs import ControlResult
from gater.land import Landing
from shared.bases import Bases

log = logging.getLogger(__name__)


@dataclass
class TakeIn:
    """At most one candidate commit at a time. `held` is why the person's last commit is not taken in, "" if it is."""

    landing: Landing
    bases: Bases
    held: str = ""
    candidate: str = ""
    pending: set[str] = field(default_factory=set)
    running: set[str] = field(default_factory=set)
    _head: str = ""
    _theirs: str = ""
    _red: list[str] = field(default_factory=list)

    def look(self) -> None:
        """Looks for new commits on the followed branch; makes a candidate of them."""
        head, theirs = self.landing.head(), self.landing.git.find(self.landing.campaign.landing.follow)
        if (head, theirs) == (self._head, self._theirs) or theirs is None:
            return
        self._head, self._theirs = head, theirs
        self.pending, self._red, self.candidate = set(), [], ""
        candidate = self.landing.candidate(head, theirs)
        if candidate is None:
            follow, branch = self.landing.campaign.landing.follow, self.landing.campaign.landing.branch
            self._hold(f"{follow} conflicts with {branch}; merge {branch} into {follow} by hand")
        elif candidate:
            self.candidate = candidate
            digests = self.bases.digests(candidate)
            self.pending = {name for name, digest in digests.items() if not self.bases.path(name, digest).exists()}
            log.info("TAKE-IN commit=%s controls=%d", candidate[:12], len(self.pending))
        else:
            self.held = ""

    def due(self) -> list[str]:
        """Binaries whose control of the candidate is to be started."""
        return sorted(self.pending - self.running)

    def take(self, result: ControlResult) -> None:
        """A control of the candidate came back."""
        self.running.discard(result.binary)
        if result.commit != self.candidate:
            return
        self.pending.discard(result.binary)
        if result.state != "green":
            self._red.append(result.reason)

    def finish(self) -> bool:
        """Moves the landing branch to a proven candidate. True when it moved."""
        if not self.candidate or self.pending:
            return False
        candidate, self.candidate = self.candidate, ""
        if self._red:
            self._hold(f"{self.landing.campaign.landing.follow} is not taken in: {'; '.join(self._red)}")
            return False
        moved = self.landing.advance(candidate, self._head)
        if moved:
            self.held = ""
            log.info("TAKEN-IN commit=%s", candidate[:12])
        self._head = ""
        return moved

    def _hold(self, reason: str) -> None:
        if reason != self.held:
            log.error("TAKE-IN-HELD reason=%r", reason)
        self.held = reason
