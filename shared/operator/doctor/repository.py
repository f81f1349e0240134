"""Whether git lets the gater land."""

from __future__ import annotations

from collections.abc import Iterator

from shared.config import Campaign
from shared.git import Git
from shared.operator.doctor.found import Found, failed, ok, warning
from shared.operator.source import branches


def repository(campaign: Campaign) -> Iterator[Found]:
    """The repository, its branches, the checkout, and who commits. Raises RepositoryError, MissingTool."""
    git = Git(campaign.root)
    git.check()
    yield _identity(git)
    landing, follow = campaign.landing.branch, campaign.landing.follow
    known = branches(campaign.root, landing, follow)
    if not known["follow_head"]:
        here = git.branch()
        do = f'set landing.follow = "{here}"' if here else "create it, or correct landing.follow"
        yield failed("branches", f"there is no branch {follow}, which landing.follow names", do)
        return
    if git.branch() == landing:
        yield failed("branches", f"{landing} is checked out here", f"git switch {follow}: nobody works on it")
        return
    what = f"{follow} at {known['follow_head'][:12]}"
    if known["head"]:
        what += f", {landing} {known['ahead']} ahead of and {known['behind']} behind it"
    else:
        what += f"; {landing} is made with the first bank"
    yield ok("branches", what)
    operation = git.operation()
    dirty = git.call("status", "--porcelain", "--untracked-files=no").splitlines()
    if operation:
        yield warning("checkout", f"{operation} is in progress", "finish or abort it: banks do not reach it meanwhile")
    elif git.branch() != follow:
        yield warning("checkout", f"{git.branch() or 'no branch'} is checked out", f"banks reach {follow} when it is")
    elif dirty:
        what = f"{len(dirty)} files changed and not committed"
        yield warning("checkout", what, "commit them: the campaign works on commits, and does not see these")
    else:
        yield ok("checkout", f"clean, on {follow}")


def _identity(git: Git) -> Found:
    done = git.attempt("var", "GIT_COMMITTER_IDENT")
    if not done.ok:
        words = done.stderr.decode("utf-8", "replace").strip().splitlines()
        do = "git config user.name NAME; git config user.email ADDRESS"
        return failed("identity", f"git cannot say who commits: {words[-1] if words else 'no word why'}", do)
    return ok("identity", done.stdout.decode("utf-8", "replace").rsplit(" ", 2)[0])
