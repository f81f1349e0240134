"""The twin backend: what equals a banked function is banked without a model, and no refused pair is tried again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from shared.spool import Spool
from shared.state import StateDir
from tests.drafter.project import git, make_project
from tests.gater.conftest import Yard, yard  # noqa: F401

DRAFTER = Path(sys.executable).parent / "drafter"
COUNTS = ("alone", "in_flight", "tried", "unpaired")

EXEMPLAR = """#include "include_asm.h"
#include "game.h"

struct Box { int size; };
extern struct Box *g_Box;

static int box_grow(void) {
    g_Box->size += 0x12; /* g_Box */
    return counted(g_Box);
}
"""
WORDS = ("3C028001", "8C420000", "24630000", "0C000000")


def twins(root: Path) -> Any:
    done = subprocess.run(
        [str(DRAFTER), "--root", str(root), "twins", "--once", "--json"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = orjson.loads(done.stdout)
    assert sum(found[name] for name in COUNTS) + len(found["published"]) == found["open"]
    return found


def test_exact_twins_bank_by_the_ordinary_way(yard: Callable[..., Yard]) -> None:  # noqa: F811
    scene = yard()
    before = twins(scene.root)
    assert before["published"] == []
    assert before["alone"] == before["open"]

    scene.publish([(t.binary, t.function, t.text) for t in scene.truth if t.binary == "cave"])
    assert scene.gater("run", "--once").returncode == 0
    found = twins(scene.root)
    names = {(row["binary"], row["function"]) for row in found["published"]}
    assert names == {("sky", "func_80100000"), ("sky", "func_8010001C")}
    again = twins(scene.root)
    assert again["published"] == []
    assert again["in_flight"] == 2

    assert scene.gater("run", "--once").returncode == 0
    rows = [row for row in scene.standing().values() if row["wave"] == "t000001"]
    assert [(row["verdict"], row["backend"]) for row in rows] == [("BANKED", "twin")] * 2
    assert scene.red() == []
    assert twins(scene.root)["published"] == []


def asm(function: str, symbol: str, address: int, grow: int, callee: str = "counted") -> str:
    """As splat writes it, little-endian words."""
    names = (f"lui $v0, %hi({symbol})", f"lw $v0, %lo({symbol})($v0)", f"addiu $v1, $v1, {grow}", f"jal {callee}")
    words = [bytes.fromhex(word) for word in WORDS]
    words[2] = bytes.fromhex(f"2463{grow:04X}")
    lines = [
        f"    /* 0 {address + 4 * i:08X} {word[::-1].hex().upper()} */  {name}"
        for i, (word, name) in enumerate(zip(words, names, strict=True))
    ]
    return "\n".join([f"glabel {function}", *lines, f"endlabel {function}", ""])


def mixed(base: Path) -> tuple[Path, StateDir]:
    """One banked function, a twin of it in the other binary, a cousin, and one whose symbols do not pair."""
    root, state = make_project(base, tus=1, stubs=0)
    (root / "include").mkdir()
    (root / "include" / "game.h").write_text("struct Box;\nint counted(struct Box *box);\n")
    (root / "src/main/f0.c").write_text(EXEMPLAR)
    names = {"twin": ("g_Crate", 0x12), "cousin": ("g_Sack", 0x30)}
    (root / "src/ovl/f0.c").write_text(
        '#include "game.h"\n' + "".join(f'INCLUDE_ASM("asm/ovl/nonmatchings/f0", {name});\n' for name in names)
    )
    folder = root / "asm/main/nonmatchings/f0"
    folder.mkdir(parents=True)
    (folder / "box_grow.s").write_text(asm("box_grow", "g_Box", 0x80010000, 0x12))
    folder = root / "asm/ovl/nonmatchings/f0"
    folder.mkdir(parents=True)
    for number, (name, (symbol, grow)) in enumerate(names.items()):
        (folder / f"{name}.s").write_text(asm(name, symbol, 0x80200000 + 64 * number, grow))
    git(root, "add", "-A")
    git(root, "commit", "-qm", "a banked function")
    return root, state


def drafts(state: StateDir, number: int) -> dict[str, str]:
    spool = Spool(state)
    (claimed,) = spool.claim()
    assert claimed.marker.id == f"t{number:06d}"
    assert claimed.marker.priority == 3
    texts = {d.function: state.resolve(d.path).read_text() for d in claimed.marker.drafts}
    spool.settle(claimed)
    return texts


def test_names_declarations_and_constants_follow_the_target(tmp_path: Path) -> None:
    root, state = mixed(tmp_path)
    assert [row.get("kind", "twin") for row in twins(root)["published"]] == ["twin", "cousin"]
    texts = drafts(state, 1)
    assert texts["twin"] == (
        "struct Box { int size; };\nextern struct Box *g_Crate;\n\n"
        "int twin(void) {\n    g_Crate->size += 0x12; /* g_Box */\n    return counted(g_Crate);\n}\n"
    )
    assert "int cousin(void)" in texts["cousin"]
    assert "g_Sack->size += 0x30;" in texts["cousin"]


def test_a_settled_pair_is_tried_again_only_when_a_side_changed(tmp_path: Path) -> None:
    root, state = mixed(tmp_path)
    twins(root)
    drafts(state, 1)  # settled without a bank: refused
    again = twins(root)
    assert again["published"] == []
    assert again["tried"] == again["open"] == 2

    source = root / "src/main/f0.c"
    source.write_text(source.read_text().replace("g_Box->size += 0x12;", "g_Box->size = g_Box->size + 0x12;"))
    git(root, "commit", "-qam", "another body")
    assert len(twins(root)["published"]) == 2
    assert "g_Crate->size = g_Crate->size + 0x12;" in drafts(state, 2)["twin"]

    path = root / "asm/ovl/nonmatchings/f0/twin.s"
    path.write_text(path.read_text().replace("g_Crate", "g_Chest"))
    assert [row["function"] for row in twins(root)["published"]] == ["twin"]
    assert "g_Chest->size" in drafts(state, 3)["twin"]


def test_a_round_without_its_marker_is_published_at_the_next_start(tmp_path: Path) -> None:
    root, state = mixed(tmp_path)
    twins(root)
    for path in Spool(state).waiting():
        path.unlink()  # as a death between pairs.json and the marker leaves it
    assert twins(root)["in_flight"] == 2
    assert set(drafts(state, 1)) == {"twin", "cousin"}


def test_ambiguous_symbols_are_left_alone(tmp_path: Path) -> None:
    root, _ = mixed(tmp_path)
    path = root / "asm/ovl/nonmatchings/f0/twin.s"
    path.write_text(path.read_text().replace("%lo(g_Crate)", "%lo(g_Other)"))
    found = twins(root)
    assert [row["function"] for row in found["published"]] == ["cousin"]
    assert found["unpaired"] == 1
