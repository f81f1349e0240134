"""Credit floor and night cap: drawing stops with its own exit code, and no agent is dealt that could break the cap."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from drafter.credit import Credit, read_credit
from drafter.purse import Purse
from shared.cli.overriding import Chosen
from shared.config import Lane
from shared.exits import NO_RESTART, Exit
from shared.journal import read_journal
from shared.records import AgentRow
from shared.spending import highest_spend
from tests.drafter.project import make_project
from tests.drafter.sim import Night

KEY = "sk-secret-0123456789"


@contextmanager
def provider(answer: Any, status: int = 200) -> Iterator[tuple[str, list[str]]]:
    """A credit endpoint; the list gets the Authorization header of each request."""
    seen: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization", ""))
            self.send_response(status)
            self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(answer if isinstance(answer, bytes) else json.dumps(answer).encode())

        def log_message(self, *_: object) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/api/v1/key", seen
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("answer", "left", "limit"),
    [
        ({"data": {"limit": 10.0, "limit_remaining": 1.5, "usage": 8.5}}, 1.5, 10.0),
        ({"data": {"total_credits": 20, "total_usage": 4.5}}, 15.5, 20.0),
        ({"data": {"limit": None, "limit_remaining": None, "usage": 3}}, None, None),
        ({"limit": 5, "usage": 1}, 4.0, 5.0),
    ],
)
def test_both_forms_are_read(answer: Any, left: float | None, limit: float | None) -> None:
    with provider(answer) as (url, seen):
        assert read_credit(url, KEY) == {"left": left, "limit": limit}
    assert seen == [f"Bearer {KEY}"]


@pytest.mark.parametrize(("answer", "status"), [(b"no json", 200), ([1], 200), ({}, 302), ({}, 401)])
def test_a_bad_answer_is_unknown_and_never_fatal(tmp_path: Path, answer: Any, status: int) -> None:
    root, state = make_project(tmp_path, tus=1, stubs=1)
    with provider(answer, status) as (url, seen):
        campaign = Chosen(sets=(f"pool.a.credit_url={url}",)).load(root)
        credit = Credit(campaign, state, {"a": KEY})
        credit.look()
        assert credit.short() == ""
        assert len(seen) == 1
    text = (state.root / "credit.json").read_bytes()
    assert KEY.encode() not in text
    assert orjson.loads(text)["pool"]["a"]["left"] is None


def test_credit_at_the_floor_ends_the_drafter_and_keeps_every_draft(
    night: Callable[..., Night], tmp_path: Path
) -> None:
    made = night(frontier=60, workers=8)
    with provider({"data": {"limit": 10, "limit_remaining": 2.0}}) as (url, _):
        campaign = Chosen(sets=(f"pool.a.credit_url={url}",)).load(made.root)
        credit = Credit(campaign, made.state, {"a": KEY})
        daemon = made.daemon(short=credit.short)
        assert made.run(daemon, 15.0) is None
        credit.look()
        assert made.run(daemon, 120.0) is Exit.CREDIT_FLOOR
    made.settle()
    assert sorted(made.gater.drafts) == sorted(made.host.finished)
    assert made.host.finished
    assert Exit.CREDIT_FLOOR in NO_RESTART
    errors = [row for row in read_journal(made.state.journal / "events.jsonl") if row["event"] == "credit-floor"]
    assert len(errors) == 1
    assert "2.00 USD left for pool a" in errors[0]["reason"]


def test_the_cap_holds_with_unknown_cost_as_the_whole_budget() -> None:
    purse = Purse(1.0, {"small": Lane(cost_usd=0.2), "big": Lane(cost_usd=0.5)})
    row = AgentRow(id="i", binary="b", function="f", attempt=1, outcome="match", requests=3)
    assert purse.allows("big", ["small", "small"])
    assert not purse.allows("big", ["small", "small", "small"])
    purse.ended("big", row)
    assert (purse.charged, purse.unknown) == (0.5, 1)
    assert purse.allows("small", ["small"])
    assert not purse.allows("big", ["small"])
    assert Purse(0.0, {}).allows("any", ["x"] * 1000)


def test_the_night_ends_at_its_cap(night: Callable[..., Night], tmp_path: Path) -> None:
    made = night(frontier=60, workers=8)
    text = (made.root / "campaign.toml").read_text()
    (made.root / "campaign.toml").write_text(text + "\n[spend]\nnight_usd = 0.75\n")
    daemon = made.daemon()
    assert made.run(daemon, 8.0) is None
    assert made.host.agents == 5  # 0.15 USD each; the set point of 8 would break the cap
    daemon.purse.charged = 0.7  # the played agents cost nothing
    assert made.run(daemon, 60.0) is Exit.SPEND_CAP
    assert len(made.host.started) == 5


def test_the_highest_spend_is_said(tmp_path: Path) -> None:
    root, _ = make_project(tmp_path, tus=1, stubs=1)
    campaign = Chosen().load(root)
    assert highest_spend(campaign, 1, 2)["usd"] == 9.0
    assert "no bound" in highest_spend(campaign, 1, None)["words"]
    capped = Chosen(sets=("spend.night_usd=3",)).load(root)
    assert highest_spend(capped, 1, None)["usd"] == 3
