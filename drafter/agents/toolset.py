"""The tools as the model sees them: their schemas, and the reading of their arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from drafter.agents.library import clip
from drafter.agents.oracle import Look
from shared.records import Judgement, Verdict

CODE_CHARS = 64_000
NOTES_CHARS = 2_000
STATUSES = ("match", "near", "gave_up")


def _tool(name: str, description: str, properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TOOLS: tuple[dict[str, Any], ...] = (
    _tool(
        "read_file",
        "Reads a file of the project (sources, headers, assembly, knowledge/), or lists a folder.",
        {
            "path": {"type": "string", "description": "Relative to the project root; `.` lists it."},
            "first": {"type": "integer", "description": "First line, 1-based."},
            "last": {"type": "integer", "description": "Last line."},
        },
        ["path"],
    ),
    _tool(
        "grep",
        "Searches the project's sources, headers, assembly and knowledge/ with an extended regular expression.",
        {
            "pattern": {"type": "string"},
            "path": {"type": "string", "description": "File or folder to search in; empty = everywhere."},
        },
        ["pattern"],
    ),
    _tool(
        "compile_and_diff",
        "Compiles the code in place of the stub in the real source file and compares it with the original. "
        "AGREE ends the work.",
        {"code": {"type": "string", "description": "Declarations this file lacks, and the whole function."}},
        ["code"],
    ),
    _tool(
        "submit",
        "Ends the work. `match` is checked; `near` keeps the best draft; `gave_up` says there is nothing to gain.",
        {
            "code": {"type": "string", "description": "The final draft; empty = the best one so far."},
            "status": {"type": "string", "enum": list(STATUSES)},
            "notes": {"type": "string", "description": "What the project's knowledge did not tell you."},
        },
        ["status"],
    ),
)


class BadArguments(Exception):
    """The arguments do not fit the tool; the message goes to the model."""


@dataclass(frozen=True)
class ReadFile:
    """read_file."""

    path: str
    first: int
    last: int | None


@dataclass(frozen=True)
class Grep:
    """grep."""

    pattern: str
    path: str


@dataclass(frozen=True)
class CompileAndDiff:
    """compile_and_diff."""

    code: str


@dataclass(frozen=True)
class Submit:
    """submit; `code` is "" when the best draft so far is meant."""

    code: str
    status: str
    notes: str


Call = ReadFile | Grep | CompileAndDiff | Submit


def parse(name: str, arguments: dict[str, Any]) -> Call:
    """The typed call. Raises BadArguments with what is wrong."""
    match name:
        case "read_file":
            last = arguments.get("last")
            return ReadFile(
                _text(arguments, "path", 1000, "."),
                _number(arguments, "first", 1),
                None if last is None else _number(arguments, "last", 1),
            )
        case "grep":
            return Grep(_text(arguments, "pattern", 500), _text(arguments, "path", 1000, ""))
        case "compile_and_diff":
            return CompileAndDiff(_text(arguments, "code", CODE_CHARS))
        case "submit":
            status = _text(arguments, "status", 40).lower().replace("-", "_")
            if status not in STATUSES:
                raise BadArguments(f"`status` must be one of {', '.join(STATUSES)}")
            notes = arguments.get("notes")
            return Submit(
                _text(arguments, "code", CODE_CHARS, ""), status, notes[:NOTES_CHARS] if isinstance(notes, str) else ""
            )
    raise BadArguments(f"there is no tool {name[:60]!r}; there are read_file, grep, compile_and_diff and submit")


def told(look: Look) -> str:
    """An oracle answer as the model reads it."""
    judgement = look.judgement
    lines = [f"verdict: {judgement.verdict}", judgement.reason]
    if judgement.closeness is not None:
        lines.append(f"closeness: {judgement.closeness} of {judgement.words or '?'} words differ in shape")
    lines += [_evidence_line(judgement, number) for number in range(min(len(judgement.evidence), 30))]
    if judgement.verdict is Verdict.FAULT:
        lines.append("The instrument failed; this says nothing about your code. Try it once more.")
    return clip("\n".join(line for line in [*lines, look.diff] if line), 12_000)


def _evidence_line(judgement: Judgement, number: int) -> str:
    fact = judgement.evidence[number]
    place = fact.where + (f" word {fact.word}" if fact.word is not None else "")
    sides = f"mine {fact.mine} | target {fact.target}" if fact.mine or fact.target else ""
    return " ".join(part for part in (f"- {fact.kind}", place, sides, fact.note) if part)


def _text(arguments: dict[str, Any], name: str, limit: int, default: str | None = None) -> str:
    value = arguments.get(name, default)
    if value is None:
        value = default
    if not isinstance(value, str):
        raise BadArguments(f"`{name}` must be a string" if name in arguments else f"`{name}` is missing")
    if len(value) > limit:
        raise BadArguments(f"`{name}` is longer than {limit} characters")
    return value


def _number(arguments: dict[str, Any], name: str, default: int) -> int:
    value = arguments.get(name, default)
    if isinstance(value, str) and value.strip().isdigit():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadArguments(f"`{name}` must be a whole number")
    return max(1, value)
