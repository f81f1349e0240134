"""`campaign progress`: the landing head as an objdiff report, the form decomp.dev reads.

Counted from committed source: a function of a binary's green base is matched when no stub of that name is open in its
TU at the landing head. The form is version 2 of objdiff's report (encounter/objdiff, objdiff-core/protos/report.proto)
in protobuf's JSON spelling: 64-bit numbers are strings, and a reader refuses fields it does not know.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import orjson

from shared import durable
from shared.bases import Bases
from shared.config.load import Campaign, find_config, load_campaign
from shared.errors import CampaignError, InstrumentFault, MissingTool, RedBase
from shared.exits import Exit
from shared.operator.evidence.rows import Key
from shared.operator.evidence.stubs import check_binary, open_stubs
from shared.records import SCHEMA
from shared.state import StateDir, open_state
from shared.target.base import STUB_MARK, Base, Function, Unit

REPORT_VERSION = 2
OUTPUT = "report.json"

_LABEL = re.compile(r"\.?L[0-9A-Fa-f]{8}(?:_.*)?")
"""splat's jump-table labels: typed as functions by its macros, but places inside one."""


class Measures:
    """What objdiff counts of a unit, a category or the whole. Sizes are bytes; data is not measured."""

    def __init__(self) -> None:
        self.code = self.matched_code = self.complete_code = 0
        self.functions = self.matched_functions = 0
        self.units = self.complete_units = 0

    def add(self, other: Measures) -> None:
        """Adds another's counts."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def encoded(self) -> dict[str, Any]:
        """The JSON of objdiff's Measures; a part of nothing is 100 %, as objdiff has it."""
        code = _percent(self.matched_code, self.code)
        return {
            "fuzzy_match_percent": code,
            "total_code": str(self.code),
            "matched_code": str(self.matched_code),
            "matched_code_percent": code,
            "total_functions": self.functions,
            "matched_functions": self.matched_functions,
            "matched_functions_percent": _percent(self.matched_functions, self.functions),
            "complete_code": str(self.complete_code),
            "complete_code_percent": _percent(self.complete_code, self.code),
            "total_units": self.units,
            "complete_units": self.complete_units,
        }


def _percent(part: int, whole: int) -> float:
    return 100.0 if whole == 0 else round(100.0 * part / whole, 5)


def own_functions(unit: Unit) -> list[Function]:
    """A unit's functions without marks, labels and entries inside another; a label's bytes are its function's."""
    found: list[Function] = []
    marked = sorted(
        (f for f in unit.functions if f.size and not f.name.endswith(STUB_MARK)),
        key=lambda f: (f.part, f.offset, -f.size, f.name),
    )
    for function in marked:
        last = found[-1] if found and found[-1].part == function.part else None
        if last is not None and function.offset < last.offset + last.size:
            continue
        if last is not None and _LABEL.fullmatch(function.name):
            found[-1] = Function(last.name, last.part, last.offset, function.offset + function.size - last.offset)
            continue
        found.append(function)
    return found


def report(bases: Iterable[Base], opened: dict[str, set[Key]]) -> dict[str, Any]:
    """The report over some binaries; `opened` holds each binary's open stubs as (TU, function)."""
    whole = Measures()
    units, categories = [], []
    for base in bases:
        mine = Measures()
        for name, unit in _named(base):
            measures, entry = _unit(base.binary, name, unit, opened[base.binary])
            mine.add(measures)
            units.append(entry)
        whole.add(mine)
        categories.append({"id": base.binary, "name": base.binary, "measures": mine.encoded()})
    return {"measures": whole.encoded(), "units": units, "version": REPORT_VERSION, "categories": categories}


def _named(base: Base) -> Iterator[tuple[str, Unit]]:
    """Units of C files by name; a file compiled several times in one binary is numbered."""
    for tu, units in base.tus.items():
        for number, unit in enumerate(units, 1):
            yield f"{base.binary}/{tu.removesuffix('.c')}" + (f"#{number}" if len(units) > 1 else ""), unit


def _unit(binary: str, name: str, unit: Unit, opened: set[Key]) -> tuple[Measures, dict[str, Any]]:
    measures = Measures()
    functions = []
    measures.units = 1
    for function in own_functions(unit):
        matched = (unit.tu, function.name) not in opened
        measures.functions += 1
        measures.code += function.size
        measures.matched_functions += matched
        measures.matched_code += function.size * matched
        functions.append(
            {
                "name": function.name,
                "size": str(function.size),
                "fuzzy_match_percent": 100.0 if matched else 0.0,
                "metadata": {"virtual_address": str(unit.address(function))},
            }
        )
    complete = measures.functions == measures.matched_functions
    measures.complete_units = int(complete)
    measures.complete_code = measures.code * complete
    metadata = {
        "complete": complete,
        "module_name": binary,
        "source_path": unit.tu,
        "progress_categories": [binary],
    }
    return measures, {"name": name, "measures": measures.encoded(), "functions": functions, "metadata": metadata}


def elsewhere(base: Base) -> int:
    """Bytes of code in objects that come from no C file: not in the report's total."""
    return sum(
        part.size for unit in base.units if not unit.tu for part in unit.parts if part.name.split(".")[1:2] == ["text"]
    )


def collect(campaign: Campaign, state: StateDir, *, binary: str | None, build: bool) -> tuple[dict[str, Any], Any]:
    """(summary, report): the report is None when no binary's base is known. Raises GitError, RepositoryError."""
    stubs = open_stubs(campaign)
    names = [binary] if binary else list(campaign.binaries)
    opened: dict[str, set[Key]] = {name: set() for name in names}
    for (owner, function), places in stubs.places.items():
        if owner in opened:
            opened[owner].update((place.tu, function) for place in places)
    bases = Bases(campaign, state)
    known: list[Base] = []
    unknown: dict[str, str] = {}
    for name in names:
        try:
            base = bases.ensure(name, stubs.commit, slots=_slots(campaign)) if build else bases.find(name, stubs.commit)
        except (RedBase, InstrumentFault, MissingTool) as error:
            unknown[name] = str(error)
            continue
        if base is None:
            unknown[name] = "no green build of these inputs is known; --build makes one"
        else:
            known.append(base)
    made = report(known, opened) if known else None
    rows = made["categories"] if made else []
    return {
        "schema": SCHEMA,
        "commit": stubs.commit,
        "binaries": {
            row["id"]: row["measures"] | {"code_elsewhere": elsewhere(base)}
            for row, base in zip(rows, known, strict=True)
        },
        "unknown": unknown,
        "measures": made["measures"] if made else None,
    }, made


def _slots(campaign: Campaign) -> int:
    return campaign.gate.slots or os.cpu_count() or 1


def lines(summary: dict[str, Any], output: str) -> list[str]:
    """The summary for a person."""
    found = [
        f"{name}: {row['matched_functions']} of {row['total_functions']} functions, "
        f"{row['matched_code']} of {row['total_code']} bytes of code in C files ({row['matched_code_percent']:.2f} %), "
        f"{row['complete_units']} of {row['total_units']} units complete; {row['code_elsewhere']} bytes of code are in "
        "no C file"
        for name, row in summary["binaries"].items()
    ]
    found += [f"{name}: unknown, not in the report: {reason}" for name, reason in summary["unknown"].items()]
    known = len(summary["binaries"])
    total = known + len(summary["unknown"])
    where = f"{known} of {total} binaries at {summary['commit'][:12]}"
    return [*found, f"wrote {output}: {where}" if output else f"nothing written: {where} have a known base"]


@click.command()
@click.option(
    "-o", "--output", default=OUTPUT, show_default=True, type=click.Path(dir_okay=False), help="Where; - is stdout."
)
@click.option("--build", is_flag=True, help="Build binaries whose base is not known (their null control) first.")
@click.option("--binary", help="Only this binary.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")
@click.pass_context
def progress(context: click.Context, output: str, build: bool, binary: str | None, as_json: bool) -> None:
    """Write the landing head's progress as an objdiff report (version 2) for decomp.dev.

    One unit per C file and binary, one category per binary. A function counts as matched when the committed source
    has no stub for it: nothing is read from logs. Sizes and addresses come from the binary's green base build. A
    binary without a cached base is left out and named as unknown, never counted as zero; --build makes its base.
    Code of assembly-only objects has no C file and is not in the total; its size is said.

    \b
    campaign progress -o report.json --build
    campaign progress --binary main --json

    Exit code 0; 1 when a binary is unknown (the report lacks it, or is not written at all when none is known).
    """
    campaign = load_campaign(find_config(context.obj))
    check_binary(campaign, binary)
    state = open_state(campaign.root)
    summary, made = collect(campaign, state, binary=binary, build=build)
    if made is not None:
        _write(made, output)
    if as_json and output != "-":
        click.echo(orjson.dumps(summary))
    else:
        said = "\n".join(lines(summary, output if made is not None else ""))
        click.echo(said, err=output == "-")
    context.exit(Exit.NEGATIVE if summary["unknown"] else Exit.OK)


def _write(made: dict[str, Any], output: str) -> None:
    if output == "-":
        click.echo(orjson.dumps(made))
        return
    path = Path(output)
    try:
        durable.write(path, orjson.dumps(made) + b"\n")
    except OSError as error:
        raise CampaignError(f"{path} cannot be written: {error.strerror}; name another place with -o") from error
