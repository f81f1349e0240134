"""The ledger row of a finished wave: summed from its agents' rows, its drafts' standing verdicts and its gates' rows.

Targets, requests, tokens and 429s stand only here, so sums over the ledger never count twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec
import psutil

from gater.rows import BatchRow, DraftRow, WaveRow
from shared import durable, redlist
from shared.journal import read_journal
from shared.rates import summary
from shared.records import AgentRow, NewerSchema, Wave, decode
from shared.state import StateDir, utc_now


@dataclass
class Gates:
    """What the gates of one wave came to. A gate of several waves' drafts counts for the latest of them alone."""

    builds: int = 0
    wall_s: float = 0.0
    cached: int = 0
    commits: list[str] = field(default_factory=list)

    def add(self, row: BatchRow) -> None:
        """One more gate."""
        self.builds += row.builds
        self.wall_s += row.wall_s
        self.cached += row.cached
        if row.commit:
            self.commits.append(row.commit)


def wave_of(row: BatchRow) -> str:
    """The wave a gate counts for, "" for one of revived drafts alone."""
    return max((marker.rpartition("-")[0] for marker in row.markers), default="")


def wave_row(state: StateDir, name: str, drafts: Iterable[DraftRow], gates: Gates, mode: str) -> WaveRow | None:
    """The row of wave `name`, None when its wave.json cannot be read. `drafts`: the standing rows of its drafts."""
    folder = state.waves / name
    try:
        wave = decode(Wave, durable.read_json(folder / "wave.json"))
    except (OSError, durable.Corrupt, msgspec.ValidationError, NewerSchema):
        return None
    agents = list(agents_of(state, name))
    standing = [row for row in drafts if not row.revived]
    verdicts = Counter(row.verdict for row in standing)
    costs = [row.cost_usd for row in agents if row.cost_usd is not None]
    rates = summary(state, wave=name)
    now = utc_now()
    return WaveRow(
        at=now,
        wave=name,
        lane=wave.lane,
        band=wave.band,
        targets=wave.cards * wave.attempts,
        agents=len(agents),
        outcomes=dict(Counter(row.outcome for row in agents)),
        drafts=len(standing),
        verdicts=dict(verdicts),
        banked=verdicts["BANKED"],
        requests=sum(row.requests for row in agents),
        truncated_turns=sum(row.truncated_turns for row in agents),
        tokens_in=sum(row.tokens_in for row in agents),
        tokens_cached=sum(row.tokens_cached for row in agents),
        tokens_out=sum(row.tokens_out for row in agents),
        cost_usd=sum(costs) if costs else None,
        cost_known=len(costs),
        h429=rates.h429,
        wall_s=sum(row.wall_s for row in agents),
        mode=mode,
        tag=str(wave.parameters.get("tag") or ""),
        started=wave.created,
        since_start_s=_seconds(wave.created, now),
        gated=sum(1 for row in standing if row.stage == "gate" and row.verdict != "WAITING"),
        waiting=dict(Counter(row.reason.partition(":")[0] for row in standing if row.verdict == "WAITING")),
        commits=gates.commits,
        builds=gates.builds,
        gates_cached=gates.cached,
        gate_s=round(gates.wall_s, 3),
        red=sorted(redlist.read(state).red),
        sustained_429_minutes=rates.longest_429_minutes,
        requests_per_minute=rates.per_minute,
        models=rates.models,
        credit_usd=_credit(state),
        memory_available_mib=psutil.virtual_memory().available >> 20,
        swap_used_mib=psutil.swap_memory().used >> 20,
    )


def agents_of(state: StateDir, wave: str) -> Iterator[AgentRow]:
    """The rows of a wave's ended agents that this release can read."""
    for path in sorted((state.waves / wave).glob("drafts*.jsonl")):
        for value in read_journal(path):
            try:
                yield decode(AgentRow, value)
            except (msgspec.ValidationError, NewerSchema):
                continue


def _seconds(start: str, end: str) -> float | None:
    try:
        return round((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds(), 3)
    except ValueError:
        return None


def _credit(state: StateDir) -> dict[str, Any]:
    """Credit left by pool as last read, {} when none was."""
    try:
        known = durable.read_json(state.root / "credit.json")
    except (OSError, durable.Corrupt):
        return {}
    pools = known.get("pool") if isinstance(known, dict) else None
    if not isinstance(pools, dict):
        return {}
    return {name: value.get("left") for name, value in pools.items() if isinstance(value, dict)}
