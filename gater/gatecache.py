"""Gates that came to something green and have not landed yet, by what they read: a restart costs no finished build.

A gate with nothing green is not kept: its verdicts are rows already, and who asks again wants it built again. A FAULT
says nothing about a draft and is never kept. The system's toolchain is in no key, as it is in none of a base.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from shared import durable
from shared.config import Campaign
from shared.errors import CampaignError
from shared.hashing import digest_bytes, digest_json
from shared.oracle.key import JUDGE_VERSION
from shared.records import GateVerdict

log = logging.getLogger(__name__)


class Kept(Struct, frozen=True):
    """One finished gate. `verdicts`: draft -> (verdict, reason), a draft by `draft_key`."""

    verdicts: dict[str, tuple[str, str]]
    files: dict[str, bytes]
    hashes: dict[str, str]
    bases: dict[str, str]  # binary -> file name beside the bases


def draft_key(tu: str, function: str, text: bytes) -> str:
    """What a draft is to a gate, whatever its id."""
    return digest_json([tu, function, digest_bytes(text)])


def gate_key(campaign: Campaign, inputs: Mapping[str, str], slate: Iterable[str], kind: str) -> str:
    """Digest of what a gate reads. `inputs`: binary -> digest of its inputs at the base; `slate`: `draft_key`s."""
    limits = [campaign.gate.build_timeout_s, campaign.gate.build_memory_mib]
    return digest_json([dict(inputs), sorted(slate), limits, kind, JUDGE_VERSION])


@dataclass(frozen=True)
class GateCache:
    """Finished gates below `folder`."""

    folder: Path

    def get(self, key: str) -> Kept | None:
        """The gate kept under `key`; a damaged file is a miss."""
        try:
            return msgspec.msgpack.decode(self._path(key).read_bytes(), type=Kept)
        except (OSError, msgspec.DecodeError):
            return None

    def put(self, key: str, kept: Kept) -> None:
        """Keeps a gate with something green and no FAULT. A full disk only costs the entry."""
        if not kept.bases or any(verdict == GateVerdict.FAULT.value for verdict, _ in kept.verdicts.values()):
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            durable.write(self._path(key), msgspec.msgpack.encode(kept))
        except (OSError, CampaignError) as error:
            log.warning("CACHE-WRITE key=%s failed: %s", key[:12], error)

    def drop(self, key: str) -> None:
        """The gate has landed."""
        self._path(key).unlink(missing_ok=True)

    def sweep(self, bases: Path) -> None:
        """Drops what cannot be used again: `bases` holds the files a kept gate needs, a folder a binary."""
        for path in self.folder.glob("*.gate"):
            kept = self.get(path.stem)
            if kept is None or not all((bases / name / file).exists() for name, file in kept.bases.items()):
                path.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.gate"
