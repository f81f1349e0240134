"""`gater prefilter`: verdicts with evidence, the documented exit codes, and nothing written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import orjson

from tests.gater.conftest import Yard


def draft(tmp_path: Path, name: str, text: bytes) -> str:
    path = tmp_path / f"{name}.c"
    path.write_bytes(text)
    return str(path)


def test_a_right_and_a_wrong_body(yard: Callable[..., Yard], tmp_path: Path) -> None:
    scene = yard()
    truth = next(t for t in scene.truth if t.group is None and b"(" in t.text)
    right = draft(tmp_path, "right", truth.text)
    done = scene.gater("prefilter", "--binary", truth.binary, "--function", truth.function, right)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"AGREE {truth.binary}/{truth.function}")

    wrong = draft(tmp_path, "wrong", truth.text.replace(b"{", b"{ volatile int x = 1;", 1))
    done = scene.gater("prefilter", "--binary", truth.binary, "--function", truth.function, wrong)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("MISMATCH?")
    assert "words off" in done.stdout

    assert scene.git("branch", "--list", "campaign") == ""
    assert scene.standing() == {}


def test_a_batch_in_json(yard: Callable[..., Yard], tmp_path: Path) -> None:
    scene = yard()
    rows = [
        {"binary": t.binary, "function": t.function, "draft": draft(tmp_path, f"d{n}", t.text)}
        for n, t in enumerate(scene.truth)
        if t.binary == "main"
    ]
    broken = draft(tmp_path, "broken", b"int nothing_here;\n")
    rows.append({"binary": "main", "function": rows[0]["function"], "draft": broken})
    rows.append({"binary": "elsewhere", "function": "f", "draft": broken})
    batch = tmp_path / "rows.jsonl"
    batch.write_bytes(b"\n".join(orjson.dumps(row) for row in rows))
    done = scene.gater("prefilter", "--batch", str(batch), "--json")
    assert done.returncode == 1, done.stderr
    found = [orjson.loads(line) for line in done.stdout.splitlines()]
    assert [row["verdict"] for row in found] == ["AGREE"] * (len(rows) - 2) + ["REFUSED", "REFUSED"]
    assert all(row["reason"] for row in found)


def test_usage_and_instrument_faults(yard: Callable[..., Yard], tmp_path: Path) -> None:
    scene = yard()
    assert scene.gater("prefilter", "--binary", "main").returncode == 2
    done = scene.gater("prefilter", "--binary", "main", "--function", "f", str(tmp_path / "none.c"))
    assert done.returncode == 2
    assert "none.c" in done.stderr
    batch = tmp_path / "rows.jsonl"
    batch.write_text('{"binary": "main"}\n')
    done = scene.gater("prefilter", "--batch", str(batch))
    assert done.returncode == 2
    assert "rows.jsonl:1:" in done.stderr
    sums = scene.root / "config" / "checksums.sha1"
    sums.write_text("\n".join("0" * 40 + line[40:] for line in sums.read_text().splitlines()) + "\n")
    scene.git("commit", "--quiet", "-am", "wrong")
    truth = scene.truth[0]
    text = draft(tmp_path, "right", truth.text)
    done = scene.gater("prefilter", "--binary", truth.binary, "--function", truth.function, text)
    assert done.returncode == 3, done.stdout
    assert "FAULT" in done.stdout
    assert "is red at" in done.stdout
