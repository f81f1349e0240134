"""Where each value in effect came from, so that a running daemon can say what it really does (field report F57)."""

from __future__ import annotations

import tomllib
from typing import Any

from shared.config.load import SINGLE, Campaign
from shared.config.overrides import ORIGIN

FILE = "campaign.toml"
DEFAULT = "default"


def origins(campaign: Campaign) -> dict[str, tuple[Any, str]]:
    """`table.key` -> (value, origin) for every value in effect. Raises OSError when the file is gone.

    Call it right after loading: it reads the file again to see which keys are spelled out.
    """
    written = tomllib.loads(campaign.path.read_text("utf-8"))
    found: dict[str, tuple[Any, str]] = {}
    for table, values in campaign.effective().items():
        if table in SINGLE:
            _add(found, table, values, written.get(table, {}))
        else:
            for name, entry in values.items():
                _add(found, f"{table}.{name}", entry, written.get(table, {}).get(name, {}))
    for override in campaign.overrides:
        name = ".".join(override.keys)
        found[name] = (found[name][0], ORIGIN)
    return found


def _add(found: dict[str, tuple[Any, str]], prefix: str, values: dict[str, Any], written: dict[str, Any]) -> None:
    for key, value in values.items():
        found[f"{prefix}.{key}"] = (value, FILE if key in written else DEFAULT)
