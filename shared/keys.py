"""Where a pool's key comes from: a systemd credential, an environment variable or a file; read once, never logged."""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path

from shared.config.schema import Pool
from shared.errors import ConfigError

LONGEST_KEY = 16_384
CREDENTIALS = "CREDENTIALS_DIRECTORY"
"""systemd names the folder of LoadCredential= files in this variable; ours are called `key-<pool>`."""


def find_key(name: str, pool: Pool, environ: MutableMapping[str, str]) -> str:
    """The key of pool `name`, "" when it names none; a variable is dropped once read.

    Under systemd the unit's credential is a copy of `key_file` and wins over it. Raises ConfigError, which names the
    place and never the content.
    """
    if pool.key_env:
        key = environ.pop(pool.key_env, "").strip()
        if not key:
            raise ConfigError(f"[pool.{name}] the variable {pool.key_env} is not set; set it or use key_file")
        return checked_key(key, f"the variable {pool.key_env}")
    if not pool.key_file:
        return ""
    path = Path(pool.key_file).expanduser()
    credential = Path(environ.get(CREDENTIALS, "")) / f"key-{name}"
    if environ.get(CREDENTIALS) and credential.is_file():
        path = credential
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"[pool.{name}] key_file cannot be read: {why}", path) from error
    if not pool.key_name:
        return checked_key(text.strip(), str(path))
    for line in text.splitlines():
        left, equals, right = line.removeprefix("export ").partition("=")
        if equals and left.strip() == pool.key_name:
            return checked_key(right.strip().strip("\"'"), str(path))
    raise ConfigError(f"[pool.{name}] key_file has no line `{pool.key_name}=...`", path)


def checked_key(key: str, place: str) -> str:
    """`key` when it can be one. Raises ConfigError that names the place alone."""
    if not key.isascii() or not key.isprintable() or any(letter.isspace() for letter in key):
        raise ConfigError(f"the key in {place} is not one word of printable ASCII letters")
    return key
