"""What one check came to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from msgspec import Struct

from shared.errors import CampaignError

Status = Literal["ok", "failed", "untested", "warning"]


class Found(Struct, frozen=True):
    """`what` was found and what to `do`, "" when nothing. A check that cannot answer is untested, never ok."""

    name: str
    status: Status
    what: str
    do: str = ""


def ok(name: str, what: str) -> Found:
    """It was tried and it works."""
    return Found(name, "ok", what)


def failed(name: str, what: str, do: str) -> Found:
    """No night can start like this."""
    return Found(name, "failed", what, do)


def warning(name: str, what: str, do: str) -> Found:
    """A night can start, and a person should know."""
    return Found(name, "warning", what, do)


def untested(name: str, what: str, do: str = "") -> Found:
    """It could not be tried; `what` says why."""
    return Found(name, "untested", what, do)


def guarded(name: str, look: Callable[[], Iterable[Found]]) -> list[Found]:
    """The findings of `look`; an error it raises is a failure in the error's own words."""
    try:
        return list(look())
    except CampaignError as error:
        return [failed(name, str(error), "the sentence says what to do")]
    except (OSError, ValueError) as error:
        return [failed(name, f"{type(error).__name__}: {error}", "correct what it names and ask again")]
