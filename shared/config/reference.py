"""Renders docs/configuration.md from the schema: `python -m shared.config.reference > docs/configuration.md`."""

from __future__ import annotations

import sys
import typing
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
import orjson

from shared.config.load import NAMED_TABLES, SINGLE

_HEAD = """\
# campaign.toml

The one configuration file, at the target project's root. Made from the schema in `shared/config/schema.py`; a test
compares.

Every table is strict: an unknown key, a wrong type or a value out of range is one sentence with file and line, exit
code 2. Both daemons log the values in effect and their digest when they start; an edited file is in effect from the
next start. Durations are seconds. A key without a default must be given.
"""


def render() -> str:
    """The whole page."""
    parts = [_HEAD]
    for name, kind in SINGLE.items():
        parts.append(_table(f"[{name}]", kind))
    for name, kind in NAMED_TABLES.items():
        parts.append(_table(f"[{name}.NAME]", kind))
    return "\n".join(parts)


def _table(title: str, kind: type[msgspec.Struct]) -> str:
    said = (kind.__doc__ or "").partition("] ")[2].strip()
    lines = [
        f"## {title}",
        "",
        said[:1].upper() + said[1:],
        "",
        "| key | type | default | meaning |",
        "| --- | --- | --- | --- |",
    ]
    hints = typing.get_type_hints(kind, include_extras=True)
    for item in msgspec.structs.fields(kind):
        hint = hints[item.name]
        lines.append(f"| `{item.name}` | {_type(hint)} | {_default(item)} | {_meaning(hint)} |")
    return "\n".join([*lines, ""])


def _default(item: Any) -> str:
    if item.default is not msgspec.NODEFAULT:
        value = item.default
    elif item.default_factory is not msgspec.NODEFAULT:
        value = item.default_factory()
    else:
        return "required"
    return f"`{orjson.dumps(msgspec.to_builtins(value)).decode()}`"


def _meaning(hint: Any) -> str:
    if get_origin(hint) is not Annotated:
        raise TypeError(f"{hint} has no description")
    found = [m.description for m in hint.__metadata__ if isinstance(m, msgspec.Meta) and m.description]
    return str(found[-1]).replace("|", "\\|")


def _type(hint: Any) -> str:
    if get_origin(hint) is Annotated:
        bounds = [_bounds(m) for m in hint.__metadata__ if isinstance(m, msgspec.Meta)]
        return " ".join([_type(get_args(hint)[0]), *(b for b in bounds if b)])
    if get_origin(hint) is Literal:
        return " or ".join(f"`{value}`" for value in get_args(hint))
    if get_origin(hint) in (list, tuple):
        return f"{get_origin(hint).__name__} of {', '.join(_type(a) for a in get_args(hint))}"
    return {"str": "text", "int": "integer", "float": "number", "bool": "true or false"}.get(
        getattr(hint, "__name__", ""), str(hint)
    )


def _bounds(meta: msgspec.Meta) -> str:
    words = {"gt": "over", "ge": "at least", "lt": "under", "le": "at most"}
    return ", ".join(f"{word} {value:g}" for name, word in words.items() if (value := getattr(meta, name)) is not None)


if __name__ == "__main__":
    sys.stdout.write(render())
