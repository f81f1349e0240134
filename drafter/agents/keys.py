"""Where a pool's key comes from, and how it reaches a shard.

The drafter reads the key once and hands it to the shard through a pipe whose number is in argv. Not through the
environment: a variable that was dropped can still be read in /proc/<pid>/environ for the life of the process. A shard
started by hand without a pipe reads `key_file` or `key_env` itself.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from pathlib import Path

from shared.config.schema import Pool
from shared.errors import ConfigError

LONGEST_KEY = 16_384


def find_key(name: str, pool: Pool, environ: MutableMapping[str, str]) -> str:
    """The key of pool `name`, "" when it names none; a variable is dropped once read.

    Raises ConfigError, which names the place and never the content.
    """
    if pool.key_env:
        key = environ.pop(pool.key_env, "").strip()
        if not key:
            raise ConfigError(f"[pool.{name}] the variable {pool.key_env} is not set; set it or use key_file")
        return _checked(key, f"the variable {pool.key_env}")
    if not pool.key_file:
        return ""
    path = Path(pool.key_file).expanduser()
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"[pool.{name}] key_file cannot be read: {why}", path) from error
    if not pool.key_name:
        return _checked(text.strip(), str(path))
    for line in text.splitlines():
        left, equals, right = line.removeprefix("export ").partition("=")
        if equals and left.strip() == pool.key_name:
            return _checked(right.strip().strip("\"'"), str(path))
    raise ConfigError(f"[pool.{name}] key_file has no line `{pool.key_name}=...`", path)


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
    return _checked(data.decode("utf-8", "replace"), "the inherited descriptor") if data else ""


def _checked(key: str, place: str) -> str:
    if not key.isascii() or not key.isprintable() or any(letter.isspace() for letter in key):
        raise ConfigError(f"the key in {place} is not one word of printable ASCII letters")
    return key
