"""Turns C sources into a "retail game" and a splat project of it; see docs/forge.md."""

from shared.demo.forge.build import Forged, forge

__all__ = ["Forged", "forge"]
