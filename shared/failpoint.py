"""Named fail points: places where a test can end the process between two durable steps.

CAMPAIGN_FAILPOINT=name[:n] makes the n-th pass (default the first) of that point kill the process with SIGKILL.
Unset, a point costs one dictionary look-up.
"""

from __future__ import annotations

import os
import signal

_SPEC = os.environ.get("CAMPAIGN_FAILPOINT", "")
_NAME, _, _NTH = _SPEC.partition(":")
_left = {_NAME: int(_NTH or 1)} if _NAME else {}

POINTS: frozenset[str] = frozenset(
    {
        "publish.drafts",
        "publish.tmp",
        "publish.ready",
        "claim.renamed",
        "filter.row",
        "gate.green",
        "land.commit",
        "land.ref",
        "land.follow",
        "settle.ledger",
        "settle.done",
        "draw.wave",
        "deal.inbox",
        "agent.draft",
        "agent.row",
    }
)
"""Every point there is, in the order a draft passes them; crash tests walk this set."""


def failpoint(name: str) -> None:
    """Dies here by SIGKILL if the environment asks for `name`. Raises KeyError for an undeclared point."""
    if name not in POINTS:
        raise KeyError(name)
    if name in _left:
        _left[name] -= 1
        if _left[name] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
