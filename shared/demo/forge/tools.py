"""The toolchain and how the forge calls it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from shared.errors import InstrumentFault
from shared.proc import Limits, Ran, run

PREFIX = "mipsel-linux-gnu-"
"""Debian's gcc-mipsel-linux-gnu and binutils-mipsel-linux-gnu; they also make big-endian code with -EB."""
CORES = max(1, len(os.sched_getaffinity(0)))
LIMITS = Limits(timeout_s=300, memory_mib=4096)


def tool(
    argv: Sequence[str], cwd: Path, what: str = "", env: Mapping[str, str] | None = None, limits: Limits = LIMITS
) -> Ran:
    """Runs one program to success. Raises MissingTool, or InstrumentFault with the first lines of what it said."""
    ran = run(argv, cwd=cwd, limits=limits, env=env)
    if not ran.ok:
        said = (ran.stderr or ran.stdout).decode("utf-8", "replace").strip().splitlines()
        detail = " / ".join(line.strip() for line in said[:6]) or f"exit code {ran.returncode}"
        raise InstrumentFault(f"forge: {what or Path(argv[0]).name} failed: {'timed out' if ran.timed_out else detail}")
    return ran
