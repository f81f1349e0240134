"""Verdicts on disk, by filter key. Shards and the gater share one folder; any of it may be deleted at any time."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from shared import durable
from shared.errors import CampaignError
from shared.records import Judgement, Verdict

log = logging.getLogger(__name__)


@dataclass
class VerdictCache:
    """Judgements below `folder`. Safe between processes (whole-file writes) and threads; counts its hits and misses."""

    folder: Path
    hits: int = 0
    misses: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def get(self, key: str) -> Judgement | None:
        """The judgement kept under `key`, marked as cached; an unreadable file is a miss."""
        try:
            found = msgspec.json.decode(self._path(key).read_bytes(), type=Judgement)
        except (OSError, msgspec.DecodeError):
            found = None
        with self._lock:
            if found is None or found.verdict is Verdict.FAULT:
                self.misses += 1
                return None
            self.hits += 1
        return msgspec.structs.replace(found, cached=True)

    def put(self, key: str, judgement: Judgement) -> None:
        """Keeps a judgement, unless it is a FAULT: that says nothing of the draft. A full disk only costs the entry."""
        if judgement.verdict is Verdict.FAULT:
            return
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            durable.write(path, msgspec.json.encode(msgspec.structs.replace(judgement, key=key, cached=False)))
        except (OSError, CampaignError) as error:
            log.warning("CACHE-WRITE key=%s failed: %s", key[:12], error)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"
