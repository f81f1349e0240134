"""Records that cross a file between processes. Read tolerantly, written whole, one integer `schema` each.

Unknown fields of an older or newer minor form are ignored; a record whose `schema` is higher than ours is left alone by
its reader (`NewerSchema`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field

from shared.errors import CampaignError

SCHEMA = 1


class Verdict(StrEnum):
    """Verdicts of the pre-filter; docs/gater.md has the table."""

    AGREE = "AGREE"
    MISMATCH = "MISMATCH"
    SHAPE = "MISMATCH?"
    UNRESOLVED = "UNRESOLVED"
    ORPHANS_SYMBOL = "ORPHANS-SYMBOL"
    COMPILE_FAIL = "COMPILE-FAIL"
    TU_CONFLICT = "TU-CONFLICT"
    NOT_A_STUB = "NOT-A-STUB"
    REFUSED = "REFUSED"
    FAULT = "FAULT"


class GateVerdict(StrEnum):
    """Verdicts of the gate on a draft that passed the filter."""

    BANKED = "BANKED"
    ALREADY = "ALREADY"
    BAD = "BAD"
    INTERACTION = "INTERACTION"
    FAULT = "FAULT"
    BASELINE_RED = "BASELINE-RED"
    SUPERSEDED = "SUPERSEDED"
    WAITING = "WAITING"


class Evidence(Struct, frozen=True, omit_defaults=True):
    """One fact behind a verdict. `word` counts 4-byte words from the start of the function or section part."""

    kind: str  # word | relocation | section | symbol | diagnostic | rule
    where: str = ""  # section or file:line in the draft
    word: int | None = None
    mine: str = ""
    target: str = ""
    note: str = ""


class Judgement(Struct, frozen=True, omit_defaults=True):
    """What the pre-filter says of one draft.

    `closeness` = insertions + deletions + replacements over words with relocated fields masked (0 = same shape), None
    when nothing could be compared; `words` is the target function's length, closeness' denominator.
    """

    verdict: Verdict
    reason: str
    closeness: int | None = None
    words: int | None = None
    evidence: tuple[Evidence, ...] = ()
    key: str = ""  # the filter's cache key, "" when not cacheable
    cached: bool = False

    @property
    def passed(self) -> bool:
        """Only an explicit agreement passes."""
        return self.verdict is Verdict.AGREE


class DraftRef(Struct, frozen=True):
    """A draft as a marker names it. `path` is relative to the state directory; `digest` is SHA-256 of the file."""

    id: str
    binary: str
    function: str
    attempt: int
    path: str
    digest: str
    size: int
    unfinished: bool = False
    backend: str = ""
    model: str = ""
    notes: str = ""


class Marker(Struct, frozen=True):
    """ "These drafts are final": the file in the spool. `priority`: 0 a person, 1 recover, 2 wave, 3 twin."""

    id: str
    wave: str
    sequence: int
    drafts: tuple[DraftRef, ...]
    priority: int = 2
    closing: bool = False
    created: str = ""  # UTC
    schema: int = SCHEMA


class Card(Struct, frozen=True, omit_defaults=True):
    """One open stub as fuel. Paths are relative to the project root; `address` is the target VRAM address."""

    binary: str
    function: str
    tu: str
    asm: str
    address: int
    instructions: int
    attempt: int = 1
    best: str = ""  # state-relative path of the best earlier draft
    best_reason: str = ""
    gid: str = ""  # skeleton group: opcodes and registers, every immediate masked
    twin: str = ""  # exact twin: relocated fields masked alone
    levers: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """What identifies a card: never the function name alone."""
        return (self.binary, self.function)


class Wave(Struct, frozen=True, omit_defaults=True):
    """One draw, as in waves/<id>/wave.json. The cards are in cards.json beside it."""

    id: str
    number: int
    lane: str
    band: tuple[int, int]
    commit: str
    cards: int
    attempts: int
    parameters: dict[str, Any] = field(default_factory=dict)
    created: str = ""
    schema: int = SCHEMA


class Target(Struct, frozen=True):
    """One agent's work, as a file in a shard's inbox."""

    id: str
    wave: str
    lane: str
    pool: str
    card: Card
    dealt: str = ""
    schema: int = SCHEMA


class AgentRow(Struct, frozen=True, omit_defaults=True):
    """An agent's end, written to waves/<wave>/drafts.jsonl after its final draft is durable: completion is this row.

    `outcome`: match | near | gave-up | budget | truncated | failed | cancelled | saved (ended early, work kept).
    `path` is "" when there is no draft. `cost_usd` None = unknown.
    """

    id: str
    binary: str
    function: str
    attempt: int
    outcome: str
    path: str = ""
    digest: str = ""
    size: int = 0
    verdict: str = ""
    closeness: int | None = None
    backend: str = "chat"
    model: str = ""
    pool: str = ""
    turns: int = 0
    requests: int = 0
    truncated_turns: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    cost_usd: float | None = None
    notes: str = ""
    error: str = ""
    wall_s: float = 0.0
    at: str = ""
    schema: int = SCHEMA


class RequestRow(Struct, frozen=True, omit_defaults=True):
    """One model request, in journal/rate-<day>.<shard>.jsonl. `result`: ok | http-429 | soft-429 | ..."""

    at: str
    wave: str
    lane: str
    pool: str
    model: str
    agent: str
    turn: int
    result: str
    source: str = ""  # of a 429: platform | provider | soft
    status: int = 0
    finish: str = ""
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    cost_usd: float | None = None
    wall_s: float = 0.0
    retry_after_s: float | None = None
    schema: int = SCHEMA


class NewerSchema(CampaignError):
    """The record was written by a newer release; it is left where it is."""


R = TypeVar("R", bound=Struct)


def decode(kind: type[R], value: Any) -> R:
    """`value` (a JSON object) as a record. Raises NewerSchema, or msgspec.ValidationError when it does not fit."""
    if isinstance(value, dict):
        schema = value.get("schema", SCHEMA)
        if isinstance(schema, int) and schema > SCHEMA:
            raise NewerSchema(f"a {kind.__name__} of schema {schema} is newer than this release's {SCHEMA}; left alone")
    return msgspec.convert(value, kind)


def encode(record: Struct) -> Any:
    """The JSON object of a record; its `schema` is always spelled out."""
    value = msgspec.to_builtins(record)
    if "schema" in record.__struct_fields__:
        value["schema"] = record.schema  # type: ignore[attr-defined]
    return value
