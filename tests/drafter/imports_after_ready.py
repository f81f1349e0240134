"""Runs the drafter and prints, as JSON, which modules were imported after READY."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path

import sdnotify

from drafter import cli, host

ready: set[str] = set()


class Notifier(sdnotify.SystemdNotifier):  # type: ignore[misc]
    def notify(self, state: str) -> None:
        if state.startswith("READY"):
            ready.update(sys.modules)


sdnotify.SystemdNotifier = Notifier
cli.ProcessHost = functools.partial(  # type: ignore[attr-defined,assignment]
    host.ProcessHost, program=(sys.executable, str(Path(__file__).parent / "fake_shard.py"))
)
try:
    cli.main()
except SystemExit as error:
    sys.stdout.write(json.dumps(sorted(set(sys.modules) - ready) if ready else ["never ready"]))
    sys.exit(error.code)
