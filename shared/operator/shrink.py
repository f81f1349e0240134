"""Tracked configuration that shrank: a truncated splat yaml or symbol file is found before it is committed or built."""

from __future__ import annotations

from typing import Any

from shared.config import Campaign
from shared.config.load import CONFIG_NAME
from shared.git import Git

PART = 0.2
"""A file that lost more than this part of its lines is reported."""

PATTERNS = ("*.yaml", "*.yml", "*.ld", "*symbol*.txt", "*undefined_*.txt", "*.sha1", "*.sha256", "*.mk")
NAMES = ("objdiff.json", "Makefile", CONFIG_NAME)


def shrunk(campaign: Campaign, head: str) -> list[dict[str, Any]]:
    """Files of the checkout or the index that lost more than PART of their lines since `head`, worst first.

    Two git diffs over configuration files only; a file is read in `head` when it lost lines. Raises GitError.
    """
    git = Git(campaign.root)
    named = {path for binary in campaign.binaries.values() for path in (*binary.symbols, binary.checksums)}
    paths = [*(f":(top,literal){path}" for path in sorted(named)), *(f":(top){glob}" for glob in PATTERNS)]
    paths += [f":(top,glob)**/{name}" for name in NAMES]
    found: dict[str, dict[str, Any]] = {}
    for where, flags in (("checkout", ()), ("index", ("--cached",))):
        out = git.raw("diff-index", "-z", "--numstat", "--no-renames", *flags, head, "--", *paths)
        for row in out.decode("utf-8", "surrogateescape").split("\0"):
            added, lost, path = [*row.split("\t", 2), "", ""][:3]
            if not lost.isdigit() or int(lost) <= int(added) or path in found:
                continue
            before = git.show(head, path).count(b"\n") or 1
            after = before + int(added) - int(lost)
            if before - after > PART * before:
                found[path] = {"file": path, "where": where, "before": before, "after": max(0, after)}
    return sorted(found.values(), key=lambda row: row["after"] / row["before"])
