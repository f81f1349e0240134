"""`campaign report`: the numbers, the page's promises (nothing fetched, nothing run, all escaped), a real browser."""

from __future__ import annotations

import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import orjson
import pytest

from shared.state import StateDir
from tests.drafter.project import git, make_project
from tests.operator.night import append, make_night, verdict
from tests.operator.test_init import campaign as run_campaign

HOSTILE = "<script>alert(1)</script>\"'&$x_1$ \u202e"
FIGURES = 8


@pytest.fixture
def night(tmp_path: Path) -> tuple[Path, StateDir]:
    """A night with hostile words wherever a model or a build has a say, and one bank on the landing branch."""
    root, state = make_night(tmp_path)
    rows = (verdict(6, "COMPILE-FAIL", reason=HOSTILE, model=HOSTILE), verdict(7, HOSTILE, reason="b", model="m"))
    append(state.journal / "drafts.jsonl", *rows)
    append(state.journal / "events.jsonl", {"at": "2026-01-01T00:00:00Z", "event": "x", "level": "error"})
    git(root, "branch", "campaign")
    tree = git(root, "rev-parse", "campaign^{tree}")
    message = "feat: w\n\nWave: w000001\nFunction: main/main_0_1\nFunction: main/main_0_2"
    git(root, "update-ref", "refs/heads/campaign", git(root, "commit-tree", tree, "-p", "campaign", "-m", message))
    return root, state


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.outside: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "action") and not str(value).startswith("#"):
                self.outside.append(f"{tag} {name}={value}")
            assert not name.startswith("on"), (tag, name)


def test_the_page_holds_the_night_and_nothing_from_outside(night: tuple[Path, StateDir], tmp_path: Path) -> None:
    root, _ = night
    out = tmp_path / "night.html"
    done = run_campaign(root, "report", "-o", str(out), "--json")
    assert done.returncode == 0, done.stderr
    value = orjson.loads(done.stdout)
    assert value["troubles"] == []
    assert [value["waves"][0][name] for name in ("drawn", "ended", "drafted", "banked")] == [10, 8, 6, 2]
    assert {bank["function"] for bank in value["banks"]} == {"main/main_0_1", "main/main_0_2"}
    assert sum(row["requests"] for row in value["minutes"]) == value["requests"]["requests"] == 60
    text = out.read_text()
    page = Page(text)
    assert page.outside == []
    assert "script" not in page.tags
    assert "&lt;script&gt;alert(1)" in text
    assert page.tags.count("figure") == FIGURES
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    for used in set(re.findall(r'(?:url\(|href=")#([\w-]+)', text)):
        assert used in ids
    said = run_campaign(root, "report").stdout
    assert "10 drawn > 8 ended" in said
    assert "0.35 USD" in said


@pytest.mark.needs("chromium")
def test_a_browser_shows_every_figure_without_a_word_on_its_console(
    night: tuple[Path, StateDir], tmp_path: Path
) -> None:
    out = tmp_path / "night.html"
    assert run_campaign(night[0], "report", "-o", str(out)).returncode == 0
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--enable-logging=stderr",
        f"--user-data-dir={tmp_path / 'u'}",
    ]
    browser = ["chromium", *flags, "--dump-dom", out.as_uri()]
    done = subprocess.run(browser, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "CONSOLE" not in done.stderr
    assert done.stdout.count("<svg") == FIGURES
    assert done.stdout.count("<path") > 10 * FIGURES


def test_spans(night: tuple[Path, StateDir], tmp_path: Path) -> None:
    root, _ = night
    one = orjson.loads(run_campaign(root, "report", "--wave", "w000001", "--json").stdout)
    assert one["funnel"]["drawn"] == 10
    assert orjson.loads(run_campaign(root, "report", "--since", "2d", "--json").stdout)["span"]["id"].startswith(
        "since"
    )
    for words in (("--wave", "w000009"), ("--since", "yesterday"), ("--since", "1d", "--wave", "w000001")):
        done = run_campaign(root, "report", *words)
        assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    empty, _ = make_project(tmp_path / "empty", tus=1, stubs=1)
    assert run_campaign(empty, "report", "-o", str(tmp_path / "e.html")).stdout.startswith("nothing:")
    assert Page((tmp_path / "e.html").read_text()).tags.count("figure") == FIGURES
