"""knowledge/harvest.jsonl: what agents noted about functions that were banked, a line a draft.

Notes are an agent's words about its own work: bounded, kept as data, said to be unverified. A failure here is recorded
and never holds a commit or a settlement.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from shared.errors import CampaignError
from shared.journal import Journal, read_journal
from shared.records import SCHEMA, DraftRef
from shared.state import StateDir, utc_now

log = logging.getLogger(__name__)

MOST = 2000
"""Characters of one note that are kept."""


@dataclass
class Harvest:
    """The notes of one campaign, once per draft digest. Written by the holder of the gater lock alone."""

    state: StateDir
    faults: int = 0
    _seen: set[str] | None = field(default=None)

    def take(self, ref: DraftRef, commit: str) -> bool:
        """Keeps the notes of a banked draft; False when there is nothing new to keep, or it failed."""
        notes = "".join(c for c in ref.notes if c.isprintable() or c in "\n\t").strip()
        if not notes:
            return False
        path = self.state.knowledge / "harvest.jsonl"
        try:
            if self._seen is None:
                self._seen = {str(row.get("digest")) for row in read_journal(path)}
            if ref.digest in self._seen:
                return False
            row = {
                "at": utc_now(),
                "digest": ref.digest,
                "binary": ref.binary,
                "function": ref.function,
                "commit": commit,
                "backend": ref.backend,
                "model": ref.model,
                "notes": notes[:MOST],
                "cut": len(notes) > MOST,
                "verified": False,
                "schema": SCHEMA,
            }
            with Journal(path) as journal:
                journal.append(row)
        except (OSError, CampaignError) as error:
            self.faults += 1
            log.error("HARVEST-FAULT draft=%s reason=%r note=nothing-else-waits-for-it", ref.id, str(error))
            return False
        self._seen.add(ref.digest)
        return True
