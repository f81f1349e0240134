"""The verdict cache: every input of a verdict is in its key, and nothing that is not."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from shared import durable
from shared.config import Campaign
from shared.errors import DiskFull
from shared.oracle import key as key_module
from shared.oracle.cache import VerdictCache
from shared.oracle.judge import Judge
from shared.records import Judgement, Verdict
from shared.target.base import Base, Part, Unit
from shared.target.splice import Spliced
from tests.games import Game
from tests.oracle.test_judge import with_filter

RNG = "src/main/rng.c"


def key_of(game: Game, tree: Path, base: Base, campaign: Campaign | None = None, text: bytes | None = None) -> str:
    """The key under which a right draft is judged."""
    with Judge(tree, campaign or game.campaign, base) as judge:
        judgement = judge.judge(RNG, "clamp", text or game.body("main", "clamp").text)
    assert judgement.key, judgement
    return judgement.key


def swap(base: Base, tu: str, change: Callable[[Unit], Unit]) -> Base:
    return msgspec.structs.replace(base, units=tuple(change(u) if u.tu == tu else u for u in base.units))


def test_the_key_does_not_depend_on_where_the_tree_lies(small_game: Game, tmp_path: Path) -> None:
    base = small_game.bases["main"]
    other = small_game.copy(tmp_path / "elsewhere")
    assert key_of(small_game, small_game.project, base) == key_of(small_game, other, base)


FILES: dict[str, Callable[[Path], object]] = {
    "header": lambda tree: append(tree / "include/common.h", "\n/* x */\n"),
    "new header that could shadow another": lambda tree: (tree / "include/limits.h").write_text("\n"),
    "header beside the source": lambda tree: (tree / "src/main/local.h").write_text("\n"),
    "assembler macros": lambda tree: append(tree / "include/macro.inc", "\n# x\n"),
    "assembly of another stub": lambda tree: append(
        next((tree / "asm/main/nonmatchings/main/rng").glob("*.s")), "\n# x\n"
    ),
    "unit": lambda tree: append(tree / RNG, "\n/* x */\n"),
    "flags": lambda tree: (tree / "Makefile").write_text((tree / "Makefile").read_text().replace("-fno-ident", "")),
    "compiler": lambda tree: wrap_compiler(tree),
}


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text() + text)


def wrap_compiler(tree: Path) -> None:
    (tree / "cc.sh").write_text('#!/bin/sh\nexec mipsel-linux-gnu-gcc "$@"\n')
    (tree / "cc.sh").chmod(0o755)
    (tree / "Makefile").write_text((tree / "Makefile").read_text().replace("$$(CC)", "./cc.sh"))


@pytest.mark.parametrize("change", FILES.values(), ids=FILES)
def test_every_file_that_decides_is_in_the_key(
    small_game: Game, tmp_path: Path, change: Callable[[Path], object]
) -> None:
    base = small_game.bases["main"]
    tree = small_game.copy(tmp_path / "tree")
    before = key_of(small_game, tree, base)
    change(tree)
    assert key_of(small_game, tree, base) != before


def test_a_program_that_changed_is_another_program(small_game: Game, tmp_path: Path) -> None:
    base = small_game.bases["main"]
    tree = small_game.copy(tmp_path / "tree")
    wrap_compiler(tree)
    before = key_of(small_game, tree, base)
    (tree / "cc.sh").write_text('#!/bin/sh\n# a new release\nexec mipsel-linux-gnu-gcc "$@"\n')
    assert key_of(small_game, tree, base) != before


def change_part(unit: Unit, **fields: object) -> Unit:
    parts = [p if p.name != ".text" else msgspec.structs.replace(p, **fields) for p in unit.parts]
    return msgspec.structs.replace(unit, parts=tuple(parts))


def test_addresses_bytes_and_names_are_in_the_key(small_game: Game) -> None:
    base = small_game.bases["main"]
    with Judge(small_game.project, small_game.campaign, base) as judge:
        part = judge.context(RNG).parts[0]
        plain = Spliced(judge.context(RNG).source, ())

        def with_base(changed: Base) -> str:
            judge.base = changed
            unit = changed.tus[RNG][0]
            return judge.key(dataclasses.replace(part, unit=unit), plain)

        text = part.unit.part(".text")
        assert isinstance(text, Part)
        flipped = bytes([text.data[0] ^ 1]) + text.data[1:]
        keys = [
            with_base(base),
            with_base(msgspec.structs.replace(base, symbols={**base.symbols, "clamp": 0x80010000})),
            with_base(msgspec.structs.replace(base, symbols={**base.symbols, "brand_new": 0x80010000})),
            with_base(msgspec.structs.replace(base, gp=0x80020000)),
            with_base(swap(base, RNG, lambda u: change_part(u, address=text.address + 4))),
            with_base(swap(base, RNG, lambda u: change_part(u, data=flipped))),
            with_base(
                swap(base, "src/main/text.c", lambda u: msgspec.structs.replace(u, needed=(*u.needed, "rng_next")))
            ),
        ]
        assert len(set(keys)) == len(keys)


def test_text_limits_flags_and_the_judge_itself_are_in_the_key(
    small_game: Game, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, tree = small_game.bases["main"], small_game.project
    text = small_game.body("main", "clamp").text
    keys = [
        key_of(small_game, tree, base),
        key_of(small_game, tree, base, text=text + b"/* x */\n"),
        key_of(small_game, tree, base, with_filter(small_game, draft_max_kib=17)),
        key_of(small_game, tree, base, with_filter(small_game, compile_timeout_s=19.0)),
        key_of(small_game, tree, base, with_filter(small_game, flags=["-Werror=return-type"])),
    ]
    monkeypatch.setattr(key_module, "JUDGE_VERSION", "another")
    keys.append(key_of(small_game, tree, base))
    assert len(set(keys)) == len(keys)


def test_a_bank_in_another_unit_that_renames_nothing_keeps_the_key(small_game: Game, tmp_path: Path) -> None:
    base = small_game.bases["main"]
    tree = small_game.copy(tmp_path / "tree")
    before = key_of(small_game, tree, base)
    source = tree / "src/main/ent.c"
    source.write_text(source.read_text() + "\n/* a bank */\n")
    assert key_of(small_game, tree, base) == before


def test_another_judge_of_the_same_base_hits(small_game: Game, tmp_path: Path) -> None:
    """What an agent's oracle judged is a hit for the gater: two judges, one folder."""
    base = small_game.bases["main"]
    body = small_game.body("main", "clamp").text
    with Judge(small_game.project, small_game.campaign, base, cache=VerdictCache(tmp_path)) as agent:
        fresh = agent.judge(RNG, "clamp", body)
    with Judge(small_game.project, small_game.campaign, base, cache=VerdictCache(tmp_path)) as gater:
        again = gater.judge(RNG, "clamp", body)
        assert (gater.compiles, gater.cache.hits if gater.cache else 0) == (0, 1)
    assert again.cached
    assert not fresh.cached
    assert msgspec.structs.replace(again, cached=False) == fresh


def test_faults_are_never_kept_and_a_damaged_entry_is_a_miss(tmp_path: Path) -> None:
    cache = VerdictCache(tmp_path)
    cache.put("ab" * 32, Judgement(Verdict.FAULT, "killed"))
    assert cache.get("ab" * 32) is None
    cache.put("cd" * 32, Judgement(Verdict.AGREE, "equal"))
    path = next(p for p in tmp_path.rglob("*.json"))
    path.write_bytes(path.read_bytes()[:10])
    assert cache.get("cd" * 32) is None
    assert (cache.hits, cache.misses) == (0, 2)


def test_a_full_disk_costs_the_entry_not_the_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise DiskFull("no space left")

    monkeypatch.setattr(durable, "write", full)
    cache = VerdictCache(tmp_path)
    cache.put("ef" * 32, Judgement(Verdict.AGREE, "equal"))
    assert cache.get("ef" * 32) is None
