"""Which functions are open at a commit, and in which TU: read from committed source, never from a log."""

from __future__ import annotations

from dataclasses import dataclass, field

from shared.config import Campaign
from shared.git import Git
from shared.target.base import Base
from shared.target.stubs import find_stubs


@dataclass(frozen=True)
class Place:
    """Where a stub stands: its TU and every binary that compiles that TU."""

    tu: str
    binaries: tuple[str, ...]


@dataclass
class StubIndex:
    """Open stubs by (binary, function). Blobs already read are not read again.

    A name that is open twice in one binary is in `twice` and nowhere else: a draft for it cannot be placed.
    """

    campaign: Campaign
    git: Git
    open: dict[tuple[str, str], Place] = field(default_factory=dict)
    twice: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    owners: dict[str, tuple[str, ...]] = field(default_factory=dict)
    commit: str = ""
    _functions: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def refresh(self, commit: str, bases: dict[str, Base]) -> None:
        """Reads the stubs of `commit`; only binaries with a base (a known link) have TUs."""
        self.commit = commit
        owners: dict[str, list[str]] = {}
        for binary in self.campaign.binaries:
            for tu in bases[binary].tus if binary in bases else ():
                owners.setdefault(tu, []).append(binary)
        self.owners = {tu: tuple(names) for tu, names in owners.items()}
        tree = self.git.tree(commit)
        self.open, self.twice = {}, {}
        for tu, names in self.owners.items():
            for function in self._read(tree[tu][1]) if tu in tree else ():
                for binary in names:
                    self._add((binary, function), Place(tu, names))

    def _add(self, key: tuple[str, str], place: Place) -> None:
        known = self.open.get(key)
        if known is not None and known.tu != place.tu:
            self.twice[key] = (known.tu, place.tu)
            del self.open[key]
        elif key not in self.twice:
            self.open[key] = place

    def _read(self, blob: str) -> tuple[str, ...]:
        if blob not in self._functions:
            source = self.git.raw("cat-file", "blob", blob)
            self._functions[blob] = tuple(stub.function for stub in find_stubs(source))
        return self._functions[blob]
