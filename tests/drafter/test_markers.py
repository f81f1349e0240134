"""Rows become markers: each final draft in exactly one, whatever dies when."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drafter.draw import Plan, Turn
from drafter.events import Events
from drafter.markers import Publisher
from drafter.waves import WaveState, append_row, load_waves, write_wave
from shared import durable
from shared.errors import DiskFull
from shared.hashing import digest_bytes
from shared.records import AgentRow
from shared.spool import read_marker
from shared.state import StateDir, create_state
from tests.drafter.sim import VirtualClock, made_cards


@pytest.fixture
def state(tmp_path: Path) -> StateDir:
    (tmp_path / "project").mkdir()
    return create_state(tmp_path / "project", "tiny", tmp_path / "home")


def make_wave(state: StateDir, cards: int) -> WaveState:
    """A wave on disk."""
    planned = Plan(Turn("default", (0, 100)), "c" * 40, tuple(made_cards(cards)), {}, cards, cards)
    return write_wave(state, planned, 1, 1, {}, "")


def finish(wave: WaveState, target: str, *, draft: bool = True) -> AgentRow:
    """The row of a target, as a shard writes it."""
    card, data = wave.targets[target], f"int {target.replace('-', '_')};\n".encode()
    path = f"waves/{wave.id}/drafts/{target}.c"
    if draft:
        durable.write(wave.folder / "drafts" / f"{target}.c", data)
    row = AgentRow(
        id=target,
        binary=card.binary,
        function=card.function,
        attempt=1,
        outcome="match" if draft else "gave-up",
        path=path if draft else "",
        digest=digest_bytes(data) if draft else "",
        size=len(data) if draft else 0,
    )
    append_row(wave, row)
    return row


def publisher(state: StateDir, clock: VirtualClock, marker_drafts: int = 3, flush_s: float = 10.0) -> Publisher:
    made = Publisher(state, Events(state, clock), clock, marker_drafts=marker_drafts, flush_s=flush_s)
    made.load()
    made.repair()
    return made


def published(state: StateDir) -> list[str]:
    """Ids of drafts in markers, wherever these are."""
    paths = state.spool.glob("[rcd]*/*.json")
    return [draft.id for path in paths for draft in read_marker(path).drafts]


def test_a_marker_is_due_by_number_by_age_or_at_the_end(state: StateDir) -> None:
    clock, wave = VirtualClock(), make_wave(state, 6)
    out = publisher(state, clock)
    out.begin(wave.id)
    targets = list(wave.targets)
    finish(wave, targets[0])
    assert out.publish(wave) is None
    clock.now = 9.0
    assert out.publish(wave) is None
    clock.now = 10.5
    marker = out.publish(wave)
    assert marker is not None
    assert (marker.id, marker.closing, len(marker.drafts), marker.priority) == ("w000001-0001", False, 1, 2)
    for target in targets[1:4]:
        finish(wave, target)
    marker = out.publish(wave)
    assert marker is not None
    assert (marker.id, len(marker.drafts)) == ("w000001-0002", 3)
    finish(wave, targets[4], draft=False)
    assert out.publish(wave) is None
    finish(wave, targets[5], draft=False)
    marker = out.publish(wave)
    assert marker is not None
    assert (marker.id, marker.closing, marker.drafts) == ("w000001-0003-end", True, ())
    assert out.closed(wave.id)
    assert out.publish(wave) is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(data=st.data())
def test_restarts_moves_and_full_disks_neither_lose_nor_double(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    base = tmp_path_factory.mktemp("markers")
    (base / "project").mkdir()
    state, clock = create_state(base / "project", "tiny", base / "home"), VirtualClock()
    wave = make_wave(state, 8)
    left = list(wave.targets)
    out = publisher(state, clock)
    for _ in range(30):
        step = data.draw(st.sampled_from(["row", "publish", "restart", "claim", "settle", "full", "time"]))
        if step == "row" and left:
            finish(wave, left.pop(), draft=data.draw(st.booleans()))
        elif step == "publish":
            out.publish(wave)
        elif step == "time":
            clock.now += 11
        elif step == "restart":
            (wave,) = load_waves(state, clean=True).waves
            out = publisher(state, clock)
        elif step == "full":
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(durable, "stage", _full)
                try:
                    out.publish(wave)
                except DiskFull:
                    continue
        elif step in ("claim", "settle"):
            source, target = ("ready", "claimed") if step == "claim" else ("claimed", "done")
            for path in (state.spool / source).glob("*.json"):
                path.rename(state.spool / target / path.name)
    for target in left:
        finish(wave, target)
    out = publisher(state, clock)
    out.publish(wave)
    assert out.closed(wave.id)
    assert publisher(state, clock).publish(wave) is None
    assert Counter(published(state)) == Counter(row.id for row in wave.drafts())
    closing = [path for path in state.spool.glob("*/*.json") if read_marker(path).closing]
    assert len(closing) == 1


def _full(*_: object) -> Path:
    raise DiskFull("no space left")


def test_a_death_between_marker_and_note_is_repaired(state: StateDir) -> None:
    clock, wave = VirtualClock(), make_wave(state, 1)
    finish(wave, next(iter(wave.targets)))
    publisher(state, clock).publish(wave)
    note = wave.folder / "closed.json"
    note.unlink()
    again = publisher(state, clock)
    assert again.closed(wave.id)
    assert note.exists()


def test_a_draft_that_changed_after_its_row_is_said_and_left_out(state: StateDir) -> None:
    clock, wave = VirtualClock(), make_wave(state, 2)
    out = publisher(state, clock)
    for target in wave.targets:
        finish(wave, target)
    good, bad = wave.targets
    (wave.folder / "drafts" / f"{bad}.c").write_text("int other;\n")
    marker = out.publish(wave)
    assert marker is not None
    assert [draft.id for draft in marker.drafts] == [good]
    assert b"draft-lost" in (state.journal / "events.jsonl").read_bytes()
