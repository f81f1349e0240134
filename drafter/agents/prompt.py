"""The texts an agent is given. They lie in prompts/*.md, where a person can edit them; `<state>/prompts/` overrides.

The stable part (system message, tools) comes first and is the same for every card, so that a provider's prompt cache
pays; what differs from card to card follows. The `Card:` line names the card for a reader of the transcript.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from drafter.agents.library import clip
from shared.errors import ConfigError
from shared.hashing import digest_json
from shared.records import Card
from shared.state import StateDir

FOLDER = Path(__file__).parent / "prompts"
NAMES = ("system", "card", "again", "earlier", "reminder", "shorter", "repeated")
ASM_CHARS = 40_000
TU_CHARS = 24_000


@dataclass(frozen=True)
class Prompts:
    """The texts in effect; `digest` names this version of them."""

    texts: Mapping[str, str]
    digest: str

    @property
    def system(self) -> str:
        """The stable first message."""
        return self.texts["system"]

    def fill(self, name: str, **values: object) -> str:
        """A text with its `$names` filled in. Values are taken as they are."""
        return string.Template(self.texts[name]).safe_substitute({key: str(value) for key, value in values.items()})

    def card(self, name: str, card: Card, earlier: str, tu_text: str = "", asm_text: str = "", advice: str = "") -> str:
        """The `card` or `again` message of a card."""
        return self.fill(
            name,
            binary=card.binary,
            function=card.function,
            attempt=card.attempt,
            instructions=card.instructions,
            address=f"0x{card.address:08X}",
            tu=card.tu,
            asm=card.asm,
            tu_text=window(tu_text, card.function, TU_CHARS),
            asm_text=clip(asm_text, ASM_CHARS),
            levers=f"What its instructions suggest (guesses):\n{advice}\n" if advice else "",
            earlier=earlier,
        )


def load_prompts(state: StateDir) -> Prompts:
    """The shipped texts, each replaced by `<state>/prompts/<name>.md` when that is there. Raises ConfigError."""
    texts = {}
    for name in NAMES:
        own = state.root / "prompts" / f"{name}.md"
        path = own if own.is_file() else FOLDER / f"{name}.md"
        try:
            texts[name] = path.read_text("utf-8").strip() + "\n"
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot be read as a prompt text: {error}", path) from error
    if "Card: $binary $function attempt $attempt" not in texts["card"]:
        raise ConfigError("must hold the line `Card: $binary $function attempt $attempt`", FOLDER / "card.md")
    return Prompts(texts, digest_json(texts)[:12])


def window(text: str, name: str, limit: int) -> str:
    """A source file within `limit` characters: its beginning, and the surroundings of the line that names `name`."""
    if len(text) <= limit:
        return text
    at = max(0, text.rfind(name))
    head = limit // 3
    start = max(head, text.rfind("\n", 0, max(0, at - limit // 3)) + 1)
    end = min(len(text), start + limit - head)
    middle = "" if start <= head else "\n/* ... left out ... */\n"
    rest = "" if end == len(text) else "\n/* ... left out ... */\n"
    return text[:head] + middle + text[start:end] + rest
