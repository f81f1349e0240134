"""`drafter draw`: the next draw, shown or written, without a daemon."""

from __future__ import annotations

from msgspec import Struct

from drafter import night
from drafter.clock import RealClock
from drafter.desk import Desk
from drafter.drawer import Drawer
from drafter.events import Events, LogOnly
from drafter.frontier import FrontierReader
from drafter.markers import Publisher
from drafter.waves import WaveState, last_number, load_waves, wave_id
from shared.config import Campaign
from shared.records import Card
from shared.state import StateDir


class Drawn(Struct, frozen=True):
    """A draw as it is shown. `written`: the wave is on disk."""

    wave: str
    lane: str
    band: tuple[int, int]
    commit: str
    cards: tuple[Card, ...]
    frontier: int
    skipped: dict[str, int]
    balanced: bool
    written: bool


def preview(campaign: Campaign, state: StateDir, *, write: bool) -> Drawn:
    """The next draw. With `write` the caller holds the drafter lock, and turns without a card are recorded on the way.

    Raises CampaignError, OSError.
    """
    clock = RealClock()
    events = Events(state, clock) if write else LogOnly(state, clock)
    try:
        found = load_waves(state, clean=write)
        publisher = Publisher(state, events, clock, marker_drafts=1, flush_s=1.0)
        publisher.load()
        desk = Desk(state)
        for wave in found.waves:
            desk.remember(wave)
            if wave.cards and not publisher.closed(wave.id):
                desk.put(wave, set())
        unpublished = {(row.binary, row.function) for wave in desk.open.values() for row in publisher.unpublished(wave)}
        last = last_number(state)
        name = night.begin(state, clock.stamp(), last + 1).id if write else ""
        drawer = Drawer(campaign, state, FrontierReader(campaign), desk, events, clock, name)
        drawer.rotation.last = last
        planned = drawer.preview(unpublished)
        made: list[WaveState] = []
        if write and planned.drawable:
            drawer.draw(unpublished, made.append)
    finally:
        events.close()
    drawn = made[0] if made else None
    return Drawn(
        wave=drawn.id if drawn else wave_id(last + 1),
        lane=drawn.wave.lane if drawn else planned.turn.lane,
        band=drawn.wave.band if drawn else planned.turn.band,
        commit=planned.commit,
        cards=drawn.cards if drawn else planned.kept,
        frontier=planned.frontier,
        skipped=drawn.skipped if drawn else planned.skipped,
        balanced=planned.balanced,
        written=drawn is not None,
    )
