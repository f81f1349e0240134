"""campaign.toml: every mistake is one sentence with file, line and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.config import load_campaign
from shared.config.reference import render
from shared.errors import ConfigError

GOOD = """\
[project]
name = "game"

[binary.main]
build = ["make", "build/main.exe"]
output = "build/main.exe"
checksums = "config/checksums.sha1"
map = "build/main.map"
elf = "build/main.elf"
asm = "asm/main"
sources = ["src/main"]

[pool.cheap]
url = "https://example.invalid/v1"
model = "m"
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "campaign.toml"
    path.write_text(text)
    return path


def test_defaults_are_filled_in_and_the_digest_follows_the_values(tmp_path: Path) -> None:
    first = load_campaign(write(tmp_path, GOOD))
    assert first.drafter.workers == 24
    assert list(first.lanes) == ["default"]
    assert first.digest() == load_campaign(write(tmp_path, GOOD + "\n# a comment\n")).digest()
    assert first.digest() != load_campaign(write(tmp_path, GOOD + "\n[drafter]\nworkers = 3\n")).digest()


@pytest.mark.parametrize(
    ("change", "line", "words"),
    [
        (("name = ", "nmae = "), 2, "unknown key `nmae`"),
        (('name = "game"', "name = 3"), 2, "str"),
        (("[pool.cheap]", "[pools.cheap]"), 13, r"unknown table \[pools\]"),
        (('output = "build/main.exe"\n', ""), 4, "output"),
        (("[project]", "[project"), 1, "not valid TOML"),
        (('url = "https', 'url = "ftp'), 14, "url"),
        (('model = "m"', 'model = "m"\nsocket_timeout_s = 100'), 16, "out of order: generation 8000 tokens"),
        (('name = "game"', 'name = "../x"'), 2, "name"),
        (('sources = ["src/main"]', "sources = []"), 11, "sources"),
    ],
)
def test_mistakes_name_their_line(tmp_path: Path, change: tuple[str, str], line: int, words: str) -> None:
    assert change[0] in GOOD
    path = write(tmp_path, GOOD.replace(*change, 1))
    with pytest.raises(ConfigError, match=words) as caught:
        load_campaign(path)
    assert caught.value.line == line
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert caught.value.exit_code == 2


def test_the_reference_is_what_the_schema_says() -> None:
    page = Path(__file__).parents[2] / "docs" / "configuration.md"
    assert page.read_text() == render(), "run python -m shared.config.reference > docs/configuration.md"
