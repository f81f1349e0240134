"""The base of a green build, on forged games."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import msgspec
import pytest

from shared.errors import InstrumentFault, MissingInput
from shared.target.base import load_base, read_base, save_base
from shared.target.objfile import load_object
from shared.target.units import object_tus
from shared.target.vlink import link
from tests.games import Game


def test_every_object_of_a_green_build_links_equal(small_game: Game, rom_game: Game) -> None:
    for game in (small_game, rom_game):
        for base in game.bases.values():
            checked = 0
            for unit in base.units:
                if unit.tu:
                    linked = link(base, unit, load_object(game.project / unit.object))
                    assert linked.equal, (unit.object, linked.problems)
                    checked += 1
            assert checked == len(base.tus)


def test_functions_lie_where_the_truth_says(small_game: Game, rom_game: Game) -> None:
    for game in (small_game, rom_game):
        for body in game.bodies:
            unit = game.bases[body.binary].tus[body.tu][0]
            function = unit.function(body.function)
            assert function is not None
            assert unit.address(function) == body.address
            assert function.size == 4 * body.instructions
            assert len(unit.target(function)) == function.size


def test_a_shared_unit_belongs_to_every_binary_that_compiles_it(small_game: Game) -> None:
    owners = [name for name, base in small_game.bases.items() if "src/shared/mover.c" in base.tus]
    assert owners == ["cave", "sky"]
    assert (
        small_game.bases["cave"].tus["src/shared/mover.c"][0].object
        != small_game.bases["sky"].tus["src/shared/mover.c"][0].object
    )


def test_stub_marks_are_not_names_and_script_symbols_are(small_game: Game) -> None:
    base = small_game.bases["cave"]
    assert not any(name.endswith(".NON_MATCHING") for name in base.symbols)
    assert base.symbols["bios_puts"] == 0x80000200
    assert "bios_puts" not in base.definers
    assert base.definers["cave_update"].endswith("cave.o")


def test_a_base_is_kept_and_loaded_fast(small_game: Game, tmp_path: Path) -> None:
    base = small_game.bases["main"]
    path = tmp_path / "main.base"
    save_base(base, path)
    load_base(path)
    started = time.perf_counter()
    loaded = load_base(path)
    assert time.perf_counter() - started < 0.05
    assert loaded == base
    assert loaded is not None
    assert loaded.digest == base.digest
    assert loaded.digest != msgspec.structs.replace(base, gp=1).digest


@pytest.mark.parametrize("content", [b"", b"\x92", b"not a base", msgspec.msgpack.encode((999, {}))])
def test_what_cannot_be_read_as_a_base_is_absent(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    assert load_base(tmp_path / "x") is None
    assert load_base(tmp_path / "none") is None


def test_what_the_build_did_not_leave_is_named(small_game: Game, tmp_path: Path) -> None:
    binary = small_game.campaign.binaries["main"]
    for name in (binary.map, binary.elf, "build/main/src/main/rng.o"):
        tree = small_game.copy(tmp_path / name.replace("/", "_"))
        (tree / name).unlink()
        with pytest.raises(MissingInput, match=f"MISSING .*{Path(name).name}"):
            read_base(tree, "main", binary)


def test_a_stripped_image_is_a_fault(small_game: Game, tmp_path: Path) -> None:
    tree = small_game.copy(tmp_path / "tree")
    binary = small_game.campaign.binaries["main"]
    subprocess.run(["mipsel-linux-gnu-strip", tree / binary.elf], check=True)
    with pytest.raises(InstrumentFault, match="symbol table"):
        read_base(tree, "main", binary)


def test_objects_are_matched_to_sources_by_path(tmp_path: Path) -> None:
    for name in ("src/main/a.c", "src/ovl/a.c", "src/ovl/b.c", "lib/deep/c.c"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    objects = [
        "build/us/src/main/a.c.o",
        "build/src/ovl/a.o",
        "build/ovl/b.o",
        "build/obj/c.o",
        "build/asm/ovl/data/b.data.s.o",
        "build/assets/a.bin",
        "lib/libc.a(a.o)",
    ]
    assert object_tus(tmp_path, objects, ["src", "lib/deep/c.c"]) == {
        "build/us/src/main/a.c.o": "src/main/a.c",
        "build/src/ovl/a.o": "src/ovl/a.c",
        "build/ovl/b.o": "src/ovl/b.c",
        "build/obj/c.o": "lib/deep/c.c",
    }
