"""The chat loop against a real loopback server that plays each trap at each turn."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from drafter.agents.breaker import Breaker
from drafter.agents.chat import Agent, Workbench
from drafter.agents.client import ModelClient, open_session
from drafter.agents.files import ShardFiles
from drafter.agents.leave import Leave, Why
from drafter.agents.library import Library
from drafter.agents.limiter import Limiter
from drafter.agents.prompt import load_prompts
from drafter.agents.telemetry import RateJournal
from drafter.agents.transcript import load
from shared.config import load_campaign
from shared.hashing import digest_file
from shared.journal import read_journal
from shared.records import AgentRow, Target
from tests.agents.conftest import FUNCTIONS, KEY, TRUTH, ModelServer, Step, Tiny, completion, cut, hang, raw, say
from tests.agents.fakes import TextOracle

RIGHT = TRUTH[FUNCTIONS[0]]
WRONG = "int func_80010000(int a) { return a; } /* closeness 7 */\n"
WORSE = "int func_80010000(int a) { return 0; } /* closeness 11 */\n"
draft_right = say(completion(None, ("compile_and_diff", {"code": RIGHT})))
draft_wrong = say(completion(None, ("compile_and_diff", {"code": WRONG})))
submit_near = say(completion(None, ("submit", {"status": "near", "notes": "learnt something"})))


@dataclass
class Played:
    """What became of one agent."""

    row: AgentRow
    server: ModelServer
    oracle: TextOracle
    tiny: Tiny
    target: Target
    rates: list[dict[str, Any]] = field(default_factory=list)

    @property
    def draft(self) -> str:
        return (self.tiny.state.root / self.row.path).read_text() if self.row.path else ""

    def answers(self) -> list[str]:
        """Contents of the tool results and user messages of the last request."""
        return [str(m["content"]) for m in self.server.bodies[-1]["messages"][2:] if m["role"] != "assistant"]


def play(
    tiny: Tiny, *steps: Step, target: Target | None = None, leave_after: float | None = None, **settings: Any
) -> Played:
    """Runs one agent against a server that plays `steps`."""
    target = target or tiny.target()
    oracle = TextOracle()

    async def main() -> tuple[AgentRow, ModelServer]:
        server = ModelServer(list(steps))
        async with server as url:
            tiny.configure(url, **settings)
            campaign = load_campaign(tiny.root / "campaign.toml")
            pool = campaign.pools["test"]
            files = ShardFiles(tiny.state, "s0001")
            rates = RateJournal(tiny.state.journal, "s0001")
            limiter = Limiter(4, Breaker(0.05, 0.2, 0.02), pause_s=0.02)
            library = Library(tiny.root, ["asm/main"], tiny.state.knowledge)
            async with open_session(pool) as session:
                client = ModelClient("test", pool, KEY, session, limiter, rates)
                bench = Workbench(files, client, oracle, library, load_prompts(tiny.state))
                leave = Leave()
                if leave_after is not None:
                    asyncio.get_running_loop().call_later(leave_after, leave.ask, Why.SAVED)
                row = await asyncio.wait_for(Agent(bench, target, campaign.lanes["default"], leave).run(), 20)
            rates.close()
        return row, server

    row, server = asyncio.run(main())
    rates = [record for path in tiny.state.journal.glob("rate-*.jsonl") for record in read_journal(path)]
    played = Played(row, server, oracle, tiny, target, rates)
    if row.path:
        assert digest_file(tiny.state.root / row.path) == row.digest
    assert len(rates) >= row.requests
    return played


def test_a_right_draft_ends_the_work_at_once(tiny: Tiny) -> None:
    played = play(tiny, draft_right)
    assert played.row.outcome == "match"
    assert played.row.verdict == "AGREE"
    assert played.draft == RIGHT
    assert (played.row.turns, played.row.requests) == (1, 1)
    assert played.row.cost_usd == pytest.approx(0.0001)


def test_the_stable_part_comes_first_and_the_card_after_it(tiny: Tiny) -> None:
    first = play(tiny, draft_right).server.bodies[0]
    second = play(tiny, say(completion("nothing")), target=tiny.target(1)).server.bodies[0]
    assert first["messages"][0] == second["messages"][0]
    assert first["tools"] == second["tools"]
    assert f"Card: main {FUNCTIONS[0]} attempt 1" in first["messages"][1]["content"]
    assert "jr         $ra" in first["messages"][1]["content"]
    assert first["max_tokens"] == 1000


def test_the_best_draft_is_kept_not_the_last(tiny: Tiny) -> None:
    worse = say(completion(None, ("compile_and_diff", {"code": WORSE})))
    played = play(tiny, draft_wrong, worse, submit_near)
    assert played.row.outcome == "near"
    assert played.row.notes == "learnt something"
    assert played.row.closeness == 7
    assert played.draft == WRONG


def test_a_match_that_is_none_is_not_accepted(tiny: Tiny) -> None:
    claim = say(completion(None, ("submit", {"code": WRONG, "status": "match"})))
    played = play(tiny, claim, draft_right)
    assert played.row.outcome == "match"
    assert "Not accepted" in played.answers()[0]


def test_reading_tools_answer(tiny: Tiny) -> None:
    calls = completion(
        None,
        ("read_file", {"path": "src/main/a.c"}),
        ("read_file", {"path": "asm/main/nonmatchings/a"}),
        ("grep", {"pattern": "helper|jr"}),
        ("read_file", {"path": "../key"}),
        ("read_file", {"path": "/etc/passwd"}),
        ("no_such_tool", {}),
        ("grep", {}),
    )
    played = play(tiny, say(calls), draft_right)
    answers = played.answers()
    assert "INCLUDE_ASM" in answers[0]
    assert f"{FUNCTIONS[0]}.s" in answers[1]
    assert "src/main/a.c:3" in answers[2]
    assert f"{FUNCTIONS[0]}.s:2" in answers[2]
    assert "not a path inside the project" in answers[3]
    assert "not a path inside the project" in answers[4]
    assert "there is no tool" in answers[5]
    assert "`pattern` is missing" in answers[6]
    assert played.row.outcome == "match"


SOFT = say({"error": {"code": 503, "message": "upstream is down"}})
FAULTS: dict[str, tuple[Step, str]] = {
    "platform-429": (say({"error": {"message": "slow down"}}, 429, {"Retry-After": "0.05"}), "http-429"),
    "provider-429": (
        say({"error": {"code": 429, "message": "Provider returned error", "metadata": {"provider_name": "X"}}}, 429),
        "http-429",
    ),
    "soft-429": (say({"error": {"code": 429, "message": "rate limited"}}), "soft-429"),
    "502": (raw(b"<html>bad gateway</html>", 502), "http-502"),
    "500-json": (say({"error": {"message": "oops"}}, 500), "http-500"),
    "soft-error": (SOFT, "soft-503"),
    "error-in-choice": (
        say({"choices": [{"error": {"code": 502, "message": "x"}, "finish_reason": "error", "message": {}}]}),
        "soft-502",
    ),
    "error-beats-finish": (
        say({**completion("int x;"), "error": {"message": "cut in the middle", "code": 500}}),
        "soft-500",
    ),
    "cut": (cut(), "cut"),
    "cut-at-once": (cut(b""), "cut"),
    "half-json": (raw(b'{"choices": [{"index": 0, "mess'), "cut"),
    "empty-choices": (say({"choices": []}), "empty"),
    "no-message": (say({"choices": [{"finish_reason": "stop"}]}), "empty"),
    "no-finish": (
        say({"choices": [{"message": {"role": "assistant", "content": f"```c\n{RIGHT}```"}, "finish_reason": None}]}),
        "no-finish",
    ),
    "not-an-object": (raw(b"[]"), "cut"),
}


@pytest.mark.parametrize("turn", [0, 1])
@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_transport_fault_at_any_turn_costs_a_retry_and_nothing_else(tiny: Tiny, name: str, turn: int) -> None:
    fault, result = FAULTS[name]
    steps = [draft_wrong, draft_right]
    played = play(tiny, *steps[:turn], fault, fault, *steps[turn:])
    assert played.row.outcome == "match"
    assert played.row.turns == 2
    assert played.row.requests == 4
    assert [rate["result"] for rate in played.rates].count(result) == 2
    assert {len(json.dumps(body["messages"])) for body in played.server.bodies[turn : turn + 3]}.__len__() == 1


def test_retries_end(tiny: Tiny) -> None:
    played = play(tiny, draft_wrong, FAULTS["502"][0], retries=3)
    assert played.row.outcome == "failed"
    assert "http-502" in played.row.error
    assert played.row.requests == 1 + 4
    assert played.draft == WRONG


def test_a_bad_request_is_not_repeated(tiny: Tiny) -> None:
    played = play(tiny, say({"error": {"message": "unknown field"}}, 400))
    assert played.row.outcome == "failed"
    assert played.row.requests == 1


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_a_denial_opens_the_breaker_and_uses_up_no_retries(tiny: Tiny, status: int) -> None:
    denied = say({"error": {"message": f"no: {KEY}"}}, status)
    played = play(tiny, *[denied] * 4, draft_right, retries=1)
    assert played.row.outcome == "match"
    assert played.row.requests == 5


def test_a_denied_agent_gives_way_to_the_end_of_the_shard(tiny: Tiny) -> None:
    played = play(tiny, draft_wrong, say({"error": {"message": "no credit"}}, 402), leave_after=0.6)
    assert played.row.outcome == "saved"
    assert played.draft == WRONG


@pytest.mark.parametrize("turn", [0, 1])
def test_length_is_counted_its_calls_are_not_run_and_it_is_nudged_shorter(tiny: Tiny, turn: int) -> None:
    long = say(completion("so", ("compile_and_diff", {"code": WORSE}), finish="length"))
    steps = [draft_wrong, draft_right]
    played = play(tiny, *steps[:turn], long, *steps[turn:])
    assert played.row.outcome == "match"
    assert played.row.truncated_turns == 1
    assert all("closeness 11" not in code for code in played.oracle.asked)
    assert any("cut off at the output limit" in text for text in played.answers())


def test_an_agent_that_is_always_truncated_ends_as_truncated(tiny: Tiny) -> None:
    long = say(completion(None, ("compile_and_diff", '{"code": "int x'), finish="length"))
    played = play(tiny, long, nudges=2)
    assert played.row.outcome == "truncated"
    assert played.row.truncated_turns == 3
    assert played.row.path == ""


@pytest.mark.parametrize("arguments", ['{"code": "int', "[1]", "null", "\x00", "{'code': 1}"])
def test_malformed_arguments_are_answered_and_never_replayed(tiny: Tiny, arguments: str) -> None:
    played = play(tiny, say(completion(None, ("compile_and_diff", arguments))), draft_right)
    assert played.row.outcome == "match"  # the server asserts that every history it gets can be parsed
    assert "nothing was run" in played.answers()[0]


def test_malformed_turns_end(tiny: Tiny) -> None:
    played = play(tiny, draft_wrong, say(completion(None, ("compile_and_diff", "{{{"))), nudges=2)
    assert played.row.outcome == "gave-up"
    assert "malformed" in played.row.error
    assert played.draft == WRONG


def test_a_code_block_without_a_tool_call_is_scored(tiny: Tiny) -> None:
    other = "```c\nint x;\n```"
    played = play(tiny, say(completion(f"Try:\n{other}\n```c\n{WRONG}```")), say(completion(f"```\n{RIGHT}```")))
    assert played.row.outcome == "match"
    assert played.oracle.asked == [WRONG, RIGHT]


@pytest.mark.parametrize(("text", "why"), [("I cannot.", "no tool call"), ("", "empty"), (None, "empty")])
def test_turns_without_anything_are_nudged_up_to_n_with_the_best_draft(tiny: Tiny, text: str | None, why: str) -> None:
    played = play(tiny, draft_wrong, say(completion(text)), nudges=3)
    assert played.row.outcome == "gave-up"
    assert why in played.row.error
    assert played.row.turns == 1 + 4
    assert "closeness 7" in played.answers()[-1]


def test_a_refusal_is_nudged_and_counted(tiny: Tiny) -> None:
    played = play(tiny, say(completion("no", finish="content_filter")), draft_right)
    assert played.row.outcome == "match"
    spent = load(ShardFiles(tiny.state, "s").transcript("w000001", played.target.id)).spending
    assert (spent.refused, spent.truncated, spent.malformed, spent.empty, spent.cut) == (1, 0, 0, 0, 0)


def test_four_equal_calls_in_a_row_are_broken_and_eight_end_it(tiny: Tiny) -> None:
    look = say(completion(None, ("grep", {"pattern": "x"})))
    played = play(tiny, look, look, look, look, draft_right)
    assert "4 times in a row" in played.answers()[3]
    assert played.row.outcome == "match"
    ended = play(tiny, look, target=tiny.target(1), turns=30)
    assert ended.row.outcome == "gave-up"
    assert ended.row.turns == 8


def test_tool_calls_that_come_with_finish_stop_are_run(tiny: Tiny) -> None:
    assert (
        play(tiny, say(completion(None, ("compile_and_diff", {"code": RIGHT}), finish="stop"))).row.outcome == "match"
    )


def test_a_used_up_turn_budget_is_a_verdict(tiny: Tiny) -> None:
    steps = [say(completion(None, ("grep", {"pattern": f"x{number}"}))) for number in range(5)]
    played = play(tiny, draft_wrong, *steps, turns=4)
    assert played.row.outcome == "budget"
    assert played.row.turns == 4
    assert played.draft == WRONG


def test_a_used_up_cost_budget_is_a_verdict(tiny: Tiny) -> None:
    dear = completion(
        None, ("grep", {"pattern": "x"}), usage={"prompt_tokens": 10, "completion_tokens": 1, "cost": 0.2}
    )
    played = play(tiny, say(dear))
    assert played.row.outcome == "budget"
    assert played.row.error.startswith("cost")


def test_unknown_cost_is_unknown_not_zero(tiny: Tiny) -> None:
    played = play(
        tiny,
        say(
            completion(None, ("compile_and_diff", {"code": RIGHT}), usage={"prompt_tokens": 9, "completion_tokens": 1})
        ),
    )
    assert played.row.cost_usd is None
    assert played.row.tokens_in == 9


def test_cached_tokens_are_reported(tiny: Tiny) -> None:
    usage = {"prompt_tokens": 50, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 40}, "cost": 0}
    played = play(tiny, say(completion(None, ("compile_and_diff", {"code": RIGHT}), usage=usage)))
    assert (played.row.tokens_cached, played.row.cost_usd) == (40, 0)
    assert played.rates[0]["tokens_cached"] == 40


def test_a_context_overflow_shortens_the_conversation(tiny: Tiny) -> None:
    big = say(completion("x" * 60_000, ("grep", {"pattern": "helper"})))
    overflow = say({"error": {"message": "maximum context length is 8192 tokens"}}, 400)
    played = play(tiny, big, draft_wrong, overflow, draft_right)
    assert played.row.outcome == "match"
    sizes = [len(json.dumps(body["messages"])) for body in played.server.bodies]
    assert sizes[3] < sizes[2] / 2


def test_a_broken_instrument_says_nothing_and_is_asked_twice(tiny: Tiny) -> None:
    fault = say(completion(None, ("compile_and_diff", {"code": "int func_80010000(void); /* FAULT */"})))
    played = play(tiny, fault, draft_wrong, submit_near)
    assert "says nothing about your code" in played.answers()[0]
    assert len(played.oracle.asked) == 3
    assert played.draft == WRONG


def test_a_function_that_was_banked_meanwhile_ends_the_work(tiny: Tiny) -> None:
    played = play(tiny, draft_wrong, say(completion(None, ("compile_and_diff", {"code": "/* BANKED */ int x;"}))))
    assert played.row.outcome == "cancelled"
    assert played.draft == WRONG


def test_hostile_arguments_stay_within_limits(tiny: Tiny) -> None:
    huge = completion(None, ("compile_and_diff", {"code": "x" * 100_000}), ("grep", {"pattern": "(" * 400}))
    played = play(tiny, say(huge), draft_right)
    assert "longer than" in played.answers()[0]
    assert "the search failed" in played.answers()[1]
    assert played.row.outcome == "match"


def test_a_huge_response_is_a_cut_one(tiny: Tiny) -> None:
    played = play(tiny, raw(b" " * (9 << 20)), draft_right)
    assert played.row.outcome == "match"
    assert played.rates[0]["result"] == "cut"


def test_the_key_is_sent_and_never_written(tiny: Tiny, caplog: pytest.LogCaptureFixture) -> None:
    echo = say({"error": {"message": f"Incorrect API key provided: {KEY}"}}, 401)
    told = say(completion(f"your key is {KEY}"))
    played = play(tiny, echo, told, draft_right)
    assert played.server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert KEY not in caplog.text
    for path in tiny.state.root.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


def test_saved_work_goes_on_where_it_ended(tiny: Tiny) -> None:
    first = play(tiny, draft_wrong, hang(0.5, submit_near), leave_after=0.2)
    # The HTTP turn in flight is finished and its submit counts: the agent ended before the flag was looked at.
    assert first.row.outcome == "near"
    slow = say(completion(None, ("grep", {"pattern": "q"})))
    second = play(tiny, draft_wrong, hang(0.4, slow), leave_after=0.2, target=tiny.target(1))
    assert second.row.outcome == "saved"
    again = play(
        tiny, say(completion(None, ("compile_and_diff", {"code": TRUTH[FUNCTIONS[1]]}))), target=tiny.target(1)
    )
    assert again.row.outcome == "match"
    assert again.row.turns == 3
    assert len(again.server.bodies[0]["messages"]) == 2 + 4


def test_an_agreed_draft_on_disk_needs_no_request(tiny: Tiny) -> None:
    play(tiny, draft_right)
    again = play(tiny, say({"error": "unused"}, 500))
    assert again.row.outcome == "match"
    assert again.server.bodies == []


def test_a_pending_tool_call_is_run_on_resumption(tiny: Tiny) -> None:
    first = play(tiny, draft_wrong, submit_near)
    path = ShardFiles(tiny.state, "s").transcript("w000001", first.target.id)
    lines = path.read_bytes().splitlines(keepends=True)
    turn = next(number for number, line in enumerate(lines) if b'"kind":"turn"' in line)
    path.write_bytes(b"".join(lines[: turn + 1]) + b'{"kind": "mess')
    (tiny.state.root / first.row.path).unlink()
    again = play(tiny, submit_near)
    assert again.oracle.asked == [WRONG]
    assert again.draft == WRONG
    assert len(again.server.bodies) == 1


def test_a_later_wave_takes_the_earlier_conversation_along(tiny: Tiny) -> None:
    first = play(tiny, draft_wrong, say(completion("hm", ("grep", {"pattern": "q"}))), submit_near)
    target = tiny.target(0, "w000002", attempt=2, best=first.row.path, best_reason="MISMATCH?: differs")
    second = play(tiny, draft_right, target=target)
    messages = second.server.bodies[0]["messages"]
    assert second.row.outcome == "match"
    assert "Card: main func_80010000 attempt 2" in messages[-1]["content"]
    assert "closeness 7" in messages[-1]["content"]
    assert [m["role"] for m in messages[:3]] == ["system", "user", "assistant"]


def test_a_card_whose_files_are_gone_is_refused_without_a_request(tiny: Tiny) -> None:
    played = play(tiny, draft_right, target=tiny.target(0, asm="asm/main/none.s"))
    assert played.row.outcome == "failed"
    assert "cannot be read" in played.row.error
    assert played.server.bodies == []


def test_prompts_can_be_edited(tiny: Tiny) -> None:
    folder: Path = tiny.state.root / "prompts"
    folder.mkdir()
    (folder / "system.md").write_text("Only this.")
    assert play(tiny, draft_right).server.bodies[0]["messages"][0]["content"] == "Only this.\n"
