"""One run's values from the command line, laid over campaign.toml before it is checked: `--set table.key=value`.

They travel to every process of the run as the same words, so that all of them see the same settings.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from shared.errors import ConfigError

ORIGIN = "command line"


@dataclass(frozen=True)
class Override:
    """One value in place of the file's. `text` is what was typed, for messages."""

    keys: tuple[str, ...]
    value: Any
    text: str

    @property
    def words(self) -> list[str]:
        """The option that says the same to a child process."""
        return ["--set", f"{'.'.join(self.keys)}={orjson.dumps(self.value).decode()}"]


def parse(text: str) -> Override:
    """`drafter.workers=8` or `lane.big.cost_usd=0.4`: the value as TOML, else as a bare word. Raises ConfigError."""
    name, equals, value = text.partition("=")
    keys = tuple(part.strip() for part in name.strip().split("."))
    if not equals or len(keys) not in (2, 3) or not all(keys):
        raise ConfigError(f"--set {text!r} is not table.key=value, as in drafter.workers=8 or lane.big.turns=40")
    return Override(keys, _value(value.strip()), f"--set {text}")


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"v = {text}")["v"]
    except tomllib.TOMLDecodeError:
        return text


def words(overrides: Iterable[Override]) -> list[str]:
    """The options that lay the same values over the file in a child process."""
    return [word for override in overrides for word in override.words]


def lay_over(
    tables: Mapping[str, Any], overrides: Sequence[Override], named: Mapping[str, Iterable[str]]
) -> dict[str, Any]:
    """`tables` with the overrides' values. `named` are tables of named tables, with names that exist unwritten.

    An override may change a named table, never make one: a mistyped name would be an empty lane. Raises ConfigError.
    """
    out = {name: dict(table) if isinstance(table, dict) else table for name, table in tables.items()}
    for override in overrides:
        table, *rest = override.keys
        place = out.setdefault(table, {})
        if table in named:
            known = sorted({*place, *named[table]} if isinstance(place, dict) else named[table])
            if len(rest) != 2 or rest[0] not in known:
                raise ConfigError(
                    f"{override.text}: write {table}.NAME.key=value; known names: {', '.join(known) or 'none'}"
                )
            place[rest[0]] = dict(place.get(rest[0], {}))
            place, rest = place[rest[0]], rest[1:]
        if len(rest) != 1 or not isinstance(place, dict):
            raise ConfigError(f"{override.text}: [{table}] has no tables in it; write {table}.key=value")
        place[rest[0]] = override.value
    return out
