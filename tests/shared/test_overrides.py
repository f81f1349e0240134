"""One run's values from the command line: laid over the file, checked like the file, and said with their origin."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from drafter.alarm import Alarm
from shared.cli.overriding import Chosen, said
from shared.config import load_campaign
from shared.config.origins import origins
from shared.config.overrides import parse, words
from shared.errors import ConfigError
from tests.shared.test_config import GOOD, write

TWO = GOOD + '\n[pool.big]\nurl = "https://example.invalid/v1"\nmodel = "n"\n\n[lane.a]\n[lane.b]\nturns = 9\n'


def test_values_are_laid_over_the_file_and_travel_as_words(tmp_path: Path) -> None:
    path = write(tmp_path, TWO)
    chosen = Chosen(
        sets=("gate.slots=3", "lane.b.cost_usd=0.4", "project.name=other"),
        lanes=("b",),
        bands=((10, 20),),
        workers=7,
        attempts=2,
        pools=(("big", 5),),
        tag="blue",
    )
    campaign = chosen.load(tmp_path)
    assert (campaign.gate.slots, campaign.drafter.workers, campaign.drafter.attempts) == (3, 7, 2)
    assert (campaign.project.name, campaign.night.tag) == ("other", "blue")
    assert list(campaign.drawn_lanes) == ["b"]
    assert campaign.lanes["b"].bands == [(10, 20)]
    assert campaign.lanes["b"].cost_usd == 0.4
    assert len(campaign.lanes["a"].bands) == 4
    assert {name: pool.share for name, pool in campaign.pools.items()} == {"cheap": 0, "big": 5}
    assert origins(campaign)["drafter.workers"] == (7, "command line")
    assert origins(campaign)["lane.b.turns"] == (9, "campaign.toml")
    assert "drafter.workers = 7 (command line)" in said(campaign)
    again = load_campaign(path, [parse(text) for text in words(campaign.overrides)[1::2]])
    assert again.digest() == campaign.digest()


@pytest.mark.parametrize(
    ("sets", "sentence"),
    [
        ("workers=3", "table.key=value"),
        ("drafter.workers", "table.key=value"),
        ("drafter.wrokers=3", "--set drafter.wrokers=3: .*unknown key `wrokers`"),
        ("drafter.workers=many", "--set drafter.workers=many: .*int"),
        ("lane.c.turns=3", "known names: a, b"),
        ("pool.cheap=3", r"write pool\.NAME\.key=value"),
        ("gates.slots=3", r"--set gates.slots=3: unknown table \[gates\]"),
        ("drafter.lanes=['c']", "known lanes are a, b"),
        ("night.until='25:00'", "--set night.until"),
    ],
)
def test_a_mistake_names_what_was_typed(tmp_path: Path, sets: str, sentence: str) -> None:
    write(tmp_path, TWO)
    with pytest.raises(ConfigError, match=sentence):
        Chosen(sets=(sets,)).load(tmp_path)


def test_the_default_lane_can_be_changed_though_the_file_has_none(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    campaign = Chosen(sets=("lane.default.turns=3",), bands=((5, 6), (7, 9))).load(tmp_path)
    assert campaign.lanes["default"].turns == 3
    assert campaign.lanes["default"].bands == [(5, 6), (7, 9)]


def test_a_night_ends_in_time(tmp_path: Path) -> None:
    write(tmp_path, GOOD + '\n[night]\nuntil = "07:30"\n')
    campaign = Chosen().load(tmp_path)
    evening = datetime(2026, 3, 1, 22, 30)
    nine_hours, lead = 9 * 3600.0, 120 + 700 + 60 + 300
    alarm = Alarm.of(campaign, 1000.0, None, evening)
    assert alarm.drain_at == 1000.0 + nine_hours - lead
    assert alarm.done_by.startswith("2026-03-02T07:30")
    assert not alarm.due(1000.0)
    assert alarm.due(1000.0 + nine_hours - lead)
    assert Alarm.of(campaign, 0.0, 3600.0, evening).drain_at == 3600.0 - lead
    assert Alarm.of(campaign, 0.0, 60.0, evening).drain_at == 30.0
    assert Alarm.of(campaign, 0.0, None, datetime(2026, 3, 1, 7, 0)).drain_at == 1800.0 - 900.0
    plain = Chosen(sets=("night.until=''",)).load(tmp_path)
    assert Alarm.of(plain, 0.0, None).drain_at is None
