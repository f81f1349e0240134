"""Conversations stay whole: through trimming, deaths and rubbish on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drafter.agents.spending import Spending
from drafter.agents.transcript import Best, Transcript, fit, load, size, unanswered
from tests.agents.conftest import check_history


def conversation(shape: list[tuple[str, int]]) -> list[dict[str, Any]]:
    """A whole conversation: system, card, then turns of (kind, size)."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "s" * 50}, {"role": "user", "content": "card"}]
    for number, (kind, length) in enumerate(shape):
        if kind == "calls":
            ids = [f"t{number}.{call}" for call in range(1 + length % 3)]
            calls = [{"id": i, "type": "function", "function": {"name": "grep", "arguments": "{}"}} for i in ids]
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
            messages += [{"role": "tool", "tool_call_id": i, "content": "r" * length} for i in ids]
        else:
            messages.append({"role": "assistant", "content": "a" * length})
            messages.append({"role": "user", "content": "u"})
    return messages


shapes = st.lists(st.tuples(st.sampled_from(["calls", "text"]), st.integers(0, 300)), max_size=25)


@given(shapes, st.integers(0, 8000))
def test_trimming_leaves_no_orphan_and_keeps_head_and_newest(shape: list[tuple[str, int]], limit: int) -> None:
    messages = conversation(shape)
    short = fit(messages, limit)
    check_history(short)
    assert short[:2] == messages[:2]
    assert short[-1] == messages[-1]
    if size(messages) <= limit:
        assert short == messages
    again = fit(short, limit)
    check_history(again)
    assert size(again) <= size(short)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(shape=shapes, cut=st.integers(0, 100_000))
def test_a_transcript_cut_anywhere_resumes_whole(tmp_path: Path, shape: list[tuple[str, int]], cut: int) -> None:
    path = tmp_path / "t.jsonl"
    path.unlink(missing_ok=True)
    writer = Transcript(path)
    writer.start("t", "p")
    spending = Spending()
    for message in conversation(shape):
        if message["role"] == "assistant":
            spending.turns += 1
            writer.turn(message, spending)
        else:
            writer.message(message)
    writer.close()
    data = path.read_bytes()
    path.write_bytes(data[: cut % (len(data) + 1)])
    past = load(path)
    pending = unanswered(past.messages)
    answered = past.messages + [{"role": "tool", "tool_call_id": call, "content": "x"} for call in pending]
    check_history(answered)
    assert past.spending.turns == sum(message["role"] == "assistant" for message in past.messages)


def test_rubbish_lines_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(
        b'[1]\nnot json\n{"kind":"turn","message":{"role":"assistant","content":"x"},"spent":7}\n{"kind":9}\n'
    )
    past = load(path)
    assert len(past.messages) == 1
    assert past.spending == Spending()
    assert load(tmp_path / "none.jsonl").messages == []


def test_the_last_best_wins(tmp_path: Path) -> None:
    writer = Transcript(tmp_path / "t.jsonl")
    writer.best(Best("a", "MISMATCH?", 9))
    writer.best(Best("b", "MISMATCH", None))
    writer.end("near", Spending(turns=3))
    writer.close()
    past = load(tmp_path / "t.jsonl")
    assert past.best == Best("b", "MISMATCH", None)
    assert past.ended
    assert past.spending.turns == 3
