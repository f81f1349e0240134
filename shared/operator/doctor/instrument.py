"""The instrument check: a function that is known to be right must pass the pre-filter, and spoilt it must not.

A function the project already has in C is made a stub again in a private tree, and its own text is judged as a draft.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import tree_sitter_c
from tree_sitter import Language, Node, Parser

from shared import durable
from shared.config import Campaign
from shared.errors import MissingInput
from shared.git import Git
from shared.operator.doctor.found import Found, failed, ok, untested
from shared.oracle.judge import Judge
from shared.records import Judgement, Verdict
from shared.target.base import Base
from shared.target.splice import splice
from shared.target.stubs import find_stubs
from shared.workspace import Workspace

TRIES = 8
"""Hand-written code may hold what a draft may not; then the next function is asked."""
UNITS = 40
"""C files looked into for one."""
BANKS = 50
_NAME = re.compile(rb"[A-Za-z_]\w*")
_PARSER = Parser(Language(tree_sitter_c.language()))


@dataclass(frozen=True)
class Known:
    """A function the base has in C: bytes [start, end) of its TU, and where its body begins."""

    tu: str
    name: str
    start: int
    body: int
    end: int


def instrument(name: str, campaign: Campaign, seat: Workspace, base: Base, commit: str) -> Found:
    """The verdict on one known-good function of `base`, whose green build lies in `seat`. Raises CampaignError."""
    refused = ""
    for known in _first(_candidates(seat, base, _banked(campaign, base.binary, commit)), TRIES):
        path = seat.tree / known.tu
        source = path.read_bytes()
        stub = f'INCLUDE_ASM("{campaign.binaries[base.binary].asm}", {known.name});'.encode()
        head, body = source[known.start : known.body], source[known.body : known.end]
        durable.write(path, source[: known.start] + stub + source[known.end :])
        try:
            with Judge(seat.tree, campaign, base, scratch=seat.tmp) as judge:
                right = judge.judge(known.tu, known.name, head + body)
                if right.verdict is Verdict.REFUSED:
                    refused = right.reason
                    continue
                differs = _differs(judge, known, head + body)
                spoilt = _differs(judge, known, head + b"{ *(volatile int *)16 = 1; " + body + b" }")
        finally:
            durable.write(path, source)
        where = f"{known.name} of {known.tu}"
        if not right.passed:
            do = "correct `compile` and [filter] flags: a draft must compile exactly as the build compiles its file"
            return failed(name, f"{where} is right and does not pass: {differs or right.reason}", do)
        if not spoilt:
            return failed(name, f"{where} passed with a store added", "report this: nothing may be banked")
        return ok(name, f"{where} passes, and does not with a store added ({spoilt})")
    why = f"the functions tried hold what no draft may: {refused}" if refused else "it has no function in C yet"
    return untested(name, why, "ask again when the first function is banked")


def _differs(judge: Judge, known: Known, text: bytes) -> str:
    """How the unit with `text` in it differs from the image, "" when it does not.

    Not by `judge`: the unit without a draft, its control, asks for a stub's assembly that splat no longer writes.
    """
    context = judge.context(known.tu)
    spliced = splice(context.source, {known.name: text}, context.stubs)
    for part in context.parts:
        built = judge.build(part, spliced)
        if isinstance(built, Judgement):
            return built.reason
        if not built.equal:
            return "other words"
    return ""


def _candidates(seat: Workspace, base: Base, banked: set[str]) -> Iterator[Known]:
    """Functions in C, those that the campaign banked first, short ones before long ones within a file."""
    later = []
    for tu, units in list(base.tus.items())[:UNITS]:
        try:
            source = (seat.tree / tu).read_bytes()
        except FileNotFoundError as error:
            raise MissingInput(f"MISSING {seat.tree / tu}: the link has an object made from it") from error
        stubs = {stub.function for stub in find_stubs(source)}
        there = {function.name for unit in units for function in unit.functions} - stubs
        for known in sorted(_definitions(tu, source), key=lambda one: one.end - one.body):
            if known.name in there:
                if known.name in banked:
                    yield known
                else:
                    later.append(known)
    yield from later


def _definitions(tu: str, source: bytes) -> Iterator[Known]:
    for node in _PARSER.parse(source).root_node.children:
        body = node.child_by_field_name("body")
        if node.type != "function_definition" or node.has_error or body is None:
            continue
        name = _declared(node)
        if name:
            yield Known(tu, name, node.start_byte, body.start_byte, node.end_byte)


def _declared(node: Node) -> str:
    inner = node.child_by_field_name("declarator")
    while inner is not None and inner.type != "identifier":
        inner = inner.child_by_field_name("declarator")
    text = inner.text if inner is not None else None
    return text.decode("ascii") if text and _NAME.fullmatch(text) else ""


def _banked(campaign: Campaign, binary: str, commit: str) -> set[str]:
    """Functions of `binary` the last banks name."""
    words = f"-n{BANKS}", "--format=%(trailers:key=Function,valueonly)", commit
    rows = Git(campaign.root).call("log", *words).split()
    return {row.partition("/")[2] for row in rows if row.partition("/")[0] == binary}


def _first(items: Iterator[Known], count: int) -> Iterator[Known]:
    for _, item in zip(range(count), items, strict=False):
        yield item
