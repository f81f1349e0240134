"""Open stubs of committed source by (binary, function), with their TU and assembly."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from shared.config import Campaign
from shared.errors import CampaignError, ConfigError, RepositoryError
from shared.git import Git
from shared.operator.evidence.rows import Key
from shared.operator.source import blobs
from shared.oracle.context import find_asm
from shared.target.asmfile import read_asm
from shared.target.objfile import ByteOrder
from shared.target.stubs import Stub, find_stubs


@dataclass(frozen=True)
class OpenStub:
    """One stub and the TU it stands in."""

    tu: str
    stub: Stub


@dataclass
class OpenStubs:
    """All open stubs at `commit`; a name open twice in one binary has two entries."""

    campaign: Campaign
    commit: str
    places: dict[Key, list[OpenStub]] = field(default_factory=dict)

    def asm(self, key: Key) -> Path | None:
        """The stub's `.s` in the person's checkout, None when it is not there."""
        return find_asm(self.campaign.root, self.campaign.binaries[key[0]].asm, self.places[key][0].stub)

    def words(self, key: Key) -> int | None:
        """Instructions of the target function by its `.s`, None when that cannot be read."""
        order: ByteOrder = "big" if self.campaign.project.platform == "n64" else "little"
        try:
            path = self.asm(key)
            function = read_asm(path, order).function(key[1]) if path else None
        except (CampaignError, OSError):
            return None
        return function.instructions if function else None


def landing_head(campaign: Campaign) -> str:
    """The landing head, or the followed branch where nothing has landed yet. Raises RepositoryError."""
    git = Git(campaign.root)
    head = git.find(f"refs/heads/{campaign.landing.branch}") or git.find(f"refs/heads/{campaign.landing.follow}")
    if head is None:
        raise RepositoryError(
            f"{campaign.root} has neither a branch {campaign.landing.branch!r} nor {campaign.landing.follow!r}; "
            "name the branch you work on in [landing] follow"
        )
    return head


def open_stubs(campaign: Campaign) -> OpenStubs:
    """Every open stub at the landing head. Raises RepositoryError, GitError."""
    git = Git(campaign.root)
    found = OpenStubs(campaign, landing_head(campaign))
    tree = git.tree(found.commit, *sorted({place for b in campaign.binaries.values() for place in b.sources}))
    sources = {tu: oid for tu, (_, oid) in tree.items() if tu.endswith(".c")}
    stubs = {oid: find_stubs(data) for oid, data in blobs(git, sorted(set(sources.values())))}
    for binary, settings in campaign.binaries.items():
        for tu, oid in sources.items():
            if any(tu == place or tu.startswith(place.rstrip("/") + "/") for place in settings.sources):
                for stub in stubs.get(oid, ()):
                    found.places.setdefault((binary, stub.function), []).append(OpenStub(tu, stub))
    return found


def check_binary(campaign: Campaign, binary: str | None) -> None:
    """Raises ConfigError for a binary the project does not have."""
    if binary is not None and binary not in campaign.binaries:
        raise ConfigError(f"{binary!r} is no binary of this project; known are {', '.join(campaign.binaries)}")


def binaries_of(campaign: Campaign, function: str, binary: str | None, known: set[str]) -> str:
    """The one binary `function` is meant in: named, or the only one of `known`. Raises ConfigError."""
    check_binary(campaign, binary)
    if binary is not None:
        return binary
    if len(known) == 1:
        return next(iter(known))
    if known:
        raise ConfigError(f"{function} is a function of {', '.join(sorted(known))}; name one with --binary")
    raise ConfigError(f"{function} is neither an open stub nor has it a draft; `campaign backlog` lists what there is")
