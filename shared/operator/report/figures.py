"""The figures as SVG text to be put into a page: matplotlib, for it needs no script and no network to be looked at."""

from __future__ import annotations

import io
import re
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shared.operator.report.collect import STEPS

SIZE = (7.2, 2.6)
BLUE, GREEN, RED, GREY, ORANGE = "#3465a4", "#4e9a06", "#cc0000", "#babdb6", "#f57900"
BARS = 24


def figures(value: dict[str, Any]) -> list[tuple[str, str]]:
    """(title, SVG) of each figure; one without data says so in its frame."""
    with mpl.rc_context({"svg.fonttype": "none", "text.parse_math": False, "font.size": 8, "axes.grid": True}):
        return [
            _draw("Funnel", value, _funnel),
            _draw("Drafts and banks over time", value, _flow),
            _draw("Requests and refusals per minute", value, _requests),
            _draw("Agents at work", value, _fleet),
            _draw("Yield by lane", value, lambda axes, v: _yield(axes, v["lanes"], "drawn")),
            _draw("Yield by size band", value, lambda axes, v: _yield(axes, v["bands"], "drawn")),
            _draw("Yield by model", value, lambda axes, v: _yield(axes, v["models"], "ended")),
            _draw("Mean gate per binary", value, _walls),
        ]


def _draw(title: str, value: dict[str, Any], paint: Any) -> tuple[str, str]:
    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.add_subplot()
    axes.set_axisbelow(True)
    if not paint(axes, value):
        axes.set_axis_off()
        axes.text(0.5, 0.5, "nothing to draw: no such records in this span", ha="center", va="center")
    out = io.StringIO()
    # Every figure salts its ids with its own title, for they share one page.
    with mpl.rc_context({"svg.hashsalt": title}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = out.getvalue()
    used = set(re.findall(r"#([\w.-]+)", text))
    named = re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", text[text.index("<svg") :])
    return title, named


def _funnel(axes: Axes, value: dict[str, Any]) -> bool:
    counts = [value["funnel"][name] for name in STEPS]
    if not counts[0]:
        return False
    bars = axes.barh(list(STEPS)[::-1], counts[::-1], color=BLUE)
    axes.bar_label(bars, labels=[f"{n} ({100 * n / counts[0]:.0f}% of drawn)" for n in counts[::-1]], padding=3)
    axes.set_xlim(0, counts[0] * 1.25)
    return True


def _hours(value: dict[str, Any]) -> list[float]:
    from datetime import datetime

    stamps = [datetime.fromisoformat(f"{row['at']}:00+00:00") for row in value["minutes"]]
    return [(stamp - stamps[0]).total_seconds() / 3600 for stamp in stamps]


def _flow(axes: Axes, value: dict[str, Any]) -> bool:
    rows, hours = value["minutes"], _hours(value)
    for name, colour in (("drafts", BLUE), ("agreed", ORANGE), ("banked", GREEN)):
        total, line = 0, []
        for row in rows:
            total += row[name]
            line.append(total)
        axes.step(hours, line, where="post", color=colour, label=f"{name}: {total}")
    axes.set_xlabel("hours")
    axes.legend(loc="upper left")
    return bool(rows)


def _requests(axes: Axes, value: dict[str, Any]) -> bool:
    rows, hours = value["minutes"], _hours(value)
    axes.plot(hours, [row["requests"] for row in rows], color=GREY, label="requests")
    for name, colour in (("platform", RED), ("provider", ORANGE), ("soft", BLUE)):
        axes.plot(hours, [row[name] for row in rows], color=colour, label=f"429 {name}")
    axes.set_xlabel("hours")
    axes.legend(loc="upper left")
    return any(row["requests"] for row in rows)


def _fleet(axes: Axes, value: dict[str, Any]) -> bool:
    known = [(hour, row) for hour, row in zip(_hours(value), value["minutes"], strict=True) if "busy" in row]
    hours = [hour for hour, _ in known]
    axes.fill_between(hours, [row["busy"] for _, row in known], step="post", color=BLUE, alpha=0.5, label="busy")
    axes.step(hours, [row["workers"] for _, row in known], where="post", color=RED, label="set point")
    axes.set_xlabel("hours")
    axes.set_ylim(bottom=0)
    axes.legend(loc="lower right")
    return bool(known)


def _yield(axes: Axes, rows: list[dict[str, Any]], of: str) -> bool:
    rows = [row for row in rows if row[of]][:BARS]
    bars = axes.barh(
        [str(row["name"])[:40] for row in rows], [100 * row["banked"] / row[of] for row in rows], color=GREEN
    )
    axes.bar_label(bars, labels=[f"{row['banked']} of {row[of]}" for row in rows], padding=3)
    axes.set_xlabel(f"% of {of} that were banked")
    axes.set_xlim(0, 115)
    return bool(rows)


def _walls(axes: Axes, value: dict[str, Any]) -> bool:
    rows = sorted((row for row in value["walls"] if row["gates"]), key=lambda row: -row["wall_s"])[:BARS]
    means = [row["wall_s"] / row["gates"] for row in rows]
    bars = axes.barh([row["binary"] for row in rows], means, color=BLUE)
    axes.bar_label(bars, labels=[f"{row['gates']} gates, {row['builds']} builds" for row in rows], padding=3)
    axes.set_xlabel("seconds")
    axes.margins(x=0.3)
    return bool(rows)
