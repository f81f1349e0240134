"""Metrics and notifications: what a collector reads, what a person is told and how often."""

from __future__ import annotations

from pathlib import Path

import orjson
from prometheus_client.parser import text_string_to_metric_families

from tests.operator.night import make_night
from tests.operator.test_init import campaign as run_campaign


def test_the_metrics_are_the_status(tmp_path: Path) -> None:
    root, _ = make_night(tmp_path)
    done = run_campaign(root, "metrics")
    assert done.returncode == 0, done.stderr
    found = {
        (sample.name.removeprefix("decomp_campaign_"), *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(done.stdout)
        for sample in family.samples
    }
    assert found["funnel_total", "drawn"] == 10
    assert found["requests_total", "platform"] == 2
    assert found["idle_slot_seconds_total", "ramp"] == 2400
    assert found["up", "drafter"] == 0
    out = tmp_path / "x.prom"
    run_campaign(root, "metrics", "-o", str(out))
    assert "decomp_campaign_agents" in out.read_text()


def test_a_trouble_is_told_once_and_an_undelivered_one_shows(tmp_path: Path) -> None:
    root, state = make_night(tmp_path)
    config = (root / "campaign.toml").read_text()
    tell = tmp_path / "tell"
    tell.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/told\n')
    tell.chmod(0o755)
    (root / "campaign.toml").write_text(config + f'\n[notify]\ncommand = ["{tell}"]\nmetrics_file = "{tmp_path}/m"\n')
    assert run_campaign(root, "observe").stdout.split()[1] == "told"
    first = (tmp_path / "told").read_text()
    assert "drafter and gater not running" in first
    assert (tmp_path / "m").exists()
    assert run_campaign(root, "observe").stdout == "0 told\n"
    assert (tmp_path / "told").read_text() == first
    state.stop.touch()
    run_campaign(root, "observe")
    assert "a drain was asked for" in (tmp_path / "told").read_text().removeprefix(first)
    state.stop.unlink()
    (root / "campaign.toml").write_text(config + '\n[notify]\ncommand = ["/bin/false"]\n')
    assert run_campaign(root, "observe", "--test").returncode == 1
    run_campaign(root, "observe")
    outlet = orjson.loads(run_campaign(root, "status", "--json").stdout)["outlets"]["notify"]
    assert (outlet["ok"], "/bin/false ended with 1" in outlet["error"]) == (False, True)
