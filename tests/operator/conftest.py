"""Fixtures of the area."""

from __future__ import annotations

from tests.gater.conftest import yard

__all__ = ["yard"]
