"""campaign.toml: the one configuration file, its schema, and how it is loaded."""

from shared.config.load import Campaign, find_config, load_campaign
from shared.config.schema import Binary, Drafter, Filter, Gate, Landing, Lane, Night, Pool, Project, Spend

__all__ = [
    "Binary",
    "Campaign",
    "Drafter",
    "Filter",
    "Gate",
    "Landing",
    "Lane",
    "Night",
    "Pool",
    "Project",
    "Spend",
    "find_config",
    "load_campaign",
]
