"""One agent: a conversation about one card, from its first message to its verdict row.

Nothing a provider or a model does ends it with an exception: used-up budgets, unusable turns and dead endpoints are
outcomes. It ends early only by its Leave flag, between steps.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from drafter.agents.client import Message, ModelClient, RequestFailed, Tag
from drafter.agents.drafts import normal
from drafter.agents.files import ShardFiles
from drafter.agents.leave import Leave, Left, Why
from drafter.agents.library import Library, NotAllowed, clip
from drafter.agents.opening import Opening, open_conversation
from drafter.agents.oracle import Look, Oracle
from drafter.agents.prompt import Prompts
from drafter.agents.replies import Kind, Reply, ToolCall
from drafter.agents.spending import Spending
from drafter.agents.toolset import (
    TOOLS,
    BadArguments,
    CompileAndDiff,
    Grep,
    ReadFile,
    Submit,
    parse,
    told,
)
from drafter.agents.transcript import fit, size, unanswered
from shared.config.schema import Lane
from shared.errors import MissingTool
from shared.hashing import digest_bytes
from shared.records import AgentRow, Judgement, Target, Verdict
from shared.state import utc_now

log = logging.getLogger(__name__)

EQUAL_CALLS = 4
"""This many equal calls in a row are not run; twice that many end the agent."""
CONTEXT_CHARS = 200_000
"""A longer conversation loses its oldest middle; after that it is SHRUNK of this, so that trimming stays rare."""
SHRUNK = 0.6
SMALLEST_CONTEXT = 20_000

_BLOCK = re.compile(r"```[A-Za-z+]*[ \t]*\r?\n(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Workbench:
    """What agents of one shard share."""

    files: ShardFiles
    client: ModelClient
    oracle: Oracle
    library: Library
    prompts: Prompts
    on_oracle: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Ending:
    """Why an agent ended, as its row says it."""

    outcome: str
    error: str = ""


class Agent:
    """One attempt at one card. `run` is called once."""

    def __init__(self, bench: Workbench, target: Target, lane: Lane, leave: Leave) -> None:
        self._bench = bench
        self._target = target
        self._lane = lane
        self._leave = leave
        self._tag = Tag(target.wave, target.lane, target.id)
        self._looks: dict[str, Look] = {}
        self._limit = CONTEXT_CHARS
        self._idle = 0
        self._idle_why = ""
        self._same: tuple[str, int] = ("", 0)
        self._notes = ""
        self.spending = Spending()

    async def run(self) -> AgentRow:
        """Holds the conversation to its end and returns the row, its draft durable. Raises DiskFull, OSError."""
        started = time.monotonic()
        target = self._target
        opening = await asyncio.to_thread(open_conversation, self._bench, target)
        self._transcript = opening.transcript
        self.spending = opening.spending
        self._keeper = opening.keeper
        try:
            ending = await self._ended(opening)
            self._transcript.end(ending.outcome, self.spending)
            return self._row(ending, time.monotonic() - started)
        finally:
            self._transcript.close()

    async def _ended(self, opening: Opening) -> Ending:
        if opening.error:
            return Ending("failed", opening.error)
        if self._keeper.best is not None and self._keeper.best.verdict == Verdict.AGREE:
            return Ending("match")
        self._messages = opening.messages
        try:
            return await self._converse()
        except Left as left:
            return Ending("cancelled" if left.why is Why.CANCELLED else "saved")

    async def _converse(self) -> Ending:
        if self._messages and (pending := unanswered(self._messages)):
            ending = await self._resume(pending)
            if ending is not None:
                return ending
        while True:
            self._leave.check()
            if spent := self.spending.exhausted(self._lane):
                return Ending("budget", spent)
            if size(self._messages) > self._limit:
                self._messages = fit(self._messages, int(self._limit * SHRUNK))
            try:
                reply = await self._bench.client.complete(self._messages, TOOLS, self._tag, self.spending, self._leave)
            except RequestFailed as error:
                if error.failure.kind is Kind.OVERFLOW and self._shrink():
                    continue
                return Ending("failed", str(error))
            self.spending.turns += 1
            ending = await self._take(reply)
            if ending is not None:
                return ending

    def _shrink(self) -> bool:
        """Makes room after the endpoint said the conversation is too long; False when there is none to make."""
        self._limit = int(min(self._limit, size(self._messages)) * SHRUNK)
        shorter = fit(self._messages, self._limit)
        smaller = size(shorter) < size(self._messages)
        self._messages = shorter
        return smaller and self._limit >= SMALLEST_CONTEXT

    async def _take(self, reply: Reply) -> Ending | None:
        """One turn of the model. None = go on."""
        if reply.truncated:
            self.spending.truncated += 1
            self._said(reply.text or "(cut off at the output limit)")
            return self._nudge("truncated", "shorter")
        if reply.refused:
            self.spending.refused += 1
            self._said(reply.text or "(declined)")
            return self._nudge("refused", "reminder")
        if reply.calls:
            return await self._run_calls(reply)
        self._said(reply.text or "(an empty turn)")
        blocks = [block for block in _BLOCK.findall(reply.text) if self._target.card.function in block]
        if blocks:
            self._idle = 0
            return await self._scored_block(blocks[-1])
        if not reply.text.strip():
            self.spending.empty += 1
            return self._nudge("empty", "reminder")
        return self._nudge("no tool call", "reminder")

    async def _scored_block(self, code: str) -> Ending | None:
        look = await self._judge(code)
        if (ending := _final(look)) is not None:
            return ending
        self._tell(f"Your code block was compiled and compared.\n{told(look)}")
        return None

    def _nudge(self, why: str, text: str) -> Ending | None:
        """Answers a turn that did nothing; ends the agent after too many in a row."""
        self._idle += 1
        self._idle_why = why
        self.spending.nudges += 1
        if self._idle > self._lane.nudges:
            outcome = "truncated" if why == "truncated" else "gave-up"
            return Ending(outcome, f"{self._idle} turns in a row without a usable call, the last: {why}")
        best = self._keeper.code()
        shown = f"Your best draft so far:\n```c\n{clip(best, 12_000)}```" if best else "There is no draft yet."
        self._tell(self._bench.prompts.fill(text, best=shown))
        return None

    async def _run_calls(self, reply: Reply) -> Ending | None:
        message: Message = {
            "role": "assistant",
            "content": reply.text or None,
            "tool_calls": [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {
                        "name": call.name,
                        # Unparsable arguments would make every later request a 400 (field report F65).
                        "arguments": orjson.dumps(call.arguments or {}).decode(),
                    },
                }
                for call in reply.calls
            ],
        }
        self._messages.append(message)
        self._transcript.turn(message, self.spending)
        usable = any(call.arguments is not None for call in reply.calls)
        ending: Ending | None = None
        for call in reply.calls:
            if ending is not None:
                self._answer(call.id, "not run: the work has ended")
                continue
            text, ending = await self._run_call(call)
            self._answer(call.id, text)
        if ending is None and not usable:
            return self._nudge("malformed", "reminder")
        if usable:
            self._idle = 0
        return ending

    async def _resume(self, pending: list[str]) -> Ending | None:
        """Runs the calls an earlier run of this target had asked for and not yet answered."""
        for message in reversed(self._messages):
            if message.get("role") == "assistant":
                break
        for call in message.get("tool_calls", ()):
            if call["id"] in pending:
                arguments = orjson.loads(call["function"]["arguments"])
                text, ending = await self._run_call(ToolCall(call["id"], call["function"]["name"], arguments))
                self._answer(call["id"], text)
                if ending is not None:
                    return ending
        return None

    async def _run_call(self, call: ToolCall) -> tuple[str, Ending | None]:
        if call.arguments is None:
            self.spending.malformed += 1
            return f"{call.fault}; nothing was run. Send the call again with valid JSON.", None
        key = f"{call.name} {digest_bytes(orjson.dumps(call.arguments, option=orjson.OPT_SORT_KEYS))}"
        count = self._same[1] + 1 if self._same[0] == key else 1
        self._same = (key, count)
        if count >= 2 * EQUAL_CALLS:
            return "ended", Ending("gave-up", f"the same {call.name} call {count} times in a row")
        if count >= EQUAL_CALLS:
            return self._bench.prompts.fill("repeated", count=count), None
        try:
            action = parse(call.name, call.arguments)
        except BadArguments as error:
            self.spending.malformed += 1
            return f"{error}; nothing was run", None
        match action:
            case ReadFile(path, first, last):
                return await self._read(self._bench.library.read, path, first, last), None
            case Grep(pattern, path):
                return await self._read(self._bench.library.grep, pattern, path), None
            case CompileAndDiff(code):
                look = await self._judge(code)
                return told(look), _final(look)
            case Submit():
                return await self._submit(action)

    async def _submit(self, action: Submit) -> tuple[str, Ending | None]:
        self._notes = action.notes or self._notes
        look = await self._judge(action.code) if action.code.strip() else None
        if look is not None and (ending := _final(look)) is not None:
            return told(look), ending
        if action.status == "match":
            why = told(look) if look is not None else "no draft of yours agrees yet"
            return f"Not accepted as a match. Go on, or submit it as `near`.\n{why}", None
        return "ended", Ending("near" if action.status == "near" else "gave-up")

    @staticmethod
    async def _read(function: Callable[..., str], *arguments: Any) -> str:
        try:
            return await asyncio.to_thread(function, *arguments)
        except NotAllowed as error:
            return str(error)
        except (OSError, MissingTool) as error:
            log.warning("TOOL-FAULT tool=%s reason=%r", function.__name__, str(error))
            return "the tool failed; go on without it"

    async def _judge(self, code: str) -> Look:
        """The oracle's answer; the draft is durable when it returns, if it is the best."""
        digest = digest_bytes(normal(code))
        look = self._looks.get(digest)
        if look is None:
            look = await self._bench.oracle.judge(self._target.card, normal(code).decode())
            if look.judgement.verdict is Verdict.FAULT:
                look = await self._bench.oracle.judge(self._target.card, normal(code).decode())
            self.spending.oracle_calls += 1
            self._bench.on_oracle()
            self._note(digest, look.judgement)
            if look.judgement.verdict is not Verdict.FAULT:
                self._looks[digest] = look
        await asyncio.to_thread(self._keeper.offer, code, look.judgement)
        return look

    def _note(self, digest: str, judgement: Judgement) -> None:
        self._transcript.verdict(digest, judgement.verdict, judgement.closeness, judgement.reason)

    def _said(self, text: str) -> None:
        message = {"role": "assistant", "content": text}
        self._messages.append(message)
        self._transcript.turn(message, self.spending)

    def _tell(self, text: str) -> None:
        message = {"role": "user", "content": text}
        self._messages.append(message)
        self._transcript.message(message)

    def _answer(self, call: str, text: str) -> None:
        message = {"role": "tool", "tool_call_id": call, "content": text}
        self._messages.append(message)
        self._transcript.message(message)

    def _row(self, ending: Ending, wall_s: float) -> AgentRow:
        path, digest, length, verdict, closeness = self._keeper.measured()
        card, spent = self._target.card, self.spending
        return AgentRow(
            id=self._target.id,
            binary=card.binary,
            function=card.function,
            attempt=card.attempt,
            outcome=ending.outcome,
            path=self._bench.files.state.relative(self._keeper.path) if path else "",
            digest=digest,
            size=length,
            verdict=verdict,
            closeness=closeness,
            model=self._bench.client.pool.model,
            pool=self._target.pool,
            turns=spent.turns,
            requests=spent.requests,
            truncated_turns=spent.truncated,
            tokens_in=spent.tokens_in,
            tokens_cached=spent.tokens_cached,
            tokens_out=spent.tokens_out,
            cost_usd=spent.total_cost,
            notes=self._notes,
            error=ending.error[:500],
            wall_s=round(wall_s, 3),
            at=utc_now(),
        )


def _final(look: Look) -> Ending | None:
    """The ending a verdict brings by itself: a match, or a stub that somebody else closed meanwhile."""
    if look.judgement.passed:
        return Ending("match")
    if look.judgement.verdict is Verdict.NOT_A_STUB:
        return Ending("cancelled", look.judgement.reason)
    return None
