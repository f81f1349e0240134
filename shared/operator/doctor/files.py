"""Whether the state directory keeps the promises everything here rests on: flock, rename, fsync, wake-ups, room."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from shared import durable
from shared.config import Campaign
from shared.git import Git, GitError
from shared.locks import try_lock
from shared.operator.doctor.found import Found, failed, ok, untested, warning
from shared.proc import Limits, run
from shared.state import StateDir
from shared.watch import Watch

SLOW_SYNC_S = 0.25
"""A verdict costs an fsync; above this the journals set the pace."""
LEAST_MIB = 512
NIGHT_MIB = 1024
"""Transcripts, drafts and journals of a night of some thousand agents."""
INODES = 50_000
MOVE = "put the state directory on a local file system: move it and point the link .run at it"


def files(state: StateDir) -> Iterator[Found]:
    """The file system's promises, each tried in a folder of its own under tmp/."""
    place = Path(tempfile.mkdtemp(prefix="doctor-", dir=state.tmp))
    try:
        yield _flock(place)
        yield _rename(state, place)
        yield _fsync(place)
        yield _wake_up(place)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _flock(place: Path) -> Found:
    name, path = "flock", place / "lock"
    other = ["flock", "--nonblock", str(path), "true"]
    held = try_lock(path)
    if held is None:
        return failed(name, f"a lock nobody else can know was refused in {place}", MOVE)
    try:
        during = run(other, cwd=place, limits=Limits(timeout_s=10.0))
    finally:
        held.release()
    after = run(other, cwd=place, limits=Limits(timeout_s=10.0))
    if during.ok:
        return failed(name, "two processes held one lock at the same time", MOVE)
    return ok(name, "one holder at a time") if after.ok else failed(name, "a freed lock stayed held", MOVE)


def _rename(state: StateDir, place: Path) -> Found:
    name = "rename"
    inner = place / "inner"
    inner.mkdir()
    durable.write(place / "a", b"old")
    durable.write(place / "a", b"new")
    (place / "a").rename(inner / "a")
    if (inner / "a").read_bytes() != b"new" or (place / "a").exists():
        return failed(name, "a renamed file has other content, or is in both places", MOVE)
    devices = {entry.stat().st_dev for entry in os.scandir(state.spool)} | {state.spool.stat().st_dev}
    if len(devices) > 1:
        return failed(name, f"the folders of {state.spool} are on different devices", "put them on one file system")
    return ok(name, "over an existing file and between folders of the spool")


def _fsync(place: Path) -> Found:
    walls = []
    for number in range(5):
        begun = time.monotonic()
        durable.write(place / f"sync{number}", b"x" * 4096)
        walls.append(time.monotonic() - begun)
    middle = sorted(walls)[2]
    what = f"a durable write takes {1000 * middle:.1f} ms"
    return warning("fsync", what, MOVE) if middle > SLOW_SYNC_S else ok("fsync", what)


def _wake_up(place: Path) -> Found:
    watched = place / "watched"
    inbox = watched / "inbox"
    inbox.mkdir(parents=True)
    watch = Watch(watched, inbox)
    try:
        staged = durable.stage(place, "hint", b"x")
        begun = time.monotonic()
        staged.rename(inbox / "hint")
        woken = watch.wait(3.0)
        wall = time.monotonic() - begun
    finally:
        watch.close()
    if not woken:
        do = "raise fs.inotify.max_user_instances and max_user_watches (sysctl), or live with scanning"
        return warning("inotify", "no event came within 3 s; the spool is scanned every few seconds all the same", do)
    return ok("inotify", f"a rename wakes the gater in {1000 * wall:.0f} ms")


def room(campaign: Campaign, state: StateDir) -> Iterator[Found]:
    """Disk for the workspaces of this configuration and for a night's records."""
    name = "disk"
    device = os.statvfs(state.root)
    free = (device.f_bavail * device.f_frsize) >> 20
    cores = os.cpu_count() or 1
    slots = 2 * (campaign.gate.slots or cores) + (campaign.filter.oracle_slots or max(1, cores - 1)) + 1
    try:
        tree = tree_mib(campaign)
    except GitError as error:
        yield untested(name, f"{free} MiB free; the size of a workspace is unknown: {error}")
        return
    wanted = slots * 2 * tree + NIGHT_MIB
    what = f"{free} MiB free; {slots} workspaces of about {2 * tree} MiB and a night's records want {wanted} MiB"
    if free < LEAST_MIB:
        yield failed(name, what, f"free at least {wanted - free} MiB on the device of {state.root}")
    elif free < wanted:
        yield warning(name, what, f"free {wanted - free} MiB on the device of {state.root}, or lower gate.slots")
    elif device.f_files > 0 and device.f_favail < INODES:
        yield warning(name, f"{device.f_favail} inodes free", "delete many small files; a night makes some 10,000")
    else:
        yield ok(name, what)


def tree_mib(campaign: Campaign) -> int:
    """Size of one worktree with its git-ignored inputs, builds left out, at least 1. Raises GitError."""
    out = Git(campaign.root).call("ls-tree", "-r", "-l", "--full-tree", campaign.landing.follow)
    sizes = (line.split(None, 4)[3] for line in out.splitlines())
    total = sum(int(size) for size in sizes if size.isdigit())
    for place in campaign.project.inputs:
        total += _size(campaign.root / place)
    return max(1, total >> 20)


def _size(path: Path) -> int:
    try:
        if path.is_dir():
            return sum(_size(Path(entry.path)) for entry in os.scandir(path) if not entry.is_symlink())
        return path.stat().st_size
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.EACCES):
            return 0
        raise
