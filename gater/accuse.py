"""Evidence a red build leaves behind: the compiler's lines, the linker's words, then the virtual link of each object.

Only drafts of the slate are ever named, and only by error lines: a warning is on every build and blames nobody (F03).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from shared.errors import InstrumentFault
from shared.oracle.comparing import Comparison
from shared.oracle.diagnostics import parse_diagnostics
from shared.target.base import Base, Unit
from shared.target.build import Built
from shared.target.objfile import load_object
from shared.target.splice import Spliced
from shared.target.vlink import link

Place = tuple[str, str]
"""(TU, function) of a draft in the slate."""

_IN_FUNCTION = re.compile(
    r"^(?:[^\s:]*ld: )?(?P<object>[^\s:]+\.o): in function [`'](?P<function>[^']+)':\s*(?P<rest>.*)$"
)
_LINK_ERROR = re.compile(
    r"undefined reference to|multiple definition of|relocation truncated|defined in discarded section"
)


def accuse(tree: Path, base: Base, built: Built, spliced: Mapping[str, Spliced]) -> dict[Place, str]:
    """Drafts of the slate that the evidence of one build names, with the reason; empty when it names none."""
    drafted = {tu: {r.function for r in text.ranges} for tu, text in spliced.items()}
    if built.state == "failed":
        named = dict(_compiler(tree, built.log, spliced)) or dict(_linker(base, built.log, drafted))
        if named:
            return named
    return dict(_objects(tree, base, drafted))


def _compiler(tree: Path, log: str, spliced: Mapping[str, Spliced]) -> Iterator[tuple[Place, str]]:
    root = f"{tree}/"
    for diagnostic in parse_diagnostics(log):
        file = posixpath.normpath(diagnostic.file.removeprefix(root))
        place = spliced[file].draft_line(diagnostic.line) if diagnostic.error and file in spliced else None
        if place is not None:
            yield (file, place[0]), f"compiler, line {place[1]} of the draft: {diagnostic.text}"


def _linker(base: Base, log: str, drafted: Mapping[str, set[str]]) -> Iterator[tuple[Place, str]]:
    owners = {unit.object: unit.tu for unit in base.units}
    inside: Place | None = None
    for line in log.splitlines():
        match = _IN_FUNCTION.match(line)
        if match:
            tu = owners.get(posixpath.normpath(match["object"]), "")
            inside = (tu, match["function"]) if match["function"] in drafted.get(tu, ()) else None
        if inside is not None and _LINK_ERROR.search(line) and "warning:" not in line:
            yield inside, f"linker: {line.rpartition(': ')[2] or line}"


def _objects(tree: Path, base: Base, drafted: Mapping[str, set[str]]) -> Iterator[tuple[Place, str]]:
    for tu, functions in drafted.items():
        for unit in base.tus.get(tu, ()):
            yield from _object(tree, base, unit, tu, functions)


def _object(tree: Path, base: Base, unit: Unit, tu: str, functions: set[str]) -> Iterator[tuple[Place, str]]:
    try:
        linked = link(base, unit, load_object(tree / unit.object))
    except InstrumentFault:
        return
    comparison = Comparison(base, linked)
    for function in sorted(functions):
        code = comparison.code(function)
        if code is not None and not code.equal:
            what = (
                f"{code.distance} words differ"
                if code.distance
                else f"{len(code.wrong)} relocations name another place"
            )
            yield (tu, function), f"virtual link of {unit.object}: {what}"
    for problem in linked.problems:
        if problem.function in functions:
            yield (tu, problem.function), f"virtual link of {unit.object}: {problem.symbol} {problem.note}"
