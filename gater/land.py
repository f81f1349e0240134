"""Landing: a green set becomes one commit on the landing branch, and the person's checkout follows when it is safe.

By plumbing only: a temporary index, commit-tree, and a compare-and-swap of the branch. Nothing is pushed, no hook runs,
no checkout is written to except by a fast-forward of the person's own branch.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from shared.config import Campaign
from shared.errors import CampaignError, RepositoryError
from shared.failpoint import failpoint
from shared.git import NO_COMMIT, Git, GitError
from shared.inputs import touches
from shared.locks import locked
from shared.oracle.hygiene import normalise
from shared.records import DraftRef
from shared.state import StateDir
from shared.target.splice import splice

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Green:
    """A set proven by a build: the base it was built on, the files as built, and the hash each binary came to."""

    base: str
    files: Mapping[str, bytes]
    drafts: tuple[tuple[str, DraftRef], ...]  # (TU path, draft)
    hashes: Mapping[str, str]
    wave: str
    markers: tuple[str, ...]


@dataclass(frozen=True)
class Landed:
    """The commit a green set became. `followed` says what became of the person's checkout."""

    commit: str
    followed: str


class Moved(CampaignError):
    """The landing head changed under the set in a way that may touch it: gate it again, without a strike."""


class Landing:
    """The landing branch of one project. One process lands at a time, under a lock."""

    def __init__(self, campaign: Campaign, state: StateDir) -> None:
        self.campaign = campaign
        self.state = state
        self.git = Git(campaign.root)
        self.ref = f"refs/heads/{campaign.landing.branch}"

    def prepare(self) -> str:
        """Makes the landing branch at the followed branch's head if it is missing; returns its head.

        Raises RepositoryError when neither exists or the landing branch is checked out somewhere.
        """
        self.git.check()
        head = self.git.find(self.ref)
        if head is None:
            start = self.git.commit_of(self.campaign.landing.follow)
            self.git.move_ref(self.ref, start, NO_COMMIT, self.campaign.landing.lock_wait_s)
            head = self.head()
            log.info("LANDING-CREATED branch=%s commit=%s", self.campaign.landing.branch, head[:12])
        if f"branch {self.ref}" in self.git.call("worktree", "list", "--porcelain").splitlines():
            raise RepositoryError(
                f"branch {self.campaign.landing.branch} is checked out; check out {self.campaign.landing.follow}, "
                "the landing branch moves under its own power"
            )
        return head

    def head(self) -> str:
        """The landing head. Raises RepositoryError when the branch is gone."""
        return self.git.commit_of(self.ref)

    def land(self, green: Green) -> Landed:
        """Commits a green set. Raises Moved when it must be gated again, RepositoryError, GitError."""
        with locked(self.state.locks / "landing.lock"):
            head = self.head()
            if head != green.base:
                moved = touches(self.campaign, self.git.changed(green.base, head), green.hashes)
                if moved:
                    raise Moved(f"{moved} changed between {green.base[:12]} and {head[:12]}")
            self._check(head, green)
            self.state.tmp.mkdir(exist_ok=True)
            index = self.state.tmp / "landing.index"
            tree = self.git.write_tree(head, green.files, index)
            commit = self.git.commit_tree(tree, [head], self._message(green))
            self._check_commit(head, commit, green)
            failpoint("land.commit")
            if not self.git.move_ref(self.ref, commit, head, self.campaign.landing.lock_wait_s):
                raise Moved(f"the landing branch left {head[:12]} while {commit[:12]} was made")
            failpoint("land.ref")
            followed = self.follow()
            failpoint("land.follow")
        return Landed(commit, followed)

    def follow(self) -> str:
        """Fast-forwards the person's checkout when it is on the followed branch and nothing is in progress.

        Returns one sentence saying what happened; never raises for a checkout that cannot follow.
        """
        follow = self.campaign.landing.follow
        target = self.head()
        try:
            if self.git.find(follow) == target:
                return f"{follow} is at the landing head"
            branch, operation = self.git.branch(), self.git.operation()
            if operation is not None:
                return f"{follow} left alone: {operation} is in progress in the checkout"
            if branch != follow:
                return f"{follow} left alone: the checkout is on {branch or 'a detached HEAD'}"
            done = self.git.attempt("merge", "--ff-only", "--quiet", "--no-verify", target)
            if done.ok:
                return f"{follow} followed to {target[:12]}"
            words = " ".join(done.stderr.decode("utf-8", "replace").split())
            return f"{follow} could not follow: {words[:300]}"
        except GitError as error:
            return f"{follow} could not follow: {error}"

    def candidate(self, head: str, theirs: str) -> str | None:
        """The commit that brings `theirs` into `head`: "" when it is in already, None when they conflict."""
        if self.git.is_ancestor(theirs, head):
            return ""
        if self.git.is_ancestor(head, theirs):
            return theirs
        tree = self.git.merge_trees(head, theirs)
        if tree is None:
            return None
        follow, branch = self.campaign.landing.follow, self.campaign.landing.branch
        return self.git.commit_tree(tree, [head, theirs], f"Merge {follow} into {branch}\n")

    def advance(self, commit: str, head: str) -> bool:
        """Moves the landing branch from `head` to a proven `commit`; False when it has left `head`."""
        with locked(self.state.locks / "landing.lock"):
            moved = self.git.move_ref(self.ref, commit, head, self.campaign.landing.lock_wait_s)
            if moved:
                self.follow()
        return moved

    def _check(self, head: str, green: Green) -> None:
        """The gated files must be exactly the head's files with the drafts spliced in."""
        for path, data in green.files.items():
            bodies = {draft.function: self._text(draft) for tu, draft in green.drafts if tu == path}
            if splice(self.git.show(head, path), bodies).text != data:
                raise RepositoryError(f"{path} as gated is not {head[:12]} plus its drafts; nothing was committed")

    def _check_commit(self, head: str, commit: str, green: Green) -> None:
        extra = set(self.git.changed(head, commit)) - set(green.files)
        if extra:
            raise RepositoryError(f"the commit would also touch {', '.join(sorted(extra)[:3])}; nothing was landed")

    def _text(self, draft: DraftRef) -> bytes:
        return normalise(self.state.resolve(draft.path).read_bytes())

    def _message(self, green: Green) -> str:
        binaries = "+".join(sorted(green.hashes))
        subject = self.campaign.landing.message.format(wave=green.wave, binary=binaries, n=len(green.drafts))
        lines = [subject, ""]
        lines += [f"Wave: {green.wave}"]
        lines += [f"Marker: {marker}" for marker in green.markers]
        for _, draft in green.drafts:
            lines.append(f"Function: {draft.binary}/{draft.function}")
            lines.append(f"Draft: {draft.digest}")
        backends = sorted({_one_line(f"{d.backend or 'unknown'} {d.model}") for _, d in green.drafts})
        lines += [f"Backend: {backend}" for backend in backends]
        lines += [f"Hash: {name} {value}" for name, value in sorted(green.hashes.items())]
        return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    """Words from a record as one printable line: nothing an agent says can end a trailer or start another."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:120]
