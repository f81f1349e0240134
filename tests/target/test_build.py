"""Builds and the contract they are held to. The projects here are shell scripts: exit codes, files and logs count."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from shared.config import Binary, Gate
from shared.errors import ForeignContract, MissingTool
from shared.target.build import build_binary, expected_hash

IMAGE = b"the expected image"
SHA1 = hashlib.sha1(IMAGE, usedforsecurity=False).hexdigest()
SHA256 = hashlib.sha256(IMAGE).hexdigest()


def binary(script: str = "", **fields: object) -> Binary:
    values: dict[str, object] = {
        "build": ["sh", "-c", script],
        "output": "build/main.exe",
        "checksums": "check.sha1",
        "map": "m",
        "elf": "e",
        "asm": "asm",
        "sources": ["src"],
    }
    return Binary(**{**values, **fields})  # type: ignore[arg-type]


def tree(folder: Path, checksums: str = f"{SHA1}  build/main.exe\n") -> Path:
    (folder / "build").mkdir()
    (folder / "check.sha1").write_text(checksums)
    return folder


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        (f"{SHA1}  build/main.exe\n", SHA1),
        (f"{SHA1.upper()} *build/main.exe\n", SHA1),
        (f"# {SHA1} build/main.exe\n\n{SHA256}  ./build/main.exe\r\n", SHA256),
        (f"{'0' * 40}  build/other.bin\n{SHA1}\tbuild//main.exe\n", SHA1),
        (f"SHA256 (build/main.exe) = {SHA256}\n", SHA256),
        (f"{SHA1}  build/main.exe\n{SHA1}  build/main.exe\n", SHA1),
    ],
)
def test_the_line_that_names_the_output_is_the_contract(tmp_path: Path, text: str, digest: str) -> None:
    assert expected_hash(tree(tmp_path, text), "main", binary()).digest == digest


def test_paths_may_be_relative_to_the_checksum_file(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config/check.sha1").write_text(f"{SHA1}  ../build/main.exe\n")
    assert expected_hash(tmp_path, "main", binary(checksums="config/check.sha1")).digest == SHA1


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"{SHA1}  build/other.bin\n",
        f"{SHA1}  main.exe\n",
        f"{SHA1}  build/main.exe.bak\n",
        f"{SHA1[:39]}  build/main.exe\n",
        f"{SHA1}  build/main.exe\n{'0' * 40}  build/main.exe\n",
        f"# {SHA1}  build/main.exe\n",
    ],
)
def test_another_binarys_hash_is_never_taken(tmp_path: Path, text: str) -> None:
    with pytest.raises(ForeignContract, match=r"check\.sha1"):
        expected_hash(tree(tmp_path, text), "main", binary())


def test_no_checksum_file_is_a_foreign_contract_before_anything_is_built(tmp_path: Path) -> None:
    with pytest.raises(ForeignContract, match=r"\[binary\.main\]"):
        build_binary(tmp_path, "main", binary("touch ran"), Gate())
    assert not (tmp_path / "ran").exists()


WRITE = f"printf '{IMAGE.decode()}' > build/main.exe"

OUTCOMES = {
    "green": (WRITE, "green", "expected"),
    "another image": ("echo x > build/main.exe", "red", "wants"),
    "compiler says no": ("echo 'a.c:1: error: no' >&2; exit 2", "failed", "exit code 2"),
    "right image, wrong code": (f"{WRITE}; exit 1", "failed", "exit code 1"),
    "no output": ("true", "fault", "left no build/main.exe"),
    "killed": ("kill -9 $$; exit 137", "fault", "killed"),
    "a killed child": ("echo 'make: *** [x.o] Killed' >&2; exit 2", "fault", "Killed"),
    "disk full": ("echo 'x.o: No space left on device' >&2; exit 2", "fault", "No space left"),
    "out of memory": ("echo 'cc1: out of memory allocating 10 bytes' >&2; exit 1", "fault", "out of memory"),
    "hang": ("sleep 30", "fault", "stopped after"),
}


@pytest.mark.parametrize(("script", "state", "reason"), OUTCOMES.values(), ids=OUTCOMES)
def test_outcomes(tmp_path: Path, script: str, state: str, reason: str) -> None:
    built = build_binary(tree(tmp_path), "main", binary(script), Gate(build_timeout_s=2.0))
    assert (built.state, built.expected) == (state, SHA1), built
    assert reason in built.reason


def test_a_stale_image_of_an_earlier_build_is_not_read(tmp_path: Path) -> None:
    """Field report: after a failed link the old image lies there, and a later compare calls it green."""
    root = tree(tmp_path)
    (root / "build/main.exe").write_bytes(IMAGE)
    assert build_binary(root, "main", binary("exit 1"), Gate()).state == "failed"
    (root / "build/main.exe").write_bytes(IMAGE)
    assert build_binary(root, "main", binary("true"), Gate()).state == "fault"


def test_the_log_is_bounded(tmp_path: Path) -> None:
    built = build_binary(tree(tmp_path), "main", binary(f"seq 1 400000; {WRITE}"), Gate())
    assert built.state == "green"
    assert len(built.log) < 1_100_000
    assert built.log.endswith("[cut]\n")


def test_temporary_files_go_with_the_build(tmp_path: Path, scratch: Path) -> None:
    root = tree(tmp_path)
    built = build_binary(root, "main", binary(f'touch "$TMPDIR/x"; echo "$TMPDIR"; {WRITE}'), Gate())
    assert built.state == "green"
    assert str(scratch) in built.log
    assert list(scratch.iterdir()) == []


def test_a_missing_build_tool_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingTool, match="no-such-make"):
        build_binary(tree(tmp_path), "main", binary(build=["no-such-make"]), Gate())
