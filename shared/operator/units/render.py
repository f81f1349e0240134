"""The units of one campaign as text. Two campaigns on one machine share none: the project's name is in every unit's."""

from __future__ import annotations

import getpass
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from shared.config import Campaign
from shared.errors import ConfigError, MissingTool
from shared.exits import NO_RESTART
from shared.git import Git
from shared.state import StateDir

TEMPLATES = {
    "drafter.service.in": "-drafter.service",
    "gater.service.in": "-gater.service",
    "campaign.target.in": ".target",
    "fleet-check.service.in": "-fleet-check.service",
    "fleet-check.timer.in": "-fleet-check.timer",
    "observe.service.in": "-observe.service",
    "observe.timer.in": "-observe.timer",
}
WATCHDOG_S = 300
"""A turn of either loop is short; the longest is a draw over a frontier that was never read before."""
STOP_SLACK_S = 60
PLAIN = re.compile(r"[^\s\"'\\%$;]+")


@dataclass(frozen=True)
class Units:
    """Rendered units, by file name; `system`: for the system manager, else for the user's."""

    name: str
    system: bool
    texts: dict[str, str]


def unit_name(campaign: Campaign) -> str:
    """What all units of this campaign begin with."""
    return "decomp-" + re.sub(r"[^A-Za-z0-9_.-]", "-", campaign.project.name)


def folder() -> Path:
    """Where the templates lie: beside the packages in a checkout, below share/ when installed. Raises MissingTool."""
    places = [Path(__file__).parents[3] / "systemd", Path(sys.prefix) / "share" / "decomp-campaign" / "systemd"]
    for place in places:
        if (place / "drafter.service.in").is_file():
            return place
    raise MissingTool(f"the unit templates are in none of {places[0]}, {places[1]}; install the package again")


def render(campaign: Campaign, state: StateDir, *, system: bool = False, user: str = "") -> Units:
    """All units. Raises ConfigError for a path systemd cannot be told, MissingTool."""
    name = unit_name(campaign)
    lock = int(campaign.landing.lock_wait_s)
    step = int(Git(campaign.root).timeout_s)
    build = int(campaign.gate.build_timeout_s)
    values = {
        "NAME": campaign.project.name,
        "UNIT": name,
        "ROOT": quoted(campaign.root),
        "STATE": quoted(state.root),
        "BIN": quoted(Path(sys.executable).parent),
        "USER": user or os.environ.get("SUDO_USER") or getpass.getuser(),
        "NO_RESTART": " ".join(str(int(code)) for code in sorted(NO_RESTART)),
        "WATCHDOG": str(WATCHDOG_S),
        "STOP_DRAFTER": str(step + STOP_SLACK_S),
        "STOP_GATER": str(step + lock + STOP_SLACK_S),
        "FLEET_CHECK": str(build * max(1, len(campaign.binaries)) + STOP_SLACK_S),
        "PATH": ":".join(place for place in os.environ.get("PATH", "").split(":") if PLAIN.fullmatch(place)),
        "METRICS": quoted((campaign.root / Path(campaign.notify.metrics_file).expanduser()).parent)
        if campaign.notify.metrics_file
        else "",
        "WANTED_BY": "multi-user.target" if system else "default.target",
        "CREDENTIALS": "\n".join(_credentials(campaign)),
    }
    texts = {}
    for template, suffix in TEMPLATES.items():
        text = (folder() / template).read_text("utf-8")
        texts[name + suffix] = _fill(text, values, system=system)
    return Units(name, system, texts)


def quoted(path: Path) -> str:
    """A path as unit files take it everywhere. Raises ConfigError for one with white space, quotes, `%` or `$`."""
    text = str(path)
    if not PLAIN.fullmatch(text):
        raise ConfigError(f"{text!r} has letters a systemd unit cannot take in every place; move it or link to it")
    return text


def _credentials(campaign: Campaign) -> list[str]:
    rows: list[str] = []
    for pool, settings in campaign.pools.items():
        if settings.key_file and settings.share > 0:
            path = Path(settings.key_file).expanduser()
            rows.append(f"LoadCredential=key-{pool}:{quoted(path if path.is_absolute() else campaign.root / path)}")
    return rows


def _fill(text: str, values: dict[str, str], *, system: bool) -> str:
    rows: list[str] = []
    for row in text.splitlines():
        if row.startswith("@system@ "):
            if not system:
                continue
            row = row.removeprefix("@system@ ")
        row = re.sub(r"@([A-Z_]+)@", lambda match: values[match[1]], row).rstrip()
        if row or not rows or rows[-1]:
            rows.append(row)
    return "\n".join(rows).rstrip() + "\n"
