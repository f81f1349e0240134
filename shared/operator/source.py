"""Open stubs counted from the committed source, by blob, so that a commit costs only the files it changed.

Banks are what is no longer a stub on the landing branch: never what a log says.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from shared import durable
from shared.config import Campaign
from shared.errors import CampaignError
from shared.git import Git
from shared.state import StateDir

FORM = 1
COMMITS_KEPT = 16


class Source:
    """Counts of one project's commits, cached below cache/. `save` keeps what is new."""

    def __init__(self, campaign: Campaign, state: StateDir) -> None:
        self._campaign = campaign
        self._git = Git(campaign.root)
        self._path = state.cache / "operator" / "stubs.json"
        self._known = self._load()
        self._changed = False

    def open_stubs(self, commit: str) -> dict[str, int]:
        """Open stubs of each binary at `commit`. Raises GitError, MissingTool."""
        key = f"{commit}:{self._campaign.digest()[:12]}"
        commits = self._known["commits"]
        if key not in commits:
            commits[key] = self._count(commit)
            for old in list(commits)[:-COMMITS_KEPT]:
                del commits[old]
            self._changed = True
        return dict(commits[key])

    def save(self) -> None:
        """Keeps the counts; failing to is no harm."""
        if not self._changed:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            durable.write(self._path, orjson.dumps(self._known))
        except (OSError, CampaignError):
            return

    def _load(self) -> dict[str, Any]:
        try:
            known = orjson.loads(self._path.read_bytes())
            if known["form"] == FORM:
                return dict(known)
        except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
            pass
        return {"form": FORM, "blobs": {}, "commits": {}}

    def _count(self, commit: str) -> dict[str, int]:
        binaries = self._campaign.binaries
        places = sorted({place for binary in binaries.values() for place in binary.sources})
        tree = {path: oid for path, (_, oid) in self._git.tree(commit, *places).items() if path.endswith(".c")}
        self._read(oid for oid in set(tree.values()) if oid not in self._known["blobs"])
        blobs = self._known["blobs"]
        return {
            name: sum(blobs.get(oid, 0) for path, oid in tree.items() if _below(path, binary.sources))
            for name, binary in binaries.items()
        }

    def _read(self, wanted: Iterable[str]) -> None:
        from shared.target.stubs import find_stubs  # only when a file is new: status must start quickly

        for oid, data in blobs(self._git, list(wanted)):
            self._known["blobs"][oid] = len({stub.function for stub in find_stubs(data)})
            self._changed = True


def blobs(git: Git, wanted: list[str]) -> Iterable[tuple[str, bytes]]:
    """(object id, content) of each wanted blob, by one git process. Raises GitError."""
    if not wanted:
        return
    out = git.raw("cat-file", "--batch", stdin="".join(f"{oid}\n" for oid in wanted).encode())
    at = 0
    for oid in wanted:
        end = out.index(b"\n", at)
        fields = out[at:end].split()
        if len(fields) != 3:
            at = end + 1
            continue
        size = int(fields[2])
        yield oid, out[end + 1 : end + 1 + size]
        at = end + 1 + size + 1


def _below(path: str, places: list[str]) -> bool:
    return any(path == place or path.startswith(place.rstrip("/") + "/") for place in places)


def branches(root: Path, landing: str, follow: str) -> dict[str, Any]:
    """Head of the landing branch and how it stands to the followed one. Raises GitError, MissingTool."""
    git = Git(root)
    head, theirs = git.find(f"refs/heads/{landing}"), git.find(f"refs/heads/{follow}")
    found: dict[str, Any] = {"branch": landing, "head": head, "follow": follow, "follow_head": theirs}
    if head and theirs:
        ahead, behind = git.call("rev-list", "--left-right", "--count", f"{head}...{theirs}").split()
        found |= {"ahead": int(ahead), "behind": int(behind)}
    return found
