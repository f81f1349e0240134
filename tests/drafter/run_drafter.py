"""The real `drafter` command with the fake shard in the place of the real one."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

from drafter import cli, host

cli.ProcessHost = functools.partial(  # type: ignore[attr-defined,assignment]
    host.ProcessHost, program=(sys.executable, str(Path(__file__).parent / "fake_shard.py"))
)
cli.main()
