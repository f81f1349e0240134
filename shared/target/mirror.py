"""A scratch copy of a tree made of links, in which one translation unit is compiled.

The folders on the way to the source and to its object are real, everything beside them links into the tree, and the
source itself is ours to write. So the project's own compile command runs unchanged: same relative paths, same
`__FILE__`, same `#include` search, while the tree stays untouched and any number of mirrors work beside each other.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from shared.target.recipe import Recipe


class Mirror:
    """One scratch mirror for one recipe. Not thread-safe: one compile at a time."""

    def __init__(self, tree: Path, recipe: Recipe, folder: Path) -> None:
        """Makes the links below `folder`, which must not exist. Raises OSError."""
        self.recipe = recipe
        self.root = folder / "tree"
        self.temp = folder / "tmp"
        self.temp.mkdir(parents=True)
        self.source = self.root / recipe.source
        self.object = self.root / recipe.object
        source, made = Path(recipe.source), Path(recipe.object)
        real = _ancestors(source.parent) | _ancestors(made.parent)
        for name in recipe.folders:
            place = Path(os.path.normpath(name))
            if not place.is_absolute() and ".." not in place.parts:
                real |= _ancestors(place)
        stem = made.name.split(".")[0]
        for place in sorted(real, key=lambda p: len(p.parts)):
            (self.root / place).mkdir(exist_ok=True)
            self._link(tree.resolve(), place, real, skip=stem if place == made.parent else "")
        self.source.unlink(missing_ok=True)

    def write(self, text: bytes) -> None:
        """Puts the translation unit in place and removes the last object."""
        self.source.write_bytes(text)
        self.object.unlink(missing_ok=True)

    def discard(self) -> None:
        """Deletes the mirror."""
        shutil.rmtree(self.root.parent, ignore_errors=True)

    def _link(self, tree: Path, place: Path, real: set[Path], skip: str) -> None:
        """Links what lies beside the real folders. Outputs of our own unit are left out: writing through a link would
        change the tree."""
        try:
            entries = list(os.scandir(tree / place))
        except FileNotFoundError:
            return
        for entry in entries:
            if place / entry.name in real or entry.name == ".git" or (skip and entry.name.split(".")[0] == skip):
                continue
            (self.root / place / entry.name).symlink_to(entry.path)


def _ancestors(place: Path) -> set[Path]:
    return {place, *place.parents}
