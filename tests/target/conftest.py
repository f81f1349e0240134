"""Fixtures of the area, all from tests/games.py."""

from __future__ import annotations

from tests.games import rom_game, scratch, small_game

__all__ = ["rom_game", "scratch", "small_game"]
