"""Installed systemd units: as shipped, and the same checks inside their own sandbox and environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson

from shared.config import Campaign
from shared.errors import CampaignError
from shared.operator.doctor.found import Found, failed, ok, untested, warning
from shared.operator.units.install import MANAGER, differences, manager, unit_folder
from shared.operator.units.render import Units, render
from shared.proc import Limits, run
from shared.state import StateDir

OWN = (
    *("Type", "NotifyAccess", "ExecStart", "Restart", "RestartSec", "RestartPreventExitStatus"),
    *("WatchdogSec", "TimeoutStartSec", "TimeoutStopSec", "KillMode"),
)
"""What makes a unit a daemon; the rest is its sandbox and environment."""
INSIDE = {"gater": ("files", "builds"), "drafter": ("files", "endpoints")}
SLACK_S = 120.0


def units(
    campaign: Campaign, state: StateDir, folder: Path | None, *, system: bool, quick: bool, offline: bool
) -> Iterator[Found]:
    """Of each manager that has units of this campaign. `folder`: look there alone, for the manager `system` says."""
    left_out = {name for name, no in (("builds", quick), ("endpoints", offline)) if no}
    seen = False
    places = [(folder, system)] if folder else [(unit_folder(system=kind), kind) for kind in (False, True)]
    for place, kind in places:
        wanted = _as_installed(campaign, state, place, system=kind)
        off = differences(wanted, place)
        if len(off) == len(wanted.texts):
            continue
        seen = True
        flags = " --system" if kind else ""
        if off:
            what = ", ".join(f"{name} {how}" for name, how in sorted(off.items()))
            yield warning("units", f"in {place}: {what}", f"campaign install-units{flags}, then restart the daemons")
        else:
            yield ok("units", f"{len(wanted.texts)} units in {place} are as shipped")
        for daemon in INSIDE:
            inside = [check for check in INSIDE[daemon] if check not in left_out]
            yield from _sandbox(campaign, wanted, place, daemon, inside)
    if not seen:
        yield untested("units", "none installed: the daemons run in a terminal", "campaign install-units, if wanted")


def _as_installed(campaign: Campaign, state: StateDir, place: Path, *, system: bool) -> Units:
    """The shipped units, for the user that the installed ones name."""
    first = render(campaign, state, system=system)
    rows = _service(place / f"{first.name}-gater.service")
    user = next((value for key, value in rows if key == "User"), "")
    return render(campaign, state, system=system, user=user) if user else first


def _service(path: Path) -> list[tuple[str, str]]:
    """The rows of [Service] of a unit file, [] when there is none."""
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    rows, inside = [], False
    for line in lines:
        if line.startswith("["):
            inside = line.strip() == "[Service]"
        key, equals, value = line.partition("=")
        if inside and equals and not line.startswith("#"):
            rows.append((key.strip(), value.strip()))
    return rows


def _sandbox(campaign: Campaign, wanted: Units, place: Path, daemon: str, inside: list[str]) -> Iterator[Found]:
    name = f"sandbox {daemon}"
    rows = _service(place / f"{wanted.name}-{daemon}.service")
    reachable, words = manager("show", "--property=Version", system=wanted.system)
    if not rows or not reachable:
        yield untested(name, words or f"{wanted.name}-{daemon}.service is not installed")
        return
    argv = ["systemd-run", *([] if wanted.system else ["--user"]), "--pipe", "--wait", "--collect", "--quiet"]
    for key, value in rows:
        if key not in OWN:
            argv += ["--property", f"{key}={value}"]
    program = [str(Path(sys.executable).parent / "campaign"), "--root", str(campaign.root), "doctor", "--json"]
    for check in inside:
        program += ["--only", check]
    limit = campaign.gate.build_timeout_s * len(campaign.binaries) + SLACK_S
    environment = {known: os.environ[known] for known in MANAGER if known in os.environ}
    try:
        done = run([*argv, "--", *program], cwd=campaign.root, limits=Limits(timeout_s=limit), env=environment)
    except CampaignError as error:
        yield untested(name, str(error))
        return
    try:
        inner = orjson.loads(done.stdout)["checks"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        said = (done.stderr + done.stdout).decode("utf-8", "replace").strip().splitlines()
        do = f"see the properties of {wanted.name}-{daemon}.service; its sandbox keeps `campaign` from working"
        yield failed(name, f"no answer from inside: {said[-1] if said else f'exit {done.returncode}'}", do)
        return
    for row in inner:
        yield Found(f"{name}: {row['name']}", row["status"], row["what"], row["do"])
