"""gate/<gate>/: what one gate does as it does it. steps.jsonl for programs, gate.log for a person.

Written by the one process that runs the gate. The last hundreds of gates are kept.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from shared.journal import Journal, read_journal
from shared.records import SCHEMA
from shared.state import StateDir, utc_now

log = logging.getLogger(__name__)

KEPT_GATES = 300
SAY_S = 30.0
"""Nothing that runs stays silent in the daemon's log for longer than this."""


class Steps:
    """The steps of one gate. A context manager; `say` is one line in both files."""

    def __init__(self, state: StateDir, gate: str) -> None:
        self.folder = state.gate / gate
        self.folder.mkdir(parents=True, exist_ok=True)
        self._started = time.monotonic()
        self._rows = Journal(self.folder / "steps.jsonl")
        self._text = (self.folder / "gate.log").open("a", encoding="utf-8", errors="replace")

    def say(self, step: str, output: str = "", **fields: Any) -> None:
        """One step; `output` is a build's own words and goes to gate.log alone."""
        at_s = round(time.monotonic() - self._started, 3)
        self._rows.append({"at": utc_now(), "step": step, "at_s": at_s, "schema": SCHEMA, **fields})
        told = " ".join(f"{name}={_word(value)}" for name, value in fields.items())
        self._text.write(f"{at_s:9.3f} {step} {told}\n")
        for line in output.splitlines():
            self._text.write(f"          | {line}\n")
        self._text.flush()

    def __enter__(self) -> Steps:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.say("fault", reason=str(error))
        self._text.close()
        self._rows.close()


def _word(value: Any) -> str:
    return repr(value) if isinstance(value, str) and not value.isidentifier() else str(value)


def last_step(state: StateDir, gate: str) -> dict[str, Any]:
    """The step a gate is at, {} before its first."""
    rows = deque(read_journal(state.gate / gate / "steps.jsonl"), maxlen=1)
    return rows[0] if rows else {}


def sweep(state: StateDir) -> int:
    """Removes the folders of the oldest gates; returns how many."""
    folders = sorted((path for path in state.gate.iterdir() if path.is_dir()), key=_age)
    for path in folders[:-KEPT_GATES]:
        shutil.rmtree(path, ignore_errors=True)
    return max(0, len(folders) - KEPT_GATES)


def _age(path: Path) -> float:
    return path.stat().st_mtime


@dataclass
class Pulse:
    """Says every half minute what is running and for how long."""

    state: StateDir
    every_s: float = SAY_S
    _last: float = field(default_factory=time.monotonic)

    def due(self) -> bool:
        """Whether it is time to `say` something again."""
        return time.monotonic() - self._last >= self.every_s

    def say(self, running: Iterable[tuple[str, str, float]], queued: Mapping[str, int]) -> None:
        """`running`: (name of the job, gate id or "", monotonic start)."""
        self._last = now = time.monotonic()
        for name, gate, started in running:
            step = last_step(self.state, gate) if gate else {}
            at = "".join(f" {key}={step[key]}" for key in ("step", "binary", "build", "drafts") if key in step)
            log.info("WORKING %s for_s=%.0f%s", name, now - started, at)
        if any(queued.values()):
            log.info("IN-HAND %s", " ".join(f"{name}={count}" for name, count in queued.items()))
