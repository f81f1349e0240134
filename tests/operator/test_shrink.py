"""`campaign status` is loud about a tracked configuration file that lost much of itself."""

from __future__ import annotations

from pathlib import Path

import orjson

from tests.drafter.project import git, make_project
from tests.operator.test_init import campaign as run_campaign


def test_a_truncated_file_is_a_problem_and_an_edited_one_is_not(tmp_path: Path) -> None:
    root, _ = make_project(tmp_path, tus=1, stubs=2)
    names = ["config/splat.yaml", "config/other.yaml", "config/symbol_addrs.txt", "Makefile", "notes.md"]
    (root / "config").mkdir()
    for name in names:
        (root / name).write_text("".join(f"line {n}\n" for n in range(100)))
    git(root, "add", "-A")
    git(root, "commit", "-qm", "config")
    assert orjson.loads(run_campaign(root, "status", "--json").stdout)["shrunk"] == []
    (root / "config/splat.yaml").write_text("")
    (root / "config/other.yaml").write_text("".join(f"line {n}\n" for n in range(85)))
    (root / "config/symbol_addrs.txt").write_text("line 0\n" * 60)
    git(root, "add", "config/symbol_addrs.txt")
    (root / "config/symbol_addrs.txt").write_text("".join(f"line {n}\n" for n in range(100)))
    (root / "Makefile").unlink()
    (root / "notes.md").write_text("")
    found = orjson.loads(run_campaign(root, "status", "--json").stdout)["shrunk"]
    assert [(row["file"], row["where"], row["before"], row["after"]) for row in found] == [
        ("Makefile", "checkout", 100, 0),
        ("config/splat.yaml", "checkout", 100, 0),
        ("config/symbol_addrs.txt", "index", 100, 60),
    ]
    assert "SHRUNK config/splat.yaml in the checkout: 0 of 100 lines are left" in run_campaign(root, "status").stdout
