"""Private worktrees: where anything is compiled or built. The person's checkout is never substituted into.

A slot is `workspaces/<kind>-<n>/`: `lock` (held while used, its descriptor inherited by builds, so an orphan build
keeps it) and `tree/`, a detached worktree of the project with copies of its git-ignored inputs.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from shared import durable
from shared.config import Campaign
from shared.errors import InstrumentFault, MissingInput
from shared.git import Git, GitError
from shared.hashing import digest_json
from shared.locks import HeldLock, locked, try_lock
from shared.state import StateDir

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Workspace:
    """A slot we hold. `tree` is a full worktree; write into it freely, `sync` makes it clean again."""

    campaign: Campaign
    state: StateDir
    folder: Path
    lock: HeldLock

    @property
    def tree(self) -> Path:
        """Root of the private worktree."""
        return self.folder / "tree"

    def sync(self, commit: str) -> None:
        """Puts the tree at `commit` with all inputs in place; builds left in it stay, for a warm rebuild.

        Raises MissingInput (`MISSING <path>`) when an input is not in the person's checkout, InstrumentFault else.
        """
        git = Git(self.tree)
        if not self._usable():
            self._rebuild(commit)
        elif git.find("HEAD") != commit or git.call("status", "--porcelain", "--untracked-files=no"):
            git.call("checkout", "--quiet", "--detach", "--force", commit)
        git.call("clean", "-fdq")
        self._copy_inputs()

    def wipe(self) -> None:
        """Throws the tree away; the next `sync` makes a new one."""
        with self._admin():
            repository = Git(self.campaign.root)
            repository.attempt("worktree", "unlock", str(self.tree))
            repository.attempt("worktree", "remove", "--force", "--force", str(self.tree))
            shutil.rmtree(self.tree, ignore_errors=True)
            (self.folder / "inputs.json").unlink(missing_ok=True)
            repository.attempt("worktree", "prune")

    def release(self) -> None:
        """Gives the slot back."""
        self.lock.release()

    def _usable(self) -> bool:
        if not (self.tree / ".git").is_file():
            return False
        return Git(self.tree).attempt("rev-parse", "--is-inside-work-tree").ok

    def _rebuild(self, commit: str) -> None:
        self.wipe()
        with self._admin():
            try:
                Git(self.campaign.root).call("worktree", "add", "--quiet", "--detach", "--lock", str(self.tree), commit)
            except GitError as error:
                raise InstrumentFault(f"a workspace could not be made: {error}") from error

    def _copy_inputs(self) -> None:
        wanted = self.campaign.project.inputs
        stamp = inputs_stamp(self.campaign)
        record = self.folder / "inputs.json"
        try:
            known = durable.read_json(record)
        except (OSError, durable.Corrupt):
            known = None
        if known == stamp and all((self.tree / name).exists() for name in wanted):
            return
        record.unlink(missing_ok=True)
        for name in wanted:
            source, target = self.campaign.root / name, self.tree / name
            if not source.exists():
                raise MissingInput(
                    f"MISSING {source}: an input of the build; make it (splat split) or correct [project] inputs"
                )
            if source.is_dir():
                shutil.rmtree(target, ignore_errors=True)
                shutil.copytree(source, target, symlinks=True)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
        durable.write_json(record, stamp)

    @contextmanager
    def _admin(self) -> Iterator[None]:
        with locked(self.state.locks / "worktrees.lock"):
            yield


def acquire(campaign: Campaign, state: StateDir, kind: str, count: int) -> Workspace | None:
    """A free slot of `kind` among `count`, or None. A held one is skipped, never waited for."""
    for number in range(count):
        folder = state.workspaces / f"{kind}-{number}"
        folder.mkdir(parents=True, exist_ok=True)
        held = try_lock(folder / "lock")
        if held is not None:
            return Workspace(campaign, state, folder, held)
    return None


def inputs_stamp(campaign: Campaign) -> str:
    """Digest over names, sizes and times of the git-ignored inputs: changes when splat ran again."""
    rows: list[tuple[str, int, int]] = []
    for name in campaign.project.inputs:
        path = campaign.root / name
        files = sorted(_files(path)) if path.is_dir() else [path] if path.exists() else []
        for file in files:
            status = file.stat()
            rows.append((file.relative_to(campaign.root).as_posix(), status.st_size, status.st_mtime_ns))
    return digest_json([campaign.project.inputs, rows])


def _files(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        for name in names:
            yield Path(parent) / name
