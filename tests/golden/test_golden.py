"""Records of every released schema stay readable, and no field set changes unnoticed."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import orjson
import pytest

from gater import rows as gater_rows
from shared import records
from tests.golden.lock import FIELDS, SHIPPED, current

SAMPLES = sorted((Path(__file__).parent).glob("schema-*/*.json"))


def test_no_field_set_changed_unnoticed() -> None:
    locked = json.loads(FIELDS.read_text())
    assert locked["schema"] == records.SCHEMA
    found = current()
    gone = {f"{name}.{field}" for name, fields in locked["records"].items() for field in fields} - {
        f"{name}.{field}" for name, fields in found.items() for field in fields
    }
    assert gone == set(), "a field of a released record is gone: that needs a new schema number and a reader of the old"
    new = {
        f"{name}.{field}"
        for name, fields in found.items()
        if name in locked["records"]
        for field, kind in fields.items()
        if kind == "required" and locked["records"][name].get(field) != "required"
    }
    assert new == set(), "a new required field makes old records unreadable: give it a default"
    assert found == locked["records"], "new optional fields: run python -m tests.golden.lock and commit fields.json"
    assert SHIPPED.read_text() == FIELDS.read_text()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_released_record_still_reads_and_ignores_what_it_does_not_know(sample: Path) -> None:
    kind = getattr(records, sample.stem, None) or getattr(gater_rows, sample.stem)
    value = orjson.loads(sample.read_bytes())
    read = records.decode(kind, value | {"a_field_of_tomorrow": 1})
    again = orjson.loads(orjson.dumps(records.encode(read)))
    assert {name: again.get(name) for name in value} == value


def test_there_is_a_sample_of_every_record_with_a_schema() -> None:
    with_schema = {
        name
        for module in (records, gater_rows)
        for name, kind in vars(module).items()
        if isinstance(kind, type)
        and issubclass(kind, msgspec.Struct)
        and "schema" in getattr(kind, "__struct_fields__", ())
    }
    assert with_schema - {path.stem for path in SAMPLES} == set()


def test_a_newer_schema_is_left_alone() -> None:
    with pytest.raises(records.NewerSchema, match="newer"):
        records.decode(records.Marker, {"schema": records.SCHEMA + 1})
