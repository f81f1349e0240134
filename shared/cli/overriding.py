"""Options that change settings for one run, shared by `campaign run` and the daemons' `run`."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from shared.config import Campaign, find_config, load_campaign
from shared.config.origins import origins
from shared.config.overrides import ORIGIN, Override, parse

F = TypeVar("F", bound=Callable[..., Any])

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def duration(_context: click.Context, _option: click.Parameter, text: str | None) -> float | None:
    """`8h`, `90m`, `1h30m`, `45s` as seconds. Raises click.BadParameter."""
    if text is None:
        return None
    parts = re.findall(r"(\d+(?:\.\d+)?)([smh])", text)
    total = sum(float(amount) * UNITS[unit] for amount, unit in parts)
    if "".join(amount + unit for amount, unit in parts) != text or total <= 0:
        raise click.BadParameter(f"{text!r} is not a duration; write 8h, 90m or 1h30m")
    return total


def bands(_context: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """`50-120`: instructions from 50 up to, not including, 120. Raises click.BadParameter."""
    found = []
    for text in texts:
        match = re.fullmatch(r"(\d+)-(\d+)", text)
        if match is None or int(match[1]) >= int(match[2]):
            raise click.BadParameter(f"{text!r} is not a band; write LOW-HIGH with LOW below HIGH, as 50-120")
        found.append((int(match[1]), int(match[2])))
    return tuple(found)


def pools(_context: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    """`NAME=WORKERS`. Raises click.BadParameter."""
    found = []
    for text in texts:
        name, _, count = text.rpartition("=")
        if not name or not count.isdigit():
            raise click.BadParameter(f"{text!r} is not NAME=WORKERS")
        found.append((name, int(count)))
    return tuple(found)


@dataclass(frozen=True)
class Chosen:
    """What the options say; laid over the file by `load`."""

    sets: tuple[str, ...] = ()
    lanes: tuple[str, ...] = ()
    bands: tuple[tuple[int, int], ...] = ()
    workers: int | None = None
    attempts: int | None = None
    pools: tuple[tuple[str, int], ...] = ()
    tag: str | None = None

    def load(self, root: Path) -> Campaign:
        """The campaign at or above `root` with these values in effect. Raises ConfigError."""
        path = find_config(root)
        found = [parse(text) for text in self.sets]
        if self.workers is not None:
            found.append(Override(("drafter", "workers"), self.workers, f"--workers {self.workers}"))
        if self.attempts is not None:
            found.append(Override(("drafter", "attempts"), self.attempts, f"--attempts {self.attempts}"))
        if self.tag is not None:
            found.append(Override(("night", "tag"), self.tag, f"--tag {self.tag}"))
        if self.lanes:
            found.append(Override(("drafter", "lanes"), list(self.lanes), f"--lane {' --lane '.join(self.lanes)}"))
        if self.bands or self.pools:
            plain = load_campaign(path, found)
            if self.bands:
                bands = [list(band) for band in self.bands]
                text = " ".join(f"--band {low}-{high}" for low, high in self.bands)
                found += [Override(("lane", name, "bands"), bands, text) for name in plain.drawn_lanes]
            shares = dict.fromkeys(plain.pools, 0) | dict(self.pools) if self.pools else {}
            text = " ".join(f"--pool {name}={count}" for name, count in self.pools)
            found += [Override(("pool", name, "share"), count, text) for name, count in shares.items()]
        return load_campaign(path, found)


_OPTIONS = (
    click.option("--lane", "lanes", multiple=True, metavar="NAME", help="Draw only this lane (may be repeated)."),
    click.option(
        "--band",
        "bands",
        multiple=True,
        metavar="LOW-HIGH",
        callback=bands,
        help="Draw only these instruction counts (may be repeated).",
    ),
    click.option("--workers", type=click.IntRange(min=1), help="Agents in flight."),
    click.option("--attempts", type=click.IntRange(min=1), help="Agents per card."),
    click.option(
        "--pool",
        "pools",
        multiple=True,
        metavar="NAME=WORKERS",
        callback=pools,
        help="Only these pools, with these counts as proportions of the workers (repeatable).",
    ),
    click.option("--tag", help="A word kept in the waves, the ledger and the report of this run."),
)


def set_option(command: F) -> F:
    """Adds `--set`; the function gets `sets`."""
    option = click.option("--set", "sets", multiple=True, metavar="TABLE.KEY=VALUE", help="Any setting, this run only.")
    return option(command)


def for_option(command: F) -> F:
    """Adds `--for`; the function gets `duration`, in seconds or None."""
    said = "Drain early enough to be done by then, as 8h, 90m or 1h30m."
    return click.option("--for", "duration", metavar="DURATION", callback=duration, help=said)(command)


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds all of them but --for; the function gets `chosen`."""
    fields = tuple(field.name for field in dataclasses.fields(Chosen))

    @functools.wraps(command)
    def collected(*args: Any, **options: Any) -> Any:
        chosen = Chosen(**{name: options.pop(name) for name in fields})
        return command(*args, chosen=chosen, **options)

    for option in reversed(_OPTIONS):
        collected = option(collected)
    return set_option(collected)


def said(campaign: Campaign) -> list[str]:
    """One line for every value that comes from the command line."""
    found = origins(campaign)
    return [f"{name} = {value!r} ({ORIGIN})" for name, (value, origin) in found.items() if origin == ORIGIN]
