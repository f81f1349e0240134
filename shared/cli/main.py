"""The `campaign` command: what a person types.

Commands are named here and imported when called: `campaign status` must answer in the blink of an eye.
"""

from __future__ import annotations

from pathlib import Path

import click

from shared.cli.entry import run_command
from shared.cli.lazy import Later, LazyGroup

COMMANDS = {
    "init": Later("shared.operator.setup.command", "init", "Make a decomp repository ready: write its campaign.toml."),
    "doctor": Later("shared.operator.doctor.command", "doctor", "Try everything a night needs; what to do where not."),
    "demo": Later("shared.demo.night.command", "demo", "Play one small campaign and prove its result."),
    "rehearse": Later("shared.demo.rehearsal.cli", "rehearse", "Serve the rehearsal model of a forged project."),
    "install-units": Later("shared.operator.units.command", "install_units", "Install this campaign's systemd units."),
    "run": Later("shared.operator.running.command", "run", "Drafter and gater in the foreground for some waves."),
    "status": Later("shared.operator.status.command", "status", "What is going on: daemons, fleet, funnel, banks."),
    "metrics": Later("shared.operator.observe.metrics", "metrics", "The status as Prometheus text."),
    "observe": Later("shared.operator.observe.command", "observe", "Write metrics and tell of troubles, once."),
    "report": Later("shared.operator.report.command", "report", "What a night came to, as a page for the morning."),
    "backlog": Later("shared.operator.evidence.backlog", "backlog", "Near misses of open stubs, closest first."),
    "show": Later("shared.operator.evidence.show", "show", "Every attempt at one function, with verdicts and diff."),
    "export": Later("shared.operator.evidence.export", "export", "Near misses as folders for other tools."),
    "progress": Later("shared.operator.progress", "progress", "Write progress as an objdiff report for decomp.dev."),
    "hold": Later("shared.operator.holding", "hold", "Put a binary or path aside: not drawn, drafts wait."),
    "unhold": Later("shared.operator.holding", "unhold", "Take a held binary or path up again."),
    "holds": Later("shared.operator.holding", "holds", "What is held, since when and why."),
    "drain": Later("shared.operator.stopping", "drain", "Ask both daemons to finish what they have in hand and end."),
    "resume": Later("shared.operator.stopping", "resume", "Lift a drain, so that the daemons can be started again."),
}


@click.group(cls=LazyGroup, later=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--root", type=click.Path(path_type=Path, file_okay=False), default=Path(), help="The decomp project.")
@click.version_option(package_name="decomp-campaign")
@click.pass_context
def cli(context: click.Context, root: Path) -> None:
    """Runs a matching-decompilation campaign: see `drafter` and `gater` for the two daemons.

    Exit codes are listed in docs/exit-codes.md.
    """
    context.obj = root


def main() -> None:
    """Entry point."""
    run_command(cli, "campaign")
