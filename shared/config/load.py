"""Finds, reads and checks campaign.toml; every mistake becomes one sentence with file and line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import tree_sitter_toml
from tree_sitter import Language, Node, Parser

from shared.config.overrides import Override, lay_over
from shared.config.schema import (
    Binary,
    Disk,
    Drafter,
    Filter,
    Gate,
    Landing,
    Lane,
    Night,
    Notify,
    Pool,
    Project,
    Spend,
)
from shared.errors import ConfigError
from shared.hashing import digest_json

CONFIG_NAME = "campaign.toml"
DEFAULT_LANE = "default"
"""The lane there is when the file names none."""

SINGLE: dict[str, type[msgspec.Struct]] = {
    "project": Project,
    "landing": Landing,
    "filter": Filter,
    "gate": Gate,
    "drafter": Drafter,
    "night": Night,
    "spend": Spend,
    "disk": Disk,
    "notify": Notify,
}
NAMED_TABLES: dict[str, type[msgspec.Struct]] = {"binary": Binary, "pool": Pool, "lane": Lane}

T = TypeVar("T", bound=msgspec.Struct)


@dataclass(frozen=True)
class Campaign:
    """A checked campaign.toml. `root` is the target project's root, the folder the file is in."""

    root: Path
    path: Path
    project: Project
    landing: Landing = field(default_factory=Landing)
    filter: Filter = field(default_factory=Filter)
    gate: Gate = field(default_factory=Gate)
    drafter: Drafter = field(default_factory=Drafter)
    notify: Notify = field(default_factory=Notify)
    night: Night = field(default_factory=Night)
    spend: Spend = field(default_factory=Spend)
    disk: Disk = field(default_factory=Disk)
    binaries: dict[str, Binary] = field(default_factory=dict)
    pools: dict[str, Pool] = field(default_factory=dict)
    lanes: dict[str, Lane] = field(default_factory=dict)
    overrides: tuple[Override, ...] = ()
    """Values of the command line; they are in effect already."""

    @property
    def drawn_lanes(self) -> dict[str, Lane]:
        """The lanes waves rotate over, in the order of the file."""
        wanted = self.drafter.lanes
        return {name: lane for name, lane in self.lanes.items() if not wanted or name in wanted}

    def effective(self) -> dict[str, Any]:
        """Every value in effect, by table. Pools name where a key comes from, never a key.

        [notify] is left out: no daemon reads it, and a webhook's URL is a secret.
        """
        single = {name: msgspec.to_builtins(getattr(self, name)) for name in SINGLE if name != "notify"}
        named = {
            "binary": {k: msgspec.to_builtins(v) for k, v in self.binaries.items()},
            "pool": {k: msgspec.to_builtins(v) for k, v in self.pools.items()},
            "lane": {k: msgspec.to_builtins(v) for k, v in self.lanes.items()},
        }
        return single | named

    def digest(self) -> str:
        """Digest of the values in effect; equal digests mean equal behaviour."""
        return digest_json(self.effective())


def find_config(start: Path) -> Path:
    """The campaign.toml at or above `start`. Raises ConfigError when there is none."""
    for folder in [start.resolve(), *start.resolve().parents]:
        candidate = folder / CONFIG_NAME
        if candidate.is_file():
            return candidate
    raise ConfigError(
        f"no {CONFIG_NAME} in {start} or any folder above it; run the command in a decomp project, "
        "or write one (docs/configuration.md)"
    )


def load_campaign(path: Path, overrides: Sequence[Override] = ()) -> Campaign:
    """Reads and checks `path` with the command line's values over it. Raises ConfigError naming file, line and key."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", path) from error
    try:
        text = raw.decode("utf-8")
        tables = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise ConfigError("is not UTF-8 text", path) from error
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        raise ConfigError(f"is not valid TOML: {error}", path, int(line[1]) if line else None) from error

    reader = TableReader(path, text, overrides)
    unwritten: dict[str, list[str]] = {name: [] for name in NAMED_TABLES}
    unwritten["lane"] = [] if tables.get("lane") else [DEFAULT_LANE]
    tables = lay_over(tables, overrides, unwritten)
    for name in tables:
        if name not in SINGLE and name not in NAMED_TABLES:
            raise reader.error(f"unknown table [{name}]; known are {', '.join([*SINGLE, *NAMED_TABLES])}", [name])
    if "project" not in tables:
        raise ConfigError("has no [project] table with a `name`", path)
    single = {name: reader.table(kind, tables[name], [name]) for name, kind in SINGLE.items() if name in tables}
    campaign = Campaign(
        root=path.resolve().parent,
        path=path.resolve(),
        binaries=reader.named(Binary, tables.get("binary", {}), "binary"),
        pools=reader.named(Pool, tables.get("pool", {}), "pool"),
        lanes=reader.named(Lane, tables.get("lane", {}), "lane") or {DEFAULT_LANE: Lane()},
        overrides=tuple(overrides),
        **single,  # type: ignore[arg-type]
    )
    _check(campaign, reader)
    return campaign


def _check(campaign: Campaign, reader: TableReader) -> None:
    if not campaign.binaries:
        raise ConfigError("names no binary; add a [binary.NAME] table", campaign.path)
    if campaign.landing.branch == campaign.landing.follow:
        raise reader.error("landing.branch and landing.follow must differ", ["landing", "branch"])
    try:
        campaign.landing.message.format(wave="w000001", binary="main", n=1)
    except (KeyError, IndexError, ValueError) as error:
        known = "{wave}, {binary} and {n}"
        raise reader.error(f"landing.message may use {known} only: {error}", ["landing", "message"]) from error
    outputs: dict[str, str] = {}
    for name, binary in campaign.binaries.items():
        if binary.output in outputs:
            raise reader.error(
                f"output is already that of [binary.{outputs[binary.output]}]", ["binary", name, "output"]
            )
        outputs[binary.output] = name
    for name, lane in campaign.lanes.items():
        for low, high in lane.bands:
            if not 0 <= low < high:
                raise reader.error(
                    f"band [{low}, {high}] is empty; write [low, high] with low < high", ["lane", name, "bands"]
                )
    unknown = [name for name in campaign.drafter.lanes if name not in campaign.lanes]
    if unknown:
        raise reader.error(
            f"drafter.lanes names {unknown[0]!r}; known lanes are {', '.join(campaign.lanes)}", ["drafter", "lanes"]
        )
    for name, pool in campaign.pools.items():
        generation = pool.output_tokens / pool.tokens_per_s
        stall = campaign.drafter.stall_s
        if not generation < pool.socket_timeout_s < stall:
            raise reader.error(
                "timeouts are out of order: generation "
                f"{pool.output_tokens} tokens / {pool.tokens_per_s:g} per s = {generation:.0f} s must be below "
                f"socket_timeout_s = {pool.socket_timeout_s:g}, which must be below drafter.stall_s = {stall:g}",
                ["pool", name, "socket_timeout_s"],
            )


class TableReader:
    """Converts tables of one TOML text to structs and finds the line of a key for messages."""

    def __init__(self, path: Path, text: str, overrides: Sequence[Override] = ()) -> None:
        self.path = path
        self.text = text
        self._typed = {override.keys: override.text for override in overrides}

    def table(self, kind: type[T], value: Any, keys: list[str]) -> T:
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            message, _, where = str(error).partition(" - at `$")
            inner = re.findall(r"\.([A-Za-z0-9_-]+)", where)
            unknown = re.search(r"unknown field `([^`]*)`", message)
            if unknown:
                known = ", ".join(kind.__struct_fields__)
                message = f"unknown key `{unknown[1]}`; known are {known}"
                inner.append(unknown[1])
            name = ".".join(keys + ([] if unknown else inner))
            raise self.error(f"[{name}] {message}" if name else message, keys + inner) from error

    def named(self, kind: type[T], value: Any, table: str) -> dict[str, T]:
        if not isinstance(value, dict) or not all(isinstance(v, dict) for v in value.values()):
            raise self.error(f"[{table}] wants named tables: [{table}.NAME]", [table])
        for name in value:
            if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}", name):
                raise self.error(f"[{table}.{name}] names may hold letters, digits, `_`, `.` and `-`", [table, name])
        return {name: self.table(kind, entry, [table, name]) for name, entry in value.items()}

    def error(self, message: str, keys: list[str]) -> ConfigError:
        line = _line_of(self.text, keys)
        for place, typed in self._typed.items():
            if tuple(keys[: len(place)]) == place or (line is None and place[: len(keys)] == tuple(keys)):
                return ConfigError(f"{typed}: {message}")
        return ConfigError(message, self.path, line)


def _line_of(text: str, keys: list[str]) -> int | None:
    """1-based line of the longest prefix of `keys` that the file spells out."""
    tree = Parser(Language(tree_sitter_toml.language())).parse(text.encode())
    best: tuple[int, int] = (0, 0)
    for node in tree.root_node.children:
        if node.type in ("table", "table_array_element"):
            prefix = _key_parts(node)
            best = max(best, _match(prefix, keys, node))
            for pair in node.children:
                if pair.type == "pair":
                    best = max(best, _match(prefix + _key_parts(pair), keys, pair))
        elif node.type == "pair":
            best = max(best, _match(_key_parts(node), keys, node))
    return -best[1] if best[0] else None


def _match(path: list[str], keys: list[str], node: Node) -> tuple[int, int]:
    same = path[: len(keys)] == keys[: len(path)]
    return (min(len(path), len(keys)), -(node.start_point[0] + 1)) if same else (0, 0)


def _key_parts(node: Node) -> list[str]:
    for child in node.children:
        if child.type in ("bare_key", "quoted_key", "dotted_key"):
            text = (child.text or b"").decode()
            return [part.strip("\"'") for part in re.findall(r'"[^"]*"|\'[^\']*\'|[^\s."\']+', text)]
    return []
