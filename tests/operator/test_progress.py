"""`campaign progress`: objdiff's report of the landing head, counted from source and the green bases."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from shared.operator.progress import own_functions
from shared.target.base import Function, Part, Unit
from shared.target.splice import splice
from shared.target.stubs import find_stubs
from tests.gater.conftest import Yard
from tests.operator.test_init import campaign as run_campaign

MEASURES = {
    "fuzzy_match_percent",
    "total_code",
    "matched_code",
    "matched_code_percent",
    "total_functions",
    "matched_functions",
    "matched_functions_percent",
    "complete_code",
    "complete_code_percent",
    "total_units",
    "complete_units",
}
"""Of the fields objdiff's Measures knows; one it does not know makes a report unreadable."""


def progress(root: Path, *words: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    done = run_campaign(root, "progress", "--json", "-o", str(root.parent / "report.json"), *words)
    assert done.returncode in (0, 1), done.stderr
    return done, orjson.loads(done.stdout)


def bank(yard: Yard, binary: str, function: str) -> str:
    """Commits a right body on the person's branch; the TU."""
    row = next(t for t in yard.truth if (t.binary, t.function) == (binary, function))
    path = yard.root / row.tu
    source = path.read_bytes()
    path.write_bytes(splice(source, {function: row.text}, find_stubs(source)).text)
    yard.git("commit", "--quiet", "-am", f"bank {function}")
    return row.tu


def test_the_report_counts_the_source_at_the_landing_head(yard: Callable[[], Yard]) -> None:
    place = yard()
    done, unknown = progress(place.root)
    assert done.returncode == 1
    assert sorted(unknown["unknown"]) == ["cave", "main", "sky"]
    assert unknown["measures"] is None
    assert not (place.root.parent / "report.json").exists()

    done, start = progress(place.root, "--build")
    assert (done.returncode, start["unknown"]) == (0, {})
    assert start["measures"]["matched_functions"] == 0
    stubs = {(t.binary, t.tu, t.function) for t in place.truth}
    assert start["measures"]["total_functions"] == len(stubs)

    tu = bank(
        place, "cave", next(t.function for t in place.truth if t.binary == "cave" and t.tu.startswith("src/cave"))
    )
    done, part = progress(place.root)
    assert done.returncode == 1
    assert "cave" in part["unknown"]
    assert set(part["binaries"]) == {"main", "sky"}
    done, after = progress(place.root, "--build")
    assert done.returncode == 0
    report = orjson.loads((place.root.parent / "report.json").read_bytes())
    assert report["version"] == 2
    assert set(report) == {"measures", "units", "version", "categories"}
    assert report["measures"] == after["measures"]
    assert set(report["measures"]) == MEASURES
    assert report["measures"]["matched_functions"] == 1
    unit = next(u for u in report["units"] if u["metadata"]["source_path"] == tu)
    assert unit["name"] == "cave/" + tu.removesuffix(".c")
    matched = [f for f in unit["functions"] if f["fuzzy_match_percent"] == 100.0]
    assert len(matched) == 1
    assert report["measures"]["matched_code"] == matched[0]["size"]
    assert int(matched[0]["metadata"]["virtual_address"]) >= 0x80000000
    for name in ("total_code", "matched_code", "complete_code", "total_units", "total_functions"):
        values = [u["measures"][name] for u in report["units"]]
        assert sum(map(int, values)) == int(report["measures"][name])
        assert sum(int(c["measures"][name]) for c in report["categories"]) == int(report["measures"][name])
    text = run_campaign(place.root, "progress", "-o", "-").stderr
    assert "cave: 1 of " in text
    assert "3 of 3 binaries" in text


def test_marks_labels_and_entries_inside_a_function_are_no_functions() -> None:
    part = Part(".text", ".main", 0x80010000, 0x80, 4, False, b"", 0, False)
    rows = [
        ("first", 0, 0x10),
        ("first.NON_MATCHING", 0, 0x10),
        ("inner", 8, 8),
        ("second", 0x10, 0x10),
        ("L80010020", 0x20, 0x20),
        ("third", 0x40, 0x40),
    ]
    unit = Unit("a.o", "a.c", (part,), tuple(Function(n, ".text", at, size) for n, at, size in rows), {}, (), {})
    assert [(f.name, f.size) for f in own_functions(unit)] == [("first", 0x10), ("second", 0x30), ("third", 0x40)]


def test_a_place_that_cannot_be_written_is_one_sentence(yard: Callable[[], Yard]) -> None:
    place = yard()
    done = run_campaign(place.root, "progress", "--build", "--binary", "sky", "-o", "/nowhere/at/all.json")
    assert (done.returncode, "cannot be written" in done.stderr) == (3, True)
    assert "Traceback" not in done.stderr
