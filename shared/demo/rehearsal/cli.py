"""`campaign rehearse`: the rehearsal (simulated model) as a command."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from msgspec import Struct, structs

from shared.demo.rehearsal import NAME
from shared.demo.rehearsal.serving import Place, serve
from shared.demo.rehearsal.settings import Faults, Mix, Pace, Settings

_FAULT_HELP = {
    "provider_429": "Probability of a 429 of the upstream provider.",
    "http_502": "Probability of a 502.",
    "soft_error": "Probability of an error inside a 200.",
    "cut": "Probability of a connection cut in the middle of the answer.",
    "empty_choices": "Probability of a 200 without choices.",
    "no_finish": "Probability of an answer without finish reason.",
    "malformed": "Share of attempts with one call of unparsable arguments.",
    "prose": "Share of attempts that give their draft as a code block, without a tool call.",
    "in_a_row": "Longest row of transport faults one card meets.",
    "platform_every": "A burst of platform 429s starts at each such request; 0 = never.",
    "platform_burst_s": "Seconds a burst lasts.",
    "retry_after_s": "Retry-After of provider 429s, in seconds.",
}


def _options(kind: type[Struct], described: Callable[[str], str]) -> Callable[[Any], Any]:
    def add(command: Any) -> Any:
        for item in reversed(structs.fields(kind)):
            flag = f"--{item.name.replace('_', '-')}"
            show = f"{described(item.name)}  [default: {item.default}]"
            command = click.option(flag, item.name, type=type(item.default), default=item.default, help=show)(command)
        return command

    return add


@click.command(name="rehearse", help=f"Serves the {NAME} on the loopback interface until it is ended.")
@click.option(
    "--truth",
    required=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of a forged game: holds truth.json.",
)
@click.option("--port", default=0, show_default=True, help="Port; 0 = any free one.")
@click.option("--port-file", type=click.Path(path_type=Path), help="File that gets the port once it is served.")
@click.option("--report", type=click.Path(path_type=Path), help="File that gets plan, deliveries and counts as JSON.")
@click.option("--key-file", type=click.Path(path_type=Path, exists=True), help="File with the key callers must send.")
@click.option("--key-env", help="Environment variable with the key callers must send.")
@click.option("--seed", default=1, show_default=True, help="Equal seeds play equal fleets.")
@click.option("--latency-s", default=0.0, show_default=True, help="Median time to answer, in seconds (log-normal).")
@click.option("--latency-spread", default=0.5, show_default=True, help="Sigma of its logarithm.")
@click.option("--looks", default=0.3, show_default=True, help="Share of attempts that read a file first.")
@click.option(
    "--groups-right/--groups-mixed",
    default=True,
    show_default=True,
    help="Play all functions of a TU that matches only as a group right, or like any other.",
)
@_options(Mix, lambda name: f"Share of attempts played {name.replace('_', ' ')}.")
@_options(Faults, _FAULT_HELP.__getitem__)
def rehearse(
    truth: Path,
    port: int,
    port_file: Path | None,
    report: Path | None,
    key_file: Path | None,
    key_env: str | None,
    seed: int,
    latency_s: float,
    latency_spread: float,
    looks: float,
    groups_right: bool,
    **rates: float,
) -> None:
    """Raises CampaignError for what a user can get wrong."""
    key = os.environ.pop(key_env, "") if key_env else ""
    if key_file is not None:
        key = key_file.read_text("utf-8").strip()
    settings = Settings(
        seed=seed,
        mix=Mix(**{name: rates[name] for name in Mix.__struct_fields__}),
        faults=Faults(**{name: rates[name] for name in Faults.__struct_fields__}),  # type: ignore[arg-type]
        pace=Pace(median_s=latency_s, spread=latency_spread),
        groups_right=groups_right,
        looks=looks,
    )
    serve(Place(truth, port, port_file, report, key), settings)
