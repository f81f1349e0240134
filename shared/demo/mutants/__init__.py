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

_FUTILE = 100
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
    open_bodies = {kind: list(corpus.bodies) for kind in kinds}
    while len(found) < n and open_bodies:
        for kind in list(open_bodies):
            mutant = _next(corpus, kind, open_bodies[kind], random, seen)
            if mutant is None:
                del open_bodies[kind]
            elif len(found) < n:
                found.append(mutant)
    return found


def _next(
    corpus: Corpus, kind: Kind, bodies: list[Body], random: Random, seen: set[tuple[str, str, str]]
) -> Mutant | None:
    """A mutant not seen before; bodies that offer nothing of the kind leave the list."""
    futile = 0
    while bodies and futile < _FUTILE:
        at = random.randrange(len(bodies))
        body = bodies[at]
        text = mutate(corpus, body, kind, random)
        if text is None:
            del bodies[at]
        elif (key := (body.binary, body.function, text)) in seen:
            futile += 1
        else:
            seen.add(key)
            return Mutant(kind, *key)
    return None
