"""How a conversation begins: anew, where it was cut off, or on top of an earlier attempt's transcript."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from drafter.agents.client import Message
from drafter.agents.drafts import DraftKeeper
from drafter.agents.library import NotAllowed, clip
from drafter.agents.spending import Spending
from drafter.agents.transcript import Transcript, fit, load, unanswered
from shared.errors import CampaignError
from shared.frontier.knowledge import section
from shared.records import Target

if TYPE_CHECKING:
    from drafter.agents.chat import Workbench

REPLAYED_CHARS = 60_000
"""How much of an earlier attempt's conversation is taken along."""


@dataclass
class Opening:
    """What an agent starts with. `error` says why it cannot."""

    transcript: Transcript
    keeper: DraftKeeper
    messages: list[Message] = field(default_factory=list)
    spending: Spending = field(default_factory=Spending)
    error: str = ""


def open_conversation(bench: Workbench, target: Target) -> Opening:
    """Opens the transcript of `target` and finds or makes its messages. Blocking. Raises DiskFull, OSError."""
    path = bench.files.transcript(target.wave, target.id)
    past = load(path)
    transcript = Transcript(path)
    keeper = DraftKeeper(bench.files.draft(target.wave, target.id), transcript, past.best)
    if len(past.messages) >= 2:
        return Opening(transcript, keeper, past.messages, past.spending)
    opening = Opening(transcript, keeper)
    card = target.card
    try:
        asm_text = bench.library.text(card.asm)
        tu_text = bench.library.text(card.tu)
    except NotAllowed as error:
        opening.error = f"the card names a file that cannot be read: {error}"
        return opening
    if not asm_text.strip():
        opening.error = f"the card names an empty file: {card.asm}"
        return opening
    advice = "\n\n".join(filter(None, (section(lever, bench.files.state.knowledge) for lever in card.levers)))
    transcript.start(target.id, bench.prompts.digest)
    earlier, replayed = _earlier(bench, target)
    opening.messages = [
        {"role": "system", "content": bench.prompts.system},
        {
            "role": "user",
            "content": bench.prompts.card("card", card, "" if replayed else earlier, tu_text, asm_text, advice),
        },
    ]
    if replayed:
        opening.messages += replayed
        opening.messages.append({"role": "user", "content": bench.prompts.card("again", card, earlier)})
    for message in opening.messages:
        transcript.message(message)
    transcript.sync()
    return opening


def _earlier(bench: Workbench, target: Target) -> tuple[str, list[Message]]:
    """The best earlier draft as a text, and the turns that led to it, trimmed, with every tool call answered."""
    card = target.card
    if not card.best:
        return "", []
    try:
        draft = bench.files.state.resolve(card.best)
        code = draft.read_text("utf-8", "replace")
    except (CampaignError, OSError):
        return "", []
    text = bench.prompts.fill("earlier", reason=card.best_reason or "no reason on file", code=clip(code, 16_000))
    return text, _turns(draft)


def _turns(draft: Path) -> list[Message]:
    messages = load(draft.parent.parent / "transcripts" / f"{draft.stem}.jsonl").messages
    open_calls = set(unanswered(messages))
    if open_calls:
        last = max(number for number, message in enumerate(messages) if message.get("role") == "assistant")
        messages = messages[:last]
    turns = messages[2:]
    return fit(turns, REPLAYED_CHARS, head=0) if turns else []
