"""daemons/<name>.json: which settings and which code a running daemon has, so that `status` can say a restart is due.

Whether it runs is told by its lock alone; this file says what it is. Its time stamp is the loop's last sign of life.
"""

from __future__ import annotations

import functools
import hashlib
import os
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from shared import durable
from shared.config import Campaign
from shared.config.overrides import words
from shared.records import SCHEMA
from shared.state import StateDir, utc_now

BEAT_S = 5.0
PACKAGES = ("drafter", "gater", "shared")


class Presence:
    """Written when a daemon starts; `beat` is called by its working loop."""

    def __init__(self, state: StateDir, name: str, campaign: Campaign) -> None:
        self._path = path_of(state, name)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._beaten = time.monotonic()
        value = {
            "schema": SCHEMA,
            "daemon": name,
            "pid": os.getpid(),
            "started": utc_now(),
            "settings": campaign.digest(),
            "values": campaign.effective(),
            "overrides": words(campaign.overrides)[1::2],
            "code": code_digest(),
            "version": installed_version(),
        }
        durable.write_json(self._path, value)

    def beat(self) -> None:
        """The loop went round; noted every few seconds. A look at liveness only: no order is taken from it."""
        now = time.monotonic()
        if now - self._beaten >= BEAT_S:
            self._beaten = now
            try:
                os.utime(self._path)
            except OSError:
                return  # telling must never stop what happens


def path_of(state: StateDir, name: str) -> Path:
    """Where a daemon's presence lies."""
    return state.root / "daemons" / f"{name}.json"


@functools.cache
def code_digest() -> str:
    """Digest of this release's own Python files, first 12 letters."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def installed_version() -> str:
    """The package's version, "" when it runs from a folder."""
    try:
        return version("decomp-campaign")
    except PackageNotFoundError:
        return ""
