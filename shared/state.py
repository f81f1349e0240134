"""The state directory: where everything of a night lies. docs/on-disk.md describes each file.

`.run` in the target project is a link to a folder in the user's state home, so that a `git clean -fdx` cannot delete a
night; `touch .run/stop` works all the same.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from shared import durable
from shared.errors import CampaignError, ConfigError
from shared.hashing import digest_bytes

LINK = ".run"
FOLDERS = (
    "spool/tmp",
    "spool/ready",
    "spool/claimed",
    "spool/done",
    "spool/poison",
    "spool/requests",
    "waves",
    "shards",
    "gate",
    "waiting",
    "workspaces",
    "cache",
    "locks",
    "journal",
    "knowledge",
    "tmp",
)


@dataclass(frozen=True)
class StateDir:
    """Paths under one campaign's state directory. Two campaigns share no path (field report F28)."""

    root: Path

    @property
    def stop(self) -> Path:
        """Its presence asks both daemons to drain."""
        return self.root / "stop"

    @property
    def spool(self) -> Path:
        """Holds tmp/ ready/ claimed/ done/ poison/ requests/."""
        return self.root / "spool"

    @property
    def waves(self) -> Path:
        """One folder a wave."""
        return self.root / "waves"

    @property
    def shards(self) -> Path:
        """One folder a shard process."""
        return self.root / "shards"

    @property
    def workspaces(self) -> Path:
        """Private worktrees, one folder a slot."""
        return self.root / "workspaces"

    @property
    def cache(self) -> Path:
        """Everything here can be deleted at any time."""
        return self.root / "cache"

    @property
    def locks(self) -> Path:
        """Lock files; never deleted."""
        return self.root / "locks"

    @property
    def journal(self) -> Path:
        """Append-only journals."""
        return self.root / "journal"

    @property
    def gate(self) -> Path:
        """One folder a gate: steps.jsonl and gate.log."""
        return self.root / "gate"

    @property
    def waiting(self) -> Path:
        """Drafts that passed and may not be gated yet, one folder a binary."""
        return self.root / "waiting"

    @property
    def tmp(self) -> Path:
        """TMPDIR of everything we start."""
        return self.root / "tmp"

    @property
    def knowledge(self) -> Path:
        """Harvested notes."""
        return self.root / "knowledge"

    def stopping(self) -> bool:
        """A drain was asked for."""
        return self.stop.exists()

    def relative(self, path: Path) -> str:
        """`path` as records spell it. Raises ValueError for a path outside."""
        return path.relative_to(self.root).as_posix()

    def resolve(self, relative: str) -> Path:
        """The file a record names. Raises CampaignError for a path that would leave the state directory."""
        path = self.root / relative
        if relative.startswith("/") or ".." in Path(relative).parts or not relative.isprintable():
            raise CampaignError(f"{relative!r} is not a path inside the state directory; the record is not trusted")
        return path


def state_home() -> Path:
    """Where state directories are made: $XDG_STATE_HOME/decomp-campaign or ~/.local/state/decomp-campaign."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "decomp-campaign"


def create_state(project: Path, name: str, home: Path | None = None) -> StateDir:
    """Makes the state directory and the `.run` link; idempotent. Raises ConfigError when `.run` is something else.

    The folder's name carries a digest of the project's path, so that two checkouts of one project never meet.
    """
    link = project / LINK
    if not link.is_symlink() and not link.exists():
        tag = digest_bytes(str(project.resolve()).encode())[:8]
        folder = (home or state_home()) / f"{name}-{tag}"
        folder.mkdir(parents=True, exist_ok=True)
        link.symlink_to(folder, target_is_directory=True)
        _exclude(project)
    return open_state(project)


def _exclude(project: Path) -> None:
    """Keeps `.run` out of `git status` without touching a tracked file."""
    exclude = project / ".git" / "info" / "exclude"
    if exclude.parent.is_dir():
        known = exclude.read_bytes() if exclude.exists() else b""
        if b"/.run" not in known.split(b"\n"):
            durable.write(exclude, known + b"/.run\n")


def open_state(project: Path) -> StateDir:
    """The state directory `.run` names, its folders made. Raises ConfigError when there is none."""
    link = project / LINK
    root = link.resolve()
    if not root.is_dir():
        raise ConfigError(f"{link} does not lead to a state directory; run `campaign init` in {project}")
    for folder in FOLDERS:
        (root / folder).mkdir(parents=True, exist_ok=True)
    return StateDir(root)


def utc_now() -> str:
    """UTC stamp with milliseconds, for records; order never depends on it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
