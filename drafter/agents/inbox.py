"""The shard's inbox: one file a target, there until its verdict row is durable. State is derived from disk."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

import msgspec

from drafter.agents.files import CANCEL, BadId, ShardFiles, checked_id
from shared import durable
from shared.failpoint import failpoint
from shared.journal import Journal, read_journal
from shared.records import AgentRow, NewerSchema, Target, decode, encode

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Found:
    """What a scan saw for the first time."""

    targets: list[Target] = field(default_factory=list)
    cancelled: set[str] = field(default_factory=set)


class Inbox:
    """Reads targets, writes their rows. One instance a process; `scan` and `finish` may run in worker threads."""

    def __init__(self, files: ShardFiles) -> None:
        self._files = files
        self._seen: set[str] = set()
        self._ignored: set[str] = set()
        self._first = True
        self.rows = 0

    def scan(self) -> Found:
        """Targets not seen before, in the order of their ids, and ids of targets to cancel. Raises OSError.

        At the first scan of a process a target whose row is already there is finished by removing its file: an earlier
        process died between the two.
        """
        found = Found()
        done: dict[str, set[str]] = {}
        for path in sorted(self._files.inbox.iterdir()):
            name = path.name
            if name.startswith(CANCEL):
                found.cancelled.add(name.removeprefix(CANCEL))
            if not name.endswith(".json") or name.startswith((".", CANCEL)) or name in self._seen | self._ignored:
                continue
            target = self._read(name)
            if target is None:
                continue
            if self._first and target.id in self._rows_of(target.wave, done):
                log.info("TARGET-DONE id=%s reason=row-already-written", target.id)
                self._remove(target.id)
                continue
            self._seen.add(name)
            found.targets.append(target)
        self._first = False
        return found

    def finish(self, target: Target, row: AgentRow) -> None:
        """Makes the row durable, then takes the target out of the inbox. Raises DiskFull, OSError."""
        with Journal(self._files.rows(target.wave)) as journal:
            journal.append(encode(row), durable=True)
        failpoint("agent.row")
        self.rows += 1
        self._remove(target.id)
        self._seen.discard(f"{target.id}.json")

    def forget_cancel(self, target: str) -> None:
        """Removes the cancel file of a target that is not ours, or no more."""
        try:
            self._files.cancel(target).unlink(missing_ok=True)
        except BadId:
            log.warning("CANCEL-IGNORED name=%r reason=not-an-id", target)

    def _remove(self, target: str) -> None:
        self._files.target(target).unlink(missing_ok=True)
        self._files.cancel(target).unlink(missing_ok=True)

    def _read(self, name: str) -> Target | None:
        """The target in a file; one that cannot be read stays where it is and is said once."""
        try:
            target = decode(Target, durable.read_json(self._files.inbox / name))
            checked_id(target.wave)
            if checked_id(target.id) != name.removesuffix(".json"):
                raise BadId(f"the file is not named after its id {target.id}")
        except FileNotFoundError:
            return None
        except (durable.Corrupt, NewerSchema, BadId, msgspec.ValidationError) as error:
            self._ignored.add(name)
            log.error("TARGET-IGNORED file=%r reason=%r", name, str(error))
            return None
        return target

    def _rows_of(self, wave: str, known: dict[str, set[str]]) -> set[str]:
        if wave not in known:
            known[wave] = {str(record.get("id")) for record in read_journal(self._files.rows(wave))}
        return known[wave]
