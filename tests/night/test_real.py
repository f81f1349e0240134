"""A short night on C code nobody here wrote: fetched from public source packages, never committed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import orjson
import pytest


def play(folder: Path, waves: int) -> dict[str, object]:
    command = [str(Path(sys.executable).parent / "campaign"), "demo", "--real", "--json", "--dir", str(folder)]
    done = subprocess.run([*command, "--waves", str(waves)], capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    summary: dict[str, object] = orjson.loads(done.stdout)
    assert summary["byte_identical"]
    assert summary["false_banks"] == 0
    assert len(summary["binaries"]) >= 3  # type: ignore[arg-type]
    assert int(summary["stubs_before"]) >= 150  # type: ignore[call-overload]
    assert int(summary["banked"]) >= 0.98 * int(summary["functions_right"])  # type: ignore[call-overload]
    return summary


def test_two_waves_on_real_code(tmp_path: Path) -> None:
    assert int(play(tmp_path / "demo", 2)["banked"]) > 20  # type: ignore[call-overload]


@pytest.mark.soak
def test_a_whole_night_on_real_code(tmp_path: Path) -> None:
    assert int(play(tmp_path / "demo", 8)["banked"]) > 150  # type: ignore[call-overload]
