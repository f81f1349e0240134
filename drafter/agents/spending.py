"""What one agent used, and whether its lane allows more."""

from __future__ import annotations

from msgspec import Struct

from drafter.agents.replies import Failure, Kind, Reply, Usage
from shared.config.schema import Lane, Pool


class Spending(Struct, omit_defaults=True):
    """Counters of one agent; saved with every turn, so that a resumed agent goes on counting.

    Truncated, malformed, refused, empty and cut are told apart (field report F66). `cost_usd` sums what is known;
    `cost_unknown` counts requests that reported tokens but no cost.
    """

    turns: int = 0
    requests: int = 0
    oracle_calls: int = 0
    nudges: int = 0
    truncated: int = 0
    malformed: int = 0
    refused: int = 0
    empty: int = 0
    cut: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    cost_known: int = 0
    cost_unknown: int = 0

    def charge(self, outcome: Reply | Failure, pool: Pool) -> None:
        """Counts one request in, finished or failed: failed attempts cost as well (field report F70)."""
        self.requests += 1
        if isinstance(outcome, Failure):
            self.cut += outcome.kind is Kind.CUT
            self.empty += outcome.kind is Kind.EMPTY
        usage = outcome.usage
        self.tokens_in += usage.tokens_in
        self.tokens_cached += usage.tokens_cached
        self.tokens_out += usage.tokens_out
        if usage == Usage() and isinstance(outcome, Failure):
            return
        cost = cost_of(usage, pool)
        if cost is None:
            self.cost_unknown += 1
        else:
            self.cost_known += 1
            self.cost_usd += cost

    @property
    def total_cost(self) -> float | None:
        """The cost, None when any part of it is unknown or nothing was asked."""
        return self.cost_usd if self.cost_known and not self.cost_unknown else None

    def exhausted(self, lane: Lane) -> str:
        """Which budget of the lane is used up, "" when none is."""
        if self.turns >= lane.turns:
            return f"turns: {self.turns} of {lane.turns}"
        tokens = self.tokens_in + self.tokens_out
        if tokens >= lane.tokens:
            return f"tokens: {tokens} of {lane.tokens}"
        if self.cost_usd >= lane.cost_usd:
            return f"cost: {self.cost_usd:.4f} of {lane.cost_usd:g} USD"
        return ""


def cost_of(usage: Usage, pool: Pool) -> float | None:
    """What a request cost: as reported, else from the pool's prices (cached tokens at full price), else unknown."""
    if usage.cost_usd is not None:
        return usage.cost_usd
    if pool.input_usd_per_mtok or pool.output_usd_per_mtok:
        return (usage.tokens_in * pool.input_usd_per_mtok + usage.tokens_out * pool.output_usd_per_mtok) / 1e6
    return None
