"""How the project's own build compiles one translation unit, as argument lists.

Asked of the build itself without running it: `make -n --trace` with the source declared changed, or ninja's compile
database. The commands run unchanged in a mirror of the tree (shared/target/mirror.py), so nothing needs substituting.
A command line that needs a shell is given to `sh -c` as the project wrote it; no text or name of a draft is ever in it.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from shared.config.schema import Binary
from shared.errors import ConfigError, InstrumentFault
from shared.proc import Limits, Ran, run
from shared.target.base import Unit

_QUERY = Limits(timeout_s=300, memory_mib=4096, output_kib=64 * 1024, file_mib=None)
_TRACE = re.compile(r"^[^\s:][^:]*:\d+: (?:update target '(.+)' due to: .*|target '(.+)' does not exist)$")
_SHELL = re.compile(r"[|&;<>()$`*?\[\]~{}!#]")
_SILENT = frozenset({"echo", "printf", "true", ":", "@echo", "@printf"})
_MAKE_VALUES = frozenset({"-C", "-f", "-I", "-j", "-l", "-o", "-W", "--directory", "--file", "--makefile"})
_GENERATED = re.compile(r"\.(?:o|d|obj)$")


@dataclass(frozen=True)
class Recipe:
    """The commands that make `object` from `source`, run in order from the project root, each an argument list.

    `compiler` is the index of the command that reads the source and takes the filter's extra flags, -1 when the
    project compiles through a shell pipeline. `folders` are made before (the recipe's own mkdir -p).
    """

    source: str
    object: str
    commands: tuple[tuple[str, ...], ...]
    compiler: int
    folders: tuple[str, ...] = ()

    def with_flags(self, flags: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """The commands, the compiler's with `flags` appended."""
        return tuple(
            (*command, *flags) if index == self.compiler else command for index, command in enumerate(self.commands)
        )


def find_recipes(tree: Path, name: str, binary: Binary, units: Iterable[Unit]) -> dict[str, Recipe]:
    """Object path -> recipe for the C units of one binary at the state of `tree`; one question for all.

    Units for which the build names no command that reads the source are absent. Raises InstrumentFault when the build
    cannot be asked, ConfigError when it is neither make nor ninja and `compile` is not set.
    """
    wanted = [unit for unit in units if unit.tu]
    if binary.compile:
        return {unit.object: _configured(unit, binary.compile) for unit in wanted}
    tool = Path(binary.build[0]).name
    if tool in ("make", "gmake"):
        groups = _ask_make(tree, binary.build, wanted)
    elif tool in ("ninja", "ninja-build"):
        groups = _ask_ninja(tree, binary.build, wanted)
    else:
        raise ConfigError(
            f"[binary.{name}] builds with {binary.build[0]}, which cannot be asked how it compiles one file; "
            "set `compile` to the argument list, with {source} and {object}"
        )
    found = {}
    for unit in wanted:
        recipe = make_recipe(tree, unit.tu, unit.object, groups.get(unit.object, []))
        if recipe is not None:
            found[unit.object] = recipe
    return found


def make_recipe(tree: Path, source: str, target: str, lines: Sequence[str]) -> Recipe | None:
    """A recipe from the shell lines a build would run for `target`; None when no line reads `source`."""
    commands: list[tuple[str, ...]] = []
    folders: list[str] = []
    compiler = -1
    root = str(tree.resolve())
    for line in lines:
        for command in split_line(line.replace(root + "/", "").replace(root, ".")):
            if command[0] in _SILENT:
                continue
            if command[:2] == ("mkdir", "-p"):
                folders += [folder for folder in command[2:] if not folder.startswith("-")]
                continue
            if compiler < 0 and _names(command, source) and command[0] not in ("sh", "bash"):
                compiler = len(commands)
            commands.append(command)
    if not any(source in word for command in commands for word in command):
        return None
    return Recipe(source, target, tuple(commands), compiler, tuple(dict.fromkeys(folders)))


def split_line(line: str) -> list[tuple[str, ...]]:
    """One shell line as argument lists; a line that is more than words joined by `&&` or `;` becomes `sh -c` whole."""
    whole = ("sh", "-c", line)
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        return [whole]
    commands: list[tuple[str, ...]] = []
    current: list[str] = []
    for word in words:
        if word in ("&&", ";"):
            if current:
                commands.append(tuple(current))
            current = []
        elif _SHELL.search(word):
            # quoting is gone here, so a quoted metacharacter also lands in the shell, which is right if slower
            return [whole]
        else:
            current.append(word)
    if current:
        commands.append(tuple(current))
    first = (command[0] for command in commands)
    if any("=" in word or word in ("cd", "export", "set", "if", "for", "while", "test", "[") for word in first):
        return [whole]
    return commands


def _configured(unit: Unit, template: Sequence[str]) -> Recipe:
    values = {"source": unit.tu, "object": unit.object}
    command = tuple(_fill(word, values) for word in template)
    return Recipe(unit.tu, unit.object, (command,), 0, (os.path.dirname(unit.object),))  # noqa: PTH120


def _fill(word: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        word = word.replace("{" + name + "}", value)
    return word


def _names(command: Sequence[str], source: str) -> bool:
    return any(os.path.normpath(word) == source for word in command)


def _ask_make(tree: Path, build: Sequence[str], units: Sequence[Unit]) -> dict[str, list[str]]:
    options = _without_goals(build[1:])
    changed = [word for unit in units for word in ("-W", unit.tu)]
    argv = [build[0], *options, "-n", "--trace", "--no-print-directory", *changed, *(unit.object for unit in units)]
    ran = run(argv, cwd=tree, limits=_QUERY)
    if not ran.ok:
        raise InstrumentFault(f"{build[0]} -n cannot say how it compiles: {_last_line(ran)}")
    groups: dict[str, list[str]] = {}
    lines: list[str] = []
    text = ran.stdout.decode("utf-8", "surrogateescape").replace("\\\n", "\\\x00")
    for joined in text.split("\n"):
        line = joined.replace("\\\x00", "\\\n")
        trace = _TRACE.match(line)
        if trace:
            lines = groups.setdefault(trace[1] or trace[2], [])
        elif line.strip():
            lines.append(line.replace("\\\n", " "))
    return groups


def _without_goals(words: Sequence[str]) -> list[str]:
    kept: list[str] = []
    value = False
    for word in words:
        if value or word.startswith("-") or "=" in word:
            kept.append(word)
        value = word in _MAKE_VALUES and not value
    return kept


def _ask_ninja(tree: Path, build: Sequence[str], units: Sequence[Unit]) -> dict[str, list[str]]:
    options = []
    words = list(build[1:])
    while words:
        word = words.pop(0)
        if word in ("-f", "-C") and words:
            options += [word, words.pop(0)]
    ran = run([build[0], *options, "-t", "compdb"], cwd=tree, limits=_QUERY)
    if not ran.ok:
        raise InstrumentFault(f"{build[0]} -t compdb cannot say how it compiles: {_last_line(ran)}")
    wanted = {unit.object for unit in units}
    try:
        rows = orjson.loads(ran.stdout)
    except orjson.JSONDecodeError as error:
        raise InstrumentFault(f"{build[0]} -t compdb does not print JSON: {error}") from error
    groups: dict[str, list[str]] = {}
    for row in rows:
        output = os.path.normpath(str(row.get("output", "")))
        if output in wanted:
            groups[output] = [str(row["command"])]
    return groups


def _last_line(ran: Ran) -> str:
    text = (ran.stderr or ran.stdout).decode("utf-8", "replace").strip()
    return text.splitlines()[-1] if text else f"exit code {ran.returncode}"
