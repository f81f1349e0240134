"""`campaign run`."""

from __future__ import annotations

import signal
import time
import types
from dataclasses import dataclass, field
from typing import Any

import click
import orjson

from shared.cli.overriding import Chosen, for_option, run_options, said
from shared.config import Campaign
from shared.config.overrides import words
from shared.errors import AlreadyRunning, ConfigError
from shared.exits import Exit
from shared.git import Git
from shared.operator.liveness import running
from shared.operator.running import plan, prepare
from shared.operator.running.children import Child
from shared.operator.running.figures import Start, figures, summary, summary_lines
from shared.operator.running.show import Show
from shared.state import StateDir, open_state
from shared.stopping import ask_drain

POLL_S = 0.1


@click.command()
@click.option("--waves", type=click.IntRange(min=0), required=True, help="Waves to draw; 0 prepares and ends.")
@for_option
@run_options
@click.option("--dry-run", is_flag=True, help="Print what would be done and what it could cost; start nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end and no progress.")
@click.pass_context
def run(
    context: click.Context, waves: int, duration: float | None, chosen: Chosen, dry_run: bool, as_json: bool
) -> None:
    """Run drafter and gater together in the foreground for a number of waves.

    \b
    campaign run --waves 8
    campaign run --waves 3 --workers 4 --lane big --band 120-400 --tag trial
    campaign run --waves 0         index, null controls, workspaces and caches; no model request
    campaign run --waves 8 --dry-run

    Both are the same daemons a service manager starts, so the next wave is drafted while this one is gated. Ends when
    the waves are drafted and judged, when the frontier is exhausted, at the end of --for or `[night] until`, or when
    `.run/stop` appears. Ctrl-C drains: agents get their grace, what they drafted is judged. A second Ctrl-C stops at
    once and loses nothing: the next run takes up what is on disk. Logs are in .run/daemons/.

    Exit code: the drafter's (0; 7 at the credit floor; 9 with a full disk), else the gater's; 130 after the second
    Ctrl-C; 6 when a stop file is there already.
    """
    campaign = chosen.load(context.obj)
    Git(campaign.root).check()
    state = open_state(campaign.root)
    if not as_json:
        for line in said(campaign):
            click.echo(line, err=True)
    if dry_run:
        _print(plan.plan(campaign, state, waves, duration), plan.lines, as_json=as_json)
        context.exit(Exit.OK)
    if not any(pool.share > 0 for pool in campaign.pools.values()):
        raise ConfigError("has no [pool.NAME] with a positive share; the agents need an endpoint", campaign.path)
    if state.stopping():
        click.echo(f"{state.stop} is present, so nothing was started; run `campaign resume` (or remove it)", err=True)
        context.exit(Exit.DRAINED)
    for name in ("drafter", "gater"):
        if running(state, name):
            raise AlreadyRunning(f"the {name} already runs here; follow it with `campaign status --watch`")
    if waves == 0:
        _print(prepare.prepare(campaign, state), prepare.lines, as_json=as_json)
        context.exit(Exit.OK)
    begun = time.monotonic()
    start = Start.now(campaign, state)
    night = Foreground(campaign, state, waves, duration)
    with Show(lambda: figures(campaign, state, start), waves, quiet=as_json) as show:
        code = night.play(show)
    found = summary(campaign, state, start, time.monotonic() - begun) | {"exit": int(code), "ended": night.ended}
    _print(found, summary_lines, as_json=as_json)
    context.exit(code)


def _print(found: dict[str, Any], lines: Any, *, as_json: bool) -> None:
    if as_json:
        click.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
    else:
        click.echo("\n".join(lines(found)))


@dataclass
class Foreground:
    """One run: two children, the stop file, and what signals ask. `ended` says why it ended."""

    campaign: Campaign
    state: StateDir
    waves: int
    duration: float | None
    ended: str = ""
    _asked: int = 0
    _hung_up: bool = False
    _mine: tuple[int, int] | None = None
    _children: list[Child] = field(default_factory=list)

    def play(self, show: Show) -> Exit:
        """Starts both and follows them to their end. Raises OSError, CampaignError; children never outlive it."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._signal)
        signal.signal(signal.SIGHUP, self._hangup)
        sets = words(self.campaign.overrides)
        limit = ["--for", f"{self.duration:.0f}s"] if self.duration is not None else []
        try:
            gater = self._start("gater", ["run", *sets])
            drafter = self._start("drafter", ["run", "--waves", str(self.waves), *limit, *sets])
            return self._follow(show, drafter, gater)
        finally:
            for child in self._children:
                child.end()
            self._lift()

    def _start(self, name: str, arguments: list[str]) -> Child:
        child = Child(self.campaign.root, self.state, name, arguments)
        self._children.append(child)
        return child

    def _follow(self, show: Show, drafter: Child, gater: Child) -> Exit:
        told = False
        while drafter.code is None or gater.code is None:
            if self._hung_up:
                show.hush()
            if self._asked > 1:
                show.say("stopping at once; what is on disk is taken up by the next run")
                self._at_once()
                self.ended = "stopped at once"
                return Exit.INTERRUPTED
            if self._asked and not told:
                told = True
                show.say("draining: agents get their grace and what they drafted is judged; Ctrl-C stops at once")
                self._drain("campaign run: Ctrl-C")
            if drafter.code is not None and gater.code is None:
                self._drain("campaign run: the drafter has ended")  # the gater ends when all is judged
            if gater.code is not None and drafter.code is None:
                self._drain("campaign run: the gater has ended")
            show.update(self._phase(drafter))
            time.sleep(POLL_S)
        code = drafter.code or gater.code
        for child in (drafter, gater):
            if child.code:
                show.say(f"{child.name} ended with code {child.code}: {child.last_words()}\n  its log is {child.log}")
        self.ended = self.ended or ("failed" if code else "drained" if self._by_stop_file() else "done")
        return Exit(code) if code in set(Exit) else Exit.FAULT

    def _phase(self, drafter: Child) -> str:
        if drafter.code is not None:
            return "judging the last drafts"
        return "draining" if self.state.stopping() else "running"

    def _drain(self, why: str) -> None:
        """Asks both to drain, and remembers that this stop file is ours to lift again."""
        if not self.state.stopping():
            ask_drain(self.state, why)
            self._mine = self._stamp()

    def _by_stop_file(self) -> bool:
        return self._asked > 0 or (self.state.stopping() and self._stamp() != self._mine)

    def _lift(self) -> None:
        """Removes the stop file if this run made it; one that a person made stays."""
        ours = self._mine is not None and self._stamp() == self._mine
        if ours or self._said().startswith(b"drafter: "):
            self.state.stop.unlink(missing_ok=True)

    def _said(self) -> bytes:
        try:
            return self.state.stop.read_bytes()
        except FileNotFoundError:
            return b""

    def _stamp(self) -> tuple[int, int] | None:
        try:
            status = self.state.stop.stat()
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns

    def _at_once(self) -> None:
        for child in self._children:
            child.end()
        agents = Child(self.campaign.root, self.state, "drafter", ["kill-agents", "--grace", "0"])
        while agents.code is None:
            time.sleep(0.05)

    def _signal(self, _number: int, _: types.FrameType | None) -> None:
        self._asked += 1

    def _hangup(self, _number: int, _: types.FrameType | None) -> None:
        self._hung_up = True  # the terminal is gone; the night goes on
