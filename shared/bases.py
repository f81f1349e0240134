"""The base of a binary: what its own green build at a commit tells. Everything a draft is judged against.

A base is cached by the digest of all that decides the binary's bytes, so one that other binaries' commits did not touch
stays good. Making one is the null control: it either builds to the expected hash or there is no base.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from shared.config import Campaign
from shared.errors import InstrumentFault, RedBase
from shared.git import Git
from shared.inputs import input_digest
from shared.locks import locked
from shared.state import StateDir
from shared.target.base import Base, load_base, read_base, save_base
from shared.target.build import build_binary
from shared.workspace import Workspace, acquire, inputs_stamp

log = logging.getLogger(__name__)

KEPT_GATES = 4
"""Bases of gates that did not land yet, kept a binary."""


@dataclass(frozen=True)
class Bases:
    """The base cache of one campaign."""

    campaign: Campaign
    state: StateDir

    def path(self, binary: str, digest: str) -> Path:
        """Where the base of these inputs lies, if it does."""
        return self.state.cache / "base" / binary / f"{digest}.base"

    def digest(self, binary: str, commit: str) -> str:
        """Digest of the inputs of `binary` at `commit`."""
        return self.digests(commit, binary)[binary]

    def digests(self, commit: str, *binaries: str) -> dict[str, str]:
        """Digest of the inputs at `commit` of each of `binaries` (default: all)."""
        tree = Git(self.campaign.root).tree(commit)
        stamp = inputs_stamp(self.campaign)
        return {name: input_digest(self.campaign, tree, name, stamp) for name in binaries or self.campaign.binaries}

    def sweep(self) -> None:
        """Removes bases of gates that never landed, but for the latest: the gate cache may need those."""
        for folder in (self.state.cache / "base").glob("*"):
            for path in sorted(folder.glob("*.gate"), key=lambda found: found.stat().st_mtime)[:-KEPT_GATES]:
                path.unlink(missing_ok=True)

    def find(self, binary: str, commit: str) -> Base | None:
        """The cached base, or None when no green build of these inputs is known."""
        path = self.path(binary, self.digest(binary, commit))
        return load_base(path)

    def ensure(self, binary: str, commit: str, *, slots: int, clean: bool = False) -> Base:
        """The base, building it in a free workspace when unknown, with `clean` always and from clean.

        Raises RedBase, InstrumentFault (no verdict).
        """
        with locked(self.state.locks / f"base-{binary}.lock"):
            known = None if clean else self.find(binary, commit)
            if known is not None:
                log.debug("CONTROL-HIT binary=%s commit=%s", binary, commit[:12])
                return known
            workspace = acquire(self.campaign, self.state, "gate", slots)
            if workspace is None:
                raise InstrumentFault(f"all {slots} gate workspaces are held; the null control of {binary} waits")
            try:
                if clean:
                    workspace.wipe()
                return self.build(workspace, binary, commit)
            finally:
                workspace.release()

    def build(self, workspace: Workspace, binary: str, commit: str) -> Base:
        """The null control in `workspace`: builds `commit` with no drafts and keeps what it tells."""
        workspace.sync(commit)
        built = build_binary(
            workspace.tree, binary, self.campaign.binaries[binary], self.campaign.gate, inherit=(workspace.lock.fd,)
        )
        log.info("CONTROL binary=%s commit=%s state=%s wall_s=%.2f", binary, commit[:12], built.state, built.wall_s)
        if built.state == "fault":
            raise InstrumentFault(f"null control of {binary} at {commit[:12]}: {built.reason}")
        if built.state != "green":
            _assure_whole(workspace.tree, binary, self.campaign)
            raise RedBase(
                f"{binary} is red at {commit[:12]} with no draft in it: {built.reason}; "
                "make it build to its expected hash, then it is judged again"
            )
        return self.keep(workspace.tree, binary, commit)

    def keep(self, tree: Path, binary: str, commit: str) -> Base:
        """Reads the base from the green build lying in `tree` and caches it for the inputs of `commit`."""
        base = read_whole_base(tree, binary, self.campaign)
        path = self.path(binary, self.digest(binary, commit))
        path.parent.mkdir(parents=True, exist_ok=True)
        save_base(base, path)
        return base


def read_whole_base(tree: Path, binary: str, campaign: Campaign) -> Base:
    """The base of the green build in `tree`, if the tree is all there once it is read. Raises InstrumentFault.

    A tree that is deleted while it is read gives a base without translation units, and that must never be kept.
    """
    settings = campaign.binaries[binary]
    base = read_base(tree, binary, settings)
    _assure_whole(tree, binary, campaign)
    if not base.tus:
        raise InstrumentFault(f"MISSING {tree / settings.sources[0]}: the tree went away while it was read")
    return base


def _assure_whole(tree: Path, binary: str, campaign: Campaign) -> None:
    """A tree that was deleted under a build or a reader says nothing. Raises InstrumentFault."""
    for name in (".git", *campaign.binaries[binary].sources, *campaign.project.inputs):
        if not (tree / name).exists():
            raise InstrumentFault(f"MISSING {tree / name}: the tree went away while it was in use")
