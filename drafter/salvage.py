"""What a shard leaves behind: its finished targets are taken as they are, its unfinished drafts published, its
unfinished targets dealt again with their transcript."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from drafter.clock import Clock
from drafter.events import Events
from drafter.shard import Shard
from drafter.waves import OURS, WaveState, append_row
from shared import durable
from shared.hashing import digest_bytes
from shared.records import AgentRow

STRIKES = 5
"""A target that was in the hands of this many killed shards ends as `failed`: it may be what kills them."""

_TARGET = re.compile(r"(?P<wave>w\d{6,})-\d{4,}-\d+")


class Salvager:
    """Takes over dead shards. Every step can be repeated: a death in the middle leaves the rest for the next start."""

    def __init__(self, events: Events, clock: Clock, strikes: dict[str, int]) -> None:
        self._events = events
        self._clock = clock
        self._strikes = strikes

    def take_over(self, shard: Shard, waves: Mapping[str, WaveState], again: Callable[[str], None]) -> None:
        """Empties the inbox of a shard whose rows were all read; `again(target)` for each target to deal again.

        Raises DiskFull, OSError; call it again then.
        """
        killed = not shard.ended_by_itself()
        unfinished = []
        kept = 0
        for target in sorted(shard.dealt):
            wave = waves.get(wave_of(target))
            if wave is None or target not in wave.targets:
                self._events.error("target-foreign", shard=shard.id, target=target)
            elif target not in wave.rows:
                kept += self._keep_draft(wave, target, shard.pool)
                unfinished.append(target)
        # Before the inbox is emptied: a death in between only repeats what comes before.
        shard.collect(unfinished, killed)
        for path in list(shard.inbox.iterdir()):
            path.unlink()
        for target in unfinished:
            if killed:
                self._strikes[target] = self._strikes.get(target, 0) + 1
            again(target)
        self._events.emit(
            "shard-salvage" if killed else "shard-end",
            shard=shard.id,
            pool=shard.pool,
            rows=shard.rows,
            unfinished=len(unfinished),
            drafts=kept,
            reason=shard.exit_reason(),
        )
        shard.dealt.clear()

    def _keep_draft(self, wave: WaveState, target: str, pool: str) -> bool:
        """Copies an unfinished target's best draft under an id of its own: the target's own file goes on changing."""
        try:
            data = (wave.folder / "drafts" / f"{target}.c").read_bytes()
        except FileNotFoundError:
            return False
        digest = digest_bytes(data)
        earlier = [row for row in wave.salvaged.values() if row.id.startswith(f"{target}.s")]
        if not data.strip() or any(row.digest == digest for row in earlier):
            return False
        card = wave.targets[target]
        name = f"{target}.s{len(earlier) + 1}"
        durable.write(wave.folder / "drafts" / f"{name}.c", data)
        row = AgentRow(
            id=name,
            binary=card.binary,
            function=card.function,
            attempt=card.attempt,
            outcome="saved",
            path=f"waves/{wave.id}/drafts/{name}.c",
            digest=digest,
            size=len(data),
            pool=pool,
            at=self._clock.stamp(),
        )
        append_row(wave, row, salvaged=True)
        return True

    def give_up(self, wave: WaveState, target: str) -> bool:
        """Ends a target that may be what kills shards; False when it is not one. Raises DiskFull, OSError."""
        if self._strikes.get(target, 0) < STRIKES:
            return False
        reason = f"{STRIKES} shards died while they had it"
        append_row(wave, drafter_row(wave, target, "failed", reason, self._clock.stamp()))
        self._events.error("target-quarantined", target=target, reason=reason)
        return True


def drafter_row(wave: WaveState, target: str, outcome: str, error: str, at: str) -> AgentRow:
    """The end of a target that no agent will give it."""
    card = wave.targets[target]
    return AgentRow(
        id=target,
        binary=card.binary,
        function=card.function,
        attempt=card.attempt,
        outcome=outcome,
        backend=OURS,
        error=error,
        at=at,
    )


def wave_of(target: str) -> str:
    """The wave in a target's id, "" when it is no such id."""
    match = _TARGET.fullmatch(target)
    return match["wave"] if match else ""
