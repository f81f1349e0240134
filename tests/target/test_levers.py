"""Levers and shape hashes of a function's words."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.frontier.features import features_of
from shared.frontier.knowledge import FOLDER, section
from shared.frontier.levers import LEVERS, UNKNOWN, epilogue, levers_of
from shared.target.asmfile import AsmFunction

NOP, RETURN = 0, 0x03E00008
CASES = {
    "jtbl": [0x00400008, NOP],
    "loop": [0x1440FFFD, NOP],
    "call-heavy": [0x0C004000, NOP] * 6,
    "extend-tell": [0x00041400, 0x00021403],
    "swaprepeat-tell": [0x0085102A, 0x10400002, NOP, 0x00801025] * 2,
    "s16-div-tell": [0x3C026666, 0x34426667, 0x00820018, 0x00001810],
    "float": [0x46000000],
    "o0": [0x27BDFFF8, 0xAFBE0004, 0x03A0F021, *[0xAFC40008, 0x8FC20008, 0x24420001] * 3],
}


def function(words: list[int], operands: dict[int, str] | None = None) -> AsmFunction:
    named = tuple((operands or {}).get(index, "") for index in range(len(words)))
    return AsmFunction("f", 0x80010000, 4 * len(words), tuple(words), named)


@pytest.mark.parametrize("lever", CASES)
def test_each_idiom_is_told_from_plain_code(lever: str) -> None:
    plain = [0x8C820000, 0x00451021] * 8
    words = [*CASES[lever], *plain, RETURN, NOP]
    assert lever in levers_of(words, [""] * len(words), ())
    assert lever not in levers_of([*plain, RETURN, NOP], [""] * (len(plain) + 2), ())


def test_a_function_has_always_a_lever() -> None:
    plain = [0x8C820000, 0x00451021] * 8
    assert levers_of(plain, [""] * 16, ()) == (UNKNOWN,)
    assert levers_of(plain, [""] * 16, ("D_1",)) == ("rodata",)
    assert levers_of([RETURN, NOP], ["", ""], ()) == ("tiny",)


def test_a_skeleton_group_is_wider_than_exact_twins() -> None:
    one = features_of(function([0x3C028001, 0x8C421234, 0x24420001], {0: "a", 1: "a"}), ())
    moved = features_of(function([0x3C028002, 0x8C425678, 0x24420001], {0: "b", 1: "b"}), ())
    other = features_of(function([0x3C028002, 0x8C425678, 0x24420002], {0: "b", 1: "b"}), ())
    crossed = features_of(function([0x3C028002, 0x8C425678, 0x24420001], {0: "b", 1: "c"}), ())
    assert one.twin == moved.twin
    assert len({one.twin, other.twin, crossed.twin}) == 3
    assert len({one.gid, moved.gid, other.gid, crossed.gid}) == 1
    assert features_of(function([0x3C038001, 0x8C421234, 0x24420001]), ()).gid != one.gid


def test_a_jump_table_outside_its_file_needs_a_carve() -> None:
    words, operands = [0x3C028001, 0x8C421234, 0x00400008], {0: "jtbl_80011234", 1: "jtbl_80011234"}
    assert features_of(function(words, operands), ()).carve == "jtbl_80011234"
    assert features_of(function(words, operands), ("jtbl_80011234",)).carve == ""


def test_where_the_frame_is_released() -> None:
    assert epilogue([NOP, RETURN, 0x27BD0018]) == "slot"
    assert epilogue([0x27BD0018, RETURN, NOP]) == "before"
    assert epilogue([RETURN, NOP]) == ""


def test_every_lever_has_its_page_and_the_project_overrides_it(tmp_path: Path) -> None:
    for lever in LEVERS:
        assert (FOLDER / f"{lever}.md").read_text().startswith(f"# {lever}: ")
        assert bool(section(lever, tmp_path)) == (lever != UNKNOWN)
    (tmp_path / "levers").mkdir()
    (tmp_path / "levers" / "jtbl.md").write_text("ours\n")
    assert section("jtbl", tmp_path) == "ours"
    assert section("../jtbl", tmp_path) == ""
