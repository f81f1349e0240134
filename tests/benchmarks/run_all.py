"""Runs every benchmark of this folder, one after another, and refreshes the table in docs/performance.md.

    python tests/benchmarks/run_all.py [--quick] [--only NAME]

Each benchmark prints one JSON object with at least name, unit, baseline, ours, ratio, goal, met and its sizes. Exit 1
when one misses its goal or prints no such object. `--quick` runs the short forms and leaves the page alone.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "performance.md"
BEGIN, END = "<!-- benchmarks: made by `make bench` -->", "<!-- end of benchmarks -->"
FIELDS = ("name", "unit", "baseline", "ours", "ratio", "goal", "met")


def main() -> int:
    """Runs, prints and records. The exit code says whether every goal is met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the short form of each, the page stays as it is")
    parser.add_argument("--only", action="append", default=[], help="only this benchmark (may be repeated)")
    options = parser.parse_args()
    scripts = [path for path in sorted(HERE.glob("*.py")) if path.stem not in ("run_all", "__init__")]
    chosen = [path for path in scripts if not options.only or path.stem in options.only]
    results = [run(path, options.quick) for path in chosen]
    if not options.quick and not options.only:
        refresh(results)
    missed = [result["name"] for result in results if not result["met"]]
    print(
        f"{len(results) - len(missed)} of {len(results)} goals met"
        + (f"; missed: {', '.join(missed)}" if missed else "")
    )
    return 1 if missed else 0


def run(path: Path, quick: bool) -> dict[str, Any]:
    """One benchmark's object; a broken one is a missed goal with its last words."""
    command = [sys.executable, str(path), *(["--quick"] if quick else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    start = done.stdout.find("{")
    try:
        result: dict[str, Any] = json.loads(done.stdout[start:])
        lacking = [name for name in FIELDS if name not in result]
        if lacking:
            raise ValueError(f"its object lacks {', '.join(lacking)}")
    except ValueError as error:
        words = (done.stderr.strip().splitlines() or [str(error)])[-1]
        result = dict.fromkeys(FIELDS, "-") | {"name": path.stem, "met": False, "goal": words}
    print(json.dumps(result))
    return result


def refresh(results: list[dict[str, Any]]) -> None:
    """Puts the table between the page's two marks."""
    cpus = os.cpu_count()
    rows = [f"{cpus} cores, Python {platform.python_version()}, Linux {platform.release().split('-')[0]}.", ""]
    rows += [
        "| benchmark | unit | baseline | ours | ratio | goal | met |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for result in results:
        cells = [short(result[name]) for name in FIELDS[:-1]]
        rows.append(f"| {' | '.join(cells)} | {'yes' if result['met'] else 'no'} |")
    text = PAGE.read_text()
    head, _, rest = text.partition(BEGIN)
    tail = rest.partition(END)[2]
    PAGE.write_text(f"{head}{BEGIN}\n{chr(10).join(rows)}\n{END}{tail}")


def short(value: Any) -> str:
    """A figure with three digits, or an object's figures in a row."""
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {short(inner)}" for name, inner in value.items())
    return str(value).replace("|", "/")


if __name__ == "__main__":
    sys.exit(main())
