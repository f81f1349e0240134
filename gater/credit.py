"""Who was banked by which commit, read from the landing branch's trailers: what makes delivery effective once."""

from __future__ import annotations

from dataclasses import dataclass, field

from shared.git import NO_COMMIT, Git
from shared.records import DraftRef

FUNCTION, DRAFT = "Function", "Draft"
"""Trailers of a landing, a pair a draft: which (binary, function), and the digest of the text."""


@dataclass
class Credits:
    """Drafts that commits of the landing branch carry, followed as the branch grows.

    Homonyms of two binaries can have the very same text, so a digest alone says nothing of which one landed.

    A squash or rebase by a person keeps trailers or loses them; either way the stub is gone and nothing lands twice.
    """

    git: Git
    branch: str
    _head: str = NO_COMMIT
    _commits: dict[tuple[str, str], str] = field(default_factory=dict)

    def commit_of(self, ref: DraftRef) -> str | None:
        """The landing commit whose trailers name this draft's function and digest, None when there is none."""
        self._follow()
        return self._commits.get((f"{ref.binary}/{ref.function}", ref.digest))

    def banked_by(self, commit: str) -> int:
        """How many drafts `commit` carries."""
        self._follow()
        return sum(landed == commit for landed in self._commits.values())

    def _follow(self) -> None:
        head = self.git.find(self.branch)
        if head is None or head == self._head:
            return
        span = [head]
        if self._head != NO_COMMIT and self.git.is_ancestor(self._head, head):
            span = [f"{self._head}..{head}"]
        else:
            self._commits.clear()
        pretty = f"--format=%H%x1f%(trailers:key={FUNCTION},key={DRAFT},separator=%x1f)"
        for line in self.git.call("log", pretty, *span).splitlines():
            commit, *trailers = line.split("\x1f")
            function = ""
            for trailer in trailers:
                key, _, value = trailer.partition(": ")
                if key == FUNCTION:
                    function = value.strip()
                else:
                    self._commits.setdefault((function, value.strip()), commit)
        self._head = head
