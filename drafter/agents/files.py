"""Where a shard reads and writes. Every path derives from ids checked here, never from a symbol name.

shards/<shard>/  inbox/<target>.json  inbox/cancel.<target>  share.json  run.lock  heartbeat.json  exit.json
waves/<wave>/    drafts/<target>.c  drafts.<shard>.jsonl  transcripts/<target>.jsonl
journal/         rate-<UTC day>.<shard>.jsonl
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from shared.errors import CampaignError
from shared.state import StateDir

CANCEL = "cancel."
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")


class BadId(CampaignError):
    """An id that would not be a plain file name."""


def checked_id(text: str) -> str:
    """`text` when it is safe as a file name. Raises BadId."""
    if _ID.fullmatch(text) is None:
        raise BadId(f"{text!r} is not an id (letters, digits, `_`, `.`, `-`); the record that holds it is left alone")
    return text


@dataclass(frozen=True)
class ShardFiles:
    """The files of one shard and of the waves it serves."""

    state: StateDir
    shard: str

    @property
    def folder(self) -> Path:
        """shards/<shard>/."""
        return self.state.shards / checked_id(self.shard)

    @property
    def inbox(self) -> Path:
        """Targets wait here as files until their verdict row is durable."""
        return self.folder / "inbox"

    @property
    def share(self) -> Path:
        """{"workers": N}: agents and requests in flight this shard may have; written by the drafter."""
        return self.folder / "share.json"

    @property
    def run_lock(self) -> Path:
        """Held for life; its descriptor comes from the drafter."""
        return self.folder / "run.lock"

    @property
    def heartbeat(self) -> Path:
        """Written every few seconds with the progress count."""
        return self.folder / "heartbeat.json"

    @property
    def exit(self) -> Path:
        """Written last: why the shard ended."""
        return self.folder / "exit.json"

    @property
    def log(self) -> Path:
        """Standard error of the process."""
        return self.folder / "shard.log"

    def target(self, target: str) -> Path:
        """The inbox file of a target."""
        return self.inbox / f"{checked_id(target)}.json"

    def cancel(self, target: str) -> Path:
        """The inbox file that cancels a target."""
        return self.inbox / f"{CANCEL}{checked_id(target)}"

    def wave(self, wave: str) -> Path:
        """waves/<wave>/."""
        return self.state.waves / checked_id(wave)

    def draft(self, wave: str, target: str) -> Path:
        """The best draft of a target."""
        return self.wave(wave) / "drafts" / f"{checked_id(target)}.c"

    def transcript(self, wave: str, target: str) -> Path:
        """The conversation of a target."""
        return self.wave(wave) / "transcripts" / f"{checked_id(target)}.jsonl"

    def rows(self, wave: str) -> Path:
        """Verdict rows this shard wrote for a wave: a journal has one writing process, so one file a shard."""
        return self.wave(wave) / f"drafts.{checked_id(self.shard)}.jsonl"

    def make(self) -> None:
        """Makes the shard's own folders."""
        self.inbox.mkdir(parents=True, exist_ok=True)
