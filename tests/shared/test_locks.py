"""Locks: one holder, freed by death, kept by a child that inherits the descriptor, files never deleted."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from shared.errors import AlreadyRunning, InstrumentFault
from shared.locks import is_locked, only_one, try_lock


def test_one_holder_and_the_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    held = try_lock(path)
    assert held is not None
    assert try_lock(path) is None
    with pytest.raises(AlreadyRunning, match="another gater"):
        only_one(path, "gater")
    held.release()
    assert path.exists()
    assert not is_locked(path)


def test_a_child_that_inherits_the_descriptor_keeps_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    held = try_lock(path)
    assert held is not None
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(held.fd,))
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        held._lock._context.lock_file_fd = None  # the holder's own end dies without unlocking
        import os

        os.close(held.fd)
        assert is_locked(path)
        child.kill()
        child.wait(10)
        deadline = time.monotonic() + 5
        while is_locked(path) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not is_locked(path)
    finally:
        for process in (child, other):
            process.kill()
            process.wait(10)


def test_a_lock_that_cannot_be_had_names_path_and_owner(tmp_path: Path) -> None:
    (tmp_path / "dir.lock").mkdir()
    with pytest.raises(InstrumentFault, match=r"dir\.lock"):
        try_lock(tmp_path / "dir.lock")
