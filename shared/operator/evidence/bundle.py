"""One near miss as files: a decomp-permuter folder and what a decomp.me scratch asks for. Checked by compiling them.

The permuter wants base.c without directives, target.o with the one function, and compile.sh called as
`compile.sh IN -o OUT` (simonlindholm/decomp-permuter, USAGE.md and import.py). Everything is made with the project's
own compile command, so predefined macros and include paths are its own.
"""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from shared.config import Campaign
from shared.errors import InstrumentFault
from shared.oracle.comparing import Code, Comparison
from shared.oracle.context import Part, TuContext
from shared.oracle.hygiene import normalise
from shared.oracle.judge import Judge
from shared.target.objfile import read_object
from shared.target.recipe import Recipe
from shared.target.vlink import link

_ASM = re.compile(
    rb'^(?:__asm__|__asm|asm)[ \t]*(?:volatile|__volatile__)?[ \t]*\((?:[^()"]|"(?:\\.|[^"\\])*")*\)[ \t]*;?',
    re.MULTILINE,
)
"""A top-level assembly statement: only at a line's start, where preprocessing leaves those of a header's macros."""

_DEPENDENCIES = frozenset({"-MMD", "-MD", "-MP", "-MM", "-M"})
_VALUED = frozenset({"-MF", "-MT", "-MQ"})
_PLAIN = ("-DPERMUTER", "-DM2CTX", "-D__attribute__(x)=")
_WITH_ATTRIBUTES = _PLAIN[:2]

PRELUDE = """.set noat
.set noreorder
.set gp=64
.macro glabel label
    .global \\label
    .type \\label, @function
    \\label:
.endm
.macro endlabel label
    .size \\label, . - \\label
.endm
.macro alabel label
    .global \\label
    \\label:
.endm
.macro jlabel label
    \\label:
.endm
.macro dlabel label
    .global \\label
    \\label:
.endm
.macro enddlabel label
.endm
.macro nonmatching label, size=1
.endm

"""
"""splat's label macros, so that target.s stands alone."""


@dataclass(frozen=True)
class Bundle:
    """File name -> content, and what could not be made, by file name."""

    files: dict[str, bytes]
    missing: dict[str, str]


def make(campaign: Campaign, judge: Judge, tu: str, function: str, draft: bytes, asm: bytes) -> Bundle:
    """The files of one draft. Raises InstrumentFault with the reason when there is nothing to export."""
    context = judge.context(tu)
    text = normalise(draft)
    refused = judge.refusal(context, function, text)
    if refused is not None:
        raise InstrumentFault(f"the draft breaks a rule: {refused.reason}")
    maker = _Maker(judge, context, context.parts[0], function)
    own = maker.code(_without_stubs(context, function, text))
    base, surroundings = maker.base(text, own)
    missing = {}
    files = {
        "permuter/base.c": base,
        "permuter/compile.sh": _script(campaign.root, maker.recipe),
        "permuter/settings.toml": f'func_name = "{function}"\ncompiler_type = "{_kind(maker.recipe)}"\n'.encode(),
        "permuter/target.s": PRELUDE.encode() + asm,
        "decompme/context.c": surroundings,
        "decompme/draft.c": text,
        "decompme/target.s": asm,
    }
    try:
        files["permuter/target.o"] = maker.target()
    except InstrumentFault as error:
        missing["permuter/target.o"] = str(error)
    return Bundle(files, missing)


class _Maker:
    def __init__(self, judge: Judge, context: TuContext, part: Part, function: str) -> None:
        self.judge, self.context, self.part, self.function = judge, context, part, function
        self.recipe = part.recipe
        if self.recipe.compiler < 0:
            raise InstrumentFault(f"{context.tu} is compiled through a shell pipeline; set `compile` to export from it")

    def base(self, draft: bytes, own: Code) -> tuple[bytes, bytes]:
        """(base.c, context without the draft); base.c compiles to the draft's own words."""
        for defines in (_PLAIN, _WITH_ATTRIBUTES):
            made = self.preprocessed(_without_stubs(self.context, self.function, draft), defines)
            try:
                again = self.code(made)
            except InstrumentFault:
                continue
            if _masked(again) == _masked(own):
                return made, self.preprocessed(_without_stubs(self.context, self.function, b""), defines)
        raise InstrumentFault("preprocessed, the draft does not compile to the code it gives in its TU")

    def target(self) -> bytes:
        """An object of the original function alone, by the project's own assembly macros."""
        stub = self.context.stubs_of(self.function)[0]
        kept = self.context.source[stub.start : stub.end]
        plain = self.preprocessed(_without_stubs(self.context, self.function, kept), ())
        made = self.compiled(b"\n".join(match[0].rstrip(b";") + b";" for match in _ASM.finditer(plain)) + b"\n")
        code = self._code(made)
        if code.distance or not code.mine:
            raise InstrumentFault("the stub's assembly does not give the original's words; assemble target.s by hand")
        return made

    def preprocessed(self, text: bytes, defines: tuple[str, ...]) -> bytes:
        words = _stripped(self.recipe)
        words = [word for word in words if word not in ("-c", "-S")]
        command = (*words, "-E", "-P", *defines, "-o", self.recipe.object)
        recipe = _other(self.recipe, command)
        return self._compile(recipe, text) if not defines else _ASM.sub(b"", self._compile(recipe, text))

    def code(self, text: bytes) -> Code:
        return self._code(self.compiled(text))

    def compiled(self, text: bytes) -> bytes:
        return self._compile(self.recipe, text)

    def _compile(self, recipe: Recipe, text: bytes) -> bytes:
        done = self.judge.compilers.compile(recipe, text)
        if done.state != "ok":
            last = done.stderr.strip().splitlines()[:1] or [done.reason]
            raise InstrumentFault(f"does not compile: {last[0][:200]}")
        return done.object

    def _code(self, made: bytes) -> Code:
        linked = link(self.judge.base, self.part.unit, read_object(made), lenient=True)
        code = Comparison(self.judge.base, linked).code(self.function)
        if code is None or not code.mine:
            raise InstrumentFault(f"the object has no function {self.function}")
        return code


def _other(recipe: Recipe, command: tuple[str, ...]) -> Recipe:
    """The recipe with one command of ours, which takes no extra flags."""
    return Recipe(recipe.source, recipe.object, (command,), -1, recipe.folders)


def _stripped(recipe: Recipe) -> list[str]:
    """The compiler's words without output and dependency files."""
    kept: list[str] = []
    skip = False
    for word in recipe.commands[recipe.compiler]:
        if skip:
            skip = False
        elif word == "-o" or word in _VALUED:
            skip = True
        elif word not in _DEPENDENCIES and not word.startswith("-Wp,-M"):
            kept.append(word)
    return kept


def _without_stubs(context: TuContext, function: str, instead: bytes) -> bytes:
    """The TU with every stub taken out and `instead` where that of `function` was."""
    text = context.source
    for stub in sorted(context.stubs, key=lambda s: s.start, reverse=True):
        text = text[: stub.start] + (instead if stub.function == function else b"") + text[stub.end :]
    return text


def _masked(code: Code) -> list[int]:
    return [word & ~field & 0xFFFFFFFF for word, field in zip(code.mine, code.fields, strict=True)]


def _script(root: Path, recipe: Recipe) -> bytes:
    places = {recipe.source: '"$INPUT"', recipe.object: '"$OUTPUT"'}
    lines = ["#!/usr/bin/env bash", "set -e", 'INPUT="$(realpath "$1")"', 'OUTPUT="$(realpath "$3")"']
    lines.append(f"cd {shlex.quote(str(root))}")
    for index, command in enumerate(recipe.commands):
        kept = [*_stripped(recipe), "-o", recipe.object] if index == recipe.compiler else command
        lines.append(" ".join(places.get(os.path.normpath(word)) or shlex.quote(word) for word in kept))
    return ("\n".join(lines) + "\n").encode()


def _kind(recipe: Recipe) -> str:
    name = Path(recipe.commands[recipe.compiler][0]).name
    return "gcc" if "gcc" in name or "cc1" in name else "ido" if name == "cc" else "base"


def flags_of(recipe: Recipe) -> str:
    """The compiler's flags as one line, without source and output."""
    words = [w for w in _stripped(recipe)[1:] if os.path.normpath(w) != recipe.source and w != "-c"]
    return shlex.join(words)
