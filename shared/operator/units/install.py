"""Puts rendered units where a manager reads them, verifies them first, and compares what is installed."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from shared import durable
from shared.errors import ConfigError, InstrumentFault
from shared.operator.units.render import Units
from shared.proc import Limits, run

MANAGER = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "XDG_CONFIG_HOME", "SYSTEMD_UNIT_PATH")
"""What systemctl and systemd-analyze need of our environment to find the user's manager."""


def unit_folder(*, system: bool) -> Path:
    """Where an administrator's or a user's own units belong."""
    if system:
        return Path("/etc/systemd/system")
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "systemd" / "user"


def differences(units: Units, folder: Path) -> dict[str, str]:
    """Unit file -> `missing` or `differs`, for each that is not as rendered."""
    found = {}
    for name, text in units.texts.items():
        try:
            installed = (folder / name).read_text("utf-8", "replace")
        except OSError:
            found[name] = "missing"
            continue
        if _said(installed) != _said(text):
            found[name] = "differs"
    return found


def _said(text: str) -> list[str]:
    """The rows that matter: a PATH differs from one shell to the next."""
    return [row for row in text.splitlines() if not row.startswith("Environment=PATH=")]


def verify(units: Units) -> None:
    """Asks systemd-analyze; a typo counts as an error. Raises ConfigError with its words, MissingTool."""
    with tempfile.TemporaryDirectory(prefix="units-") as place:
        paths = []
        for name, text in units.texts.items():
            path = Path(place) / name
            durable.write(path, text.encode())
            paths.append(str(path))
        argv = ["systemd-analyze", *([] if units.system else ["--user"]), "verify", "--recursive-errors=no", *paths]
        environment = {name: os.environ[name] for name in MANAGER if name in os.environ}
        environment["SYSTEMD_UNIT_PATH"] = f"{place}:"
        if not units.system:
            environment.setdefault("XDG_RUNTIME_DIR", place)
        done = run(argv, cwd=Path(place), limits=Limits(timeout_s=60.0), env=environment)
    if not done.ok:
        words = (done.stderr + done.stdout).decode("utf-8", "replace").replace(f"{place}/", "").strip()
        raise ConfigError(f"the units do not pass systemd-analyze: {words[:800]}")


def install(units: Units, folder: Path) -> list[str]:
    """Writes what is missing or differs; returns the names. Raises ConfigError when a unit is another campaign's."""
    changed = differences(units, folder)
    marks = [row for row in units.texts[f"{units.name}-gater.service"].splitlines() if row.startswith("WorkingDir")]
    for name, what in changed.items():
        if what == "differs" and name.endswith("-gater.service"):
            theirs = (folder / name).read_text("utf-8", "replace").splitlines()
            if not set(marks) & set(theirs):
                raise ConfigError(
                    f"{folder / name} is another campaign's of the same name; give this one another [project] name"
                )
    folder.mkdir(parents=True, exist_ok=True)
    for name in changed:
        durable.write(folder / name, units.texts[name].encode())
        (folder / name).chmod(0o644)
    return sorted(changed)


def manager(*words: str, system: bool) -> tuple[bool, str]:
    """Runs systemctl; (worked, its last words). A missing manager is an answer, not an error."""
    if shutil.which("systemctl") is None:
        return False, "systemctl is not installed"
    argv = ["systemctl", *([] if system else ["--user"]), *words]
    environment = {name: os.environ[name] for name in MANAGER if name in os.environ}
    try:
        done = run(argv, cwd=Path("/"), limits=Limits(timeout_s=30.0), env=environment)
    except InstrumentFault as error:
        return False, str(error)
    said = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
    return done.ok, said[-1] if said else ""
