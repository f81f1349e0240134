"""Forged games, built, with everything a test of the target layer needs; its fixtures are imported by conftests."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest

from shared.config import Campaign, load_campaign
from shared.demo.forge import Forged, forge
from shared.target.base import Base, read_base
from shared.target.build import build_binary

FIXTURES = Path(__file__).parent / "fixtures"


@dataclass(frozen=True)
class Body:
    """One right body."""

    binary: str
    tu: str
    function: str
    text: bytes
    group: str | None
    address: int
    instructions: int


@dataclass(frozen=True)
class Game:
    """A forged project, built green, with its right bodies and bases."""

    root: Path
    campaign: Campaign
    bases: dict[str, Base]
    bodies: tuple[Body, ...]

    @property
    def project(self) -> Path:
        """Root of the splat project."""
        return self.root / "project"

    def body(self, binary: str, function: str) -> Body:
        """The right body of one function."""
        return next(b for b in self.bodies if (b.binary, b.function) == (binary, function))

    def units(self) -> dict[tuple[str, str], dict[str, bytes]]:
        """(binary, TU) -> function -> right body."""
        found: dict[tuple[str, str], dict[str, bytes]] = {}
        for body in self.bodies:
            found.setdefault((body.binary, body.tu), {})[body.function] = body.text
        return found

    def copy(self, folder: Path) -> Path:
        """A private copy of the built project."""
        shutil.copytree(self.project, folder, symlinks=True)
        return folder


def build_game(forged: Forged, root: Path) -> Game:
    """A copy of a forged project below `root`, built green."""
    project = root / "project"
    shutil.copytree(forged.project, project, symlinks=True)
    campaign = load_campaign(project / "campaign.toml")
    bases = {}
    for name, binary in campaign.binaries.items():
        built = build_binary(project, name, binary, campaign.gate)
        assert built.state == "green", built
        bases[name] = read_base(project, name, binary)
    truth = orjson.loads(forged.truth.read_bytes())
    bodies = tuple(
        Body(
            row["binary"],
            row["tu"],
            row["function"],
            (forged.truth.parent / row["file"]).read_bytes(),
            row["group"],
            row["address"],
            row["instructions"],
        )
        for row in truth["functions"]
    )
    return Game(root, campaign, bases, bodies)


@pytest.fixture(scope="session")
def small_game(tmp_path_factory: pytest.TempPathFactory) -> Game:
    """The small forged game, built. Read-only for tests, which copy what they change."""
    folder = tmp_path_factory.mktemp("small")
    return build_game(forge(folder / "forged", FIXTURES / "small"), folder / "built")


@pytest.fixture(scope="session")
def rom_game(tmp_path_factory: pytest.TempPathFactory) -> Game:
    """The small game's sources as one big-endian image, built."""
    folder = tmp_path_factory.mktemp("rom")
    config = folder / "forge.toml"
    config.write_text(
        'platform = "n64"\n[binary.rom]\nsources = ["main", "cave", "sky", "engine", "shared/mover.c"]\n'
        '[externals]\nbios_puts = 0x80000200\n[tu."main/inlined.c"]\ndrop_flags = ["-fno-inline"]\n'
    )
    return build_game(forge(folder / "forged", FIXTURES / "small", config=config), folder / "built")


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is TMPDIR for the test, to see what is left behind."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder
