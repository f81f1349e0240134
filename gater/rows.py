"""Rows the gater writes: one per verdict (journal/drafts.jsonl), one per settled marker, landing batch and finished
wave (journal/ledger.jsonl), one per step (journal/gater.jsonl)."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from shared.records import SCHEMA, DraftRef, Evidence


class DraftRow(Struct, frozen=True, omit_defaults=True):
    """One verdict on one draft. The last row of a draft id is its standing; `oracle` says who judged.

    `closeness`/`words` as in Judgement. `commit` is set when banked, `key` when the filter's verdict was cacheable.
    """

    at: str
    mode: str  # daemon | once | gate-only | recover
    stage: str  # filter | gate
    oracle: str  # rule | virtual link | build | source
    verdict: str
    reason: str
    id: str
    digest: str
    path: str
    binary: str
    function: str
    marker: str
    wave: str
    tu: str = ""
    base: str = ""
    closeness: int | None = None
    words: int | None = None
    evidence: tuple[Evidence, ...] = ()
    key: str = ""
    cached: bool = False
    gate: str = ""
    commit: str = ""
    attempt: int = 1
    backend: str = ""
    model: str = ""
    unfinished: bool = False
    revived: bool = False  # judged again after a bank in its TU; its marker was settled before
    schema: int = SCHEMA


class MarkerRow(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="marker"):
    """A settled marker. `filter` sums to `drafts`; `gate` and the judged part of `waiting` sum to `filter`'s AGREE."""

    at: str
    marker: str
    wave: str
    drafts: int
    filter: dict[str, int]
    gate: dict[str, int]
    waiting: dict[str, int]
    banked: int
    commits: list[str]
    wall_s: float
    mode: str
    schema: int = SCHEMA


class BatchRow(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="batch"):
    """One gate of one slate: what was built, what landed. `recovered`: written for a landing whose row a death ate."""

    at: str
    gate: str
    binaries: list[str]
    base: str
    slate: int
    verdicts: dict[str, int]
    banked: int
    commit: str
    builds: int
    clean_builds: int
    wall_s: float
    markers: list[str]
    mode: str
    hashes: dict[str, str] = field(default_factory=dict)
    stale_state: bool = False
    followed: str = ""
    recovered: bool = False
    key: str = ""
    cached: bool = False  # the verdicts of an earlier gate of the very same inputs; `builds` is 0
    schema: int = SCHEMA


class WaveRow(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="wave"):
    """A finished wave. `cost_usd` covers `cost_known` of `agents` agents; the others' cost is unknown, not zero."""

    at: str
    wave: str
    lane: str
    band: tuple[int, int]
    targets: int
    agents: int
    outcomes: dict[str, int]
    drafts: int
    verdicts: dict[str, int]
    banked: int
    requests: int
    truncated_turns: int
    tokens_in: int
    tokens_cached: int
    tokens_out: int
    cost_usd: float | None
    cost_known: int
    h429: dict[str, int]
    wall_s: float  # of all agents together
    mode: str
    tag: str = ""
    started: str = ""
    since_start_s: float | None = None
    gated: int = 0
    waiting: dict[str, int] = field(default_factory=dict)  # by why: batch | held | red
    commits: list[str] = field(default_factory=list)
    builds: int = 0
    gates_cached: int = 0
    gate_s: float = 0.0
    red: list[str] = field(default_factory=list)
    sustained_429_minutes: int = 0
    requests_per_minute: float | None = None  # None: too short a time to say
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    credit_usd: dict[str, float | None] = field(default_factory=dict)
    memory_available_mib: int = 0
    swap_used_mib: int = 0
    schema: int = SCHEMA


class Waiting(Struct, frozen=True, omit_defaults=True):
    """A draft that may not be gated yet, in waiting/<binary>/. `why`: batch | held | red."""

    why: str
    reason: str
    ref: DraftRef
    marker: str
    wave: str
    since: str
    schema: int = SCHEMA


def step(event: str, at: str, **fields: Any) -> dict[str, Any]:
    """One row of journal/gater.jsonl."""
    return {"at": at, "event": event, "schema": SCHEMA, **fields}
