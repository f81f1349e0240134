"""The rehearsal (simulated model): equal seeds play equal fleets, and it is as strict as a real server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from shared.demo.rehearsal import NAME
from shared.demo.rehearsal.plan import CardKey, Plan, read_conversation
from shared.demo.rehearsal.settings import Faults, Mix, Script, Settings
from shared.demo.rehearsal.truth import load_truth
from shared.demo.rehearsal.wrong import wrong_draft
from shared.errors import ConfigError
from shared.exits import Exit
from tests.agents.conftest import FUNCTIONS, KEY, TRUTH
from tests.agents.test_shard import NO_FAULTS, serving, write_truth

REAP_S = 15.0


def card(name: str, attempt: int = 1) -> dict[str, Any]:
    return {"role": "user", "content": f"Card: main {name} attempt {attempt}\n\nDo it."}


def walk(plan: Plan) -> list[tuple[str, str, str]]:
    """The turns of a plan against an oracle that never agrees."""
    messages: list[dict[str, Any]] = [card(plan.key.function, plan.key.attempt)]
    turns = []
    for _ in range(4):
        seen = read_conversation(messages)
        assert seen is not None
        turn = plan.turn(seen)
        turns.append((turn.text, turn.tool, turn.arguments))
        message: dict[str, Any] = {"role": "assistant", "content": turn.text}
        if turn.tool and not turn.cut:
            try:
                arguments = json.dumps(json.loads(turn.arguments))
            except ValueError:
                arguments = "{}"
            message["tool_calls"] = [{"id": "x", "function": {"name": turn.tool, "arguments": arguments}}]
        messages.append(message)
        if turn.tool == "submit":
            break
    return turns


def test_equal_seeds_play_equal_fleets_in_any_order(tmp_path: Path) -> None:
    truth = load_truth(write_truth(tmp_path))
    keys = [CardKey("main", name, attempt) for name in FUNCTIONS for attempt in range(1, 30)]
    first = {key: walk(Plan(Settings(seed=4), truth, key)) for key in keys}
    second = {key: walk(Plan(Settings(seed=4), truth, key)) for key in reversed(keys)}
    other = {key: walk(Plan(Settings(seed=5), truth, key)) for key in keys}
    assert first == second
    assert first != other


def test_the_mix_is_played_as_asked(tmp_path: Path) -> None:
    truth = load_truth(write_truth(tmp_path))
    mix = Mix(right=1, right_after_diff=0, wrong_symbol=0, wrong_shape=0, compile_error=0, truncated=0, gives_up=3)
    scripts = [Plan(Settings(mix=mix), truth, CardKey("main", FUNCTIONS[0], n)).script for n in range(400)]
    assert set(scripts) == {Script.RIGHT, Script.GIVES_UP}
    assert 60 < scripts.count(Script.RIGHT) < 140
    with pytest.raises(ConfigError):
        Mix(right=-1).shares()
    with pytest.raises(ConfigError):
        Mix(**dict.fromkeys(Mix.__struct_fields__, 0.0)).shares()


def test_functions_of_a_group_are_played_right(tmp_path: Path) -> None:
    write_truth(tmp_path)
    document = json.loads((tmp_path / "truth.json").read_text())
    for row in document["functions"][:2]:
        row["group"] = "src/main/a.c"
    (tmp_path / "truth.json").write_text(json.dumps(document))
    truth = load_truth(tmp_path)
    mix = Mix(right=0, right_after_diff=0)
    for name in FUNCTIONS:
        script = Plan(Settings(mix=mix), truth, CardKey("main", name, 1)).script
        assert (script is Script.RIGHT) == (name in FUNCTIONS[:2])
        mixed = Plan(Settings(mix=mix, groups_right=False), truth, CardKey("main", name, 1)).script
        assert mixed is not Script.RIGHT


def test_wrong_drafts_are_wrong_in_their_way() -> None:
    import random

    body = "int helper(int);\n\nint func_80010000(int a) {\n    return helper(a) + 1;\n}\n"
    siblings = {"other": "int other(int a) {\n    return a;\n}\n", "hidden": "static int hidden(void) { return 1; }"}
    rng = random.Random(1)
    symbol = wrong_draft(Script.WRONG_SYMBOL, body, "func_80010000", siblings, rng)
    assert symbol.startswith("int other(int a);\n")
    assert "((__typeof__(&helper))&other)(a)" in symbol
    shape = wrong_draft(Script.WRONG_SHAPE, body, "func_80010000", siblings, rng)
    assert "volatile int rehearsal_pad" in shape
    assert "rehearsal_undeclared" in wrong_draft(Script.COMPILE_ERROR, body, "func_80010000", siblings, rng)
    assert "volatile" in wrong_draft(
        Script.WRONG_SYMBOL, "void func_80010000(void) {\n}\n", "func_80010000", siblings, rng
    )


def test_it_is_as_strict_as_a_real_server(tmp_path: Path) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "grep", "arguments": "{}"}}
    asking = {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "a", "content": "x"}
    broken = {**asking, "tool_calls": [{**call, "function": {"name": "grep", "arguments": '{"p'}}]}
    cases: list[tuple[Any, int]] = [
        ([card(FUNCTIONS[0])], 200),
        ([card(FUNCTIONS[0]), asking, result], 200),
        ([card(FUNCTIONS[0]), asking], 400),
        ([card(FUNCTIONS[0]), result], 400),
        ([card(FUNCTIONS[0]), broken, result], 400),
        ([card("func_unknown")], 400),
        ([{"role": "user", "content": "hello"}], 400),
        ("nonsense", 400),
    ]

    async def main(url: str) -> None:
        async with aiohttp.ClientSession() as session:
            async with session.post(url + "/chat/completions", json={"messages": []}) as response:
                assert response.status == 401
            headers = {"Authorization": f"Bearer {KEY}"}
            async with session.get(url + "/models", headers=headers) as response:
                assert NAME in await response.text()
            for messages, status in cases:
                body = {"model": "m", "messages": messages}
                async with session.post(url + "/chat/completions", json=body, headers=headers) as response:
                    text = await response.text()
                    assert response.status == status, (messages, text)
                    assert NAME in text or status != 200

    with serving(tmp_path, Settings(faults=NO_FAULTS)) as served:
        asyncio.run(main(served.url))


def test_the_process_serves_writes_its_report_and_ends(tmp_path: Path) -> None:
    folder = write_truth(tmp_path / "t")
    port_file, report, key_file = tmp_path / "port", tmp_path / "report.json", tmp_path / "key"
    key_file.write_text(KEY)
    base = [sys.executable, "-m", "shared.demo.rehearsal", "--truth", str(folder), "--key-file", str(key_file)]
    process = subprocess.Popen(
        [*base, "--port-file", str(port_file), "--report", str(report), "--right", "5", "--cut", "0", "--seed", "9"],
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + REAP_S
        while not port_file.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        port = port_file.read_text().strip()
        taken = subprocess.run([*base, "--port", port], capture_output=True, text=True, timeout=REAP_S, check=False)
        assert taken.returncode == Exit.USAGE
        assert f"port {port} on 127.0.0.1 cannot be served" in taken.stderr
        assert KEY.encode() not in Path(f"/proc/{process.pid}/cmdline").read_bytes()
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(REAP_S) == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(REAP_S)
    written = json.loads(report.read_text())
    assert written["name"] == NAME
    assert written["settings"]["seed"] == 9
    assert written["settings"]["mix"]["right"] == 5
    assert written["functions_right"] == []


def test_every_right_delivery_is_in_the_report(tmp_path: Path) -> None:
    async def main(url: str) -> None:
        headers = {"Authorization": f"Bearer {KEY}"}
        async with aiohttp.ClientSession() as session:
            for name in FUNCTIONS[:3]:
                body = {"model": "m", "messages": [card(name)]}
                async with session.post(url + "/chat/completions", json=body, headers=headers) as response:
                    document = await response.json()
                    arguments = document["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
                    assert json.loads(arguments)["code"] == TRUTH[name]

    mix = Mix(right=1, right_after_diff=0, wrong_symbol=0, wrong_shape=0, compile_error=0, truncated=0, gives_up=0)
    faults = Faults(**dict.fromkeys(Faults.__struct_fields__, 0))  # type: ignore[arg-type]
    with serving(tmp_path, Settings(mix=mix, faults=faults, looks=0)) as served:
        asyncio.run(main(served.url))
        document = served.rehearsal.report.document()
    assert document["functions_right"] == [["main", name] for name in sorted(FUNCTIONS[:3])]
    assert document["results"] == {"ok": 3}
    assert json.loads(json.dumps(document)) == document
