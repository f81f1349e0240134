"""What a run has done so far and in the end: the waves drawn since it began, each figure with its denominator."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from shared.config import Campaign
from shared.errors import CampaignError
from shared.git import Git
from shared.operator import numbers
from shared.operator.rollup.keep import load
from shared.operator.source import Source
from shared.operator.status import collect
from shared.state import StateDir, utc_now


def head_of(campaign: Campaign) -> str | None:
    """The landing branch's head, else the followed branch's."""
    git = Git(campaign.root)
    return git.find(f"refs/heads/{campaign.landing.branch}") or git.find(f"refs/heads/{campaign.landing.follow}")


def last_wave(state: StateDir) -> int:
    """The highest wave number on disk."""
    names = [path.parent.name for path in state.waves.glob("w*/wave.json")]
    return max((int(name[1:]) for name in names if name[1:].isdigit()), default=0)


@dataclass(frozen=True)
class Start:
    """Where a run began."""

    at: str
    wave: int
    head: str | None
    requests: str
    """The minute of `at`, as the roll-up names it."""

    @classmethod
    def now(cls, campaign: Campaign, state: StateDir) -> Start:
        """Raises OSError, CampaignError."""
        return cls(utc_now(), last_wave(state), head_of(campaign), numbers.stamp(datetime.now(UTC)))


def figures(campaign: Campaign, state: StateDir, start: Start) -> dict[str, Any]:
    """The run so far, from roll-ups; requests count from the minute it began. Raises OSError, CampaignError."""
    rolled = load(state)
    records = (numbers.wave_record(state, f"w{number:06d}") for number in range(start.wave + 1, last_wave(state) + 1))
    waves = [record for record in records if record.get("cards")]
    minutes = [minute for minute in rolled.data["minutes"] if minute >= start.requests]
    rates = numbers.sum_minutes(rolled.data, minutes)
    agents = collect.agents(campaign, state, collect.shards_now(state))
    return {
        "waves": len(waves),
        "lane": waves[-1]["lane"] if waves else "",
        "band": waves[-1]["band"] if waves else [],
        "agents": agents["in_flight"],
        "set_point": agents["set_point"],
        "funnel": numbers.funnel(rolled.data, waves),
        "spend": numbers.spend(rolled.data, waves),
        "requests": rates["requests"],
        "h429": {source: rates[source] for source in ("platform", "provider", "soft")},
        "spool": collect.spool(state),
        "red": [known["binary"] for known in collect.red(state, rolled)],
    }


def summary(campaign: Campaign, state: StateDir, start: Start, wall_s: float) -> dict[str, Any]:
    """The end of a run: `figures` with what the repository says. Raises OSError."""
    found = figures(campaign, state, start) | {"wall_s": round(wall_s, 1), "tag": campaign.night.tag}
    try:
        head = head_of(campaign)
        same = not start.head or not head or head == start.head
        found["commits"] = 0 if same else int(Git(campaign.root).call("rev-list", "--count", f"{start.head}..{head}"))
        counter = Source(campaign, state)
        now = counter.open_stubs(head) if head else {}
        before = counter.open_stubs(start.head) if start.head else now
        found |= {"open": sum(now.values()), "open_before": sum(before.values())}
    except CampaignError as error:
        found |= {"commits": None, "open": None, "open_before": None, "trouble": str(error)}
    return found


def cost(spend: dict[str, Any]) -> str:
    """A cost in words: unknown is unknown, not zero."""
    if not spend["agents"]:
        return "no agent has ended"
    if spend["usd"] is None:
        return f"unknown (reported by 0 of {spend['agents']} agents)"
    return f"{spend['usd']:.4f} USD, reported by {spend['known_agents']} of {spend['agents']} agents"


def summary_lines(found: dict[str, Any]) -> list[str]:
    """The summary for a person; every figure with what it is a part of."""
    funnel, h429 = found["funnel"], found["h429"]
    refused = ", ".join(f"{source} {count}" for source, count in h429.items() if count)
    out = [
        f"waves     {found['waves']} in {found['wall_s']:.0f} s" + (f", tag {found['tag']}" if found["tag"] else ""),
        f"drafts    {funnel['drafted']} of {funnel['drawn']} cards dealt ({funnel['ended']} agents ended)",
        f"agreed    {funnel['agreed']} of {funnel['judged']} judged",
        f"gated     {funnel['gated']} of {funnel['agreed']} agreed",
        f"banked    {funnel['banked']} of {funnel['gated']} gated",
    ]
    if found["open"] is None:
        out.append(f"source    cannot be counted: {found['trouble']}")
    else:
        out.append(f"source    {found['open']} stubs open, {found['open_before']} before; {found['commits']} commits")
    out += [
        f"requests  {found['requests']}, of them {sum(h429.values())} answered 429"
        + (f": {refused}" if refused else ""),
        f"cost      {cost(found['spend'])}",
        f"red       {', '.join(found['red']) or 'no binary'}",
    ]
    return out
