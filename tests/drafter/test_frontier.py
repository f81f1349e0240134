"""Open stubs of a real repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from drafter.frontier import DUPLICATE, NO_ASM, FrontierReader
from shared.config import load_campaign
from shared.errors import RepositoryError
from tests.drafter.project import bank, git, make_project


def reader(root: Path) -> FrontierReader:
    return FrontierReader(load_campaign(root / "campaign.toml"))


def test_every_stub_is_a_card_with_its_features(tmp_path: Path) -> None:
    root, _ = make_project(tmp_path, tus=2, stubs=3)
    source = reader(root)
    frontier = source.read(source.head())
    assert frontier.total == len(frontier.cards) == 12
    card = next(card for card in frontier.cards if card.function == "ovl_1_2")
    assert (card.binary, card.tu, card.asm) == ("ovl", "src/ovl/f1.c", "asm/ovl/nonmatchings/f1/ovl_1_2.s")
    assert (card.address, card.instructions) == (0x80111080, 6)


def test_the_landing_branch_is_the_truth_once_it_is_there(tmp_path: Path) -> None:
    root, _ = make_project(tmp_path, tus=1, stubs=3)
    source = reader(root)
    before = source.read(source.head())
    (root / "src/main/f0.c").write_text("int dirty; /* not committed: changes nothing */\n")
    assert source.read(source.head()) == before
    git(root, "checkout", "-q", "--", "src")
    git(root, "checkout", "-qb", "campaign")
    commit = bank(root, "main", 0, "main_0_1")
    git(root, "checkout", "-q", "main")
    assert source.head() == commit
    after = source.read(commit)
    assert {card.key for card in before.cards} - {card.key for card in after.cards} == {("main", "main_0_1")}


def test_what_cannot_be_drafted_is_refused_with_a_reason(tmp_path: Path) -> None:
    root, _ = make_project(tmp_path, tus=2, stubs=3)
    path = root / "src/main/f0.c"
    path.write_text(path.read_text() + 'INCLUDE_ASM("asm/main/nonmatchings/f1", main_1_0);\n')
    git(root, "commit", "-qam", "the same name twice")
    (root / "asm/ovl/nonmatchings/f0/ovl_0_0.s").unlink()
    (root / "asm/ovl/nonmatchings/f0/ovl_0_1.s").write_text("")
    source = reader(root)
    frontier = source.read(source.head())
    refused = {(stub.function, stub.reason): stub.detail for stub in frontier.refused}
    assert refused[("main_1_0", DUPLICATE)] == "src/main/f0.c:6 and src/main/f1.c:3"
    assert "ovl_0_0.s" in refused[("ovl_0_0", NO_ASM)]
    assert ("ovl_0_1", NO_ASM) in refused
    assert len(frontier.refused) == 4
    assert frontier.total == 13
    assert not {stub.function for stub in frontier.refused} & {card.function for card in frontier.cards}


def test_a_file_of_two_binaries_gives_one_card_of_the_first(tmp_path: Path) -> None:
    root, _ = make_project(tmp_path, tus=1, stubs=2)
    text = (root / "campaign.toml").read_text()
    (root / "campaign.toml").write_text(text.replace('sources = ["src/ovl"]', 'sources = ["src/ovl", "src/main/f0.c"]'))
    source = reader(root)
    frontier = source.read(source.head())
    assert sorted(card.key for card in frontier.cards) == [
        ("main", "main_0_0"),
        ("main", "main_0_1"),
        ("ovl", "ovl_0_0"),
        ("ovl", "ovl_0_1"),
    ]


def test_no_branch_to_draw_from(tmp_path: Path) -> None:
    root, _ = make_project(tmp_path, tus=1, stubs=1)
    git(root, "branch", "-m", "elsewhere")
    with pytest.raises(RepositoryError, match="follow"):
        reader(root).head()
