"""What the model does at each turn of one card: decided by the seed, the card, and what the conversation shows.

Nothing is remembered between requests, so a conversation can be cut, retried and resumed anywhere.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from shared.demo.rehearsal.settings import Script, Settings
from shared.demo.rehearsal.truth import Entry, Truth
from shared.demo.rehearsal.wrong import wrong_draft

CARD = re.compile(r"^Card: (\S+) (\S+) attempt (\d+)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class CardKey:
    """A card and the attempt at it, as the `Card:` line of the prompt names them."""

    binary: str
    function: str
    attempt: int

    @property
    def name(self) -> str:
        """For seeds and reports."""
        return f"{self.binary}:{self.function}:{self.attempt}"


@dataclass(frozen=True)
class Turn:
    """One answer: text, and at most one tool call. `right` = it delivers the right body; `cut` = ends by length."""

    text: str = ""
    tool: str = ""
    arguments: str = ""
    right: bool = False
    cut: bool = False


@dataclass
class Seen:
    """What the conversation holds since its last `Card:` line."""

    key: CardKey
    drafts: int = 0
    looks: int = 0
    turns: int = 0
    malformed: int = 0


def read_conversation(messages: Sequence[Any]) -> Seen | None:
    """Finds the card and counts what the model did since; None when no `Card:` line is there."""
    seen: Seen | None = None
    for message in messages:
        if not isinstance(message, dict):
            continue
        role, content = message.get("role"), message.get("content")
        if role == "user" and isinstance(content, str) and (match := CARD.search(content)):
            seen = Seen(CardKey(match[1], match[2], int(match[3])))
        if seen is None or role != "assistant":
            continue
        seen.turns += 1
        if isinstance(content, str) and "```" in content:
            seen.drafts += 1
        for call in message.get("tool_calls") or ():
            name = call["function"]["name"]
            arguments = orjson.loads(call["function"]["arguments"])
            if name in ("read_file", "grep"):
                seen.looks += 1
            elif arguments.get("code"):
                seen.drafts += 1
            elif name == "compile_and_diff":
                seen.malformed += 1
    return seen


class Plan:
    """The script of one card's attempt, and its turns."""

    def __init__(self, settings: Settings, truth: Truth, key: CardKey) -> None:
        self.key = key
        self.entry: Entry = truth.entries[key.binary, key.function]
        self.body = truth.bodies[key.binary, key.function]
        self._settings = settings
        self._truth = truth
        self._rng = random.Random(f"{settings.seed}:{key.name}")
        self.script = self._choose()
        self._look = self._rng.random() < settings.looks
        self._malformed = self._rng.random() < settings.faults.malformed
        self._prose = self._rng.random() < settings.faults.prose
        self._wrong_seed = self._rng.random()

    def _choose(self) -> Script:
        shares = self._settings.mix.shares()
        script = self._rng.choices(list(shares), list(shares.values()))[0]
        return Script.RIGHT if self.entry.group is not None and self._settings.groups_right else script

    @cached_property
    def wrong(self) -> str:
        """The wrong draft of this attempt."""
        script = Script.WRONG_SHAPE if self.script is Script.RIGHT_AFTER_DIFF else self.script
        siblings = {
            entry.function: self._truth.bodies[key]
            for key, entry in self._truth.entries.items()
            if entry.binary == self.key.binary and entry.tu == self.entry.tu
        }
        rng = random.Random(self._wrong_seed)
        return wrong_draft(script, self.body, self.key.function, siblings, rng)

    def turn(self, seen: Seen) -> Turn:
        """The next answer."""
        if self.script is Script.TRUNCATED:
            half = orjson.dumps({"code": self.body}).decode()
            return Turn("Let me think about this at length. ", "compile_and_diff", half[: len(half) // 2], cut=True)
        if self.script is Script.GIVES_UP:
            if seen.turns == 0:
                return Turn("I do not see how this function was written.")
            return Turn("", "submit", _json(status="gave_up", notes="nothing found out"))
        if self._look and seen.looks == 0:
            return Turn("", "read_file", _json(path=self.entry.tu, first=1, last=40))
        if self._malformed and seen.malformed == 0:
            return Turn("", "compile_and_diff", '{"code": "int broken(')
        right = self.script is Script.RIGHT or (self.script is Script.RIGHT_AFTER_DIFF and seen.drafts > 0)
        code = self.body if right else self.wrong
        last = 2 if self.script is Script.RIGHT_AFTER_DIFF else 1
        if seen.drafts < last:
            if self._prose and seen.drafts == last - 1:
                return Turn(f"This should match:\n```c\n{code}```\n", right=right)
            return Turn("", "compile_and_diff", _json(code=code), right=right)
        notes = "the literal pool order was not written down anywhere" if right else ""
        return Turn("", "submit", _json(code=code, status="near", notes=notes), right=right)


def _json(**fields: object) -> str:
    return orjson.dumps(fields).decode()
