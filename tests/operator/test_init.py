"""`campaign init`: from a decomp repository to a campaign.toml that works, and clear sentences where it cannot."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from shared.config import Binary, load_campaign
from shared.operator.setup.evidence import checksum_lines
from shared.operator.setup.survey import cover
from tests.drafter.project import git
from tests.games import Game, small_game

__all__ = ["small_game"]

CAMPAIGN = Path(sys.executable).parent / "campaign"


def campaign(root: Path, *words: str, state: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"XDG_STATE_HOME": str(state or root.parent / "state")}
    return subprocess.run(
        [CAMPAIGN, "--root", str(root), *words],
        capture_output=True,
        text=True,
        env=environment,
        stdin=subprocess.DEVNULL,
    )


def covered(root: Path, binary: Binary) -> set[Path]:
    found: set[Path] = set()
    for name in binary.sources:
        found.update([root / name] if (root / name).is_file() else (root / name).rglob("*.c"))
    return found


def test_a_forged_project_gets_the_settings_it_came_with(small_game: Game, tmp_path: Path) -> None:
    root = small_game.copy(tmp_path / "game")
    truth = load_campaign(root / "campaign.toml")
    (root / "campaign.toml").unlink()
    done = campaign(root, "init")
    assert done.returncode == 0, done.stderr
    made = load_campaign(root / "campaign.toml")
    assert made.binaries.keys() == truth.binaries.keys()
    for name, binary in made.binaries.items():
        true = truth.binaries[name]
        for key in ("build", "output", "checksums", "map", "elf", "asm"):
            assert getattr(binary, key) == getattr(true, key), (name, key)
        assert set(binary.symbols) == set(true.symbols)
        assert covered(root, binary) == covered(root, true)
    assert set(made.project.inputs) >= set(truth.project.inputs)
    assert "disk" not in made.project.inputs
    assert made.landing.follow == "main"
    assert (root / ".run").is_symlink()
    assert (root / ".run" / "spool" / "ready").is_dir()
    for words in ("found: 3 splat yamls", "assumed: the build does not need disk", "INCLUDE_ASM"):
        assert words in done.stdout
    assert not git(root, "status", "--porcelain", "--", ".run")


def test_the_build_itself_is_asked_for_map_and_elf(small_game: Game, tmp_path: Path) -> None:
    root = small_game.copy(tmp_path / "game")
    shutil.rmtree(root / "build")
    for yaml in root.glob("config/*/splat.yaml"):
        lines = [line for line in yaml.read_text().splitlines() if "elf_path" not in line]
        yaml.write_text("\n".join(lines) + "\n")
    value = orjson.loads(campaign(root, "init", "--force", "--json").stdout)
    assert {b["name"]: (b["map"], b["elf"]) for b in value["binaries"]} == {
        name: (f"build/{name}.map", f"build/{name}.elf") for name in ("main", "cave", "sky")
    }
    assert (root / "campaign.toml.old").exists()


def test_an_existing_file_is_kept(small_game: Game, tmp_path: Path) -> None:
    root = small_game.copy(tmp_path / "game")
    before = (root / "campaign.toml").read_bytes()
    assert campaign(root, "init").returncode == 0
    assert (root / "campaign.toml").read_bytes() == before
    assert (root / ".run").is_symlink()


def bare(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    git(root, "init", "-q", "-b", "trunk")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "x")
    return root


VERSIONED = """name: {version}
sha1: {sha1}
options:
  basename: main
  target_path: disk/{version}/MAIN.EXE
  base_path: ../..
  platform: psx
  asm_path: asm/{version}/main
  src_path: src
  gp_value: 0x80022BB0
segments:
  - name: main
    type: code
    start: 0x800
    vram: 0x80010000
    subsegments:
      - [0x800, c, main/one]
      - {{start: 0x900, type: c, name: two}}
  - [0xA00]
"""


def test_several_versions_checksums_in_any_form_and_no_assembly(tmp_path: Path) -> None:
    sha256 = "AB" * 32
    root = bare(
        tmp_path / "two versions",
        {
            "config/us/main.yaml": VERSIONED.format(version="us", sha1="1" * 40),
            "config/jp/main.yaml": VERSIONED.format(version="jp", sha1="2" * 40),
            "config/us/check.sha": f"# us\n\n{sha256}  build/us/main.exe\n",
            "config/check.jp.sha1": f"{'2' * 40} *build/jp/out/other.bin\n",
            "Makefile": "VERSION ?= us\n",
            "src/main/one.c": '#pragma GLOBAL_ASM("asm/us/main/one/f.s")\n',
            "src/two.c": "int x;\n",
            "src/unused.c": "int y;\n",
        },
    )
    value = orjson.loads(campaign(root, "init", "--json").stdout)
    found = {b["name"]: b for b in value["binaries"]}
    assert {name: b["output"] for name, b in found.items()} == {
        "us.main": "build/us/main.exe",
        "jp.main": "build/jp/out/other.bin",
    }
    assert found["jp.main"]["build"] == ["make", "-j1", "VERSION=jp", "build/jp/out/other.bin"]
    assert found["us.main"]["build"] == ["make", "-j1", "build/us/main.exe"]
    assert found["us.main"]["sources"] == ["src/main", "src/two.c"]
    assert value["follow"] == "trunk"
    told = value["told"]
    assert any("gp value 0x80022bb0" in s for s in told["found"])
    assert any("GLOBAL_ASM" in s for s in told["found"])
    assert any("run splat and build once" in s for s in told["missing"])
    assert any("make variable VERSION" in s for s in told["assumed"])
    assert load_campaign(root / "campaign.toml").binaries.keys() == found.keys()


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"README": "x"}, "no splat yaml"),
        ({"a.yaml": VERSIONED.format(version="us", sha1="1" * 40)}, "a checksum file"),
        ({"a.yaml": "options: [\nsegments:\n", "b": "x"}, "no splat yaml"),
    ],
)
def test_what_cannot_be_set_up_is_one_sentence(tmp_path: Path, files: dict[str, str], words: str) -> None:
    done = campaign(bare(tmp_path / "repo", files), "init")
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_outside_a_repository(tmp_path: Path) -> None:
    done = campaign(tmp_path, "init")
    assert (done.returncode, done.stderr.count("\n")) == (10, 1)


def test_checksum_lines_of_every_form(tmp_path: Path) -> None:
    (tmp_path / "a.sha").write_text(f"{'aB' * 20}  ./x/y\n{'c' * 64} *z\nnot a line\n{'d' * 39}  short\n")
    assert [(line.hash, line.path) for line in checksum_lines(tmp_path, ["a.sha", "missing.sha1"])] == [
        ("ab" * 20, "x/y"),
        ("c" * 64, "z"),
    ]


def test_cover_is_exact() -> None:
    everything = ["src/a/1.c", "src/a/2.c", "src/b/1.c", "src/b/c/2.c", "lib/x.c"]
    assert cover(["src/a/1.c", "src/a/2.c", "src/b/c/2.c"], everything) == ["src/a", "src/b/c"]
    assert cover(["src/a/1.c"], everything) == ["src/a/1.c"]
    assert cover(everything[:4], everything) == ["src"]
