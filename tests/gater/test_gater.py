"""The gater command on a real project: what lands, what is refused and why, and that the sums are right."""

from __future__ import annotations

from collections.abc import Callable

from tests.gater.conftest import Yard


def test_every_right_body_banks_one_commit_a_binary(yard: Callable[..., Yard]) -> None:
    scene = yard()
    scene.publish_truth()
    done = scene.gater("run", "--once")
    assert done.returncode == 0, done.stderr
    assert scene.left() == set()
    assert set(scene.verdicts()) == {"BANKED"}
    assert len(scene.ledger("batch")) <= 4
    scene.check()


def test_a_batch_binary_waits_and_is_banked_when_nothing_else_is_queued(yard: Callable[..., Yard]) -> None:
    scene = yard(batch=True)
    scene.publish_truth()
    done = scene.gater("run", "--once")
    assert done.returncode == 0, done.stderr
    assert scene.left() == set()
    assert any(row["waiting"].get("batch") for row in scene.ledger("marker"))
    assert not list(scene.state.waiting.glob("*/*.json"))
    scene.check()


def test_each_kind_of_wrong_draft_gets_its_reason_and_the_right_ones_bank(yard: Callable[..., Yard]) -> None:
    scene = yard()
    right = [t for t in scene.truth if t.group is None and t.binary == "main"]
    good, wrong_shape, broken, own_stub, foreign, unknown = right[:6]
    scene.publish(
        [
            (good.binary, good.function, good.text),
            (wrong_shape.binary, wrong_shape.function, wrong_shape.text.replace(b"{", b"{ volatile int x = 1;", 1)),
            (broken.binary, broken.function, broken.text.replace(b"{", b"{ this does not compile;", 1)),
            (own_stub.binary, own_stub.function, b'INCLUDE_ASM("asm", %s);\n' % own_stub.function.encode()),
            ("nowhere", foreign.function, foreign.text),
            (unknown.binary, "func_00000000", unknown.text),
        ]
    )
    done = scene.gater("run", "--once")
    assert done.returncode == 0, done.stderr
    verdicts = {row["id"]: row["verdict"] for row in scene.standing().values()}
    assert verdicts == {
        "w000001-1": "BANKED",
        "w000001-2": "MISMATCH?",
        "w000001-3": "COMPILE-FAIL",
        "w000001-4": "REFUSED",
        "w000001-5": "REFUSED",
        "w000001-6": "NOT-A-STUB",
    }
    assert all(row["reason"] and row["oracle"] for row in scene.standing().values())
    scene.check()


def test_a_second_delivery_of_the_same_drafts_lands_nothing(yard: Callable[..., Yard]) -> None:
    scene = yard()
    scene.publish_truth()
    assert scene.gater("run", "--once").returncode == 0
    head = scene.git("rev-parse", "campaign")
    scene.publish_truth()
    assert scene.gater("run", "--once").returncode == 0
    assert scene.git("rev-parse", "campaign") == head
    assert set(scene.verdicts()) == {"BANKED", "ALREADY"}
    scene.check()


def test_a_red_base_blames_nobody_and_is_judged_when_it_is_green_again(yard: Callable[..., Yard]) -> None:
    scene = yard()
    header = scene.root / "include" / "common.h"
    sums = scene.root / "config" / "checksums.sha1"
    good = sums.read_text()
    sums.write_text("\n".join("0" * 40 + line[40:] if "main" in line else line for line in good.splitlines()) + "\n")
    scene.git("commit", "--quiet", "-am", "wrong sum")
    assert header.exists()
    scene.publish_truth()
    done = scene.gater("run", "--once")
    assert done.returncode == 0, done.stderr
    waiting = [row for row in scene.standing().values() if row["verdict"] == "WAITING"]
    assert waiting
    assert {row["binary"] for row in waiting} == {"main"}
    assert all(row["verdict"] in ("WAITING", "BANKED") for row in scene.standing().values())
    assert scene.red()
    sums.write_text(good)
    scene.git("commit", "--quiet", "-am", "right sum")
    done = scene.gater("run", "--once")
    assert done.returncode == 0, done.stderr
    assert scene.left() == set()
    scene.start = scene.git("rev-list", "--max-parents=0", "main")
    scene.check()


def test_a_persons_dirty_staged_and_untracked_files_survive(yard: Callable[..., Yard]) -> None:
    scene = yard()
    (scene.root / "notes.txt").write_text("mine\n")
    readme = scene.root / "README.md"
    readme.write_text(readme.read_text() + "dirty\n")
    makefile = scene.root / "Makefile"
    makefile.write_text(makefile.read_text() + "# staged\n")
    scene.git("add", "Makefile")
    scene.publish_truth()
    assert scene.gater("run", "--once").returncode == 0
    assert (scene.root / "notes.txt").read_text() == "mine\n"
    assert readme.read_text().endswith("dirty\n")
    assert scene.git("diff", "--cached", "--name-only") == "Makefile"
    assert scene.left() == set()
    changed = scene.git("diff", "--name-only", scene.start, "campaign").split()
    assert all(path.endswith(".c") for path in changed)


def test_a_second_gater_is_told_so(yard: Callable[..., Yard]) -> None:
    scene = yard()
    from shared.locks import only_one

    with only_one(scene.state.locks / "gater.lock", "gater"):
        done = scene.gater("run", "--once")
    assert done.returncode == 5
    assert "another gater already runs" in done.stderr


def test_a_stop_file_at_start_starts_nothing(yard: Callable[..., Yard]) -> None:
    scene = yard()
    scene.state.stop.touch()
    done = scene.gater("run")
    assert done.returncode == 6
    assert "campaign resume" in done.stderr


def test_a_big_endian_single_binary_banks_whole(yard64: Yard) -> None:
    yard64.publish_truth()
    done = yard64.gater("run", "--once")
    assert done.returncode == 0, done.stderr
    assert yard64.left() == set()
    yard64.check()
