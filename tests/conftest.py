"""Fixtures that several areas share: forged games, made once per session with the real toolchain. All are read-only."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

import shared.demo
from shared.demo.forge import Forged, forge

SMALL = Path(__file__).parent / "fixtures" / "small"
GAME = Path(shared.demo.__file__).parent / "game"
GAME64 = Path(shared.demo.__file__).parent / "game64"


TOOLCHAIN = "mipsel-linux-gnu-gcc"
NEEDS_TOOLCHAIN = {"forged_small", "proven_game", "forged_game", "forged_game64"}
_left_out: Counter[str] = Counter()


def pytest_addoption(parser: pytest.Parser) -> None:
    """A test whose tool is missing fails; only this leaves it out."""
    said = "leave out tests that need TOOL when it is not installed (may be repeated); the summary names it"
    parser.addoption("--allow-missing", action="append", default=[], metavar="TOOL", help=said)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Looks for the tools a test names with @pytest.mark.needs(TOOL), or needs through a forged project."""
    tools = [str(tool) for mark in item.iter_markers("needs") for tool in mark.args]
    if NEEDS_TOOLCHAIN & set(getattr(item, "fixturenames", ())):
        tools.append(TOOLCHAIN)
    for tool in tools:
        if shutil.which(tool) is None:
            if tool in item.config.getoption("--allow-missing"):
                _left_out[tool] += 1
                pytest.skip(f"{tool} is not installed, and --allow-missing={tool} was given")
            pytest.fail(f"{tool} is not installed; install it, or leave its tests out with --allow-missing={tool}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says which tools were missing and how many tests that cost."""
    for tool, count in sorted(_left_out.items()):
        terminalreporter.write_line(f"LEFT OUT: {count} tests, because {tool} is not installed")


@pytest.fixture(scope="session")
def forged_small(tmp_path_factory: pytest.TempPathFactory) -> Forged:
    """A game of 3 binaries and 31 functions with every hard case once."""
    return forge(tmp_path_factory.mktemp("small") / "forged", SMALL)


@pytest.fixture(scope="session")
def proven_game(tmp_path_factory: pytest.TempPathFactory) -> Forged:
    """The shipped game, every body proven alone and with its TU."""
    return forge(tmp_path_factory.mktemp("game") / "forged", GAME)


@pytest.fixture(scope="session")
def forged_game(proven_game: Forged) -> Path:
    """The folder of the shipped game, forged and built (docs/forge.md says what lies there)."""
    return proven_game.project.parent


@pytest.fixture(scope="session")
def forged_game64(tmp_path_factory: pytest.TempPathFactory) -> Forged:
    """The shipped big-endian game, one image."""
    return forge(tmp_path_factory.mktemp("game64") / "forged", GAME64)
