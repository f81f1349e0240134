"""The forge: a project like a real one, byte-identical from stubs, and right bodies that are right."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from shared.config import load_campaign
from shared.demo.forge import Forged, forge
from shared.demo.forge.settings import load_settings
from shared.errors import ConfigError, InstrumentFault
from tests.conftest import GAME, SMALL

BOTH = pytest.mark.parametrize("forged", ["forged_small", "forged_game64"])


def sh(*argv: str, cwd: Path) -> str:
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def truth_of(forged: Forged) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads(forged.truth.read_text())
    return truth


def worktree(forged: Forged, place: Path) -> Path:
    """A fresh worktree with the inputs that campaign.toml names, as a gate worker has it."""
    sh("git", "worktree", "add", "-q", "--detach", str(place), "main", cwd=forged.project)
    for name in load_campaign(forged.project / "campaign.toml").project.inputs:
        source = forged.project / name
        if source.is_dir():
            shutil.copytree(source, place / name)
        else:
            shutil.copy(source, place / name)
    return place


def check(tree: Path) -> None:
    for binary in load_campaign(tree / "campaign.toml").binaries.values():
        sh(*binary.build, cwd=tree)
    sh("sha1sum", "--check", "config/checksums.sha1", cwd=tree)


def splice(text: str, function: str, body: str) -> str:
    """Replaces a stub line, or the NON_MATCHING block around it; written apart from the forge's own."""
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("INCLUDE_ASM(") and line.endswith(f", {function});"))
    first, last = at, at
    if lines[at - 1] == "#else":
        first, last = max(i for i in range(at) if lines[i] == "#ifdef NON_MATCHING"), at + 1
    return "\n".join([*lines[:first], body, *lines[last + 1 :]]) + "\n"


@BOTH
def test_stub_build_is_identical_in_a_fresh_worktree(
    forged: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    game: Forged = request.getfixturevalue(forged)
    tree = worktree(game, tmp_path / "tree")
    assert not (tree / "disk").exists()
    check(tree)


@BOTH
def test_all_right_bodies_together_build_identical(forged: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    game: Forged = request.getfixturevalue(forged)
    tree = worktree(game, tmp_path / "tree")
    done = set()
    for row in truth_of(game)["functions"]:
        if (row["tu"], row["function"]) not in done:  # a TU of two binaries is written once
            done.add((row["tu"], row["function"]))
            path = tree / row["tu"]
            path.write_text(splice(path.read_text(), row["function"], (game.truth.parent / row["file"]).read_text()))
    assert not [p for p in (tree / "src").rglob("*.c") if "INCLUDE_ASM(" in p.read_text()]
    check(tree)


@BOTH
def test_each_right_body_alone_builds_identical(forged: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    game: Forged = request.getfixturevalue(forged)
    tree = worktree(game, tmp_path / "tree")
    check(tree)
    outputs = load_campaign(tree / "campaign.toml").binaries
    for row in truth_of(game)["functions"]:
        binary = outputs[row["binary"]]
        path = tree / row["tu"]
        before, image = path.read_text(), (tree / binary.output).read_bytes()
        path.write_text(splice(before, row["function"], (game.truth.parent / row["file"]).read_text()))
        sh("touch", "-d", "+2 seconds", str(path), cwd=tree)
        (tree / binary.output).unlink()
        sh(*binary.build, cwd=tree)
        same = (tree / binary.output).read_bytes() == image
        assert same == row["alone"], row
        path.write_text(before)
        sh("touch", "-d", "+4 seconds", str(path), cwd=tree)
        sh(*binary.build, cwd=tree)


def test_the_shipped_game_is_whole(proven_game: Forged) -> None:
    truth = truth_of(proven_game)
    rows = truth["functions"]
    assert truth["left_out"] == []
    assert len(rows) == proven_game.functions >= 200
    assert len(Counter(row["binary"] for row in rows)) >= 6
    assert {row["group"] for row in rows} == {None, "src/main/collide.c"}
    assert all(row["alone"] or row["group"] for row in rows)
    assert any(row["twin_of"] for row in rows)
    # One name at one address in two overlays, with different code or not: the key is (binary, function).
    places = Counter((row["function"], row["address"]) for row in rows if row["function"].startswith("func_"))
    assert max(places.values()) >= 2
    assert (proven_game.project / "disk/main.exe").read_bytes().startswith(b"PS-X EXE")
    assert "%gp_rel" in "".join(p.read_text() for p in (proven_game.project / "asm/town").rglob("*.s"))
    assert any("#ifdef NON_MATCHING" in p.read_text() for p in (proven_game.project / "src").rglob("*.c"))
    shared_tus = {row["tu"] for row in rows if row["tu"].startswith("src/shared/")}
    assert {len({r["binary"] for r in rows if r["tu"] == tu}) for tu in shared_tus} == {2}


def test_the_big_endian_image_is_one_binary(forged_game64: Forged) -> None:
    assert forged_game64.binaries == ("main",)
    assert truth_of(forged_game64)["left_out"] == []
    assert (forged_game64.project / "build/main.z64").read_bytes().startswith(b"\x80\x37\x12\x40")


def test_project_looks_like_a_project(forged_small: Forged) -> None:
    project = forged_small.project
    assert len(sh("git", "log", "--format=%s", cwd=project).splitlines()) >= 3
    assert sh("git", "status", "--porcelain", cwd=project) == ""
    tracked = sh("git", "ls-files", cwd=project).splitlines()
    assert not [t for t in tracked if t.split("/")[0] in ("asm", "linker", "disk", "build")]
    assert set(load_campaign(project / "campaign.toml").binaries) == {"main", "cave", "sky"}
    assert load_campaign(project / "campaign.toml").binaries["main"].lane == "batch"
    text = "".join(p.read_text() for p in project.rglob("*") if p.is_file() and p.suffix in (".c", ".ld", ".d", ".txt"))
    assert str(project) not in text
    assert not (forged_small.truth.parent / "stage").exists()
    # No answer lies in the project.
    assert "0x41C64E6D" not in "".join(p.read_text() for p in (project / "src").rglob("*.c"))


def test_make_answers_with_the_compile_command(forged_small: Forged) -> None:
    said = sh("make", "-n", "-W", "src/main/inlined.c", "build/main/src/main/inlined.o", cwd=forged_small.project)
    line = next(line for line in said.splitlines() if "gcc" in line)
    assert line.endswith("-c -o build/main/src/main/inlined.o src/main/inlined.c")
    assert "-fno-inline" not in line.split()
    said = sh("make", "-n", "-W", "src/shared/mover.c", "build/sky/src/shared/mover.o", cwd=forged_small.project)
    assert "-Wa,-Iasm/sky" in said


def test_splitting_again_gives_the_same_assembly(forged_small: Forged, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(forged_small.project, copy)
    before = {p.relative_to(copy): p.read_bytes() for part in ("asm", "linker") for p in (copy / part).rglob("*.*")}
    shutil.rmtree(copy / "asm")
    shutil.rmtree(copy / "linker")
    sh("make", "extract", f"PYTHON={sys.executable}", cwd=copy)
    after = {p.relative_to(copy): p.read_bytes() for part in ("asm", "linker") for p in (copy / part).rglob("*.*")}
    assert after == before
    assert sh("git", "status", "--porcelain", cwd=copy) == ""


def test_forging_is_deterministic(forged_small: Forged, tmp_path: Path) -> None:
    again = forge(tmp_path / "again", SMALL, each=False)
    assert sh("git", "rev-parse", "main", cwd=again.project) == sh("git", "rev-parse", "main", cwd=forged_small.project)
    assert truth_of(again)["left_out"] == []


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


ONE = """
static int step(int v) { static int calls; calls++; return v + calls; }
int one(int v) { return step(v) * 3; }
int two(const char *s) { return s[0] + step(2); }
"""


def test_any_folder_of_c_can_be_forged(tmp_path: Path) -> None:
    sources = write(
        tmp_path / "sources", {"main/a.c": ONE, "main/b.c": ONE.replace("one", "first").replace("two", "second")}
    )
    forged = forge(tmp_path / "out", sources, extra_toml="[lane.night]\nturns = 3\n")
    rows = truth_of(forged)["functions"]
    assert (len(rows), forged.left_out) == (6, 0)
    assert all(row["function"] == f"func_{row['address']:08X}" for row in rows)  # no header names anything
    assert load_campaign(forged.project / "campaign.toml").lanes["night"].turns == 3


def test_preprocessed_sources_may_have_code_in_headers(tmp_path: Path) -> None:
    files = {
        "include/util.h": "#if 1\nstatic inline int twice(int v) { return v * 2; }\n#endif\nint outer(int v);\n",
        "main/a.c": '#include "util.h"\n#include <assert.h>\nint outer(int v) { assert(v); return far(twice(v)); }\n',
        "main/b.c": '#include "util.h"\nint other(int v) { return twice(v) - outer(v); }\n',
        "forge.toml": 'preprocess = true\nexternals_base = 0x80000400\nheaders = {"assert.h" = "#define assert(x)"}\n',
    }
    forged = forge(tmp_path / "out", write(tmp_path / "sources", files))
    names = [row["function"] for row in truth_of(forged)["functions"]]
    assert len(names) == 4
    assert {"outer", "other"} <= set(names)
    assert forged.left_out == 0
    assert "far = 0x80000400;" in (forged.project / "config/main/symbol_addrs.txt").read_text()


def test_what_cannot_be_carried_is_counted_with_its_reason(tmp_path: Path) -> None:
    # A literal behind a macro that two functions use: neither alone can say where the one string lies.
    source = '#define OK "okay"\nint put(const char *);\n'
    source += "int a(void) { return put(OK); }\nint b(void) { return put(OK); }\n"
    sources = write(tmp_path / "sources", {"main/a.c": source, "forge.toml": "[externals]\nput = 0x80000200\n"})
    forged = forge(tmp_path / "out", sources)
    truth = truth_of(forged)
    assert (forged.functions, forged.left_out) == (0, 2)
    assert [row["reason"] for row in truth["left_out"]] == ["the build differs"] * 2


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("[binary.main]\nflag = []\n", "forge.toml:2: [binary.main] unknown key `flag`; known are"),
        ('\n[tu."main/b.c"]\n', "forge.toml:2: `main/b.c` is not among the sources"),
        ("big = 1\n", "forge.toml:1: unknown key `big`; known are"),
        ('[binary.main]\nsources = ["nowhere"]\n', "forge.toml:2: `nowhere` is neither a .c file nor a folder"),
        ("[compile\n", "forge.toml: is not valid TOML"),
    ],
)
def test_mistakes_in_forge_toml_name_file_and_line(tmp_path: Path, toml: str, said: str) -> None:
    sources = write(tmp_path / "sources", {"main/a.c": ONE, "forge.toml": toml})
    with pytest.raises(ConfigError, match=r"\.") as error:
        forge(tmp_path / "out", sources)
    assert said in str(error.value)
    assert not (tmp_path / "out").exists()


HEADER = "static int g(void) { return 3; }\n"


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("int f(void) { return g(); }\n", ConfigError, "nothing that main may use defines g"),
        ('#include "h.h"\nint f(void) { return g(); }\n', ConfigError, "main holds the function `g`, which no .c file"),
        ("int f(void) { return nothing; }\n", InstrumentFault, "compiling main/a.c failed"),
        ("\nint f(void) { return 1 }}\n", ConfigError, "main/a.c:2: this cannot be read as C"),
        ("#ifdef X\nint f(void) { return 1; }\n#endif\n", ConfigError, "main/a.c:1: a file-scope conditional"),
    ],
)
def test_mistakes_in_sources_are_one_sentence(tmp_path: Path, text: str, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind) as error:
        forge(tmp_path / "out", write(tmp_path / "sources", {"main/a.c": text, "include/h.h": HEADER}))
    assert said in str(error.value)
    assert not (tmp_path / "out").exists()


def test_defaults_follow_the_folders(tmp_path: Path) -> None:
    settings = load_settings(write(tmp_path, {"main/a.c": "", "moon/b.c": "", "moon/a.c": "", "include/x.h": ""}))
    assert [b.files for b in settings.binaries.values()] == [("main/a.c",), ("moon/a.c", "moon/b.c")]
    assert [b.address for b in settings.binaries.values()] == [0x80010000, 0x80100000]
    assert [b.output for b in settings.binaries.values()] == ["build/main.exe", "build/moon.bin"]
    assert load_settings(GAME).binaries["town"].small_data == 8


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(ConfigError, match="is not empty"):
        forge(tmp_path, SMALL)
    assert (tmp_path / "mine.txt").read_text() == "keep"
