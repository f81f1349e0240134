"""Which tracked files a binary's build may read. Unknown counts as read: all but other binaries' own source folders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from shared.config import Campaign
from shared.config.load import CONFIG_NAME
from shared.hashing import digest_json


def touches(campaign: Campaign, changed: Iterable[str], binaries: Iterable[str]) -> str:
    """The first of the `changed` paths that one of the `binaries` may read, "" when there is none."""
    names = list(binaries)
    for path in changed:
        if any(_reads(campaign, name, path) for name in names):
            return path
    return ""


def input_digest(campaign: Campaign, tree: Mapping[str, tuple[str, str]], binary: str, stamp: str) -> str:
    """Digest of all that decides the bytes of `binary` in a commit's `tree`; `stamp` is that of the ignored inputs."""
    rows = sorted((path, entry) for path, entry in tree.items() if _reads(campaign, binary, path))
    return digest_json([msgspec.to_builtins(campaign.binaries[binary]), stamp, rows])


def _reads(campaign: Campaign, binary: str, path: str) -> bool:
    if path == CONFIG_NAME:
        return False
    if _under(path, campaign.binaries[binary].sources):
        return True
    return not any(_under(path, other.sources) for name, other in campaign.binaries.items() if name != binary)


def _under(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)
