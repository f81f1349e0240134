"""The daemons as children of `campaign run`: the same commands a service manager would start, ended with us."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from shared.state import StateDir

AT_ONCE_S = 10.0


def program(name: str) -> list[str]:
    """The argument list of one of our commands: beside our own interpreter, as it was installed."""
    return [str(Path(sys.executable).parent / name)]


class Child:
    """One daemon in a session of its own, so that Ctrl-C reaches us alone; its log is appended to daemons/<name>.log.

    When we are killed the kernel tells it to end at its next safe point.
    """

    def __init__(self, root: Path, state: StateDir, name: str, words: Sequence[str]) -> None:
        self.name = name
        self.log = state.root / "daemons" / f"{name}.log"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self._began = self.log.stat().st_size if self.log.exists() else 0
        setpriv = shutil.which("setpriv")
        prefix = [setpriv, "--pdeathsig", "TERM"] if setpriv else []
        with self.log.open("ab") as stream:
            self._process = subprocess.Popen(
                [*prefix, *program(name), "--root", str(root), *words],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )

    @property
    def code(self) -> int | None:
        """Its exit code, None while it runs."""
        return self._process.poll()

    def leave(self) -> None:
        """Asks it to end at its next safe point; a second time: at once."""
        if self.code is None:
            self._process.send_signal(signal.SIGTERM)

    def end(self) -> None:
        """Ends it at once: twice asked, then killed. What it has done is on disk at every instant."""
        self.leave()
        self._wait(1.0)
        self.leave()
        self._wait(AT_ONCE_S)
        if self.code is None:
            self._process.kill()
            self._process.wait()

    def last_words(self) -> str:
        """The last line it logged in this run, for a message about its end."""
        try:
            with self.log.open("rb") as stream:
                stream.seek(max(self._began, self.log.stat().st_size - 4096))
                lines = stream.read().decode("utf-8", "replace").strip().splitlines()
        except OSError:
            return ""
        return lines[-1] if lines else ""

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while self.code is None and time.monotonic() < until:
            time.sleep(0.05)
