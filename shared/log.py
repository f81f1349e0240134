"""Logging: one line per state change, `TAG key=value ...`; times on a terminal, journald priorities under systemd."""

from __future__ import annotations

import logging
import os
import sys
from datetime import UTC, datetime

import orjson

_PRIORITY = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}


class _Journald(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return f"<{_PRIORITY.get(record.levelno, 6)}>{super().format(record)}"


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        row = {"at": utc_stamp(record.created), "level": record.levelname.lower(), "tag": text.split(" ", 1)[0]}
        return orjson.dumps(row | {"message": text}).decode()


def utc_stamp(seconds: float) -> str:
    """UTC with milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def setup_logging(verbose: bool = False, form: str = "text") -> None:
    """Sends all log lines to stderr; `form` "json" makes each one JSON object.

    Field values that come from outside are written with %r by the callers.
    """
    handler = logging.StreamHandler(sys.stderr)
    if form == "json":
        handler.setFormatter(_Json("%(message)s"))
    elif "JOURNAL_STREAM" in os.environ:
        handler.setFormatter(_Journald("%(message)s"))
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname).1s %(message)s", datefmt="%H:%M:%S"))
    logging.basicConfig(level=logging.DEBUG if verbose else logging.INFO, handlers=[handler], force=True)
