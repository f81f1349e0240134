"""How a pool's key reaches a shard.

The drafter reads the key once and hands it to the shard through a pipe whose number is in argv. Not through the
environment: a variable that was dropped can still be read in /proc/<pid>/environ for the life of the process. A shard
started by hand without a pipe reads `key_file` or `key_env` itself.
"""

from __future__ import annotations

import os

from shared.errors import ConfigError
from shared.keys import LONGEST_KEY, checked_key, find_key

__all__ = ["find_key", "key_from", "pipe_with"]


def pipe_with(key: str) -> int:
    """The reading end of a pipe that holds `key`, for `pass_fds`; close it after the child was started."""
    reading, writing = os.pipe()
    try:
        os.write(writing, key.encode()[:LONGEST_KEY])
    finally:
        os.close(writing)
    return reading


def key_from(descriptor: int) -> str:
    """Reads a key from an inherited descriptor and closes it. Raises ConfigError."""
    try:
        with os.fdopen(descriptor, "rb") as stream:
            data = stream.read(LONGEST_KEY)
    except OSError as error:
        raise ConfigError(f"--key-fd {descriptor} cannot be read: {error.strerror}") from error
    return checked_key(data.decode("utf-8", "replace"), "the inherited descriptor") if data else ""
