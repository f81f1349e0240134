"""House rules that a reader would check by eye: no plain state writes, no process by name, no shell strings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from shared.exits import NO_RESTART, Exit
from tests.guards.test_imports import ROOT, modules

DAEMONS = [path for package in ("drafter", "gater", "shared") for path in modules(package)]
WRITERS = {"shared/durable.py", "shared/journal.py"}
LOGS = {"drafter/agents/launch.py", "gater/steps.py", "shared/operator/running/children.py"}
"""shard.log and a daemon's log are handed to a child as its stderr, gate.log is for a person's eyes: streams."""
SCRATCH = ("shared/demo/", "shared/target/mirror.py", "gater/bench.py", "shared/oracle/compiling.py")
"""Private trees, scratch mirrors and forged projects are not state: what is written there is derived again."""


def calls(path: Path) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Call):
            yield node


def name_of(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def mode_of(call: ast.Call, position: int) -> str:
    values = [*call.args[position : position + 1], *(k.value for k in call.keywords if k.arg == "mode")]
    return next((v.value for v in values if isinstance(v, ast.Constant) and isinstance(v.value, str)), "r")


def test_state_files_are_written_in_one_place() -> None:
    wrong = []
    for path in DAEMONS:
        relative = path.relative_to(ROOT).as_posix()
        if relative in WRITERS | LOGS or relative.startswith(SCRATCH):
            continue
        for call in calls(path):
            name = name_of(call)
            position = 0 if isinstance(call.func, ast.Attribute) else 1
            plain = name in ("write_text", "write_bytes") or (
                name == "open" and set("wax+") & set(mode_of(call, position))
            )
            if plain:
                wrong.append(f"{relative}:{call.lineno}")
    assert wrong == []


def test_no_process_is_found_by_name_and_no_shell_string_is_built() -> None:
    forbidden = {"process_iter", "pgrep", "killall", "pkill", "system", "popen", "getoutput", "getstatusoutput"}
    wrong = []
    for path in DAEMONS:
        for call in calls(path):
            shell = any(k.arg == "shell" and getattr(k.value, "value", True) for k in call.keywords)
            if name_of(call) in forbidden or shell:
                wrong.append(f"{path.relative_to(ROOT)}:{call.lineno} {name_of(call)}")
    assert wrong == []


def test_exit_codes_are_documented() -> None:
    text = (ROOT / "docs" / "exit-codes.md").read_text()
    documented = {int(code): name for code, name in re.findall(r"^\| (\d+) \| (\w+) \|", text, re.MULTILINE)}
    assert documented == {code.value: code.name for code in Exit}
    words = re.search(r"^([\d, and]+) must not be restarted", text, re.MULTILINE)
    assert words
    assert {int(n) for n in re.findall(r"\d+", words[1])} == {code.value for code in NO_RESTART}
