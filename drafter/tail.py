"""Reads what was appended to a journal since the last look. Only whole lines are taken; a torn tail waits or stays."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson


@dataclass
class Tail:
    """One journal file and how far it was read. `bad` counts lines that are not JSON objects."""

    path: Path
    offset: int = 0
    bad: int = 0

    def read(self) -> list[dict[str, Any]]:
        """The records appended since the last call; a missing file has none. Raises OSError."""
        try:
            size = self.path.stat().st_size
        except FileNotFoundError:
            return []
        if size <= self.offset:
            return []
        with self.path.open("rb") as stream:
            stream.seek(self.offset, os.SEEK_SET)
            data = stream.read(size - self.offset)
        whole = data.rfind(b"\n") + 1
        self.offset += whole
        records = []
        for line in data[:whole].splitlines():
            if not line.strip():
                continue
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError:
                self.bad += 1
                continue
            if isinstance(record, dict):
                records.append(record)
            else:
                self.bad += 1
        return records
