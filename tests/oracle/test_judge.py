"""Verdicts and evidence on the small forged game, with the real toolchain."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from shared.config import Campaign
from shared.oracle.explain import explain
from shared.oracle.judge import Judge, judge_for_binaries
from shared.records import Judgement, Verdict
from shared.target.base import Unit, read_base
from shared.target.build import build_binary
from shared.target.objfile import load_object
from shared.target.vlink import link
from tests.games import Game

TEXT, ENT, RNG = "src/main/text.c", "src/main/ent.c", "src/main/rng.c"


@pytest.fixture(scope="module")
def main(small_game: Game) -> Iterator[Judge]:
    with Judge(small_game.project, small_game.campaign, small_game.bases["main"]) as judge:
        yield judge


def change(game: Game, function: str, old: str, new: str, binary: str = "main") -> bytes:
    """A right body with one change."""
    text = game.body(binary, function).text.decode()
    assert old in text
    return text.replace(old, new).encode()


def seen(judgement: Judgement) -> str:
    """All evidence as one text."""
    return " / ".join(f"{e.kind} {e.where} {e.word} {e.mine} {e.target} {e.note}" for e in judgement.evidence)


def named(game: Game, function_text: str) -> str:
    """The project's name of the function whose right body holds a text."""
    return next(b.function for b in game.bodies if b.binary == "main" and function_text in b.text.decode())


def test_every_right_body_agrees_alone_but_the_group(small_game: Game) -> None:
    for (binary, tu), bodies in small_game.units().items():
        with Judge(small_game.project, small_game.campaign, small_game.bases[binary]) as judge:
            for function, judgement in judge.judge_tu(tu, bodies).items():
                body = small_game.body(binary, function)
                if body.group is None:
                    assert judgement.passed, (binary, function, judgement)
                    assert (judgement.closeness, judgement.words) == (0, body.instructions)


def test_every_right_body_agrees_on_a_big_endian_image(rom_game: Game) -> None:
    with Judge(rom_game.project, rom_game.campaign, rom_game.bases["rom"]) as judge:
        assert judge.base.byte_order == "big"
        for (_, tu), bodies in rom_game.units().items():
            for function, judgement in judge.judge_tu(tu, bodies).items():
                assert judgement.passed or rom_game.body("rom", function).group, (function, judgement)


def test_a_wrong_callee_is_named_with_the_right_one(small_game: Game, main: Judge) -> None:
    judgement = main.judge(TEXT, "put_str", change(small_game, "put_str", "put_ch(", "clamp("))
    assert judgement.verdict is not Verdict.AGREE
    text_ok = named(small_game, 'bios_puts("done")')
    judgement = main.judge(TEXT, text_ok, change(small_game, text_ok, "bios_puts(", "put_str("))
    assert (judgement.verdict, judgement.closeness) == (Verdict.MISMATCH, 0)
    relocation = next(e for e in judgement.evidence if e.kind == "relocation")
    assert (relocation.mine, relocation.target) == ("put_str", "bios_puts")
    assert relocation.word is not None
    assert "put_str" in judgement.reason
    assert "bios_puts" in judgement.reason


def test_a_wrong_global_is_named_with_the_right_one(small_game: Game, main: Judge) -> None:
    judgement = main.judge(RNG, "rng_next", change(small_game, "rng_next", "g_seed", "(*(u32 *)&g_score)"))
    assert (judgement.verdict, judgement.closeness) == (Verdict.MISMATCH, 0)
    assert "relocation rng_next" in seen(judgement)
    assert "g_score" in judgement.reason
    assert "g_seed" in judgement.reason


def test_a_wrong_constant_changes_the_shape(small_game: Game, main: Judge) -> None:
    judgement = main.judge(RNG, "rng_next", change(small_game, "rng_next", "12345", "12346"))
    assert (judgement.verdict, judgement.closeness) == (Verdict.SHAPE, 1)
    assert judgement.evidence[0].kind == "word"


def test_a_wrong_string_shows_both(small_game: Game, main: Judge) -> None:
    text_ok = named(small_game, 'bios_puts("done")')
    same_size = main.judge(TEXT, text_ok, change(small_game, text_ok, '"done"', '"dome"'))
    assert same_size.verdict is Verdict.SHAPE
    assert '"dome"' in seen(same_size)
    assert '"done"' in seen(same_size)
    longer = main.judge(TEXT, text_ok, change(small_game, text_ok, '"done"', '"done with all of it for today"'))
    assert longer.verdict is Verdict.SHAPE
    assert ".rodata" in longer.reason


def test_a_wrong_jump_table_entry_is_a_wrong_symbol(small_game: Game, main: Judge) -> None:
    command = named(small_game, "switch")
    judgement = main.judge(TEXT, command, change(small_game, command, "case 4:", "case 3:"))
    assert (judgement.verdict, judgement.closeness) == (Verdict.MISMATCH, 0)
    assert "relocation .rodata" in seen(judgement)


def test_literals_owned_by_another_function_must_not_be_written_again(small_game: Game, main: Judge) -> None:
    text_ok = named(small_game, 'bios_puts("done")')
    body = small_game.body("main", text_ok).text.decode()
    shared = re.search(r"extern char (D_\w+)\[\];\n", body)
    assert shared is not None
    judgement = main.judge(TEXT, text_ok, body.replace(shared[0], "").replace(shared[1], '"ok\\n"').encode())
    assert not judgement.passed


def test_own_data_is_refused_referenced_or_not(small_game: Game, main: Judge) -> None:
    body = small_game.body("main", "clamp").text.decode()
    for text in (
        "static s32 own = 5;\n" + body.replace("{", "{ own++;", 1),
        "s32 own = 5;\n" + body,
        "s32 own;\n" + body,
    ):
        judgement = main.judge(RNG, "clamp", text.encode())
        assert judgement.verdict is Verdict.SHAPE, judgement
        assert re.search(r"\.(data|bss)", seen(judgement))


def test_another_size_is_a_shape(small_game: Game, main: Judge) -> None:
    judgement = main.judge(RNG, "clamp", change(small_game, "clamp", "{\n", "{\n *(volatile s32 *)0x1F800000 = 1;\n"))
    assert judgement.verdict is Verdict.SHAPE
    assert judgement.words == small_game.body("main", "clamp").instructions
    assert 0 < (judgement.closeness or 0) < judgement.words


def test_an_alias_the_link_does_not_know_is_unresolved_with_the_name_it_has(small_game: Game, main: Judge) -> None:
    address = main.base.symbols["put_ch"]
    alias = f"func_{address:08X}"
    text = f"void {alias}(u8 c);\n" + small_game.body("main", "put_str").text.decode().replace("put_ch", alias)
    judgement = main.judge(TEXT, "put_str", text.encode())
    assert (judgement.verdict, judgement.closeness) == (Verdict.UNRESOLVED, 0)
    symbol = next(e for e in judgement.evidence if e.kind == "symbol")
    assert (symbol.mine, symbol.target) == (alias, "put_ch")


def test_a_name_that_went_with_its_stub_is_not_usable(small_game: Game, main: Judge) -> None:
    """The stub's own `.s` defines its strings; a draft that names them takes away what it names."""
    text_ok = named(small_game, 'bios_puts("done")')
    base = main.base
    unit = base.tus[TEXT][0]
    done = next(n for n, a in unit.defined.items() if n.startswith("D_") and _holds(unit, a, b"done\0"))
    judgement = main.judge(
        TEXT, text_ok, (f"extern char {done}[];\n" + change(small_game, text_ok, '"done"', done).decode()).encode()
    )
    assert not judgement.passed
    assert done in seen(judgement)


def _holds(unit: Unit, address: int, data: bytes) -> bool:
    parts = [p for p in unit.parts if p.address <= address < p.address + p.size]
    return bool(parts) and parts[0].data[address - parts[0].address :].startswith(data)


def test_a_draft_that_takes_away_what_another_stub_needs_orphans_it(small_game: Game, tmp_path: Path) -> None:
    """The string two functions share is moved into the first one's `.s`, where it goes when that becomes C."""
    tree = small_game.copy(tmp_path / "tree")
    owner = named(small_game, 'bios_puts("done")')
    shared = re.search(r"extern char (D_\w+)\[\];\n", small_game.body("main", owner).text.decode())
    assert shared is not None
    folder = tree / "asm/main/nonmatchings/main/text"
    data, code = folder / f"{shared[1]}.s", folder / f"{owner}.s"
    code.write_text(f".section .rodata\n{data.read_text()}\n.section .text\n{code.read_text()}")
    source = tree / TEXT
    source.write_text(re.sub(rf"INCLUDE_RODATA\([^)]*{shared[1]}\);\n", "", source.read_text()))
    built = build_binary(tree, "main", small_game.campaign.binaries["main"], small_game.campaign.gate)
    assert built.state == "green", built.log
    base = read_base(tree, "main", small_game.campaign.binaries["main"])
    text = small_game.body("main", owner).text.decode().replace(shared[0], "").replace(shared[1], '"ok\\n"')
    with Judge(tree, small_game.campaign, base) as judge:
        judgement = judge.judge(TEXT, owner, text.encode())
    assert (judgement.verdict, judgement.closeness) == (Verdict.ORPHANS_SYMBOL, 0), judgement
    assert shared[1] in judgement.reason


def test_names_others_need_or_define_are_checked_across_the_binary(small_game: Game) -> None:
    """The same object in a link where another object needs what it lost, or defines what it brings."""
    base = small_game.bases["main"]
    unit = base.tus[RNG][0]
    found = load_object(small_game.project / unit.object)
    assert link(base, unit, found).equal
    user = msgspec.structs.replace(unit, object="build/other.o", tu="", defined={}, needed=("lost",))
    old = msgspec.structs.replace(unit, defined={**unit.defined, "lost": 0x80010000})
    units = (*(u if u is not unit else old for u in base.units), user)
    orphaned = link(msgspec.structs.replace(base, units=units), old, found)
    assert [(p.kind, p.symbol) for p in orphaned.problems] == [("orphan", "lost")]
    assert "build/other.o needs it" in orphaned.problems[0].note
    twice = msgspec.structs.replace(user, defined={"clamp": base.symbols["clamp"]}, needed=())
    doubled = link(msgspec.structs.replace(base, units=(*base.units, twice)), unit, found)
    assert [(p.kind, p.symbol) for p in doubled.problems] == [("doubled", "clamp")]
    assert explain(base, doubled, "clamp", lambda _: None, lambda _: None).verdict is Verdict.ORPHANS_SYMBOL


def test_first_errors_carry_the_drafts_own_line(small_game: Game, main: Judge) -> None:
    text = b"/* one */\n\ns32 clamp(s32 value, s32 low, s32 high) {\n    return vale;\n}\n"
    judgement = main.judge(RNG, "clamp", text)
    assert judgement.verdict is Verdict.COMPILE_FAIL
    assert judgement.evidence[0].where == "clamp.c:4"
    assert "vale" in judgement.reason
    judgement = main.judge(RNG, "clamp", b"s32 clamp(s32 value, s32 low, s32 high) {\n    return unheard(value);\n}\n")
    assert judgement.verdict is Verdict.COMPILE_FAIL
    assert judgement.evidence[0].where == "clamp.c:2"


def test_a_clash_with_the_unit_names_both_sides(main: Judge) -> None:
    text = b"extern u8 g_score;\ns32 clamp(s32 value, s32 low, s32 high) {\n    return value;\n}\n"
    judgement = main.judge(RNG, "clamp", text)
    assert judgement.verdict is Verdict.TU_CONFLICT
    assert "g_score" in judgement.reason
    assert "clamp.c:1" in judgement.reason
    assert "common.h" in judgement.reason


def test_what_is_not_open_is_not_a_stub(main: Judge) -> None:
    assert main.judge(RNG, "nobody", b"void nobody(void) {}\n").verdict is Verdict.NOT_A_STUB


def test_a_broken_rule_is_refused_with_its_line(main: Judge) -> None:
    judgement = main.judge(RNG, "clamp", b"\n#pragma GCC optimize 3\ns32 clamp(s32 a, s32 b, s32 c) { return a; }\n")
    assert judgement.verdict is Verdict.REFUSED
    assert judgement.evidence[0].where == "clamp.c:2"


def test_a_crash_or_hang_of_one_draft_is_its_fault_alone(small_game: Game, tmp_path: Path) -> None:
    tree = small_game.copy(tmp_path / "tree")
    wrapper = tree / "cc.sh"
    wrapper.write_text(
        "#!/bin/sh\nfor a; do case $a in *.c) s=$a;; esac; done\n"
        'if grep -q HANG "$s"; then sleep 60; fi\n'
        "if grep -q CRASH \"$s\"; then (ulimit -c 0; sh -c 'kill -SEGV $$'); exit $?; fi\n"
        'exec mipsel-linux-gnu-gcc "$@"\n'
    )
    wrapper.chmod(0o755)
    makefile = tree / "Makefile"
    makefile.write_text(re.sub(r"^CC .*$", "CC := ./cc.sh", makefile.read_text(), flags=re.MULTILINE))
    campaign = with_filter(small_game, compile_timeout_s=1.5)
    body = small_game.body("main", "clamp").text
    with Judge(tree, campaign, small_game.bases["main"]) as judge:
        assert judge.judge(RNG, "clamp", b"/* HANG */\n" + body).verdict is Verdict.FAULT
        assert judge.judge(RNG, "clamp", b"/* CRASH */\n" + body).verdict is Verdict.FAULT
        assert judge.judge(RNG, "clamp", body).verdict is Verdict.AGREE


def with_filter(game: Game, **fields: object) -> Campaign:
    """The campaign with other filter settings."""
    return dataclasses.replace(game.campaign, filter=msgspec.structs.replace(game.campaign.filter, **fields))


def test_a_recipe_that_does_not_give_the_base_is_a_fault_not_a_verdict(small_game: Game, tmp_path: Path) -> None:
    tree = small_game.copy(tmp_path / "tree")
    makefile = tree / "Makefile"
    makefile.write_text(makefile.read_text().replace(" -O2 ", " -O1 "))
    header = tree / "include/common.h"
    header.write_text(header.read_text() + "\nstatic const s32 stray[4] __attribute__((used)) = {1};\n")
    with Judge(tree, small_game.campaign, small_game.bases["main"]) as judge:
        judgement = judge.judge(RNG, "clamp", small_game.body("main", "clamp").text)
    assert judgement.verdict is Verdict.FAULT
    assert "RECIPE-MISMATCH" in judgement.reason


def test_a_shared_unit_must_agree_in_every_binary(small_game: Game) -> None:
    tu = "src/shared/mover.c"
    judges = {n: Judge(small_game.project, small_game.campaign, small_game.bases[n]) for n in ("cave", "sky")}
    try:
        body = small_game.body("cave", "mover_log").text
        assert judge_for_binaries(judges, tu, "mover_log", body).passed
        wrong = judge_for_binaries(judges, tu, "mover_log", body.replace(b"n > 3", b"n > 4"))
        assert wrong.verdict is Verdict.SHAPE
        assert wrong.reason.startswith("in cave: ")
    finally:
        for judge in judges.values():
            judge.close()


def test_nothing_is_written_to_the_tree_and_scratch_is_cleared(small_game: Game, scratch: Path) -> None:
    def state() -> dict[str, tuple[int, int]]:
        return {
            str(p.relative_to(small_game.project)): (p.lstat().st_mtime_ns, p.lstat().st_size)
            for p in small_game.project.rglob("*")
        }

    before = state()
    with Judge(small_game.project, small_game.campaign, small_game.bases["main"]) as judge:
        judge.judge(RNG, "clamp", small_game.body("main", "clamp").text)
        judge.judge(RNG, "clamp", b"s32 clamp(s32 a, s32 b, s32 c) { return a + b; }\n")
        assert any(scratch.iterdir())
    assert state() == before
    assert list(scratch.iterdir()) == []


def test_the_listing_shows_both_sides_and_the_literal(small_game: Game, main: Judge) -> None:
    text_ok = named(small_game, 'bios_puts("done")')
    look = main.look(TEXT, text_ok, change(small_game, text_ok, "bios_puts(", "put_str("))
    assert look.judgement.verdict is Verdict.MISMATCH
    wrong = [line for line in look.listing.splitlines() if line.startswith("s ")]
    assert len(wrong) == 1
    assert re.search(r"jal put_str +\| +\d+ jal bios_puts", wrong[0])
    assert "%lo(.rodata" in look.listing
    assert '"done"' in look.listing
    shape = main.look(RNG, "clamp", b"s32 clamp(s32 a, s32 b, s32 c) { return a; }\n")
    assert any(line.startswith("- ") for line in shape.listing.splitlines())
    assert main.look(RNG, "clamp", small_game.body("main", "clamp").text).listing == ""
    huge = "s32 clamp(s32 a, s32 b, s32 c) {\n" + "a += b ^ c; b += a * c;\n" * 2000 + "return a;\n}\n"
    assert len(main.look(RNG, "clamp", huge.encode()).listing) < 64_000
