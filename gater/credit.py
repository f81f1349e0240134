"""Who was banked by which commit, read from the landing branch's trailers: what makes delivery effective once."""

from __future__ import annotations

from dataclasses import dataclass, field

from shared.git import NO_COMMIT, Git

TRAILER = "Draft"


@dataclass
class Credits:
    """Draft digests that commits of the landing branch carry, followed as the branch grows.

    A squash or rebase by a person keeps trailers or loses them; either way the stub is gone and nothing lands twice.
    """

    git: Git
    branch: str
    _head: str = NO_COMMIT
    _commits: dict[str, str] = field(default_factory=dict)

    def commit_of(self, digest: str) -> str | None:
        """The landing commit whose trailer carries this draft digest, None when there is none."""
        self._follow()
        return self._commits.get(digest)

    def digests_of(self, commit: str) -> list[str]:
        """The draft digests `commit` carries."""
        self._follow()
        return [digest for digest, landed in self._commits.items() if landed == commit]

    def _follow(self) -> None:
        head = self.git.find(self.branch)
        if head is None or head == self._head:
            return
        span = [head]
        if self._head != NO_COMMIT and self.git.is_ancestor(self._head, head):
            span = [f"{self._head}..{head}"]
        else:
            self._commits.clear()
        pretty = f"--format=%H%x00%(trailers:key={TRAILER},valueonly,separator=%x20)"
        for line in self.git.call("log", pretty, *span).splitlines():
            commit, _, digests = line.partition("\0")
            for digest in digests.split():
                self._commits.setdefault(digest, commit)
        self._head = head
