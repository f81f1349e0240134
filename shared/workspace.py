"""Private worktrees: where anything is compiled or built. The person's checkout is never substituted into.

A slot is `workspaces/<kind>-<n>/`: `lock` (held while used, its descriptor inherited by builds, so an orphan build
keeps it), `tree/`, a detached worktree of the project with copies of its git-ignored inputs, and `tmp/`, scratch that
the next holder finds empty whatever the last one died of.
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

    @property
    def tmp(self) -> Path:
        """Scratch of the holder."""
        return self.folder / "tmp"

    def sync(self, commit: str, *, read_only: bool = False) -> None:
        """Puts the tree at `commit` with all inputs in place; builds left in it stay, for a warm rebuild.

        `read_only`: this slot's users never write into the tree, so a tree at `commit` needs no second look.
        Raises MissingInput (`MISSING <path>`) when an input is not in the person's checkout, InstrumentFault else.
        """
        git = Git(self.tree)
        head = self._head()
        if head is None:
            self._rebuild(commit)
        elif head != commit or not (read_only or self._clean(git)):
            try:
                git.call("checkout", "--quiet", "--detach", "--force", commit)
                git.call("clean", "-fdq")
            except GitError as error:
                raise InstrumentFault(
                    f"workspace {self.folder.name} cannot be put at {commit[:12]}: {error}"
                ) from error
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

    def _head(self) -> str | None:
        """The commit the tree is at, read from its files; None when the tree is missing, broken or half-made."""
        try:
            link = (self.tree / ".git").read_text("utf-8")
            admin = Path(link.removeprefix("gitdir:").strip())
            head = (admin / "HEAD").read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return None
        broken = (admin / "index.lock").exists() or not (admin / "index").exists()
        return None if broken else head

    def _clean(self, git: Git) -> bool:
        return not git.call("status", "--porcelain", "--untracked-files=normal")

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
            found = Workspace(campaign, state, folder, held)
            shutil.rmtree(found.tmp, ignore_errors=True)
            found.tmp.mkdir()
            return found
    return None


def inputs_stamp(campaign: Campaign) -> str:
    """Digest over names, sizes and times of the git-ignored inputs: changes when splat ran again."""
    rows: list[tuple[str, int, int]] = []
    for name in campaign.project.inputs:
        path = campaign.root / name
        if path.is_dir():
            rows.extend(_stats(str(path), name))
        elif path.exists():
            status = path.stat()
            rows.append((name, status.st_size, status.st_mtime_ns))
    rows.sort()
    return digest_json([campaign.project.inputs, rows])


def _stats(folder: str, name: str) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            inner = f"{name}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                yield from _stats(entry.path, inner)
            else:
                status = entry.stat(follow_symlinks=False)
                yield inner, status.st_size, status.st_mtime_ns
