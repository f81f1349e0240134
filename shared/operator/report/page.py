"""The page: a Jinja template with autoescape, for most of the text in it was written by models and builds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader

from shared.operator.report.collect import STEPS
from shared.operator.report.figures import figures


def page(value: dict[str, Any]) -> str:
    """One HTML document; its policy forbids scripts and every request."""
    environment = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True)
    judged = value["funnel"]["judged"]
    examples = {row["verdict"]: row for row in reversed((value["near"] or {}).get("functions", []))}
    verdicts = [
        {
            "verdict": name,
            "drafts": count,
            "share": f"{100 * count / judged:.0f}%" if judged else "",
            "example": f"{examples[name]['function']}: {examples[name]['reason']}" if name in examples else "",
        }
        for name, count in sorted(value["funnel"]["verdicts"].items(), key=lambda pair: -pair[1])
    ]
    outcomes = [{"outcome": name, "agents": count} for name, count in sorted(value["funnel"]["outcomes"].items())]
    stubs = (value["source"] or {}).get("by_binary", {})
    text: str = environment.get_template("page.html.j2").render(
        v=value,
        figures=figures(value),
        verdicts=verdicts,
        outcomes=outcomes,
        binaries=[{"binary": name, "open": count} for name, count in sorted(stubs.items())],
        steps=list(STEPS),
    )
    return text
