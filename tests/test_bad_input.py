"""A person's mistakes and a broken environment: one sentence, its exit code, no traceback, nothing half-done."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from shared.demo.forge import Forged
from shared.exits import Exit
from tests.conftest import SMALL
from tests.gater.conftest import Yard, yard

__all__ = ["yard"]
BIN = Path(sys.executable).parent


def run(*arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(BIN / arguments[0]), *arguments[1:]]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False, env=os.environ | environment
    )


def says(done: subprocess.CompletedProcess[str], code: Exit, *words: str) -> None:
    """The documented code and one clear sentence."""
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == code, done.stderr
    sentence = done.stderr.strip().splitlines()[-1]
    for word in words:
        assert word in sentence, done.stderr


@pytest.mark.parametrize("command", ["gater", "drafter"])
def test_no_configuration(tmp_path: Path, command: str) -> None:
    says(run(command, "--root", str(tmp_path), "run"), Exit.USAGE, "no campaign.toml", "docs/configuration.md")


@pytest.mark.parametrize("command", ["gater", "drafter"])
def test_an_unknown_key_names_file_line_and_what_is_known(yard: Callable[..., Yard], command: str) -> None:
    scene = yard()
    config = scene.root / "campaign.toml"
    config.write_text(config.read_text() + "\n[gate]\nslotz = 2\n")
    line = config.read_text().count("\n")
    says(run(command, "--root", str(scene.root), "run"), Exit.USAGE, f"campaign.toml:{line}:", "`slotz`", "slots")


@pytest.mark.parametrize("command", ["gater", "drafter"])
def test_no_repository(yard: Callable[..., Yard], command: str) -> None:
    scene = yard()
    shutil.rmtree(scene.root / ".git")
    says(run(command, "--root", str(scene.root), "run"), Exit.REPOSITORY, "git repository", "git init")


def test_a_repository_without_the_followed_branch(yard: Callable[..., Yard]) -> None:
    scene = yard()
    scene.git("branch", "--move", "trunk")
    says(run("gater", "--root", str(scene.root), "run", "--once"), Exit.REPOSITORY, "'main'", "campaign.toml")


@pytest.mark.parametrize("command", ["gater", "drafter"])
def test_no_state_directory(yard: Callable[..., Yard], command: str) -> None:
    scene = yard()
    (scene.root / ".run").unlink()
    says(run(command, "--root", str(scene.root), "run"), Exit.USAGE, ".run", "campaign init")


def path_without(tmp_path: Path, *hidden: str) -> str:
    """A PATH with everything of the usual one but the named programs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for place in reversed(os.environ["PATH"].split(":")):
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            if not program.name.startswith(hidden):
                link = folder / program.name
                link.unlink(missing_ok=True)
                link.symlink_to(program)
    return str(folder)


def test_no_compiler(tmp_path: Path) -> None:
    path = path_without(tmp_path, "mipsel-linux-gnu")
    done = run("campaign", "demo", "--dir", str(tmp_path / "demo"), PATH=path)
    says(done, Exit.MISSING_TOOL, "mipsel-linux-gnu", "install")


def test_a_missing_tool_fails_a_test_and_only_the_option_leaves_it_out(tmp_path: Path) -> None:
    root = Path(__file__).parents[1]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/gater/test_gater.py",
        "-k",
        "second_gater",
    ]
    environment = os.environ | {"PATH": path_without(tmp_path, "mipsel-linux-gnu")}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "mipsel-linux-gnu-gcc is not installed; install it" in done.stdout
    allowed = [*command, "--allow-missing=mipsel-linux-gnu-gcc"]
    done = subprocess.run(allowed, cwd=root, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout
    assert "LEFT OUT: 1 tests, because mipsel-linux-gnu-gcc is not installed" in done.stdout


def test_no_git(yard: Callable[..., Yard], tmp_path: Path) -> None:
    scene = yard()
    done = run("gater", "--root", str(scene.root), "run", "--once", PATH=path_without(tmp_path, "git"))
    says(done, Exit.MISSING_TOOL, "git", "install")


def test_a_missing_input_is_missing_and_never_a_verdict(yard: Callable[..., Yard]) -> None:
    scene = yard()
    scene.publish_truth()
    shutil.rmtree(scene.root / "linker")
    done = scene.gater("run", "--once")
    assert done.returncode == 0, done.stderr
    assert f"MISSING {scene.root / 'linker'}" in done.stderr
    assert set(scene.verdicts()) == {"WAITING"}


def test_a_missing_s_file_is_named_in_the_red_base(yard: Callable[..., Yard]) -> None:
    scene = yard()
    scene.publish_truth()
    gone = next((scene.root / "asm" / "cave").rglob("nonmatchings/**/*.s"))
    gone.unlink()
    done = scene.gater("run", "--once")
    assert done.returncode == 0, done.stderr
    assert gone.name in done.stderr, done.stderr
    verdicts = {row["binary"]: row["verdict"] for row in scene.standing().values()}
    assert verdicts["cave"] == "WAITING"
    assert verdicts["main"] == "BANKED"


def test_a_dirty_repository_is_fine_and_stays_dirty(yard: Callable[..., Yard]) -> None:
    scene = yard()
    (scene.root / "src" / "main" / "rng.c").write_bytes(b"half an edit\n")
    scene.publish_truth()
    done = scene.gater("run", "--once")
    assert done.returncode == 0, done.stderr
    assert scene.left() == set()
    assert (scene.root / "src" / "main" / "rng.c").read_bytes() == b"half an edit\n"


def test_a_port_in_use(forged_small: Forged, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = run("campaign", "rehearse", "--truth", str(forged_small.truth.parent), "--port", port)
    says(done, Exit.USAGE, port, "in use")


def test_a_demo_folder_that_is_not_empty(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    says(run("campaign", "demo", "--dir", str(tmp_path)), Exit.USAGE, "not empty")


@pytest.mark.parametrize("room", ["400k", "800k", "1200k"])
def test_a_full_disk_is_one_sentence_and_the_next_start_goes_on(
    yard: Callable[..., Yard], tmp_path: Path, room: str
) -> None:
    scene = yard()
    scene.publish_truth()
    home = scene.state.root
    keep = tmp_path / "keep"
    shutil.copytree(home, keep, symlinks=True)
    script = (
        f"mount -t tmpfs -o size={room} tmpfs {home} && cp -a {keep}/. {home}/ && "
        f"{BIN / 'gater'} --root {scene.root} run --once; code=$?; cp -a {home}/. {keep}/; exit $code"
    )
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    done = subprocess.run(
        ["unshare", "--mount", *user, "bash", "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == Exit.DISK_FULL, done.stderr
    shutil.rmtree(home)
    shutil.copytree(keep, home, symlinks=True)
    scene.git("worktree", "prune")
    shutil.rmtree(home / "workspaces")
    again = scene.gater("run", "--once")
    assert again.returncode == 0, again.stderr
    assert scene.left() == set()
    scene.check()


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, ("holds no folder",)),
        ({"main/a.c": b""}, ("has no function",)),
        ({"main/a.c": b"/* \x83\x5c */ int f(int a) { return a + 1; }\n"}, ("a.c", "not UTF-8")),
        ({"main/a.c": b"int f(int a) { return a + 1; }\n", "ov er/b.c": b"int g(void) { return 1; }\n"}, ("'ov er'",)),
    ],
    ids=["empty", "no-function", "encoding", "folder-name"],
)
def test_sources_the_forge_cannot_take(tmp_path: Path, files: dict[str, bytes], words: tuple[str, ...]) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    for name, data in files.items():
        (sources / name).parent.mkdir(parents=True, exist_ok=True)
        (sources / name).write_bytes(data)
    says(run("campaign", "demo", "--sources", str(sources), "--dir", str(tmp_path / "demo")), Exit.USAGE, *words)


def test_a_terminated_demo_leaves_nothing_running(tmp_path: Path) -> None:
    command = [str(BIN / "campaign"), "demo", "--sources", str(SMALL), "--dir", str(tmp_path / "demo")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not list((tmp_path / "demo" / "state").glob("*/shards/*/heartbeat.json")):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        process.terminate()
        assert process.wait(60) == Exit.INTERRUPTED
    finally:
        process.kill()
        process.wait()
    left = [p.pid for p in psutil.process_iter(["cmdline"]) if str(tmp_path) in " ".join(p.info["cmdline"] or [])]
    assert left == []
