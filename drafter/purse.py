"""The night's cap on spend: an agent's whole budget is reserved when it is dealt, its real cost charged when it ends.

An agent keeps to its lane's budget by itself, so what was dealt stays within the cap even while the drafter is down. A
cost that is not known is charged as the whole budget: a cap that counted it as nothing would be none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shared.config import Lane
from shared.records import AgentRow


class Purse:
    """`cap_usd` 0 = no cap. `charged`: what ended agents of this night cost; `unknown`: how many did not say."""

    def __init__(self, cap_usd: float, lanes: Mapping[str, Lane]) -> None:
        self.cap_usd = cap_usd
        self.charged = 0.0
        self.unknown = 0
        self._budgets = {name: lane.cost_usd for name, lane in lanes.items()}
        self._dearest = max(self._budgets.values(), default=0.0)

    def budget(self, lane: str) -> float:
        """What one agent of a lane may cost; for a lane that is no longer in the file, the dearest."""
        return self._budgets.get(lane, self._dearest)

    def ended(self, lane: str, row: AgentRow) -> None:
        """Charges an agent's end. One that asked nothing costs nothing."""
        if row.cost_usd is not None:
            self.charged += row.cost_usd
        elif row.requests:
            self.unknown += 1
            self.charged += self.budget(lane)

    def allows(self, lane: str, in_flight: Iterable[str]) -> bool:
        """Whether one more agent of `lane` fits beside the agents in flight, given by their lanes."""
        if not self.cap_usd:
            return True
        reserved = sum(self.budget(other) for other in in_flight)
        return self.charged + reserved + self.budget(lane) <= self.cap_usd + 1e-9
