"""The most a night can cost with this campaign.toml."""

from __future__ import annotations

from collections.abc import Iterator

from shared.config import Campaign
from shared.git import Git
from shared.operator.doctor.found import Found, ok, untested, warning
from shared.operator.source import Source
from shared.state import StateDir


def spend(campaign: Campaign, state: StateDir) -> Iterator[Found]:
    """Open stubs x attempts x tries x what one agent may cost; a lane's cost_usd binds where costs are known."""
    name = "spend"
    git = Git(campaign.root)
    head = git.find(f"refs/heads/{campaign.landing.branch}") or git.find(campaign.landing.follow)
    if head is None:
        yield untested(name, "no commit to count open stubs at")
        return
    counter = Source(campaign, state)
    stubs = sum(counter.open_stubs(head).values())
    counter.save()
    drafter = campaign.drafter
    agents = stubs * drafter.attempts * drafter.tries
    lane = max(campaign.lanes.values(), key=lambda known: known.cost_usd)
    most = agents * lane.cost_usd
    cap = campaign.spend.night_usd
    sums = (
        f"{stubs} open stubs x {drafter.attempts} attempts x {drafter.tries} tries x {lane.cost_usd:g} USD an agent"
        f" = {most:,.2f} USD"
    )
    if cap:
        yield ok(name, f"at most {min(cap, most):,.2f} USD tonight: the cap is {cap:,.2f} USD, without it {sums}")
        return
    blind = [
        pool
        for pool, known in campaign.pools.items()
        if known.share > 0 and not (known.input_usd_per_mtok or known.output_usd_per_mtok)
    ]
    if blind:
        tokens = max(known.tokens for known in campaign.lanes.values())
        do = f"set input_usd_per_mtok and output_usd_per_mtok of {', '.join(blind)}"
        what = (
            f"at most {sums}, if the provider reports costs; where it does not, "
            f"{', '.join(blind)} has no prices and only the {tokens} tokens of each agent bind"
        )
        yield warning(name, what, do)
    else:
        yield ok(name, f"at most {sums}")
