"""The text of a fresh campaign.toml: every setting a person is likely to change, with its meaning beside it."""

from __future__ import annotations

import orjson

from shared.operator.setup.survey import FoundBinary, Survey

_HEAD = """\
# The one configuration file of decomp-campaign. Every key: docs/configuration.md. Both daemons read it when they start.
"""

_TAIL = """
[landing]
branch = "campaign"        # receives one commit per green binary; checked out nowhere
follow = {follow}          # your branch: fast-forwarded to it while nothing stands in the way

[drafter]
workers = 24               # agents in flight
# cards_per_wave = 220
# queue_depth = 2          # waves the gater has not judged, above which drawing pauses

[gate]
# slots = 0                # builds in parallel; 0 = one per core

[lane.default]
bands = [[0, 50], [50, 120], [120, 400], [400, 2000]]   # instruction counts; waves rotate over them

# One table per model. Without one the drafter does not start.
#
# [pool.cheap]
# url = "https://PROVIDER/v1"      # OpenAI-compatible
# model = "MODEL"
# key_file = "~/.config/campaign.env"   # a file with the key alone, or NAME=value lines
# key_name = "API_KEY"
# input_usd_per_mtok = 0.0         # prices make the spend known
# output_usd_per_mtok = 0.0
"""


def render(found: Survey) -> str:
    """The whole file. Binaries without assembly are left out when others have theirs."""
    active = [binary for binary in found.binaries if binary.active] or found.binaries
    parts = [_HEAD, "[project]", f"name = {_text(found.name)}", f"platform = {_text(found.platform)}"]
    parts += [
        "# git-ignored files and folders a fresh worktree needs to build; copied into each workspace",
        f"inputs = {_list(found.inputs)}",
    ]
    for binary in active:
        parts += ["", *_binary(binary)]
    return "\n".join(parts) + "\n" + _TAIL.format(follow=_text(found.branch))


def _binary(binary: FoundBinary) -> list[str]:
    return [
        f"[binary.{binary.name if '.' not in binary.name else _text(binary.name)}]   # from {binary.yaml}",
        f"build = {_list(binary.build)}",
        f"output = {_text(binary.output)}",
        f"checksums = {_text(binary.checksums)}",
        f"map = {_text(binary.map)}",
        f"elf = {_text(binary.elf)}",
        f"asm = {_text(binary.asm)}",
        f"sources = {_list(binary.sources)}",
        f"symbols = {_list(binary.symbols)}",
    ]


def _text(value: str) -> str:
    """A TOML basic string: JSON's escapes are a subset of TOML's."""
    return orjson.dumps(value).decode()


def _list(values: list[str]) -> str:
    row = "[" + ", ".join(_text(value) for value in values) + "]"
    if len(row) <= 100:
        return row
    return "[\n" + "".join(f"    {_text(value)},\n" for value in values) + "]"
