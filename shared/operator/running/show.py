"""Live progress of a run: a panel of 80 columns on a terminal, else a line whenever something has changed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from shared.operator.running.figures import cost
from shared.operator.status.show import span

REDRAW_S = 1.0
LINE_S = 5.0
WIDTH = 80


class Show:
    """Shows `look()` while a block runs. `quiet` shows nothing; a lost terminal makes it quiet and ends nothing."""

    def __init__(self, look: Callable[[], dict[str, Any]], waves: int, *, quiet: bool) -> None:
        self._look = look
        self._waves = waves
        self._console = Console(stderr=True)
        self._quiet = quiet
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._begun = time.monotonic()
        self._next = 0.0
        self._said = ""

    def __enter__(self) -> Show:
        if not self._quiet and self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            if self._live.is_started:
                self._live.stop()

    def hush(self) -> None:
        """The terminal is gone."""
        self._quiet = True

    def say(self, line: str) -> None:
        """One line that stays on the screen."""
        if not self._quiet:
            with contextlib.suppress(OSError):
                self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def update(self, phase: str) -> None:
        """Looks again when it is time to."""
        now = time.monotonic()
        if self._quiet or now < self._next:
            return
        self._next = now + (REDRAW_S if self._live.is_started else LINE_S)
        try:
            found = self._look()
        except (OSError, ValueError, KeyError, TypeError) as error:
            self.say(f"the state cannot be read right now: {error}")
            return
        lines = panel(found, self._waves, phase, now - self._begun)
        try:
            if self._live.is_started:
                width = min(self._console.width, WIDTH)
                self._live.update(Text("\n".join(line[:width] for line in lines), no_wrap=True), refresh=True)
            elif (line := plain(found, self._waves, phase)) != self._said:
                self._said = line
                self.say(f"{span(now - self._begun):>7}  {line}")
        except OSError:
            self.hush()


def panel(found: dict[str, Any], waves: int, phase: str, seconds: float) -> list[str]:
    """A few lines of at most WIDTH columns."""
    funnel, spool = found["funnel"], found["spool"]
    band = f", {found['band'][0]}-{found['band'][1]} instructions" if found["band"] else ""
    refused = "  ".join(f"{source} {count}" for source, count in found["h429"].items())
    lines = [
        f"{phase} for {span(seconds)}; Ctrl-C drains, twice stops at once",
        f"wave     {found['waves']} of {waves}  {found['lane']}{band}",
        f"agents   {found['agents']} of {found['set_point']}",
        f"drafted  {funnel['drafted']} of {funnel['drawn']} cards   agreed {funnel['agreed']} of {funnel['judged']}",
        f"gated    {funnel['gated']} of {funnel['agreed']}   banked {funnel['banked']} of {funnel['gated']}",
        f"markers  ready {spool['ready']}  claimed {spool['claimed']}  done {spool['done']}",
        f"requests {found['requests']}   429s: {refused}",
        f"cost     {cost(found['spend'])}",
    ]
    if found["red"]:
        lines.append(f"red      {', '.join(found['red'])}")
    return [line if len(line) <= WIDTH else line[: WIDTH - 1] + "~" for line in lines]


def plain(found: dict[str, Any], waves: int, phase: str) -> str:
    """The same as one line."""
    funnel = found["funnel"]
    words = [
        f"{phase}: wave {found['waves']} of {waves}",
        f"{found['agents']}/{found['set_point']} agents",
        f"drafted {funnel['drafted']}/{funnel['drawn']}",
        f"agreed {funnel['agreed']}/{funnel['judged']}",
        f"banked {funnel['banked']}/{funnel['gated']} gated",
        f"{found['requests']} requests ({sum(found['h429'].values())} 429s)",
    ]
    return ", ".join(words) + (f", red: {' '.join(found['red'])}" if found["red"] else "")
