"""The status as lines of text for 80 columns. The worst news come first."""

from __future__ import annotations

import itertools
from typing import Any

BAR = 20


def lines(value: dict[str, Any], width: int = 80) -> list[str]:
    """Every part that could be read; a missing one is said under `troubles`."""
    out = [_clip(f"{value['project']}  {_night(value.get('night'))}  {value['at'][11:19]} UTC", width)]
    out += [f"  ! {words}" for words in alarms(value)]
    for name in ("drafter", "gater"):
        out.append(_daemon(name, value["daemons"].get(name) or {}))
    out += _stop(value.get("stop") or {})
    out += _fleet(value)
    out += _pools(value.get("pools") or {})
    out += _requests(value.get("requests") or {}, value.get("rates") or {})
    out += _spool(value)
    out += _funnel(value.get("funnel") or {})
    out += _source(value)
    out += _idle(value.get("idle") or {})
    out += _rest(value)
    return [_clip(line, width) for line in out]


def alarms(value: dict[str, Any]) -> list[str]:
    """What a person should act on, most urgent first."""
    found = []
    stop = value.get("stop") or {}
    down = [name for name, known in value["daemons"].items() if known is not None and not known.get("running")]
    if down and not stop.get("asked"):
        found.append(f"{' and '.join(down)} not running")
    for name, known in value["daemons"].items():
        if known and known.get("not_in_effect"):
            found.append(f"{name}: {' and '.join(known['not_in_effect'])} on disk not in effect; a restart is due")
        if known and known.get("running") and (known.get("loop_s") or 0) > 60:
            found.append(f"{name}: its loop gave no sign of life for {span(known['loop_s'])}")
    for pool, known in (value.get("pools") or {}).items():
        found += [f"breaker of pool {pool} is open: {words}" for words in known["breakers"]]
    for known in value.get("shrunk") or []:
        found.append(
            f"SHRUNK {known['file']} in the {known['where']}: {known['after']} of {known['before']} lines are left"
        )
    for known in value.get("red") or []:
        by = f" by {known['culprit'][:60]}" if known.get("culprit") else ""
        found.append(f"{known['state']}: {known['binary']} since {known['at'][:16]}Z{by}")
    poison = (value.get("spool") or {}).get("poison", 0)
    if poison:
        found.append(f"{poison} markers in poison/, each with a reason beside it")
    for outlet, known in (value.get("outlets") or {}).items():
        if not known.get("ok", True):
            found.append(f"{outlet} undelivered at {known.get('at', '?')[:19]}Z: {known.get('error', '?')}")
    room = (value.get("machine") or {}).get("disk_free_mib")
    if room is not None and room < 1024:
        found.append(f"only {room} MiB free for the state directory")
    return found + list(value.get("troubles") or [])


def span(seconds: float) -> str:
    """A duration in at most two units."""
    seconds = int(seconds)
    if seconds < 100:
        return f"{seconds} s"
    minutes, hours = seconds // 60, seconds // 3600
    if minutes < 100:
        return f"{minutes} min"
    return f"{hours} h {minutes % 60:02d} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


def _night(night: dict[str, Any] | None) -> str:
    if night is None:
        return "no night yet"
    when = f"since {night['started'][:16].replace('T', ' ')}"
    return f"night {night['id']} {when}" + (f", ended {night['ended'][11:16]}" if night.get("ended") else "")


def _daemon(name: str, known: dict[str, Any]) -> str:
    if not known.get("running"):
        return f"{name:8} down"
    words = f"{name:8} up since {str(known.get('started', '?'))[:16].replace('T', ' ')}"
    if known.get("settings"):
        words += f"  settings {known['settings'][:8]}  code {known.get('code', '?')[:8]}"
    return words


def _stop(stop: dict[str, Any]) -> list[str]:
    if not stop.get("asked"):
        return []
    left = stop["waited_for"]
    if not left["drafter"] and not left["gater"]:
        return ["drained: both daemons are down; `campaign resume` lifts the stop file"]
    counts = ", ".join(f"{left[name]} {name}" for name in ("shards", "targets", "markers") if left[name])
    return [
        f"draining for {span(stop['age_s'])}: waiting for {counts or 'the last turn'}",
        f"  agents end within {span(stop['agents_left_s'])}; one build is bounded by {span(stop['gate_bound_s'])}",
    ]


def _fleet(value: dict[str, Any]) -> list[str]:
    known = value.get("agents")
    if not known:
        return []
    full = min(BAR, round(BAR * known["in_flight"] / max(1, known["set_point"])))
    out = [f"agents   {known['in_flight']} of {known['set_point']} [{'#' * full}{'.' * (BAR - full)}]"]
    if known["dealt_by_lane"]:
        lanes = "  ".join(f"{lane} {count}" for lane, count in sorted(known["dealt_by_lane"].items()))
        out[0] += f"  dealt by lane: {lanes}"
    return out


def _pools(pools: dict[str, Any]) -> list[str]:
    out = []
    for name, p in pools.items():
        if p["workers"]:
            limit = f"limit {p['limit']:g} of {p['workers']}"
            out.append(f"  {name}: {p['requests_in_flight']} requests in flight, {limit}, {p['model']}")
            out += [f"    {why}" for why in [*p.get("why", []), *p["breakers"]]]
    return out


def _requests(known: dict[str, Any], rates: dict[str, Any]) -> list[str]:
    if not known:
        return []
    last, night = known["last_minute"], known["night"]
    refused = "  ".join(f"{source} {night[source]}" for source in ("platform", "provider", "soft"))
    return [
        f"requests {last['requests']}/min now, {night['per_minute']}/min over {night['minutes']} min; "
        f"failed {night['failed']}",
        f"  429s of the night: {refused}  (now {sum(last[s] for s in ('platform', 'provider', 'soft'))}/min)"
        + (f"  longest run {rates['longest_429_minutes']} min" if rates.get("longest_429_minutes") else ""),
    ]


def _spool(value: dict[str, Any]) -> list[str]:
    out = []
    if known := value.get("spool"):
        out.append("markers  " + "  ".join(f"{name} {known[name]}" for name in ("ready", "claimed", "done", "poison")))
    if waiting := value.get("waiting"):
        out.append("waiting  " + "  ".join(f"{why} {count}" for why, count in sorted(waiting.items())))
    out += [
        f"gating   {'+'.join(gate['binaries'])}: {gate['drafts']} drafts for {span(gate['since_s'])}"
        for gate in value.get("gating") or []
    ]
    return out


def _funnel(known: dict[str, Any]) -> list[str]:
    if not known:
        return []
    steps = ("drawn", "ended", "drafted", "judged", "agreed", "gated", "banked")
    words = [f"{known[steps[0]]} drawn"]
    for before, name in itertools.pairwise(steps):
        share = f" {100 * known[name] / known[before]:.0f}%" if known[before] else ""
        words.append(f"{known[name]} {name}{share}")
    out = ["funnel   " + " > ".join(words[:4]), "         > " + " > ".join(words[4:])]
    worst = sorted(((n, v) for v, n in known["verdicts"].items() if v not in ("BANKED", "AGREE")), reverse=True)[:5]
    if worst:
        out.append("  refused: " + "  ".join(f"{verdict} {count}" for count, verdict in worst))
    return out


def _source(value: dict[str, Any]) -> list[str]:
    out = []
    source, landing = value.get("source"), value.get("landing")
    if source:
        banked = f"{source['banked']} banked this night, " if "banked" in source else ""
        out.append(f"source   {banked}{source['open']} stubs open at {source['commit'][:12]}")
    if landing and landing.get("head"):
        words = f"landing  {landing['branch']} {landing['head'][:12]}"
        if "ahead" in landing:
            words += f", {landing['ahead']} ahead of and {landing['behind']} behind {landing['follow']}"
        out.append(words)
    return out


def _idle(known: dict[str, Any]) -> list[str]:
    if not known or not (known["busy"] or any(known["idle"].values())):
        return []
    total = known["busy"] + sum(known["idle"].values())
    words = "  ".join(f"{cause} {lost:g}" for cause, lost in known["idle"].items() if lost)
    return [f"slots    busy {100 * known['busy'] / total:.0f}% of {total:.0f} slot-min; idle: {words or 'none'}"]


def _rest(value: dict[str, Any]) -> list[str]:
    out = []
    spend, machine, error = value.get("spend"), value.get("machine"), value.get("last_error")
    if spend and spend["agents"]:
        usd = "unknown" if spend["usd"] is None else f"{spend['usd']:.2f} USD"
        out.append(f"spend    {usd}, reported by {spend['known_agents']} of {spend['agents']} agents")
    for name, left in ((value.get("credit") or {}).get("pool") or {}).items():
        usd = "unknown" if left.get("left") is None else f"{left['left']:.2f} USD left"
        out.append(f"credit   {name}: {usd}" + (f" ({left['error']})" if left.get("error") else ""))
    if machine:
        out.append(
            f"machine  load {machine['load']:g} on {machine['cores']} cores, "
            f"{machine['memory_available_mib']} of {machine['memory_mib']} MiB, "
            f"{machine['disk_free_mib'] >> 10} GiB disk free"
        )
    if error:
        out.append(f"last error {error['at'][:19]}Z {error['daemon']} {error['event']}: {error['reason']}")
    return out


def _clip(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 1] + "~"
