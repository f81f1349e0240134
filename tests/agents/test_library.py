"""Nothing outside the allow-list can be read, by whatever spelling."""

from __future__ import annotations

import os
import subprocess

import pytest

from drafter.agents.library import RESULT_CHARS, Library, NotAllowed, clip
from tests.agents.conftest import FUNCTIONS, Tiny


@pytest.fixture
def library(tiny: Tiny) -> Library:
    return Library(tiny.root, ["asm/main"], tiny.state.knowledge)


@pytest.mark.parametrize(
    "path",
    [
        "../key",
        "src/../../key",
        "src/main/../../../key",
        "/etc/passwd",
        "//etc/passwd",
        "~/x",
        ".git/config",
        ".git",
        ".run",
        ".run/stop",
        ".run/journal",
        "asm/main/../../.git/config",
        "asm/main/outside",
        "asm/main/outside/passwd",
        "src/link.c",
        "include/run",
        "campaign.toml",
        "asm/other",
        "untracked.c",
        "asm/main/secret.txt",
        "asm/main/pipe.s",
        "knowledge/../key",
        "knowledge/link.md",
        "src/main/a.c\0.s",
        "x" * 5000,
        "build/main.exe",
    ],
)
def test_paths_that_must_not_be_read(tiny: Tiny, library: Library, path: str) -> None:
    (tiny.root / "asm/main/outside").symlink_to("/etc")
    (tiny.root / "src/link.c").symlink_to(tiny.key_file)
    (tiny.root / "include/run").symlink_to(tiny.state.root)
    subprocess.run(["git", "add", "-f", "src/link.c", "include/run"], cwd=tiny.root, check=True)
    (tiny.root / "untracked.c").write_text("secret")
    (tiny.root / "asm/other").mkdir()
    (tiny.root / "asm/main/secret.txt").write_text("secret")
    os.mkfifo(tiny.root / "asm/main/pipe.s")
    (tiny.state.knowledge / "link.md").symlink_to(tiny.key_file)
    with pytest.raises(NotAllowed):
        library.read(path)
    with pytest.raises(NotAllowed):
        library.text(path)


def test_what_may_be_read(tiny: Tiny, library: Library) -> None:
    (tiny.state.knowledge / "notes.md").write_text("# Loops\n\n## do-while\nUse do-while.\n")
    assert "INCLUDE_ASM" in library.read("src/main/a.c")
    assert "INCLUDE_ASM" in library.read("./src//main/a.c")
    assert "jr " in library.read(f"asm/main/nonmatchings/a/{FUNCTIONS[0]}.s", 2, 2)
    assert library.read("src/main/a.c", 3, 3).endswith("\nint helper(int);")
    root = library.read(".")
    assert "src/" in root
    assert ".git/" not in root
    assert "campaign.toml" not in root
    assert "a.c" in library.read("src/main")
    (tiny.root / "asm/other").mkdir()
    assert library.read("asm") == "asm/: 1 entries\nmain/"
    assert "notes.md" in library.read("knowledge")
    assert "do-while" in library.read("knowledge/notes.md")


def test_grep_sees_the_same_and_no_more(tiny: Tiny, library: Library) -> None:
    (tiny.state.knowledge / "notes.md").write_text("# Loops\n\n## do-while\nUse helper here.\n")
    (tiny.root / "untracked.c").write_text("int helper;\n")
    (tiny.root / "asm/main/secret.txt").write_text("helper\n")
    (tiny.root / "asm/main/far").symlink_to(tiny.root.parent)
    (tiny.root.parent / "far.s").write_text("helper\n")
    hits = library.grep("helper").splitlines()
    assert [hit.split(":")[0] for hit in hits] == ["src/main/a.c", "knowledge/notes.md"]
    assert "[do-while]" in hits[1]
    assert library.grep("helper", "src") == hits[0]
    assert library.grep("helper", "knowledge") == hits[1]
    assert library.grep("helper", "src/main/a.c") == hits[0]
    assert library.grep("jr", "asm/main").count("\n") == len(FUNCTIONS) - 1
    for path in ("..", "/etc", ":(top)..", "asm/main/far", ".git"):
        with pytest.raises(NotAllowed):
            library.grep("root", path)


@pytest.mark.parametrize("pattern", ["", "a\nb", "a\0b", "x" * 600, "(", "[", "--output=x"])
def test_odd_patterns_harm_nothing(library: Library, pattern: str) -> None:
    try:
        found = library.grep(pattern)
    except NotAllowed:
        return
    assert found == "no hits"


def test_results_are_bounded(tiny: Tiny, library: Library) -> None:
    path = tiny.root / "src/main/a.c"
    path.write_text("int helper; /* " + "y" * 500 + " */\n" * 1 + "int helper;\n" * 200_000)
    assert len(library.read("src/main/a.c")) <= RESULT_CHARS
    assert len(library.grep("helper")) <= RESULT_CHARS
    assert "narrow" in library.grep("helper")
    for number in range(1000):
        (tiny.root / f"asm/main/nonmatchings/a/f{number}.s").write_text("nop\n")
    assert "more)" in library.read("asm/main/nonmatchings/a")
    assert clip("abc", 10) == "abc"


def test_undecodable_bytes_are_shown_not_raised(tiny: Tiny, library: Library) -> None:
    (tiny.root / "src/main/a.c").write_bytes(b"/* \xa5\xb2\xff */ int helper;\n")
    assert "int helper;" in library.read("src/main/a.c")
    assert "a.c" in library.grep("helper")
