"""Drafts that are meant to hurt: each is refused within its limits, and the right draft beside them banks."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

import psutil
import pytest

from tests.gater.conftest import GATER, Yard

CHAIN = b"".join(
    f"typedef struct {{ T{n} a[64], b[64]; }} T{n + 1};\n".encode() if n else b"typedef struct { char a; } T1;\n"
    for n in range(12)
)
BOMBS = {
    "ten megabytes": b"/*" + b"x" * 10_000_000 + b"*/\nTRUTH",
    "object of gigabytes": b"s32 pile[1 << 28] = {1};\nTRUTH",
    "nesting": b"static s32 deep(void) { return " + b"(" * 50_000 + b"1" + b")" * 50_000 + b"; }\nTRUTH",
    "exponential type": CHAIN + b"T12 all = {0};\nTRUTH",
    "include of a device": b'#include "/dev/zero"\nTRUTH',
    "assembler": b'__asm__(".incbin \\"/etc/passwd\\"");\nTRUTH',
    "no bytes": b"",
    "zero bytes": b"\0" * 4096,
}
REFUSALS = ("REFUSED", "COMPILE-FAIL", "MISMATCH", "MISMATCH?", "UNRESOLVED", "ORPHANS-SYMBOL", "FAULT")


@pytest.mark.parametrize("name", BOMBS)
def test_it_is_refused_and_the_one_beside_it_banks(yard: Callable[..., Yard], name: str) -> None:
    scene = yard()
    victim, good = [t for t in scene.truth if t.binary == "main" and t.group is None][:2]
    text = BOMBS[name].replace(b"TRUTH", victim.text)
    scene.publish([(victim.binary, victim.function, text), (good.binary, good.function, good.text)])
    began = time.monotonic()
    done = scene.gater("run", "--once")
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < 60
    rows = scene.standing()
    assert rows["w000001-2"]["verdict"] == "BANKED"
    assert rows["w000001-1"]["verdict"] in REFUSALS, rows["w000001-1"]
    assert rows["w000001-1"]["reason"]
    assert len(rows["w000001-1"]["reason"]) < 2000
    scene.check()


def test_a_build_that_hangs_is_stopped_with_its_children(yard: Callable[..., Yard]) -> None:
    """The build of one binary waits for ever in a grandchild; the others bank and nothing of it is left running."""
    scene = yard()
    config = scene.root / "campaign.toml"
    config.write_text(config.read_text() + "\n[gate]\nbuild_timeout_s = 3.0\n")
    makefile = scene.root / "Makefile"
    makefile.write_text(makefile.read_text() + "\nbuild/sky.elf: hang\n.PHONY: hang\nhang:\n\t@sh -c 'sleep 7654'\n")
    scene.git("commit", "--quiet", "-am", "a build that hangs")
    scene.publish_truth()
    process = subprocess.Popen(
        [str(GATER), "--root", str(scene.root), "run"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wanted = {t.function for t in scene.truth if t.binary == "main"}
    deadline = time.monotonic() + 60
    try:
        while time.monotonic() < deadline:
            if wanted <= {row["function"] for row in scene.standing().values() if row["verdict"] == "BANKED"}:
                break
            time.sleep(0.1)
    finally:
        process.terminate()
        process.wait(30)
    rows = scene.standing().values()
    assert wanted <= {row["function"] for row in rows if row["verdict"] == "BANKED"}
    assert not any(row["verdict"] == "BANKED" for row in rows if row["binary"] == "sky")
    assert all(row["verdict"] in ("BANKED", "WAITING", "FAULT") for row in rows)
    time.sleep(0.2)
    assert not [p for p in psutil.process_iter(["cmdline"]) if "7654" in (p.info["cmdline"] or [])]
