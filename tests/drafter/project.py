"""A splat project with many stubs and no toolchain: enough for drawing and dealing."""

from __future__ import annotations

import subprocess
from pathlib import Path

from shared.state import StateDir, create_state

CONFIG = """
[project]
name = "tiny"

[binary.main]
build = ["make"]
output = "build/main.exe"
checksums = "config/checksums.sha1"
map = "build/main.map"
elf = "build/main.elf"
asm = "asm/main"
sources = ["src/main"]

[binary.ovl]
build = ["make"]
output = "build/ovl.bin"
checksums = "config/checksums.sha1"
map = "build/ovl.map"
elf = "build/ovl.elf"
asm = "asm/ovl"
sources = ["src/ovl"]

[drafter]
workers = {workers}
cards_per_wave = {cards}
attempts = {attempts}
agents_per_shard = {per_shard}
ramp_window_s = 0.01
flush_interval_s = {flush}
marker_drafts = {marker}
straggler_grace_s = 0.3
stall_s = {stall}
tries = {tries}

{lanes}

[pool.a]
url = "http://127.0.0.1:9"
model = "model-a"
share = 2
output_tokens = 100
tokens_per_s = 1000.0
socket_timeout_s = 1.0

[pool.b]
url = "http://127.0.0.1:9"
model = "model-b"
share = 1
output_tokens = 100
tokens_per_s = 1000.0
socket_timeout_s = 1.0
"""

DEFAULTS: dict[str, object] = {
    "workers": 9,
    "cards": 30,
    "attempts": 1,
    "per_shard": 240,
    "flush": 0.5,
    "marker": 8,
    "stall": 60.0,
    "tries": 2,
    "lanes": "[lane.default]\nbands = [[0, 10], [10, 2000]]",
}


def asm_text(function: str, address: int, count: int) -> str:
    """A function of `count` instructions as splat writes it."""
    lines = [f"glabel {function}"]
    lines += [f"    /* 0 {address + 4 * i:08X} 00000000 */  nop" for i in range(count)]
    return "\n".join([*lines, f"endlabel {function}", ""])


def git(root: Path, *words: str) -> str:
    """One git command in the project."""
    done = subprocess.run(
        ["git", "-c", "user.name=T", "-c", "user.email=t@example.org", *words],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def make_project(base: Path, *, tus: int = 4, stubs: int = 10, **settings: object) -> tuple[Path, StateDir]:
    """A committed project of `tus` files of `stubs` functions in each of two binaries, and its state directory."""
    root = base / "project"
    for number, binary in enumerate(("main", "ovl")):
        for tu in range(tus):
            lines = ['#include "include_asm.h"', ""]
            for index in range(stubs):
                function = f"{binary}_{tu}_{index}"
                folder = f"asm/{binary}/nonmatchings/f{tu}"
                lines.append(f'INCLUDE_ASM("{folder}", {function});')
                path = root / folder / f"{function}.s"
                path.parent.mkdir(parents=True, exist_ok=True)
                address = 0x80010000 + 0x100000 * number + 0x1000 * tu + 0x40 * index
                path.write_text(asm_text(function, address, 4 + index))
            source = root / "src" / binary / f"f{tu}.c"
            source.parent.mkdir(parents=True, exist_ok=True)
            source.write_text("\n".join([*lines, ""]))
    (root / "campaign.toml").write_text(CONFIG.format(**(DEFAULTS | settings)))
    (root / ".gitignore").write_text("asm/\n.run\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "start")
    return root, create_state(root, "tiny", base / "home")


def bank(root: Path, binary: str, tu: int, function: str) -> str:
    """Commits the project with one stub replaced, on the followed branch; returns the commit."""
    path = root / "src" / binary / f"f{tu}.c"
    kept = [line for line in path.read_text().splitlines() if f", {function});" not in line]
    path.write_text("\n".join([*kept, f"int {function}(void) {{ return 1; }}", ""]))
    git(root, "commit", "-qam", f"bank {function}")
    return git(root, "rev-parse", "HEAD")
