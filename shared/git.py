"""Git, by plumbing. Every call is bounded, runs no hook, starts no background maintenance and leaves no child behind.

Automatic gc prunes admin data of worktrees whose path is briefly absent, and detached maintenance races with copies of
the tree (field reports F43, F45): both are off for our calls.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shared.errors import CampaignError, RepositoryError
from shared.proc import Limits, Ran, run

ALWAYS = (
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "commit.gpgSign=false"),
    *("-c", "advice.detachedHead=false"),
)
NO_COMMIT = "0" * 40
OPERATIONS = ("MERGE_HEAD", "rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG")


class GitError(CampaignError):
    """A git command failed; the message is its command and its own last words."""

    def __init__(self, message: str, returncode: int) -> None:
        super().__init__(message)
        self.returncode = returncode


@dataclass(frozen=True)
class Git:
    """One repository, by a folder of it (the person's checkout or a worktree)."""

    root: Path
    timeout_s: float = 120.0

    def attempt(self, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Ran:
        """Runs one git command and returns what became of it. Raises MissingTool."""
        limits = Limits(timeout_s=self.timeout_s, output_kib=256 << 10, file_mib=None)
        return run(["git", *ALWAYS, *args], cwd=self.root, limits=limits, stdin=stdin, env=env)

    def call(self, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> str:
        """The stripped stdout of a git command. Raises GitError, MissingTool."""
        return self.raw(*args, stdin=stdin, env=env).decode("utf-8", "surrogateescape").strip()

    def raw(self, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> bytes:
        """The stdout bytes of a git command. Raises GitError, MissingTool."""
        done = self.attempt(*args, stdin=stdin, env=env)
        if not done.ok:
            words = done.stderr.decode("utf-8", "replace").strip().splitlines()
            why = "timed out" if done.timed_out else words[-1] if words else f"exit {done.returncode}"
            raise GitError(f"git {' '.join(args[:3])}: {why}", done.returncode)
        return done.stdout

    def check(self) -> None:
        """Raises RepositoryError unless this is a repository with at least one commit."""
        if not (self.root / ".git").exists():
            raise RepositoryError(
                f"{self.root} is not the root of a git repository; run `git init` and commit it first"
            )
        if self.find("HEAD") is None:
            raise RepositoryError(f"{self.root} has no commit yet; commit the project first")

    def find(self, ref: str) -> str | None:
        """The commit `ref` names, or None."""
        done = self.attempt("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        return done.stdout.decode().strip() if done.ok else None

    def commit_of(self, ref: str) -> str:
        """The commit `ref` names. Raises RepositoryError."""
        commit = self.find(ref)
        if commit is None:
            raise RepositoryError(f"{self.root} has no branch or commit {ref!r}; create it or correct campaign.toml")
        return commit

    def show(self, commit: str, path: str) -> bytes:
        """The content of `path` in `commit`. Raises GitError when it is not there."""
        return self.raw("cat-file", "blob", f"{commit}:{path}")

    def tree(self, commit: str, *paths: str) -> dict[str, tuple[str, str]]:
        """Tracked files of `commit` (under `paths`): path -> (mode, object id)."""
        out = self.raw("ls-tree", "-r", "-z", "--full-tree", commit, "--", *paths)
        entries = (entry.partition(b"\t") for entry in out.split(b"\0") if entry)
        return {
            name.decode("utf-8", "surrogateescape"): (meta.split()[0].decode(), meta.split()[2].decode())
            for meta, _, name in entries
        }

    def changed(self, old: str, new: str) -> list[str]:
        """Paths that differ between two commits."""
        out = self.raw("diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new)
        return [name.decode("utf-8", "surrogateescape") for name in out.split(b"\0") if name]

    def is_ancestor(self, old: str, new: str) -> bool:
        """Whether `new` contains `old`."""
        return self.attempt("merge-base", "--is-ancestor", old, new).ok

    def write_tree(self, base: str, files: Mapping[str, bytes], index: Path) -> str:
        """The tree of `base` with `files` replaced, by the private `index` file. Raises GitError, RepositoryError."""
        env = {"GIT_INDEX_FILE": str(index)}
        modes = self.tree(base, *files)
        index.unlink(missing_ok=True)
        try:
            self.call("read-tree", base, env=env)
            for path, data in files.items():
                if path not in modes:
                    raise RepositoryError(
                        f"{path} is not a tracked file of {base[:12]}; only tracked files are committed"
                    )
                blob = self.call("hash-object", "-w", "--stdin", "--no-filters", stdin=data)
                self.call("update-index", "--cacheinfo", f"{modes[path][0]},{blob},{path}", env=env)
            return self.call("write-tree", env=env)
        finally:
            index.unlink(missing_ok=True)

    def commit_tree(self, tree: str, parents: Sequence[str], message: str) -> str:
        """A commit object; no ref moves. Raises GitError, e.g. when no identity is configured."""
        flags = [word for parent in parents for word in ("-p", parent)]
        return self.call("commit-tree", tree, *flags, "-F", "-", stdin=message.encode())

    def merge_trees(self, ours: str, theirs: str) -> str | None:
        """The tree of a merge without conflict, else None. Touches no checkout."""
        done = self.attempt("merge-tree", "--write-tree", ours, theirs)
        if done.returncode not in (0, 1):
            raise GitError(f"git merge-tree: {done.stderr.decode('utf-8', 'replace').strip()}", done.returncode)
        return done.stdout.decode().split()[0] if done.returncode == 0 else None

    def move_ref(self, ref: str, new: str, old: str, wait_s: float = 30.0) -> bool:
        """Compare-and-swap of a branch: False when it is not `old` now. Waits for a foreign lock, then GitError."""
        deadline = time.monotonic() + wait_s
        while True:
            done = self.attempt("update-ref", "--no-deref", ref, new, old)
            if done.ok:
                return True
            words = done.stderr.decode("utf-8", "replace")
            current = self.find(ref) or NO_COMMIT
            if current != old:
                return current == new
            if time.monotonic() > deadline:
                raise GitError(f"git update-ref {ref}: {words.strip()}", done.returncode)
            time.sleep(0.1)

    def branch(self) -> str | None:
        """The branch checked out here, None when HEAD is detached."""
        done = self.attempt("symbolic-ref", "--quiet", "--short", "HEAD")
        return done.stdout.decode().strip() if done.ok else None

    def operation(self) -> str | None:
        """The operation in progress in this checkout (merge, rebase, bisect ...), None when there is none."""
        folder = Path(self.call("rev-parse", "--absolute-git-dir"))
        return next((name for name in OPERATIONS if (folder / name).exists()), None)
