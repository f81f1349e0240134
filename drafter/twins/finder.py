"""Finds drafts that cost nothing: open stubs whose code is that of a function banked already."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field

from drafter.draw import Key
from drafter.frontier import FrontierReader
from drafter.twins.bodies import Exemplar, compose, find_exemplar
from drafter.twins.pairing import pair_constants, pair_symbols
from drafter.twins.rounds import Made, Pair
from drafter.twins.shelf import Shelf, Shelved, Sources
from shared.config import Campaign
from shared.hashing import digest_bytes, digest_json
from shared.oracle.hygiene import normalise
from shared.records import Card
from shared.target.asmfile import AsmFunction
from shared.target.stubs import find_stubs

SMALLEST = 3
"""Words of a cousin at least: below, equal opcodes say nothing (an empty function's exact twins are all right)."""


@dataclass
class Search:
    """One search. Every open stub is in exactly one of the counts, `made` included."""

    commit: str
    open: int = 0
    alone: int = 0  # nothing banked has its code
    in_flight: int = 0
    tried: int = 0  # every pair was tried before
    unpaired: int = 0  # a banked function has its code, but names or constants do not pair, or its text is not found
    made: list[Made] = field(default_factory=list)
    waiting: set[Key] = field(default_factory=set)
    """Stubs of `made` and `in_flight`: whether to look again is known when the gater has settled one."""


class Finder:
    """Searches one campaign, commit after commit. Reads only."""

    def __init__(self, campaign: Campaign) -> None:
        self._frontier = FrontierReader(campaign)
        self._shelf = Shelf(campaign)
        self._sources = Sources(campaign)
        self._root = campaign.root

    def head(self) -> str:
        """The commit to search. Raises RepositoryError."""
        return self._frontier.head()

    def search(self, commit: str, tried: Set[tuple[str, str, str, str]], busy: Set[Key]) -> Search:
        """One draft at most for each open stub: the first exemplar not tried. Raises CampaignError, OSError."""
        frontier = self._frontier.read(commit)
        self._sources.open(commit)
        result = Search(commit, open=len(frontier.cards))
        shelved = list(self._shelf.scan())
        at = {(entry.binary, entry.path): entry for entry in shelved}
        open_keys = {(r.binary, r.function) for r in frontier.refused}
        for card in frontier.cards:  # open in every binary that compiles its file
            open_keys.update((binary, card.function) for binary in self._sources.binaries(card.tu))
        open_paths = {self._root / card.asm for card in frontier.cards}
        exact: dict[str, list[Shelved]] = {}
        loose: dict[str, list[Shelved]] = {}
        for entry in shelved:
            if entry.path not in open_paths and (entry.binary, entry.function) not in open_keys:
                exact.setdefault(entry.keys.exact, []).append(entry)
                loose.setdefault(entry.keys.gid, []).append(entry)
        self._exemplars: dict[tuple[str, str], Exemplar | None] = {}
        for card in frontier.cards:
            mine = at.get((card.binary, self._root / card.asm))
            candidates = [("twin", e) for e in exact.get(mine.keys.exact, ())] if mine else []
            if mine and card.instructions >= SMALLEST:
                candidates += [("cousin", e) for e in loose.get(mine.keys.gid, ()) if e.keys.exact != mine.keys.exact]
            if mine is None or not candidates:
                result.alone += 1
            elif card.key in busy:
                result.in_flight += 1
                result.waiting.add(card.key)
            else:
                self._try(card, mine, candidates, tried, result)
        return result

    def _try(
        self,
        card: Card,
        mine: Shelved,
        candidates: list[tuple[str, Shelved]],
        tried: Set[tuple[str, str, str, str]],
        result: Search,
    ) -> None:
        target = self._shelf.read(mine)
        known = 0
        if target is not None:
            for made in self._drafts(card, target, candidates):
                if made.pair.key not in tried:
                    result.made.append(made)
                    result.waiting.add(card.key)
                    return
                known += 1
        if known:
            result.tried += 1
        else:
            result.unpaired += 1

    def _drafts(self, card: Card, target: AsmFunction, candidates: list[tuple[str, Shelved]]) -> Iterator[Made]:
        source = self._sources.text(card.tu)
        stub = next((stub for stub in find_stubs(source) if stub.function == card.function), None)
        code = digest_json([target.words, target.operands])
        for kind, entry in candidates:
            exemplar = self._exemplar(entry)
            other = self._shelf.read(entry)
            if exemplar is None or other is None or stub is None:
                continue
            symbols = pair_symbols(other, target)
            constants = {} if kind == "twin" else pair_constants(other, target)
            if symbols is None or constants is None:
                continue
            text = compose(exemplar, source, stub, self._sources.header, symbols, constants)
            if text is None:
                continue
            body = digest_bytes(exemplar.definition.text)
            name = f"{entry.binary}/{entry.function}"
            yield Made(Pair("", card.binary, card.function, code, name, body, kind), normalise(text))

    def _exemplar(self, entry: Shelved) -> Exemplar | None:
        key = (entry.binary, str(entry.path))
        if key not in self._exemplars:
            found = None
            for tu in self._sources.naming(entry.binary, entry.function, entry.path):
                source = self._sources.text(tu)
                if any(stub.function == entry.function for stub in find_stubs(source)):
                    break  # open there
                found = find_exemplar(source, entry.function, self._sources.header)
                if found is not None:
                    break
            self._exemplars[key] = found
        return self._exemplars[key]
