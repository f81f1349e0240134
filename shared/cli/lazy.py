"""A click group whose commands are imported when they are called, so that `campaign status` loads no compiler layer."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import click


class Later(NamedTuple):
    """Where a command lives, and what the list of commands says of it."""

    module: str
    attribute: str
    help: str


class LazyGroup(click.Group):
    """`later` maps command names to their place; such a command is imported at its first use."""

    def __init__(self, *args: Any, later: Mapping[str, Later] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.later = dict(later or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands, imported or not."""
        return sorted({*super().list_commands(ctx), *self.later})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now if need be."""
        if cmd_name not in self.later:
            return super().get_command(ctx, cmd_name)
        place = self.later[cmd_name]
        command = getattr(importlib.import_module(place.module), place.attribute)
        assert isinstance(command, click.Command), place
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in --help, made without importing what it lists."""
        rows = [(name, self._said(ctx, name, formatter.width)) for name in self.list_commands(ctx)]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)

    def _said(self, ctx: click.Context, name: str, width: int) -> str:
        if name in self.later:
            return self.later[name].help
        command = super().get_command(ctx, name)
        return command.get_short_help_str(max(40, width - 20)) if command is not None else ""
