"""What gates came to, by everything a gate reads: a restart costs no finished build.

The key's parts are named, so that a miss can be explained. A FAULT says nothing about a draft and is never kept.
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

    parts: dict[str, str]
    verdicts: dict[str, tuple[str, str]]
    files: dict[str, bytes]
    hashes: dict[str, str]
    bases: dict[str, str]  # binary -> file name beside the bases


def draft_key(tu: str, function: str, text: bytes) -> str:
    """What a draft is to a gate, whatever its id."""
    return digest_json([tu, function, digest_bytes(text)])


def gate_parts(campaign: Campaign, inputs: Mapping[str, str], slate: Iterable[str], kind: str) -> dict[str, str]:
    """The named parts of a gate's key. `inputs`: binary -> digest of all its build reads at the base, toolchain too."""
    parts = {f"inputs of {binary}": digest for binary, digest in inputs.items()}
    parts["slate"] = digest_json(sorted(slate))
    parts["limits"] = digest_json([campaign.gate.build_timeout_s, campaign.gate.build_memory_mib])
    parts["workspace"] = kind
    parts["judge"] = JUDGE_VERSION
    return parts


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
        """Keeps a gate, unless a draft of it had a FAULT. A full disk only costs the entry."""
        if any(verdict == GateVerdict.FAULT.value for verdict, _ in kept.verdicts.values()):
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            durable.write(self._path(key), msgspec.msgpack.encode(kept))
        except (OSError, CampaignError) as error:
            log.warning("CACHE-WRITE key=%s failed: %s", key[:12], error)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.gate"
