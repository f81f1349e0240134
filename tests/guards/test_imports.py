"""The process boundary, read from every import statement: daemons never import each other, shared imports neither."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FORBIDDEN = {"shared": {"drafter", "gater"}, "drafter": {"gater"}, "gater": {"drafter"}}


def modules(package: str) -> list[Path]:
    found = sorted((ROOT / package).rglob("*.py"))
    assert found, f"{package}: nothing to check"
    return found


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            yield node.module or ""


@pytest.mark.parametrize("package", sorted(FORBIDDEN))
def test_no_package_reaches_over_the_boundary(package: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules(package)
        for name in imported(path)
        if name.partition(".")[0] in FORBIDDEN[package]
    ]
    assert wrong == []


def test_only_the_target_layer_knows_elf_and_mips() -> None:
    knows = {"elftools", "rabbitizer", "spimdisasm", "splat"}
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for package in FORBIDDEN
        for path in modules(package)
        if "shared/target/" not in path.as_posix() and "shared/demo/" not in path.as_posix()
        for name in imported(path)
        if name.partition(".")[0] in knows
    ]
    assert wrong == []


def test_no_module_is_over_400_lines() -> None:
    long = [
        f"{path.relative_to(ROOT)}: {count}"
        for package in FORBIDDEN
        for path in modules(package)
        if (count := path.read_bytes().count(b"\n")) > 400
    ]
    assert long == []
