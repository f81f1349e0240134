"""How one unit is compiled, asked of the build itself; and the mirror in which it is."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from shared.config import Binary
from shared.errors import ConfigError, InstrumentFault
from shared.target.base import Unit
from shared.target.mirror import Mirror
from shared.target.recipe import Recipe, find_recipes, make_recipe, split_line


def binary(**fields: object) -> Binary:
    values: dict[str, object] = {
        "build": ["make", "VERSION=us", "build/main.exe"],
        "output": "build/main.exe",
        "checksums": "c",
        "map": "m",
        "elf": "e",
        "asm": "asm",
        "sources": ["src"],
    }
    return Binary(**{**values, **fields})  # type: ignore[arg-type]


def unit(tu: str, target: str) -> Unit:
    return Unit(target, tu, (), (), {}, (), {})


MAKEFILE = """\
CC := tool-cc
all: build/main.exe
build/main.exe: build/src/a.o build/src/b.o
\t@echo linking
\ttouch $@
build/src/%.o: src/%.c include/gen.h
\t@mkdir -p $(@D) build/dep
\t@echo "CC $<"
\t$(CC) -O2 -DVERSION_$(VERSION) -I$(CURDIR)/include \\
\t  -MF build/dep/$*.d -o $@ $< && tool-objcopy --strip-debug $@
\t$(if $(filter b,$*),tool-cpp $< | tool-as -o $@)
include/gen.h:
\tgenerate > $@
"""


def project(folder: Path, makefile: str = MAKEFILE) -> Path:
    for name in ("src/a.c", "src/b.c"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"int {Path(name).stem};\n")
    (folder / "Makefile").write_text(makefile)
    return folder


def test_make_tells_without_running(tmp_path: Path) -> None:
    root = project(tmp_path)
    units = [unit("src/a.c", "build/src/a.o"), unit("src/b.c", "build/src/b.o"), unit("", "build/asm/x.o")]
    found = find_recipes(root, "main", binary(), units)
    assert set(found) == {"build/src/a.o", "build/src/b.o"}
    a = found["build/src/a.o"]
    compile_a = "tool-cc -O2 -DVERSION_us -Iinclude -MF build/dep/a.d -o build/src/a.o src/a.c"
    assert a.commands == (tuple(compile_a.split()), ("tool-objcopy", "--strip-debug", "build/src/a.o"))
    assert a.compiler == 0
    assert a.folders == ("build/src", "build/dep")
    assert a.with_flags(["-Wx"])[0][-1] == "-Wx"
    assert a.with_flags(["-Wx"])[1] == a.commands[1]
    assert found["build/src/b.o"].commands[-1] == ("sh", "-c", "tool-cpp src/b.c | tool-as -o build/src/b.o")
    assert not (root / "build").exists()
    assert not (root / "include").exists()


def test_what_the_build_does_not_make_from_the_source_has_no_recipe(tmp_path: Path) -> None:
    root = project(tmp_path, "build/src/a.o:\n\ttool-as -o $@ other.s\n")
    assert find_recipes(root, "main", binary(), [unit("src/a.c", "build/src/a.o")]) == {}


def test_a_makefile_that_is_broken_is_a_fault(tmp_path: Path) -> None:
    root = project(
        tmp_path, "all:\n\t$(error no toolchain here)\nbuild/src/a.o: src/a.c\n\t$(error no toolchain here)\n"
    )
    with pytest.raises(InstrumentFault, match="no toolchain here"):
        find_recipes(root, "main", binary(), [unit("src/a.c", "build/src/a.o")])


@pytest.mark.skipif(shutil.which("ninja") is None, reason="ninja is optional for target projects")
def test_ninja_tells_too(tmp_path: Path) -> None:
    root = project(tmp_path)
    (root / "build.ninja").write_text(
        "rule cc\n  command = tool-cc -O2 -o $out $in\n"
        "build build/src/a.o: cc src/a.c\nbuild build/src/b.o: cc src/b.c\n"
    )
    found = find_recipes(root, "main", binary(build=["ninja", "build/main.exe"]), [unit("src/a.c", "build/src/a.o")])
    assert found["build/src/a.o"].commands == (("tool-cc", "-O2", "-o", "build/src/a.o", "src/a.c"),)


def test_the_configured_command_wins(tmp_path: Path) -> None:
    chosen = binary(build=["./build.sh"], compile=["cc1", "-quiet", "{source}", "-o{object}"])
    found = find_recipes(tmp_path, "main", chosen, [unit("src/a.c", "build/src/a.o")])
    assert found["build/src/a.o"].commands == (("cc1", "-quiet", "src/a.c", "-obuild/src/a.o"),)
    assert found["build/src/a.o"].folders == ("build/src",)


def test_a_build_that_cannot_be_asked_wants_a_setting(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\[binary\.main\].*set `compile`"):
        find_recipes(tmp_path, "main", binary(build=["./build.sh"]), [unit("src/a.c", "build/src/a.o")])


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("cc -c a.c", [("cc", "-c", "a.c")]),
        ("cc '-DX=\"a b\"' a.c && strip a.o; true", [("cc", '-DX="a b"', "a.c"), ("strip", "a.o"), ("true",)]),
        ("cpp a.c | cc1 -o a.s", None),
        ("cc a.c > log", None),
        ("cc a.c 2>&1", None),
        ("CC=gcc wrapper a.c", None),
        ("cd sub && cc a.c", None),
        ("cc $HOME/a.c", None),
        ("cc src/*.c", None),
        ("cc 'unended", None),
        ("if true; then cc a.c; fi", None),
    ],
)
def test_only_plain_words_are_run_without_a_shell(line: str, commands: list[tuple[str, ...]] | None) -> None:
    assert split_line(line) == (commands if commands is not None else [("sh", "-c", line)])


def test_paths_of_the_tree_become_relative(tmp_path: Path) -> None:
    recipe = make_recipe(tmp_path, "src/a.c", "build/a.o", [f"cc -I{tmp_path}/include -o {tmp_path}/build/a.o src/a.c"])
    assert recipe is not None
    assert recipe.commands == (("cc", "-Iinclude", "-o", "build/a.o", "src/a.c"),)


def test_a_mirror_is_the_tree_with_one_file_of_its_own(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    for name in ("src/main/a.c", "src/main/b.c", "src/x.h", "include/c.h", "build/src/main/a.o", "build/src/main/b.o"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(name)
    (tree / "build/src/main/a.d").write_text("old")
    recipe = Recipe("src/main/a.c", "build/src/main/a.o", (), 0, ("build/dep", "../outside", "/absolute/no"))
    mirror = Mirror(tree, recipe, tmp_path / "scratch")
    mirror.write(b"mine")
    read = {
        name: (mirror.root / name).read_text() for name in ("src/main/a.c", "src/main/b.c", "src/x.h", "include/c.h")
    }
    assert read == {
        "src/main/a.c": "mine",
        "src/main/b.c": "src/main/b.c",
        "src/x.h": "src/x.h",
        "include/c.h": "include/c.h",
    }
    assert (mirror.root / "src/main/../x.h").read_text() == "src/x.h"
    assert (mirror.root / "build/dep").is_dir()
    assert not (tmp_path / "outside").exists()
    # what the compile writes stays here: the object, and files of its name beside it
    for name in ("a.o", "a.d", "a.i"):
        (mirror.root / "build/src/main" / name).write_text("new")
    assert (tree / "build/src/main/a.o").read_text() == "build/src/main/a.o"
    assert (tree / "build/src/main/a.d").read_text() == "old"
    assert (tree / "src/main/a.c").read_text() == "src/main/a.c"
    mirror.discard()
    assert not (tmp_path / "scratch").exists()
    assert (tree / "src/main/b.c").read_text() == "src/main/b.c"


def test_file_and_line_macros_are_those_of_the_real_build(tmp_path: Path) -> None:
    """An assert's __FILE__ and __LINE__ are bytes of the image."""
    tree = tmp_path / "tree"
    (tree / "src").mkdir(parents=True)
    text = b'#include "x.h"\nconst char *where(void) { return __FILE__; }\nint line(void) { return __LINE__; }\n'
    (tree / "src/a.c").write_bytes(text)
    (tree / "src/x.h").write_text("\n")
    command = ("mipsel-linux-gnu-gcc", "-O1", "-c", "-o", "build/a.o", "src/a.c")
    (tree / "build").mkdir()
    subprocess.run(command, cwd=tree, check=True)
    mirror = Mirror(tree, Recipe("src/a.c", "build/a.o", (command,), 0), tmp_path / "scratch")
    mirror.write(text)
    subprocess.run(command, cwd=mirror.root, check=True)
    assert mirror.object.read_bytes() == (tree / "build/a.o").read_bytes()
