"""Looking at many files of a night of which any may be damaged: what cannot be read costs its own part alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from shared.errors import CampaignError

UNREADABLE = (OSError, CampaignError, ValueError, KeyError, TypeError, AttributeError)
"""What a damaged or half-made file can raise while it is looked at."""


@dataclass
class Parts:
    """Called with a part's name and how to look at it. `troubles` has a sentence for each that could not be read."""

    troubles: list[str] = field(default_factory=list)

    def __call__(self, name: str, look: Callable[[], Any]) -> Any:
        """What `look` returns, None when it could not."""
        try:
            return look()
        except UNREADABLE as error:
            self.troubles.append(f"{name}: {error}")
            return None
