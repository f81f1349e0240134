"""`campaign run --dry-run`: what a run would do, and the most it could cost. Nothing is started or written."""

from __future__ import annotations

import itertools
from typing import Any

from shared.config import Campaign
from shared.config.overrides import words
from shared.operator.running.figures import last_wave
from shared.operator.status.show import span
from shared.spending import highest_spend, upcoming
from shared.state import StateDir
from shared.stopping import drain_bound_s

MASK = "***"


def plan(campaign: Campaign, state: StateDir, waves: int, duration: float | None) -> dict[str, Any]:
    """Everything the drafter and gater would do with these settings."""
    drafter = campaign.drafter
    first = last_wave(state) + 1
    turns = list(itertools.islice(upcoming(campaign, first), waves))
    shares = {name: pool.share for name, pool in campaign.pools.items() if pool.share > 0}
    total = sum(shares.values())
    sets = words(campaign.overrides)
    return {
        "waves": [{"wave": f"w{number:06d}", "lane": lane, "band": list(band)} for number, lane, band in turns],
        "cards_per_wave": drafter.cards_per_wave,
        "attempts": drafter.attempts,
        "lanes": {
            name: {
                "bands": [list(band) for band in lane.bands],
                "turns": lane.turns,
                "tokens": lane.tokens,
                "cost_usd": lane.cost_usd,
            }
            for name, lane in campaign.drawn_lanes.items()
        },
        "pools": {
            name: {
                "model": pool.model,
                "url": pool.url,
                "workers": round(drafter.workers * shares[name] / total, 1) if name in shares else 0,
                "key": f"{_source(pool)} {MASK}" if _source(pool) else "none",
            }
            for name, pool in campaign.pools.items()
        },
        "workers": drafter.workers,
        "ramp_s": drafter.ramp_window_s,
        "first_start_gap_s": round(min(0.5, drafter.ramp_window_s / drafter.workers), 3),
        "ends": {
            "until": campaign.night.until,
            "for_s": duration,
            "drain_bound_s": drain_bound_s(campaign),
        },
        "tag": campaign.night.tag,
        "highest_spend": highest_spend(campaign, first, waves),
        "commands": [
            ["gater", "run", *sets],
            ["drafter", "run", "--waves", str(waves), *sets],
            *(
                ["POST", pool.url.rstrip("/") + "/chat/completions", f"model={pool.model}"]
                + ([f"Authorization: Bearer {MASK}"] if _source(pool) else [])
                for pool in campaign.pools.values()
                if pool.share > 0
            ),
        ],
    }


def lines(found: dict[str, Any]) -> list[str]:
    """For a person."""
    out = [f"waves     {len(found['waves'])} of at most {found['cards_per_wave']} cards, {found['attempts']} attempts"]
    out += [f"  {w['wave']}  lane {w['lane']}  {w['band'][0]}-{w['band'][1]} instructions" for w in found["waves"]]
    out += [
        f"lane {name}  {lane['turns']} turns, {lane['tokens']} tokens, {lane['cost_usd']:g} USD per agent"
        for name, lane in found["lanes"].items()
    ]
    out += [
        f"pool {name}  {pool['workers']:g} of {found['workers']} workers, {pool['model']} at {pool['url']}, "
        f"key: {pool['key']}"
        for name, pool in found["pools"].items()
    ]
    out.append(f"ramp      {found['first_start_gap_s']:g} s between starts, within {found['ramp_s']:g} s")
    ends = found["ends"]
    when = [f"at {ends['until']}"] if ends["until"] else []
    when += [f"after {span(ends['for_s'])}"] if ends["for_s"] else []
    out.append(
        f"ends      {' or '.join(when) or 'when the waves are done'}; a drain's agents end within "
        f"{span(ends['drain_bound_s'])}"
    )
    if found["tag"]:
        out.append(f"tag       {found['tag']}")
    out.append(f"spend     {found['highest_spend']['words']}")
    out += [f"command   {' '.join(command)}" for command in found["commands"]]
    return [*out, "nothing was started"]


def _source(pool: Any) -> str:
    return f"${pool.key_env}" if pool.key_env else pool.key_file
