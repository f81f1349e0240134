"""Whole-file writes: the old content or the new, never anything else; no fallback, no half file left."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from shared import durable
from shared.errors import DiskFull


def test_content_arrives_and_no_temp_file_stays(tmp_path: Path) -> None:
    durable.write_json(tmp_path / "a.json", {"n": 1})
    assert durable.read_json(tmp_path / "a.json") == {"n": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_keeps_the_old_file_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    path = tmp_path / "a.json"
    durable.write(path, b"old")

    def full(*_: Any) -> int:
        raise OSError(code, "full")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(DiskFull, match=r"a\.json"):
        durable.write(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_a_short_write_is_completed_and_a_lying_one_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:3]))
    durable.write(tmp_path / "short", b"0123456789")
    assert (tmp_path / "short").read_bytes() == b"0123456789"

    monkeypatch.setattr(os, "write", lambda fd, data: len(data))
    with pytest.raises(OSError, match="short write"):
        durable.write(tmp_path / "lost", b"0123456789")
    monkeypatch.undo()
    assert not (tmp_path / "lost").exists()


@pytest.mark.parametrize("code", [errno.EXDEV, errno.EROFS])
def test_a_failing_rename_never_falls_back_to_a_plain_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    path = tmp_path / "a"
    durable.write(path, b"old")

    def refuse(self: Path, target: Path) -> Path:
        raise OSError(code, "no rename")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="no rename"):
        durable.write(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize(("content", "word"), [(b"", "empty"), (b"\0" * 64, "NUL"), (b'{"a": ', "not JSON")])
def test_a_damaged_file_is_named_and_never_taken_for_content(tmp_path: Path, content: bytes, word: str) -> None:
    path = tmp_path / "wave.json"
    path.write_bytes(content)
    with pytest.raises(durable.Corrupt, match=word):
        durable.read_json(path)
