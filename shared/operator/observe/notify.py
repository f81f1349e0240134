"""Tells a person what needs one: each trouble once, again only after a while, and never more than a few at a time."""

from __future__ import annotations

import re
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import orjson

from shared import durable
from shared.config import Campaign
from shared.config.schema import Notify
from shared.errors import CampaignError, ConfigError
from shared.keys import find_key
from shared.operator.status.show import alarms
from shared.proc import Limits, run
from shared.state import StateDir, utc_now

TIMEOUT_S = 20.0
MOST = 5


def troubles(value: dict[str, Any]) -> list[str]:
    """What a person should hear of, from a status."""
    stop = value["stop"] or {}
    drain = ["a drain was asked for (.run/stop)"] if stop.get("asked") else []
    return drain + alarms(value)


def tell(campaign: Campaign, state: StateDir, value: dict[str, Any]) -> int:
    """Sends what is new; returns how many. How it went is kept in daemons/notify.json, which `status` shows."""
    path = state.root / "daemons" / "notify.json"
    try:
        sent = dict(durable.read_json(path)["sent"])
    except (OSError, CampaignError, KeyError, TypeError, ValueError):
        sent = {}
    now = time.time()
    current = {re.sub(r"\d+", "#", text)[:200]: text for text in troubles(value)}
    kept = {key: at for key, at in sent.items() if key in current and now - at < campaign.notify.repeat_s}
    new = [key for key in current if key not in kept][:MOST]
    errors = [
        error for key in new if (error := send(campaign.notify, mask(campaign, f"{value['project']}: {current[key]}")))
    ]
    if not errors:
        kept |= dict.fromkeys(new, now)
    if new or kept != sent:
        path.parent.mkdir(parents=True, exist_ok=True)
        row = {"schema": 1, "ok": not errors, "at": utc_now(), "error": "; ".join(errors)[:400], "sent": kept}
        durable.write_json(path, row)
    return len(new) - len(errors)


def send(settings: Notify, text: str) -> str:
    """Runs the command and asks the URL; "" when both went well, else why not."""
    why = []
    if settings.command:
        try:
            done = run([*settings.command, text], cwd=Path("/"), limits=Limits(timeout_s=TIMEOUT_S))
            if not done.ok:
                why.append(f"{settings.command[0]} ended with {done.returncode}")
        except CampaignError as error:
            why.append(str(error))
    if settings.webhook:
        body = orjson.dumps({"text": text})
        request = urllib.request.Request(settings.webhook, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S):
                pass
        except (OSError, ValueError) as error:  # the URL itself is a secret and stays out
            why.append(f"webhook: {type(error).__name__} {getattr(error, 'code', '')}".strip())
    return "; ".join(why)


def mask(campaign: Campaign, text: str) -> str:
    """`text` without any pool's key, for words of a provider may quote one."""
    for name, pool in campaign.pools.items():
        try:
            key = find_key(name, pool, {})
        except ConfigError:
            continue
        text = text.replace(key, "<key>") if key else text
    return text
