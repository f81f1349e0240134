"""`campaign metrics`: the status as Prometheus text, by the usual names (base units, `_total` for what only grows)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from shared import durable
from shared.config import find_config, load_campaign
from shared.operator.status.collect import collect
from shared.state import open_state

PREFIX = "decomp_campaign_"
STEPS = ("drawn", "ended", "drafted", "judged", "agreed", "gated", "banked")


def exposition(value: dict[str, Any]) -> bytes:
    """`value` is what `collect` gives. What is unknown is left out, never zero. Counters begin anew with each night."""
    registry = CollectorRegistry()

    def gauge(name: str, text: str, rows: dict[str, float], label: str = "") -> None:
        if rows:
            made = Gauge(PREFIX + name, text, [label] if label else [], registry=registry)
            for key, number in rows.items():
                (made.labels(key) if label else made).set(number)

    daemons = {name: float((known or {}).get("running", False)) for name, known in value["daemons"].items()}
    gauge("up", "1 while the daemon holds its lock.", daemons, "daemon")
    agents = value["agents"] or {}
    gauge("agents", "Agents in flight.", {"": agents["in_flight"]} if agents else {})
    gauge("agents_set_point", "Agents asked for.", {"": agents["set_point"]} if agents else {})
    gauge("markers", "Markers by state.", value["spool"] or {}, "state")
    gauge("waiting_drafts", "Drafts that wait, by reason.", value["waiting"] or {}, "reason")
    source = value["source"] or {}
    gauge("open_stubs", "Stubs in committed source.", source.get("by_binary", {}), "binary")
    if "banked" in source:
        gauge("banked", "Functions banked this night, by the source.", {"": source["banked"]})
    gauge("red_binaries", "Binaries on the red list.", {"": len(value["red"])} if value["red"] is not None else {})
    breakers = {name: float(bool(pool["breakers"])) for name, pool in (value["pools"] or {}).items()}
    gauge("breaker_open", "1 while a breaker of the pool is open.", breakers, "pool")
    if machine := value["machine"]:
        gauge("disk_free_bytes", "Room for the state directory.", {"": machine["disk_free_mib"] << 20})
        gauge("memory_available_bytes", "Memory.", {"": machine["memory_available_mib"] << 20})
    registry.register(_Counters(value))
    return generate_latest(registry)


class _Counters(Collector):
    def __init__(self, value: dict[str, Any]) -> None:
        self._value = value

    def collect(self) -> list[CounterMetricFamily]:
        """Everything that only grows during a night."""
        found = []

        def counter(name: str, text: str, rows: dict[str, float], label: str) -> None:
            family = CounterMetricFamily(PREFIX + name, text, labels=[label])
            for key, number in rows.items():
                family.add_metric([key], number)
            if rows:
                found.append(family)

        value = self._value
        funnel, night = value["funnel"] or {}, (value["requests"] or {}).get("night", {})
        counter(
            "funnel", "Cards and drafts of the night by step.", {s: funnel[s] for s in STEPS if s in funnel}, "step"
        )
        counter("verdicts", "Last verdicts of the night's drafts.", funnel.get("verdicts", {}), "verdict")
        kinds = ("ok", "platform", "provider", "soft", "failed")
        counter("requests", "Model requests of the night.", {k: night[k] for k in kinds if k in night}, "result")
        idle = value["idle"] or {}
        lost = {cause: 60.0 * minutes for cause, minutes in idle.get("idle", {}).items()}
        counter("idle_slot_seconds", "Slots of the set point without an agent, by cause.", lost, "cause")
        spend = (value["spend"] or {}).get("usd")
        counter("spend_usd", "Spend of the night as reported.", {} if spend is None else {"agents": spend}, "by")
        return found


@click.command()
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="A file, e.g. NAME.prom.")
@click.pass_obj
def metrics(root: Path, output: Path | None) -> None:
    """The status as Prometheus text; with -o in a file for node exporter's textfile collector, replaced whole."""
    campaign = load_campaign(find_config(root))
    text = exposition(collect(campaign, open_state(campaign.root)))
    if output is None:
        click.echo(text, nl=False)
    else:
        durable.write(output, text)
