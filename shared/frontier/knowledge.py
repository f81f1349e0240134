"""The shipped page of advice of each lever; a campaign's own, `<state>/knowledge/levers/<lever>.md`, comes first."""

from __future__ import annotations

from pathlib import Path

from shared.frontier.levers import LEVERS, UNKNOWN

FOLDER = Path(__file__).parent / "knowledge" / "levers"
PAGE_CHARS = 4_000
"""Characters of one page that go on a card."""


def section(lever: str, knowledge: Path) -> str:
    """The advice for a lever, "" when there is none: a lever that does not resolve is not put on a card.

    `knowledge` is the campaign's own knowledge folder.
    """
    if lever not in LEVERS or lever == UNKNOWN:
        return ""
    for folder in (knowledge / "levers", FOLDER):
        try:
            return (folder / f"{lever}.md").read_text("utf-8", "replace").strip()[:PAGE_CHARS]
        except OSError:
            continue
    return ""
