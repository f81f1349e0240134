"""Fixtures that several areas share: forged games, made once per session with the real toolchain. All are read-only."""

from __future__ import annotations

from pathlib import Path

import pytest

import shared.demo
from shared.demo.forge import Forged, forge

SMALL = Path(__file__).parent / "fixtures" / "small"
GAME = Path(shared.demo.__file__).parent / "game"
GAME64 = Path(shared.demo.__file__).parent / "game64"


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
