"""Which binaries have a green base at the landing head, and the null controls that find out."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import dataclass, field
from pathlib import Path

from gater.jobs import ControlResult
from shared.bases import Bases
from shared.redlist import Red, Watched
from shared.target.base import Base, load_base

log = logging.getLogger(__name__)

RETRY_S = 2.0
"""Rest before a control whose job died is asked again."""
RECHECK_S = 300.0
"""A red or unanswered control is asked again after this long, or at once when an input of the binary changes."""


@dataclass
class Control:
    """What is known of one binary at the head. `state`: green | red | fault | unknown | running."""

    digest: str
    state: str
    reason: str = ""
    path: Path | None = None
    base: Base | None = None
    asked: float = -math.inf


@dataclass
class Controls:
    """The binaries' bases at one commit; `at` moves it to another."""

    bases: Bases
    red: Watched
    commit: str = ""
    by_binary: dict[str, Control] = field(default_factory=dict)

    def at(self, commit: str) -> None:
        """Moves to `commit`: what did not change keeps its control, the rest is looked up in the cache."""
        self.commit = commit
        for binary, digest in self.bases.digests(commit).items():
            known = self.by_binary.get(binary)
            if known is None or known.digest != digest:
                self.by_binary[binary] = self._look_up(binary, digest)

    def follow_red(self) -> bool:
        """Takes in what a fleet check found; True when a binary's control changed by it."""
        if not self.red.moved():
            return False
        changed = False
        for binary, control in self.by_binary.items():
            listed = self._listed(binary, control.digest)
            if control.state == "green" and listed:
                self.by_binary[binary] = Control(control.digest, "red", listed.reason, asked=time.monotonic())
                log.error("CONTROL-RED binary=%s reason=%r", binary, listed.reason)
                changed = True
            elif control.state == "red" and binary not in self.red.now.red:
                self.by_binary[binary] = self._look_up(binary, control.digest)
                changed = True
        return changed

    def due(self) -> list[str]:
        """Binaries whose control must be (re)run now."""
        now = time.monotonic()
        return [
            binary
            for binary, control in self.by_binary.items()
            if (control.state == "unknown" and now - control.asked > RETRY_S)
            or (control.state in ("red", "fault") and now - control.asked > RECHECK_S)
        ]

    def started(self, binary: str) -> None:
        """A control job runs for it."""
        self.by_binary[binary].state = "running"
        self.by_binary[binary].asked = time.monotonic()

    def failed(self, binary: str) -> None:
        """The control job itself died: ask again."""
        if self.by_binary[binary].state == "running":
            self.by_binary[binary].state = "unknown"

    def recheck(self) -> None:
        """A base whose file left the cache is made again: anything in cache/ may be deleted at any time."""
        for control in self.by_binary.values():
            if control.state == "green" and control.path is not None and not control.path.exists():
                control.state, control.base, control.path = "unknown", None, None

    def take(self, result: ControlResult) -> None:
        """Takes a control's result; one of another commit says nothing."""
        control = self.by_binary[result.binary]
        if result.commit != self.commit:
            control.state = "unknown"
            return
        control.state, control.reason, control.path = result.state, result.reason, result.path
        if result.path is not None:
            control.base = load_base(result.path)
            log.info("CONTROL binary=%s state=green wall_s=%.2f", result.binary, result.wall_s)
        else:
            log.error("CONTROL-%s binary=%s reason=%r", result.state.upper(), result.binary, result.reason)

    def adopt(self, binary: str, gate_base: Path) -> None:
        """Files the base a landed gate left under the inputs at the head: a landing is its own null control."""
        control = self.by_binary[binary]
        path = self.bases.path(binary, control.digest)
        gate_base.replace(path)
        self.by_binary[binary] = Control(control.digest, "green", "", path, load_base(path))

    def green(self) -> dict[str, Base]:
        """Bases of the binaries known green."""
        return {name: c.base for name, c in self.by_binary.items() if c.state == "green" and c.base is not None}

    def paths(self, binaries: tuple[str, ...]) -> dict[str, Path]:
        """Files of the bases of `binaries`, all of which must be green."""
        return {name: path for name in binaries if (path := self.by_binary[name].path) is not None}

    def not_green(self, binaries: tuple[str, ...]) -> str:
        """Why these cannot be judged now: "" when they can, else "pending" or the first red or fault reason."""
        for name in binaries:
            control = self.by_binary[name]
            if control.state in ("unknown", "running"):
                return "pending"
            if control.state != "green":
                return control.reason
        return ""

    def settled(self) -> bool:
        """Every binary has an answer."""
        return all(control.state not in ("unknown", "running") for control in self.by_binary.values())

    def listed(self, binary: str) -> bool:
        """Whether these very inputs are on the red list: only a build from clean clears that."""
        return self._listed(binary, self.by_binary[binary].digest) is not None

    def _listed(self, binary: str, digest: str) -> Red | None:
        entry = self.red.now.red.get(binary)
        return entry if entry is not None and entry.digest == digest else None

    def _look_up(self, binary: str, digest: str) -> Control:
        listed = self._listed(binary, digest)
        if listed is not None:  # proven anew at once: what made it red may have died with an earlier life
            return Control(digest, "red", listed.reason)
        path = self.bases.path(binary, digest)
        base = load_base(path)
        return Control(digest, "green", "", path, base) if base else Control(digest, "unknown")
