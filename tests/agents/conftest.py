"""A project small enough to need no toolchain, and a model server that plays what a test tells it to."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from shared.records import Card, Target
from shared.state import StateDir, create_state

KEY = "sk-test-0123456789abcdef"
FUNCTIONS = ("func_80010000", "func_80010040", "func_80010080", "func_800100C0")
TRUTH = {
    name: f"extern int D_80020000;\nint {name}(int a) {{\n    D_80020000 = helper(a) + {number};\n    return a;\n}}\n"
    for number, name in enumerate(FUNCTIONS)
}

CONFIG = """
[project]
name = "tiny"

[binary.main]
build = ["make"]
output = "build/main.exe"
checksums = "config/checksums.sha1"
map = "build/main.map"
elf = "build/main.elf"
asm = "asm/main"
sources = ["src/main"]

[drafter]
workers = 4
ramp_window_s = 0.1
straggler_grace_s = 0.5
stall_s = 120.0
orphan_grace_s = {orphan}

[lane.default]
bands = [[0, 2000]]
turns = {turns}
nudges = {nudges}

[pool.test]
url = "{url}"
model = "test-model"
key_file = "{key_file}"
output_tokens = 1000
tokens_per_s = 1000.0
socket_timeout_s = 5.0
retries = {retries}
backoff_s = 0.02
backoff_max_s = 0.1
"""


@dataclass(frozen=True)
class Tiny:
    """The project, its state directory, and where its pool's key lies."""

    root: Path
    state: StateDir
    key_file: Path

    def configure(self, url: str, *, turns: int = 12, nudges: int = 3, retries: int = 4, orphan: float = 60.0) -> None:
        """Writes campaign.toml for a server at `url`."""
        text = CONFIG.format(
            url=url, key_file=self.key_file, turns=turns, nudges=nudges, retries=retries, orphan=orphan
        )
        (self.root / "campaign.toml").write_text(text)

    def card(self, number: int = 0, attempt: int = 1, **changes: Any) -> Card:
        """The card of function `number`."""
        name = FUNCTIONS[number]
        fields = {
            "binary": "main",
            "function": name,
            "tu": "src/main/a.c",
            "asm": f"asm/main/nonmatchings/a/{name}.s",
            "address": 0x80010000 + 0x40 * number,
            "instructions": 12,
            "attempt": attempt,
        }
        return Card(**(fields | changes))

    def target(self, number: int = 0, wave: str = "w000001", **changes: Any) -> Target:
        """A target of that card."""
        card = self.card(number, **changes)
        return Target(f"{wave}-{number:04d}-{card.attempt}", wave, "default", "test", card)


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    """A git repository with one TU of stubs, assembly that git ignores, and a secret outside."""
    root = tmp_path / "project"
    (root / "src/main").mkdir(parents=True)
    (root / "include").mkdir()
    (root / "asm/main/nonmatchings/a").mkdir(parents=True)
    stubs = "".join(f'INCLUDE_ASM("asm/main/nonmatchings/a", {name});\n' for name in FUNCTIONS)
    (root / "src/main/a.c").write_text('#include "common.h"\n\nint helper(int);\n\n' + stubs)
    (root / "include/common.h").write_text("typedef int s32;\n")
    for name in FUNCTIONS:
        text = f"glabel {name}\n    /* 800 80010000 0800E003 */  jr         $ra\nendlabel {name}\n"
        (root / f"asm/main/nonmatchings/a/{name}.s").write_text(text)
    (root / ".gitignore").write_text("asm/\n.run\n")
    key_file = tmp_path / "key"
    key_file.write_text(KEY + "\n")
    for command in (["init", "-q", "-b", "main"], ["add", "."]):
        subprocess.run(["git", *command], cwd=root, check=True)
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run(["git", *identity, "commit", "-q", "-m", "start"], cwd=root, check=True)
    made = Tiny(root, create_state(root, "tiny", home=tmp_path / "state"), key_file)
    made.configure("http://127.0.0.1:9")
    return made


Step = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]


@dataclass
class ModelServer:
    """Plays `steps` one a request; the last one repeats. `bodies` are the requests as they came."""

    steps: list[Step]
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    async def __aenter__(self) -> str:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._handle)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        check_history(body["messages"])
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        return await self.steps[min(len(self.bodies), len(self.steps)) - 1](request, body)


def check_history(messages: list[dict[str, Any]]) -> None:
    """Raises AssertionError for a history a strict server refuses."""
    expected: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in expected, "orphan tool result"
            expected.remove(message["tool_call_id"])
            continue
        assert not expected, "tool call without a result"
        for call in message.get("tool_calls") or ():
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            expected.append(call["id"])
    assert not expected


def completion(
    text: str | None = None,
    *calls: tuple[str, Any],
    finish: str | None = None,
    usage: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A chat completion. A call's arguments may be a string, to be broken on purpose."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"c{number}",
                "type": "function",
                "function": {
                    "name": name,
                    "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
                },
            }
            for number, (name, arguments) in enumerate(calls)
        ]
    choice = {"index": 0, "message": message, "finish_reason": finish or ("tool_calls" if calls else "stop")}
    return {"choices": [choice], "usage": usage or {"prompt_tokens": 100, "completion_tokens": 10, "cost": 0.0001}}


def say(document: Any, status: int = 200, headers: dict[str, str] | None = None) -> Step:
    """A step that answers with a JSON document."""

    async def step(_request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        return web.json_response(document, status=status, headers=headers)

    return step


def raw(body: bytes, status: int = 200) -> Step:
    """A step that answers with bytes."""

    async def step(_request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        return web.Response(body=body, status=status)

    return step


def cut(sent: bytes = b'{"choices": [{"ind') -> Step:
    """A step that breaks the connection after some bytes of an answer."""

    async def step(request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "9999", "Content-Type": "application/json"})
        await response.prepare(request)
        await response.write(sent)
        assert request.transport is not None
        request.transport.abort()
        return response

    return step


def hang(seconds: float, then: Step) -> Step:
    """A step that takes its time."""

    async def step(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await then(request, body)

    return step
