"""The most a night can cost, from budgets alone: what a person wants to know before it starts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from shared.config import Campaign


def upcoming(campaign: Campaign, first: int) -> Iterator[tuple[int, str, tuple[int, int]]]:
    """(wave number, lane, band) from wave `first` on, without end, if no turn comes up empty.

    The rotation is the draw's: lane = turn mod lanes, band = (turn div lanes) mod that lane's bands.
    """
    lanes = list(campaign.drawn_lanes.items())
    for number in itertools.count(first):
        index = number - 1
        name, lane = lanes[index % len(lanes)]
        yield number, name, lane.bands[(index // len(lanes)) % len(lane.bands)]


def highest_spend(campaign: Campaign, first: int, waves: int | None) -> dict[str, Any]:
    """`usd` is the most that `waves` waves from number `first` can cost by their lanes' budgets; None = no bound.

    An agent's budget is looked at before each request, so each may go over by its last one. A wave that is empty is
    replaced by a later one, so a counted run takes the dearest lane's budget where several take turns.
    """
    drafter = campaign.drafter
    dearest = max(lane.cost_usd for lane in campaign.drawn_lanes.values())
    wave = round(drafter.cards_per_wave * drafter.attempts * dearest, 4)
    usd = None if waves is None else round(wave * waves, 2)
    if usd is None:
        words = f"no bound for the night; at most {wave:g} USD a wave by the lanes' budgets"
    else:
        words = f"at most {usd:g} USD by the lanes' budgets ({waves} waves of at most {wave:g} USD)"
    cap = campaign.spend.night_usd
    if cap and (usd is None or cap < usd):
        usd, words = cap, f"at most {cap:g} USD, the night's cap"
    unknown = [name for name, pool in campaign.pools.items() if pool.share > 0 and not _priced(pool)]
    if unknown:
        words += f"; cost of {', '.join(unknown)} is known only where the provider reports it"
    return {"usd": usd, "wave_usd": wave, "first_wave": first, "unpriced_pools": unknown, "words": words}


def _priced(pool: Any) -> bool:
    return bool(pool.input_usd_per_mtok or pool.output_usd_per_mtok)
