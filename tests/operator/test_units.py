"""The unit files against the code, and the real units under a real systemd."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from shared.config import load_campaign
from shared.exits import NO_RESTART
from shared.operator.liveness import running
from shared.operator.stopping import waited_for
from shared.operator.units.install import differences, install, verify
from shared.operator.units.render import STOP_SLACK_S, TEMPLATES, Units, render
from shared.state import StateDir, create_state
from tests.drafter.project import make_project
from tests.operator.manager import Manager, manager, wait_for, why_not
from tests.operator.test_init import campaign as run_campaign

ROOT = Path(__file__).parents[2]


def settings(text: str) -> dict[str, list[str]]:
    """Keys of a unit file and all their values."""
    found: dict[str, list[str]] = {}
    for row in text.splitlines():
        key, equals, value = row.partition("=")
        if equals and not row.startswith("#"):
            found.setdefault(key, []).append(value)
    return found


@pytest.fixture
def project(tmp_path: Path) -> tuple[Path, StateDir]:
    return make_project(tmp_path, tus=2, stubs=10)


@pytest.mark.parametrize("system", [False, True])
def test_the_units_say_what_the_code_does(project: tuple[Path, StateDir], system: bool) -> None:
    root, state = project
    campaign = load_campaign(root / "campaign.toml")
    units = render(campaign, state, system=system, user="nobody")
    assert {name.removeprefix(units.name) for name in units.texts} == set(TEMPLATES.values())
    for name in ("drafter", "gater"):
        known = settings(units.texts[f"{units.name}-{name}.service"])
        assert {int(code) for code in known["RestartPreventExitStatus"][0].split()} == {int(c) for c in NO_RESTART}
        assert known["Type"] == ["notify"]
        assert known["Restart"] == ["on-failure"]
        assert known["ConditionPathExists"] == [f"!{state.stop}"]
        program = known["ExecStart"][0].split()
        assert program[1:] == ["--root", str(root), "run"]
        assert os.access(program[0], os.X_OK)
        assert f"TMPDIR={state.tmp}" in known["Environment"]
        assert int(known["WatchdogSec"][0]) > 60
        assert "PrivateTmp" not in known
        assert "RuntimeDirectory" not in known
        assert ("ProtectSystem" in known) is system
    drafter = settings(units.texts[f"{units.name}-drafter.service"])
    gater = settings(units.texts[f"{units.name}-gater.service"])
    assert (drafter["KillMode"], gater["KillMode"]) == (["process"], ["mixed"])
    longest_git = 120
    assert int(drafter["TimeoutStopSec"][0]) >= longest_git + STOP_SLACK_S
    assert int(gater["TimeoutStopSec"][0]) >= longest_git + campaign.landing.lock_wait_s + STOP_SLACK_S
    check = settings(units.texts[f"{units.name}-fleet-check.service"])
    assert int(check["TimeoutStartSec"][0]) > campaign.gate.build_timeout_s * len(campaign.binaries)
    for text in units.texts.values():
        assert not re.search(r"@[A-Za-z_]+@", text)


@pytest.mark.needs("systemd-analyze")
@pytest.mark.parametrize("system", [False, True])
def test_install_verifies_writes_once_and_sees_a_difference(
    project: tuple[Path, StateDir], tmp_path: Path, system: bool
) -> None:
    root, state = project
    flags = ["--system"] if system else []
    place = tmp_path / "units"
    done = run_campaign(root, "install-units", *flags, "--dir", str(place))
    assert done.returncode == 0, done.stderr
    units = render(load_campaign(root / "campaign.toml"), state, system=system)
    assert differences(units, place) == {}
    assert "as shipped" in run_campaign(root, "install-units", *flags, "--dir", str(place)).stdout
    first = place / f"{units.name}-drafter.service"
    first.write_text(first.read_text().replace("KillMode=process", "KillMode=mixed"))
    assert differences(units, place) == {first.name: "differs"}
    shown = run_campaign(root, "install-units", *flags, "--dry-run").stdout
    assert "KillMode=process" in shown
    broken = Units(units.name, units.system, {**units.texts, first.name: first.read_text() + "\nKilMode=x\n"})
    with pytest.raises(Exception, match="KilMode"):
        verify(broken)


def test_two_campaigns_of_one_name_do_not_take_each_others_units(tmp_path: Path) -> None:
    one, two = make_project(tmp_path / "1"), make_project(tmp_path / "2")
    place = tmp_path / "units"
    install(render(load_campaign(one[0] / "campaign.toml"), one[1]), place)
    with pytest.raises(Exception, match="another campaign's"):
        install(render(load_campaign(two[0] / "campaign.toml"), two[1]), place)


def test_a_path_systemd_cannot_take_is_refused(tmp_path: Path) -> None:
    root, _ = make_project(tmp_path / "a b")
    done = run_campaign(root, "install-units", "--dry-run")
    assert (done.returncode, "white space" in done.stderr or "letters a systemd unit" in done.stderr) == (2, True)


@dataclass
class Lab:
    """A campaign whose real units a real systemd runs; shards are fakes that take `delay_s` for a draft."""

    root: Path
    state: StateDir
    systemd: Manager
    name: str
    wedge: Path

    def unit(self, what: str) -> str:
        return f"{self.name}-{what}.service"


_DRAFTER = """#!{python}
import runpy, sys
sys.path.insert(0, {root!r})
sys.argv[0] = "drafter"
runpy.run_path({runner!r}, run_name="__main__")
"""
_GATER = """#!{python}
import pathlib, sys, time
sys.path.insert(0, {root!r})
from gater import cli, daemon
turn = daemon.Gater.turn
def wedged(self):
    while pathlib.Path({wedge!r}).exists():
        time.sleep(0.1)
    turn(self)
daemon.Gater.turn = wedged
if __name__ == "__main__":
    cli.main()
"""


def script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    if reason := why_not():
        pytest.fail(reason) if reason.endswith("installed") else pytest.skip(reason)
    base = tmp_path_factory.mktemp("lab")
    # Long enough in flight that a restart finds agents at work.
    lanes = "[lane.default]\nbands = [[0, 2000]]"
    root, _ = make_project(base, tus=4, stubs=20, cards=40, lanes=lanes, workers=6)
    (root / ".run").unlink()
    state = create_state(root, "tiny", home=base / "home")
    (state.root / "fake.json").write_text(json.dumps({"delay_s": 4.0}))
    key = base / "key"
    key.write_text("sk-test-credential\n")
    path = root / "campaign.toml"
    path.write_text(path.read_text().replace('model = "model-a"', f'model = "model-a"\nkey_file = "{key}"'))
    wedge, shims, place = base / "wedge", base / "bin", base / "units"
    shims.mkdir()
    place.mkdir()
    runner = ROOT / "tests" / "drafter" / "run_drafter.py"
    script(shims / "drafter", _DRAFTER.format(python=sys.executable, root=str(ROOT), runner=str(runner)))
    script(shims / "gater", _GATER.format(python=sys.executable, root=str(ROOT), wedge=str(wedge)))
    units = render(load_campaign(path), state, system=True, user="root")
    for name, text in units.texts.items():
        (place / name).write_text(text.replace(f"{Path(sys.executable).parent}/", f"{shims}/"))
        if name.endswith(("-drafter.service", "-gater.service")):
            quick = place / f"{name}.d"
            quick.mkdir()
            log = base / f"{name}.log"
            (quick / "quick.conf").write_text(
                f"[Service]\nWatchdogSec=4\nRestartSec=0.3\nStandardOutput=append:{log}\nStandardError=append:{log}\n"
            )
    with manager(place, base / "systemd.log") as systemd:
        yield Lab(root, state, systemd, units.name, wedge)


@pytest.fixture
def night(lab: Lab) -> Iterator[Lab]:
    lab.state.stop.unlink(missing_ok=True)
    lab.wedge.unlink(missing_ok=True)
    lab.systemd.ctl("reset-failed", check=False)
    yield lab
    lab.wedge.unlink(missing_ok=True)
    lab.state.stop.touch()
    for what in ("drafter", "gater"):
        lab.systemd.ctl("stop", lab.unit(what), check=False)
    wait_for(lambda: not waited_for(lab.state)["shards"], 30)


def start(lab: Lab) -> None:
    lab.systemd.ctl("start", f"{lab.name}.target")
    for what in ("gater", "drafter"):
        lab.systemd.ctl("start", lab.unit(what))
        assert lab.systemd.show(lab.unit(what), "ActiveState") == "active"  # start returns after READY


def agents_at_work(lab: Lab) -> bool:
    left = waited_for(lab.state)
    return bool(left["shards"]) and bool(left["targets"])


@pytest.mark.needs("systemctl")
def test_start_kill_restart_and_watchdog(night: Lab) -> None:
    start(night)
    assert running(night.state, "drafter")
    assert running(night.state, "gater")
    for what in ("drafter", "gater"):
        unit = night.unit(what)
        first = night.systemd.main_pid(unit)
        night.systemd.kill(unit, signal.SIGKILL)
        wait_for(lambda unit=unit, first=first: night.systemd.main_pid(unit) not in (0, first))  # type: ignore[misc]
        wait_for(lambda unit=unit: night.systemd.show(unit, "ActiveState") == "active")  # type: ignore[misc]
    gater = night.unit("gater")
    before = int(night.systemd.show(gater, "NRestarts"))
    night.wedge.touch()  # the loop stands still, the process lives: nothing but the loop may feed the watchdog
    wait_for(lambda: int(night.systemd.show(gater, "NRestarts")) > before, 40)
    night.wedge.unlink()
    wait_for(lambda: night.systemd.show(gater, "ActiveState") == "active")


@pytest.mark.needs("systemctl")
def test_agents_live_through_a_restart_and_end_when_the_drafter_stays_away(night: Lab) -> None:
    start(night)
    wait_for(lambda: agents_at_work(night))
    before = {p.parent.name for p in night.state.shards.glob("*/run.lock") if running(night.state, "", p)}
    night.systemd.ctl("restart", night.unit("drafter"))
    now = {p.parent.name for p in night.state.shards.glob("*/run.lock") if running(night.state, "", p)}
    assert before <= now
    events = (night.state.journal / "events.jsonl").read_text()
    assert '"shard-adopt"' in events
    unit = night.unit("drafter")
    assert night.systemd.inside("cat", f"/run/credentials/{unit}/key-a").strip() == "sk-test-credential"
    night.systemd.ctl("restart", night.unit("gater"))
    assert running(night.state, "gater")
    night.systemd.ctl("stop", unit)
    assert not running(night.state, "drafter")
    assert waited_for(night.state)["shards"]  # they end by themselves after orphan_grace_s, or now by this command:
    runner = ROOT / "tests" / "drafter" / "run_drafter.py"
    words = ["env", f"PYTHONPATH={ROOT}", sys.executable, str(runner), "--root", str(night.root)]
    night.systemd.inside(*words, "kill-agents", "--grace", "8")  # their pids are only known in there
    assert not waited_for(night.state)["shards"]


@pytest.mark.needs("systemctl")
def test_a_stop_file_drains_both_and_they_stay_down(night: Lab) -> None:
    start(night)
    wait_for(lambda: agents_at_work(night))
    night.state.stop.touch()
    for what in ("drafter", "gater"):
        wait_for(lambda what=what: night.systemd.show(night.unit(what), "ActiveState") == "inactive", 60)  # type: ignore[misc]
        assert night.systemd.show(night.unit(what), "Result") == "success"
    assert not waited_for(night.state)["shards"]
    night.systemd.ctl("start", night.unit("drafter"))  # a stop file at start: skipped, no error
    assert night.systemd.show(night.unit("drafter"), "ActiveState") == "inactive"
    assert night.systemd.show(night.unit("drafter"), "ConditionResult") == "no"
