"""`--log-format json`: every line is one object."""

from __future__ import annotations

import subprocess
import sys

import orjson


def test_each_line_is_an_object() -> None:
    code = "import logging, shared.log as l; l.setup_logging(form='json'); logging.info('GATER-START p=%r', 'a')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    row = orjson.loads(done.stderr)
    assert (row["tag"], row["level"]) == ("GATER-START", "info")
