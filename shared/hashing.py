"""Digests. One algorithm everywhere, so that two digests can always be compared."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import orjson


def digest_bytes(data: bytes) -> str:
    """Lower-case hex SHA-256 of `data`."""
    return hashlib.sha256(data).hexdigest()


def digest_file(path: Path, algorithm: str = "sha256") -> str:
    """Lower-case hex digest of a file's content. Raises OSError."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, algorithm).hexdigest()


def digest_json(value: Any) -> str:
    """SHA-256 of a JSON value, independent of key order."""
    return digest_bytes(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))
