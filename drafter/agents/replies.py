"""What a response means: a reply, or a failure with its class. Pure, so that every provider trap is a test row.

Precedence: an error in the body over the HTTP status over the finish reason (field reports F61-F66). Facts about
gateways: docs/agents.md, "Traps of OpenAI-compatible servers".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import orjson

from drafter.agents.retry_after import retry_after


class Kind(StrEnum):
    """Classes of failure, by what to do about them."""

    RATE = "rate"  # 429: wait; the source says who is at its limit
    SERVER = "server"  # 5xx, an error inside a 200: retry
    CUT = "cut"  # no or half an answer, no finish reason: retry, never a finished turn
    EMPTY = "empty"  # no choices: retry
    DENIED = "denied"  # 401, 402, 403, 404: nothing will work until somebody acts
    OVERFLOW = "overflow"  # the conversation does not fit the context window: shorten it
    BAD_REQUEST = "bad-request"  # this request will never work


RETRIED = frozenset({Kind.RATE, Kind.SERVER, Kind.CUT, Kind.EMPTY})
_OVERFLOW_WORDS = ("context length", "context window", "context_length", "maximum context", "too many tokens")
_KEY_WORDS = ("api key", "api_key", "apikey", "unauthorized", "authentication")
_CREDIT_WORDS = ("insufficient credit", "insufficient balance", "insufficient_quota", "quota exceeded")


@dataclass(frozen=True)
class Usage:
    """Tokens of one request as reported; `cost_usd` None = not reported, which is not zero."""

    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    cost_usd: float | None = None


@dataclass(frozen=True)
class ToolCall:
    """One call the model asked for. `arguments` is None when its text was no JSON object; `fault` then says why."""

    id: str
    name: str
    arguments: dict[str, Any] | None
    fault: str = ""


@dataclass(frozen=True)
class Reply:
    """A finished turn. With `truncated` its calls are not to be run; with `refused` the model declined."""

    text: str
    calls: tuple[ToolCall, ...]
    finish: str
    usage: Usage = field(default_factory=Usage)
    model: str = ""

    @property
    def truncated(self) -> bool:
        """Ended at the output limit."""
        return self.finish in ("length", "max_tokens", "MAX_TOKENS")

    @property
    def refused(self) -> bool:
        """Ended by a content filter."""
        return self.finish in ("content_filter", "refusal")


@dataclass(frozen=True)
class Failure:
    """A request without a usable turn. `result` is the word for telemetry, `source` names who limited a RATE."""

    kind: Kind
    result: str
    message: str
    status: int = 0
    source: str = ""
    retry_after_s: float | None = None
    usage: Usage = field(default_factory=Usage)
    finish: str = ""


def classify(status: int, headers: Mapping[str, str], body: bytes, now: float) -> Reply | Failure:
    """The meaning of one HTTP response. `now` is UTC seconds, for resets given as points in time. Never raises."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        if status < 400:
            return Failure(Kind.CUT, "cut", "the body is not whole JSON", status, usage=Usage())
        return _failed(status, status, _words(body), headers, {}, now, Usage())
    if not isinstance(document, dict):
        return Failure(Kind.CUT, "cut", "the body is not a JSON object", status)
    usage = _usage(document.get("usage"))
    error = _error_of(document)
    if error is not None:
        code = _code(error) or (status if status >= 400 else 0)
        return _failed(code, status, _message(error), headers, error, now, usage)
    if status >= 400:
        return _failed(status, status, _words(body), headers, {}, now, usage)
    return _reply(document, status, usage)


def _reply(document: dict[str, Any], status: int, usage: Usage) -> Reply | Failure:
    choices = document.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return Failure(Kind.EMPTY, "empty", "the response has no choices", status, usage=usage)
    choice = choices[0]
    message = choice.get("message")
    finish = choice.get("finish_reason")
    if not isinstance(message, dict):
        return Failure(Kind.EMPTY, "empty", "the choice has no message", status, usage=usage)
    if not isinstance(finish, str) or not finish:
        return Failure(Kind.CUT, "no-finish", "the response has no finish reason", status, usage=usage)
    if message.get("refusal"):
        finish = "refusal"
    return Reply(
        text=_text(message.get("content")),
        calls=_calls(message.get("tool_calls")),
        finish=finish,
        usage=usage,
        model=str(document.get("model") or ""),
    )


def _calls(value: Any) -> tuple[ToolCall, ...]:
    """Tool calls with ids made unique; arguments that are no JSON object are kept apart, never as text."""
    calls: list[ToolCall] = []
    seen: set[str] = set()
    for number, item in enumerate(value if isinstance(value, list) else []):
        function = item.get("function") if isinstance(item, dict) else None
        function = function if isinstance(function, dict) else {}
        name = function.get("name")
        identity = item.get("id") if isinstance(item, dict) else None
        if not isinstance(identity, str) or not identity or identity in seen:
            identity = f"call_{number}"
        seen.add(identity)
        raw = function.get("arguments")
        arguments, fault = _arguments(raw)
        calls.append(ToolCall(identity, name if isinstance(name, str) else "", arguments, fault))
    return tuple(calls)


def _arguments(raw: Any) -> tuple[dict[str, Any] | None, str]:
    if isinstance(raw, dict):
        return raw, ""
    if raw is None or raw == "":
        return {}, ""
    try:
        value = orjson.loads(raw)
    except (orjson.JSONDecodeError, TypeError) as error:
        return None, f"the arguments are not valid JSON ({error})"
    return (value, "") if isinstance(value, dict) else (None, "the arguments are not a JSON object")


def _failed(
    code: int,
    status: int,
    message: str,
    headers: Mapping[str, str],
    error: dict[str, Any],
    now: float,
    usage: Usage,
) -> Failure:
    words = message.lower()
    inside = status < 400
    wait = retry_after(headers, error, now)
    label = "soft" if inside else "http"

    def failure(kind: Kind, result: str, source: str = "") -> Failure:
        return Failure(kind, result, message, status, source, wait, usage)

    if code == 429 or "rate limit" in words or "rate_limit" in words:
        if any(word in words for word in _CREDIT_WORDS):
            return failure(Kind.DENIED, f"{label}-402")
        source = "soft" if inside else "provider" if _upstream(error) else "platform"
        return failure(Kind.RATE, f"{label}-429", source)
    if code in (401, 402, 403, 404) or (code == 400 and any(word in words for word in _KEY_WORDS)):
        return failure(Kind.DENIED, f"{label}-{code}")
    if code in (400, 413, 422) and any(word in words for word in _OVERFLOW_WORDS):
        return failure(Kind.OVERFLOW, "overflow")
    if 400 <= code < 500 and code not in (408, 409, 425, 499):
        return failure(Kind.BAD_REQUEST, f"{label}-{code}")
    return failure(Kind.SERVER, f"{label}-{code}" if code else f"{label}-error")


def _error_of(document: dict[str, Any]) -> dict[str, Any] | None:
    """The error object of a body: at the top, or in the first choice."""
    places: list[Any] = [document.get("error")]
    choices = document.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        places.append(choices[0].get("error"))
        if choices[0].get("finish_reason") == "error":
            places.append("the choice ended with finish reason error")
    for error in places:
        if isinstance(error, dict) and error:
            return error
        if isinstance(error, str) and error:
            return {"message": error}
    return None


def _code(error: dict[str, Any]) -> int:
    """The HTTP-like code an error object carries, 0 when none."""
    for key in ("code", "status", "status_code"):
        value = error.get(key)
        if isinstance(value, str) and value.isascii() and value.isdigit():
            value = int(value)
        if isinstance(value, int) and 400 <= value <= 599:
            return value
    kind = f"{error.get('code')} {error.get('type')}".lower()
    named = {"rate_limit": 429, "insufficient_quota": 402, "invalid_api_key": 401, "overloaded": 503}
    return next((code for word, code in named.items() if word in kind), 0)


def _upstream(error: dict[str, Any]) -> bool:
    """Whether the error names the provider behind a gateway: then the limit is that provider's, not our account's."""
    metadata = error.get("metadata")
    return isinstance(metadata, dict) and bool(metadata.get("provider_name"))


def _message(error: dict[str, Any]) -> str:
    return str(error.get("message") or error.get("code") or error.get("type") or "unnamed error")[:500]


def _words(body: bytes) -> str:
    return body[:500].decode("utf-8", "replace").strip() or "no body"


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""


def _usage(value: Any) -> Usage:
    if not isinstance(value, dict):
        return Usage()
    details = value.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else value.get("prompt_cache_hit_tokens")
    cost = value.get("cost")
    return Usage(
        tokens_in=_count(value.get("prompt_tokens")),
        tokens_cached=_count(cached),
        tokens_out=_count(value.get("completion_tokens")),
        cost_usd=float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) and cost >= 0 else None,
    )


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
