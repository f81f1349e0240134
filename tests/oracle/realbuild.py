"""Whole-binary builds with one draft in place: what the pre-filter is measured against."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from shared.config import Campaign
from shared.target.base import Base
from shared.target.build import build_binary
from shared.target.splice import splice
from shared.target.stubs import find_stubs


@dataclass(frozen=True)
class RealBuild:
    """A private copy of a built project. Objects and image of the TU are deleted before and after each build."""

    tree: Path
    campaign: Campaign
    bases: dict[str, Base]

    @staticmethod
    def copy(project: Path, tree: Path, campaign: Campaign, bases: dict[str, Base]) -> RealBuild:
        """A new copy, warm: all objects are there."""
        shutil.copytree(project, tree, symlinks=True)
        return RealBuild(tree, campaign, bases)

    def states(self, tu: str, function: str, text: bytes) -> set[str]:
        """Outcomes of the builds of every binary that compiles `tu`; {"green"} = the draft is right."""
        path = self.tree / tu
        source = path.read_bytes()
        try:
            path.write_bytes(splice(source, {function: text}, find_stubs(source)).text)
            return {self._build(binary, tu) for binary, base in self.bases.items() if tu in base.tus}
        finally:
            path.write_bytes(source)
            for binary, base in self.bases.items():
                if tu in base.tus:
                    self._forget(binary, tu)

    def _build(self, binary: str, tu: str) -> str:
        self._forget(binary, tu)
        return build_binary(self.tree, binary, self.campaign.binaries[binary], self.campaign.gate).state

    def _forget(self, binary: str, tu: str) -> None:
        for unit in self.bases[binary].tus[tu]:
            (self.tree / unit.object).unlink(missing_ok=True)
