"""What responses mean: each trap of OpenAI-compatible servers is a row."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drafter.agents.replies import Failure, Kind, Reply, classify
from drafter.agents.retry_after import LONGEST_S, retry_after, seconds
from tests.agents.conftest import completion

NOW = 1_700_000_000.0


def of(document: Any, status: int = 200, headers: dict[str, str] | None = None) -> Reply | Failure:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return classify(status, headers or {}, body, NOW)


@pytest.mark.parametrize(
    ("document", "status", "kind", "result", "source"),
    [
        ({"error": {"message": "x", "code": 429}}, 429, Kind.RATE, "http-429", "platform"),
        (
            {"error": {"message": "x", "code": 429, "metadata": {"provider_name": "Z"}}},
            429,
            Kind.RATE,
            "http-429",
            "provider",
        ),
        ({"error": {"message": "x", "code": "429"}}, 200, Kind.RATE, "soft-429", "soft"),
        ({"error": {"message": "Rate limit exceeded"}}, 200, Kind.RATE, "soft-429", "soft"),
        ({"error": {"message": "x", "type": "rate_limit_error"}}, 200, Kind.RATE, "soft-429", "soft"),
        ({"error": {"message": "You exceeded: insufficient_quota"}}, 429, Kind.DENIED, "http-402", ""),
        ({"error": {"message": "no credit"}}, 402, Kind.DENIED, "http-402", ""),
        ({"error": {"message": "Incorrect API key provided"}}, 400, Kind.DENIED, "http-400", ""),
        ({"error": {"message": "x", "code": "invalid_api_key"}}, 400, Kind.DENIED, "http-401", ""),
        ({"error": {"message": "no such model"}}, 404, Kind.DENIED, "http-404", ""),
        ({"error": {"message": "This model's maximum context length is 8192"}}, 400, Kind.OVERFLOW, "overflow", ""),
        ({"error": {"message": "x", "code": "context_length_exceeded"}}, 400, Kind.BAD_REQUEST, "http-400", ""),
        ({"error": {"message": "bad field"}}, 422, Kind.BAD_REQUEST, "http-422", ""),
        ({"error": {"message": "x", "code": 503}}, 200, Kind.SERVER, "soft-503", ""),
        ({"error": "plain words"}, 200, Kind.SERVER, "soft-error", ""),
        ({"error": {"message": "upstream", "code": 502}}, 429, Kind.SERVER, "http-502", ""),
        (b"<html>", 502, Kind.SERVER, "http-502", ""),
        (b"", 503, Kind.SERVER, "http-503", ""),
        (b"", 200, Kind.CUT, "cut", ""),
        (b"null", 200, Kind.CUT, "cut", ""),
        ({}, 200, Kind.EMPTY, "empty", ""),
        ({"choices": None}, 200, Kind.EMPTY, "empty", ""),
        ({"choices": [{"message": {"content": "x"}}]}, 200, Kind.CUT, "no-finish", ""),
        ({"detail": "timeout"}, 408, Kind.SERVER, "http-408", ""),
    ],
)
def test_failures(document: Any, status: int, kind: Kind, result: str, source: str) -> None:
    outcome = of(document, status)
    assert isinstance(outcome, Failure)
    assert (outcome.kind, outcome.result, outcome.source) == (kind, result, source)


def test_a_failed_request_is_charged_what_it_reports() -> None:
    outcome = of({"error": {"message": "cut", "code": 500}, "usage": {"prompt_tokens": 70, "completion_tokens": 3}})
    assert (outcome.usage.tokens_in, outcome.usage.tokens_out, outcome.usage.cost_usd) == (70, 3, None)


def test_tool_calls_get_unique_ids() -> None:
    document = completion(None, ("grep", {"pattern": "a"}), ("grep", {"pattern": "b"}))
    for call in document["choices"][0]["message"]["tool_calls"]:
        call["id"] = ""
    outcome = of(document)
    assert isinstance(outcome, Reply)
    assert len({call.id for call in outcome.calls}) == 2


def test_arguments_may_come_as_an_object() -> None:
    document = completion(None, ("grep", "{}"))
    document["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = {"pattern": "x"}
    outcome = of(document)
    assert isinstance(outcome, Reply)
    assert outcome.calls[0].arguments == {"pattern": "x"}


KEYS = [
    "error",
    "choices",
    "message",
    "finish_reason",
    "tool_calls",
    "function",
    "arguments",
    "id",
    "usage",
    "code",
    "metadata",
    "headers",
    "content",
    "prompt_tokens",
    "cost",
    "prompt_tokens_details",
]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=20,
)


@given(json_values, st.integers(200, 599))
def test_no_document_raises_and_no_reply_comes_without_a_finish_reason(document: Any, status: int) -> None:
    outcome = of(document, status)
    if isinstance(outcome, Reply):
        assert outcome.finish
        assert status < 400


@given(st.binary(max_size=60), st.integers(200, 599))
def test_no_bytes_raise(body: bytes, status: int) -> None:
    assert isinstance(classify(status, {}, body, NOW), Reply | Failure)


def test_every_cut_of_an_answer_is_a_cut() -> None:
    whole = json.dumps(completion("text", ("compile_and_diff", {"code": "int x;"}))).encode()
    for length in range(len(whole)):
        outcome = classify(200, {}, whole[:length], NOW)
        assert isinstance(outcome, Failure), length
        assert outcome.kind is Kind.CUT


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"llm_provider-retry-after": "3.5"}, 3.5),
        ({"X-Retry-After": "2", "Retry-After": "9"}, 9.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"Retry-After": "Tue, 14 Nov 2023 22:13:30 GMT"}, 10.0),
        ({"X-RateLimit-Reset": str(int((NOW + 12) * 1000)), "X-RateLimit-Remaining": "0"}, 12.0),
        ({"x-ratelimit-reset-requests": "1m30s"}, 90.0),
        ({"x-ratelimit-reset-tokens": "20ms", "x-ratelimit-remaining-tokens": "0"}, 0.02),
        ({"x-ratelimit-reset": "60", "x-ratelimit-remaining": "17"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-5"}, 0.0),
        ({"Retry-After": "1e300"}, LONGEST_S),
        ({"Retry-After": "nan"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers: dict[str, str], expected: float | None) -> None:
    waited = retry_after(headers, {}, NOW)
    assert waited == expected if expected is None else waited == pytest.approx(expected)


def test_retry_after_copied_into_the_error() -> None:
    assert retry_after({}, {"metadata": {"headers": {"Retry-After": 4}}}, NOW) == 4.0


@given(st.text(max_size=30))
def test_no_header_raises(text: str) -> None:
    value = seconds(text, NOW)
    assert value is None or isinstance(value, float)
    waited = retry_after({"Retry-After": text}, {}, NOW)
    assert waited is None or 0 <= waited <= LONGEST_S
