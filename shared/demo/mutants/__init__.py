"""Wrong (and sometimes differently right) drafts made from right bodies, for tests and for the rehearsal model.

Nothing here knows which mutants are wrong: that is for the real build to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from shared.demo.mutants.corpus import Body, Corpus, load_corpus
from shared.demo.mutants.kinds import Kind, mutate

__all__ = ["Body", "Corpus", "Kind", "Mutant", "load_corpus", "mutants", "mutate"]

_FUTILE = 200
"""Tries in a row without a new mutant after which a kind is exhausted."""


@dataclass(frozen=True)
class Mutant:
    """A draft of `function` in `binary` with one change of `kind`."""

    kind: Kind
    binary: str
    function: str
    text: str


def mutants(corpus: Corpus, seed: int, n: int, kinds: Sequence[Kind] = tuple(Kind)) -> list[Mutant]:
    """`n` different mutants, the kinds taking turns; fewer if the bodies do not offer more. Same seed, same list."""
    random = Random(seed)
    found: list[Mutant] = []
    seen: set[tuple[str, str, str]] = set()
    open_kinds = list(kinds)
    while len(found) < n and open_kinds and corpus.bodies:
        for kind in list(open_kinds):
            mutant = _next(corpus, kind, random, seen)
            if mutant is None:
                open_kinds.remove(kind)
            elif len(found) < n:
                found.append(mutant)
    return found


def _next(corpus: Corpus, kind: Kind, random: Random, seen: set[tuple[str, str, str]]) -> Mutant | None:
    for _ in range(_FUTILE):
        body = random.choice(corpus.bodies)
        text = mutate(corpus, body, kind, random)
        if text is not None and (key := (body.binary, body.function, text)) not in seen:
            seen.add(key)
            return Mutant(kind, *key)
    return None
