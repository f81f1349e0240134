"""A conversation on disk, one JSON record a line, appended as it happens; and what a resumed agent takes from it.

Kinds: start, message, turn (the model's message with the counters after it), verdict (one oracle call), best (the draft
now kept), end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import orjson

from drafter.agents.client import Message
from drafter.agents.spending import Spending
from shared.journal import Journal, read_journal
from shared.state import utc_now

LEFT_OUT = "(Earlier turns of this conversation were left out to save room.)"


@dataclass(frozen=True)
class Best:
    """The draft that was kept: its digest and what the oracle said of it."""

    digest: str
    verdict: str
    closeness: int | None


@dataclass
class Past:
    """What an earlier run of the same target left. `messages` has no orphan tool results."""

    messages: list[Message] = field(default_factory=list)
    spending: Spending = field(default_factory=Spending)
    best: Best | None = None
    ended: bool = False


class Transcript:
    """Writer of one target's conversation. SIGKILL loses no record that was appended."""

    def __init__(self, path: Path) -> None:
        self._journal = Journal(path)

    def start(self, target: str, prompt: str) -> None:
        """First record: which target, and the digest of the prompt texts."""
        self._write("start", schema=1, target=target, prompt=prompt)

    def message(self, message: Message) -> None:
        """A message that is not the model's."""
        self._write("message", message=message)

    def turn(self, message: Message, spending: Spending) -> None:
        """The model's message, with the counters after it."""
        self._write("turn", message=message, spent=msgspec.to_builtins(spending))

    def verdict(self, digest: str, verdict: str, closeness: int | None, reason: str) -> None:
        """What the oracle said of one draft."""
        self._write("verdict", digest=digest, verdict=verdict, closeness=closeness, reason=reason)

    def best(self, best: Best) -> None:
        """The draft now kept on disk."""
        self._write("best", digest=best.digest, verdict=best.verdict, closeness=best.closeness)

    def end(self, outcome: str, spending: Spending) -> None:
        """Last record of a run."""
        self._write("end", outcome=outcome, spent=msgspec.to_builtins(spending))
        self._journal.sync()

    def sync(self) -> None:
        """Makes the records so far durable."""
        self._journal.sync()

    def close(self) -> None:
        """Syncs and closes."""
        self._journal.close()

    def _write(self, kind: str, **fields: Any) -> None:
        self._journal.append({"kind": kind, "at": utc_now()} | fields)


def load(path: Path) -> Past:
    """What `path` holds; a missing file or unknown records give nothing. Never raises for content."""
    past = Past()
    for record in read_journal(path):
        message = record.get("message")
        kind = record.get("kind")
        if kind in ("message", "turn") and isinstance(message, dict):
            past.messages.append(message)
        if kind == "best" and isinstance(record.get("digest"), str):
            closeness = record.get("closeness")
            past.best = Best(
                record["digest"], str(record.get("verdict")), closeness if isinstance(closeness, int) else None
            )
        if kind in ("turn", "end"):
            try:
                past.spending = msgspec.convert(record.get("spent"), Spending)
            except msgspec.ValidationError:
                continue
        past.ended = kind == "end"
    past.messages = _whole(past.messages)
    return past


def unanswered(messages: Sequence[Message]) -> list[str]:
    """Ids of the last assistant message's tool calls that have no result yet."""
    answered: set[str] = set()
    for message in reversed(messages):
        if message.get("role") == "tool":
            answered.add(str(message.get("tool_call_id")))
        elif message.get("role") == "assistant":
            return [call["id"] for call in message.get("tool_calls", ()) if call["id"] not in answered]
        else:
            return []
    return []


def groups(messages: Sequence[Message]) -> list[list[Message]]:
    """Messages in units that must stay together: an assistant message with the results of its calls, or one message."""
    units: list[list[Message]] = []
    for message in messages:
        if message.get("role") == "tool" and units:
            units[-1].append(message)
        else:
            units.append([message])
    return units


def fit(messages: Sequence[Message], limit_chars: int, head: int = 2) -> list[Message]:
    """`messages` within about `limit_chars` of JSON: the first `head` and the newest whole units that fit.

    The oldest middle goes first; the newest unit always stays. No tool result is left without its call.
    """
    if size(messages) <= limit_chars:
        return list(messages)
    kept = list(messages[:head])
    units = groups(messages[head:])
    room = limit_chars - size(kept)
    first = len(units)
    for number in reversed(range(len(units))):
        room -= size(units[number])
        if room < 0 and first < len(units):
            break
        first = number
    if first and units[first][0].get("content") == LEFT_OUT:
        first += 1
    if not first:
        return list(messages)
    return [*kept, {"role": "user", "content": LEFT_OUT}, *(message for unit in units[first:] for message in unit)]


def size(messages: Sequence[Message]) -> int:
    """Bytes of the messages as JSON: what a request pays for."""
    return len(orjson.dumps(list(messages)))


def _whole(messages: Sequence[Message]) -> list[Message]:
    """Drops tool results without a call and units, but the last, whose calls are not all answered."""
    units = groups(messages)
    whole: list[Message] = []
    for number, unit in enumerate(units):
        first = unit[0]
        if first.get("role") == "tool":
            continue
        calls = [call["id"] for call in first.get("tool_calls", ()) if isinstance(call, dict) and "id" in call]
        results = [message for message in unit[1:] if message.get("tool_call_id") in calls]
        if len({str(result.get("tool_call_id")) for result in results}) < len(calls) and number + 1 < len(units):
            continue
        whole += [first, *results]
    return whole
