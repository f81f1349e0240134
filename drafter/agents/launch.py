"""How a shard process is started, by the drafter and by tests: its argv, its descriptors, its environment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from drafter.agents.files import ShardFiles
from drafter.agents.keys import pipe_with
from shared.proc import child_environment

PROGRAM: tuple[str, ...] = (sys.executable, "-m", "drafter.agents.shard")


def launch_shard(
    project: os.PathLike[str],
    files: ShardFiles,
    pool: str,
    key: str,
    lock_fd: int,
    program: Sequence[str] = PROGRAM,
) -> subprocess.Popen[bytes]:
    """Starts the shard `files.shard` of `pool` in a session of its own; it outlives us.

    `lock_fd` is a descriptor of `files.run_lock` that holds the lock; the child inherits it, the caller then closes its
    copy without unlocking. The key goes through a pipe. Standard error is appended to shard.log. Raises OSError.
    """
    files.make()
    files.state.tmp.mkdir(parents=True, exist_ok=True)
    key_fd = pipe_with(key)
    environment = child_environment({"TMPDIR": str(files.state.tmp)})
    environment |= {name: os.environ[name] for name in ("CAMPAIGN_FAILPOINT", "PYTHONPATH") if name in os.environ}
    argv = [*program, "--root", os.fspath(project), "--shard", files.shard, "--pool", pool]
    try:
        with files.log.open("ab") as log:
            return subprocess.Popen(
                [*argv, "--lock-fd", str(lock_fd), "--key-fd", str(key_fd)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                pass_fds=(lock_fd, key_fd),
                start_new_session=True,
            )
    finally:
        os.close(key_fd)
