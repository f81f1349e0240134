"""Live progress of a demo night, read from the state directory: one line a second, or a redrawn panel on a terminal."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

from rich.console import Console
from rich.live import Live
from rich.table import Table

from shared.journal import read_journal
from shared.spool import Spool
from shared.state import StateDir


@dataclass
class Progress:
    """What the journals say so far."""

    state: StateDir
    begun: float = field(default_factory=time.monotonic)

    def figures(self) -> dict[str, str]:
        """Name -> value, in the order a draft goes."""
        rows = {row["id"]: row for row in read_journal(self.state.journal / "drafts.jsonl")}
        verdicts = Counter(row["verdict"] for row in rows.values())
        agents = sum(1 for path in self.state.waves.glob("*/drafts*.jsonl") for _ in read_journal(path))
        requests = sum(1 for path in self.state.journal.glob("rate-*.jsonl") for _ in read_journal(path))
        spool = Spool(self.state).counts()
        return {
            "time": f"{time.monotonic() - self.begun:.0f} s",
            "waves drawn": str(sum(1 for _ in self.state.waves.glob("*/wave.json"))),
            "requests": str(requests),
            "agents ended": str(agents),
            "drafts judged": str(len(rows)),
            "banked": f"{verdicts.pop('BANKED', 0)} of {len(rows)}",
            "other verdicts": ", ".join(f"{name} {n}" for name, n in sorted(verdicts.items())) or "none",
            "markers": ", ".join(f"{name} {n}" for name, n in spool.items()),
        }


class Show:
    """Shows progress while a block runs; silent with `--json`."""

    def __init__(self, state: StateDir, *, quiet: bool) -> None:
        self._progress = Progress(state)
        self._console = Console(stderr=True)
        self._quiet = quiet
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._last = 0.0

    def __enter__(self) -> Show:
        if not self._quiet and self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live.is_started:
            self._live.stop()

    def update(self) -> None:
        """Redraws at most once a second (a line every five where there is no terminal)."""
        pause = 1.0 if self._live.is_started else 5.0
        if self._quiet or time.monotonic() - self._last < pause:
            return
        self._last = time.monotonic()
        figures = self._progress.figures()
        if self._live.is_started:
            table = Table.grid(padding=(0, 2))
            for name, value in figures.items():
                table.add_row(name, value)
            self._live.update(table, refresh=True)
        else:
            self._console.print("  ".join(f"{name}={value}" for name, value in figures.items()), soft_wrap=True)
