"""Landing on a real repository: one commit, exactly the gated files, the person's checkout follows or is left alone."""

from __future__ import annotations

import dataclasses
import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from gater.credit import Credits
from gater.land import Green, Landing, Moved
from shared import durable
from shared.config import load_campaign
from shared.errors import RepositoryError
from shared.records import DraftRef
from shared.spool import draft_ref
from shared.state import StateDir, create_state
from shared.target.splice import splice

CONFIG = """\
[project]
name = "t"

[binary.main]
build = ["make"]
output = "build/main"
checksums = "sums"
map = "build/main.map"
elf = "build/main.elf"
asm = "asm/main"
sources = ["src/main"]

[binary.cave]
build = ["make"]
output = "build/cave"
checksums = "sums"
map = "build/cave.map"
elf = "build/cave.elf"
asm = "asm/cave"
sources = ["src/cave"]
"""

STUBS = b"""#include "common.h"

INCLUDE_ASM("asm/main/nonmatchings/a", func_80010000);

INCLUDE_ASM("asm/main/nonmatchings/a", func_80010010);
"""
BODY = b"s32 func_80010000(void) {\n    return 1;\n}\n"


def git(root: Path, *args: str) -> str:
    environment = os.environ | {"GIT_CONFIG_GLOBAL": "/dev/null"}
    done = subprocess.run(["git", *args], cwd=root, capture_output=True, text=True, check=True, env=environment)
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for path, data in {
        "campaign.toml": CONFIG.encode(),
        "src/main/a.c": STUBS,
        "src/cave/b.c": STUBS,
        "include/common.h": b"typedef int s32;\n",
        ".gitignore": b".run\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    git(root, "init", "--quiet", "--initial-branch", "main")
    git(root, "config", "user.name", "p")
    git(root, "config", "user.email", "p@example.invalid")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "start")
    create_state(root, "t", home=tmp_path / "home")
    return root


class Scene:
    """A landing and a green set for it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.state = StateDir((root / ".run").resolve())
        self.landing = Landing(load_campaign(root / "campaign.toml"), self.state)
        self.start = self.landing.prepare()

    def draft(self, text: bytes = BODY, function: str = "func_80010000") -> DraftRef:
        path = self.state.waves / f"{function}.c"
        durable.write(path, text)
        return draft_ref(self.state, path, id="w000001-1", binary="main", function=function, attempt=1, backend="chat")

    def green(self, path: str = "src/main/a.c", **changes: object) -> Green:
        ref = self.draft()
        text = splice(self.landing.git.show(self.start, path), {ref.function: BODY}).text
        fields = {
            "base": self.start,
            "files": {path: text},
            "drafts": ((path, ref),),
            "hashes": {"main": "aa" * 20},
            "wave": "w000001",
            "markers": ("w000001-1",),
        }
        return Green(**(fields | changes))  # type: ignore[arg-type]


@pytest.fixture
def scene(project: Path) -> Scene:
    return Scene(project)


def test_one_commit_with_trailers_and_the_checkout_follows(scene: Scene) -> None:
    landed = scene.landing.land(scene.green())
    assert git(scene.root, "rev-list", "--count", "main") == "2"
    assert git(scene.root, "diff", "--name-only", scene.start, landed.commit) == "src/main/a.c"
    assert BODY in (scene.root / "src/main/a.c").read_bytes()
    message = git(scene.root, "log", "-1", "--format=%B", landed.commit)
    assert message.startswith("feat(decomp): wave w000001 main - 1 banked")
    for trailer in ("Wave: w000001", "Marker: w000001-1", "Function: main/func_80010000", "Hash: main " + "aa" * 20):
        assert trailer in message
    credits = Credits(scene.landing.git, "campaign")
    assert credits.commit_of(scene.draft()) == landed.commit
    homonym = msgspec.structs.replace(scene.draft(), binary="cave")
    assert credits.commit_of(homonym) is None, "its stub is open still"
    assert credits.banked_by(landed.commit) == 1
    assert git(scene.root, "status", "--porcelain") == ""


def test_foreign_work_is_neither_committed_nor_changed(scene: Scene) -> None:
    dirty, staged, untracked = (scene.root / n for n in ("include/common.h", "src/cave/b.c", "notes.txt"))
    dirty.write_text("typedef int s32; /* mine */\n")
    staged.write_bytes(STUBS + b"/* staged */\n")
    git(scene.root, "add", "src/cave/b.c")
    untracked.write_text("mine\n")
    landed = scene.landing.land(scene.green())
    assert git(scene.root, "diff", "--name-only", scene.start, landed.commit) == "src/main/a.c"
    assert "mine" in dirty.read_text()
    assert b"staged" in staged.read_bytes()
    assert git(scene.root, "diff", "--cached", "--name-only") == "src/cave/b.c"
    assert untracked.exists()


def test_a_dirty_gated_file_keeps_the_checkout_where_it_is(scene: Scene) -> None:
    mine = scene.root / "src/main/a.c"
    mine.write_bytes(STUBS + b"/* mine */\n")
    landed = scene.landing.land(scene.green())
    assert "could not follow" in landed.followed
    assert git(scene.root, "rev-parse", "main") == scene.start
    assert git(scene.root, "rev-parse", "campaign") == landed.commit
    assert mine.read_bytes().endswith(b"/* mine */\n")


@pytest.mark.parametrize("state", ["other-branch", "detached", "bisect", "merge"])
def test_a_checkout_that_is_elsewhere_is_left_alone(scene: Scene, state: str) -> None:
    if state == "other-branch":
        git(scene.root, "checkout", "--quiet", "-b", "feature")
    elif state == "detached":
        git(scene.root, "checkout", "--quiet", "--detach")
    elif state == "bisect":
        git(scene.root, "bisect", "start")
    else:
        (scene.root / ".git" / "MERGE_HEAD").write_text(scene.start + "\n")
    landed = scene.landing.land(scene.green())
    assert "left alone" in landed.followed
    assert git(scene.root, "rev-parse", "main") == scene.start


def test_an_input_that_moved_under_the_set_sends_it_back(scene: Scene) -> None:
    green = scene.green()
    (scene.root / "include/common.h").write_text("typedef long s32;\n")
    git(scene.root, "commit", "--quiet", "-am", "header")
    git(scene.root, "branch", "--force", "campaign", "main")
    with pytest.raises(Moved, match=r"include/common\.h"):
        scene.landing.land(green)
    assert git(scene.root, "rev-list", "--count", "campaign") == "2"


def test_another_binarys_landing_in_between_does_not(scene: Scene) -> None:
    green = scene.green()
    (scene.root / "src/cave/b.c").write_bytes(STUBS + b"/* cave */\n")
    git(scene.root, "commit", "--quiet", "-am", "cave")
    git(scene.root, "branch", "--force", "campaign", "main")
    landed = scene.landing.land(green)
    assert b"cave" in scene.landing.git.show(landed.commit, "src/cave/b.c")


def test_a_file_that_is_not_head_plus_drafts_is_refused(scene: Scene) -> None:
    smuggled = {"src/main/a.c": STUBS.replace(b"common.h", b"other.h")}
    with pytest.raises(RepositoryError, match="plus its drafts"):
        scene.landing.land(scene.green(files=smuggled))
    assert git(scene.root, "rev-parse", "campaign") == scene.start


def test_a_landing_branch_that_is_checked_out_is_refused(scene: Scene) -> None:
    git(scene.root, "checkout", "--quiet", "campaign")
    with pytest.raises(RepositoryError, match="checked out"):
        scene.landing.prepare()


def test_a_foreign_index_lock_delays_the_checkout_not_the_landing(scene: Scene) -> None:
    lock = scene.root / ".git" / "index.lock"
    lock.write_text("")
    landed = scene.landing.land(scene.green())
    assert "could not follow" in landed.followed
    lock.unlink()
    assert "followed" in scene.landing.follow()
    assert git(scene.root, "rev-parse", "main") == landed.commit


def test_hostile_names_reach_no_shell(scene: Scene) -> None:
    odd = "src/main/-a $(touch pwned) 'b\".c"
    (scene.root / odd).write_bytes(STUBS)
    git(scene.root, "add", ".")
    git(scene.root, "commit", "--quiet", "-m", "odd")
    git(scene.root, "branch", "--force", "campaign", "main")
    scene.start = scene.landing.head()
    landed = scene.landing.land(scene.green(odd))
    assert BODY in scene.landing.git.show(landed.commit, odd)
    assert not (scene.root / "pwned").exists()


def test_words_of_a_record_stay_one_line_in_the_commit(scene: Scene) -> None:
    green = scene.green()
    path, ref = green.drafts[0]
    evil = msgspec.structs.replace(ref, model="m\nDraft: evil\nCo-authored-by: e\0x")
    landed = scene.landing.land(dataclasses.replace(green, drafts=((path, evil),)))
    trailers = git(scene.root, "log", "-1", "--format=%(trailers:key=Draft,valueonly)", landed.commit).split()
    assert trailers == [ref.digest]
    assert git(scene.root, "log", "-1", "--format=%(trailers:key=Co-authored-by)", landed.commit) == ""
