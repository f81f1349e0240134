"""The filter's cache key: the one function that makes it, for the agents' oracle and for the gater alike.

An AGREE an agent saw is a hit in the gater when nothing that decides it changed in between: the spliced translation
unit, the compile command, programs and files it reads, section and symbol addresses, the expected bytes, the judge.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from shared.hashing import digest_bytes, digest_json
from shared.target.base import Base, Unit
from shared.target.recipe import Recipe


def _judge_version() -> str:
    """Digest of the judge's own source: a version no one can forget to raise."""
    here = Path(__file__).resolve().parent
    files = [*here.rglob("*.py"), *(here.parent / "target").rglob("*.py")]
    return digest_json(
        [[str(path.relative_to(here.parent)), digest_bytes(path.read_bytes())] for path in sorted(files)]
    )


JUDGE_VERSION = _judge_version()


def filter_key(
    *,
    text: bytes,
    functions: Iterable[str],
    recipe: Recipe,
    flags: Sequence[str],
    limits: Sequence[float],
    surroundings: str,
    base: Base,
    unit: Unit,
) -> str:
    """Digest of everything a verdict depends on.

    `text` is the spliced unit and `functions` whose drafts are in it; `surroundings` is `surroundings_digest`'s;
    `limits` are the bounds under which a draft is refused.
    """
    users = {name: base.users.get(name, ()) for name in sorted(unit.defined)}
    return digest_json(
        {
            "text": digest_bytes(text),
            "functions": sorted(functions),
            "compile": [recipe.source, recipe.object, recipe.commands, recipe.folders, list(flags)],
            "limits": list(limits),
            "surroundings": surroundings,
            "unit": unit.digest(),
            "symbols": base.symbols_digest,
            "users": users,
            "judge": JUDGE_VERSION,
        }
    )
