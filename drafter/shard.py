"""One shard as the drafter sees it: a folder under shards/, its inbox, its heartbeat, its end.

shards/<id>/  share.json launch.json collected.json are ours; heartbeat.json exit.json are the shard's.
A target is dealt while its file is in the inbox of a shard without collected.json.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shared import durable
from shared.failpoint import failpoint
from shared.records import Target, encode
from shared.state import StateDir

_SHARD = re.compile(r"s(\d{4,})")


@dataclass
class Shard:
    """`dealt` are targets in its inbox without a row; `progressed` is the monotonic time of its last sign of work."""

    id: str
    pool: str
    workers: int
    folder: Path
    progressed: float
    dealt: set[str] = field(default_factory=set)
    progress: Any = None
    beat: dict[str, Any] = field(default_factory=dict)
    """Its last heartbeat, as read."""
    rows: int = 0
    asked: float | None = None
    killed: bool = False
    warned: bool = False
    moved: tuple[Any, ...] = ("", "")
    """Why its limit moved last and why its breaker is open, as journaled."""

    @property
    def inbox(self) -> Path:
        """Where its targets lie."""
        return self.folder / "inbox"

    def deal(self, target: Target) -> None:
        """Puts a target into the inbox, durably. Raises DiskFull, OSError."""
        durable.write_json(self.inbox / f"{target.id}.json", encode(target))
        self.dealt.add(target.id)
        failpoint("deal.inbox")

    def set_workers(self, workers: int) -> None:
        """Changes how many agents it may run; it reads share.json again by itself. Raises DiskFull, OSError."""
        if workers != self.workers:
            self.workers = workers
            durable.write_json(self.folder / "share.json", {"workers": workers, "pool": self.pool})

    def look(self, now: float) -> None:
        """Reads the heartbeat; a changed progress count, or having nothing to do, is a sign of life."""
        value = self.beat = self._read("heartbeat.json")
        progress = value.get("progress")
        if progress != self.progress or not self.dealt:
            self.progress = progress
            self.progressed = now

    def ended_by_itself(self) -> bool:
        """It wrote why it ended: nothing killed it."""
        return bool(self._read("exit.json"))

    def exit_reason(self) -> str:
        """What exit.json says, "" when there is none."""
        value = self._read("exit.json")
        return str(value.get("reason", "")) if value else ""

    def collect(self, unfinished: list[str], killed: bool) -> None:
        """Notes that everything of it is taken over. Raises DiskFull, OSError."""
        durable.write_json(self.folder / "collected.json", {"unfinished": unfinished, "killed": killed})

    def _read(self, name: str) -> dict[str, Any]:
        try:
            value = durable.read_json(self.folder / name)
        except (OSError, durable.Corrupt):
            return {}
        return value if isinstance(value, dict) else {}


def next_number(state: StateDir) -> int:
    """One more than any shard's number."""
    matches = (_SHARD.fullmatch(entry.name) for entry in state.shards.iterdir())
    return 1 + max((int(match[1]) for match in matches if match), default=0)


def make_shard(state: StateDir, number: int, pool: str, workers: int, now: float) -> Shard:
    """A new shard's folder. Raises DiskFull, OSError."""
    folder = state.shards / f"s{number:04d}"
    (folder / "inbox").mkdir(parents=True)
    durable.sync_directory(state.shards)
    durable.write_json(folder / "share.json", {"workers": workers, "pool": pool})
    return Shard(folder.name, pool, workers, folder, now)


def left_shards(state: StateDir, now: float) -> list[Shard]:
    """Shards of an earlier drafter that were not collected yet, dead or alive, with what lies in their inboxes."""
    found = []
    for folder in sorted(entry for entry in state.shards.iterdir() if _SHARD.fullmatch(entry.name)):
        if (folder / "collected.json").exists():
            continue
        share: dict[str, Any] = {}
        with contextlib.suppress(OSError, durable.Corrupt):
            share = durable.read_json(folder / "share.json")
        (folder / "inbox").mkdir(exist_ok=True)
        dealt = {path.stem for path in (folder / "inbox").glob("*.json")}
        pool, workers = str(share.get("pool", "")), share.get("workers", 0)
        found.append(Shard(folder.name, pool, workers if isinstance(workers, int) else 0, folder, now, dealt))
    return found


def strikes(state: StateDir) -> dict[str, int]:
    """How often each target was in the hands of a shard that was killed or died."""
    counts: dict[str, int] = {}
    for path in state.shards.glob("s*/collected.json"):
        with contextlib.suppress(OSError, durable.Corrupt, AttributeError, TypeError):
            value = durable.read_json(path)
            for target in value.get("unfinished", []) if value.get("killed") else []:
                counts[target] = counts.get(target, 0) + 1
    return counts
