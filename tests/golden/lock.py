"""The field sets of every on-disk record, locked in fields.json: `python -m tests.golden.lock` writes it anew.

Adding an optional field keeps the schema number. Renaming, removing or changing the meaning of one needs a new schema
number, readers for the old one, and a new folder of golden files beside schema-1.
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from gater import rows as gater_rows
from shared import records

FIELDS = Path(__file__).parent / "fields.json"
SHIPPED = Path(records.__file__).parent / "operator" / "doctor" / "fields.json"
"""The same file inside the package, for `campaign doctor --schemas`."""


def current() -> dict[str, dict[str, str]]:
    """Record -> field -> "required" or "optional", for every record and what records hold."""
    kinds = [kind for module in (records, gater_rows) for kind in vars(module).values()]
    structs = {k for k in kinds if isinstance(k, type) and issubclass(k, msgspec.Struct) and k is not msgspec.Struct}
    return {
        kind.__name__: {
            field.name: "required" if field.required else "optional" for field in msgspec.structs.fields(kind)
        }
        for kind in sorted(structs, key=lambda k: k.__name__)
    }


if __name__ == "__main__":
    for place in (FIELDS, SHIPPED):
        place.write_text(json.dumps({"schema": records.SCHEMA, "records": current()}, indent=1) + "\n")
