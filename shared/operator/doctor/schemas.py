"""The locked field sets (fields.json, made by the release) against this code and against what lies on disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import orjson

from shared import records
from shared.operator.doctor.found import Found, failed, ok, warning
from shared.state import StateDir

LOCK = Path(__file__).parent / "fields.json"
JOURNALS = (
    ("journal/drafts.jsonl", "DraftRow", ""),
    ("journal/ledger.jsonl", "MarkerRow", "marker"),
    ("journal/ledger.jsonl", "BatchRow", "batch"),
    ("journal/ledger.jsonl", "WaveRow", "wave"),
    ("journal/rate-*.jsonl", "RequestRow", ""),
    ("waves/*/drafts.*.jsonl", "AgentRow", ""),
    ("waves/*/wave.json", "Wave", ""),
    ("spool/*/*.json", "Marker", ""),
    ("shards/*/inbox/*.json", "Target", ""),
    ("waiting/*/*.json", "Waiting", ""),
)
"""(files, record, `kind` of the rows meant)."""


def locked() -> dict[str, Any]:
    """Schema number and record -> field -> required or optional, as released."""
    value = orjson.loads(LOCK.read_bytes())
    return dict(value)


def schemas(state: StateDir) -> Iterator[Found]:
    """Records in code and on disk. Reads every record there is: minutes on a big state directory."""
    lock = locked()
    yield _code(lock)
    for pattern, record, kind in JOURNALS:
        yield _disk(state, pattern, record, kind, lock)


def _code(lock: dict[str, Any]) -> Found:
    off = []
    for name, fields in lock["records"].items():
        kind = getattr(records, name, None)
        if kind is None:
            continue
        now = {f.name: "required" if f.required else "optional" for f in msgspec.structs.fields(kind)}
        off += [f"{name}.{field}" for field in fields.keys() ^ now.keys()]
        off += [f"{name}.{field}" for field in fields.keys() & now.keys() if fields[field] != now[field]]
    if off or lock["schema"] != records.SCHEMA:
        return failed("schemas", f"this code's records are not those released: {', '.join(off)}", "install it again")
    return ok("schemas", f"schema {records.SCHEMA}, {len(lock['records'])} record forms as released")


def _disk(state: StateDir, pattern: str, record: str, kind: str, lock: dict[str, Any]) -> Found:
    fields = lock["records"][record]
    wanted = {name for name, need in fields.items() if need == "required"}
    count = newer = 0
    lacking: dict[str, int] = {}
    foreign: dict[str, int] = {}
    for row in _rows(state.root, pattern):
        if kind and row.get("kind") != kind:
            continue
        if pattern.startswith("spool/") and "drafts" not in row:
            continue  # a request of a person, no marker
        count += 1
        if isinstance(row.get("schema"), int) and row["schema"] > lock["schema"]:
            newer += 1
            continue
        for name in wanted - row.keys():
            lacking[name] = lacking.get(name, 0) + 1
        for name in row.keys() - fields.keys() - {"kind"}:
            foreign[name] = foreign.get(name, 0) + 1
    name = f"records {record}"
    if lacking:
        what = ", ".join(f"{field} in {times}" for field, times in sorted(lacking.items()))
        return failed(
            name, f"of {count} in {pattern} lack {what}", "these rows are passed over; keep a copy and report"
        )
    if foreign or newer:
        what = f"of {count} in {pattern}, {newer} are of a newer schema"
        if foreign:
            what += ", and fields unknown here: " + ", ".join(f"{f} in {n}" for f, n in sorted(foreign.items())[:8])
        return warning(name, what, "a later release wrote here; run that one")
    return ok(name, f"{count} in {pattern}")


def _rows(root: Path, pattern: str) -> Iterator[dict[str, Any]]:
    """Every JSON object of the files; what is none is another tool's business (`campaign status` counts it)."""
    for path in sorted(root.glob(pattern)):
        whole = path.suffix == ".json"
        try:
            with path.open("rb") as stream:
                for line in [stream.read()] if whole else stream:
                    try:
                        value = orjson.loads(line)
                    except orjson.JSONDecodeError:
                        continue
                    if isinstance(value, dict):
                        yield value
        except OSError:
            continue
