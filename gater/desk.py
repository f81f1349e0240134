"""The drafts the gater has in hand, and which of them may start what. Pure bookkeeping: no file, no clock, no git."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from gater.stubs import Place
from shared.records import DraftRef, Judgement, Verdict


class Stage(Enum):
    """Where a draft is. DONE has a verdict; WAITING lies in waiting/ and counts as settled."""

    NEW = auto()
    FILTERING = auto()
    QUEUED = auto()
    GATING = auto()
    WAITING = auto()
    DONE = auto()


@dataclass
class Item:
    """One draft in hand. `marker` is "" for one revived after its marker was settled."""

    ref: DraftRef
    marker: str
    wave: str
    order: int
    text: bytes
    place: Place | None = None
    stage: Stage = Stage.NEW
    judgement: Judgement | None = None
    verdict: str = ""
    why_waiting: str = ""
    commit: str = ""
    revived: bool = False
    faults: int = 0
    rests_until: float = 0.0  # monotonic seconds: after a fault the trouble gets time to pass
    suspect: bool = False  # a worker died while this was among what it had: judged with nothing beside it
    interactions: int = 0
    quality: tuple[int, int] = (0, 0)

    @property
    def site(self) -> tuple[str, str]:
        """(TU, function): the stub itself. A TU of several binaries has one stub and several keys."""
        return (self.place.tu if self.place else self.ref.binary, self.ref.function)

    @property
    def key(self) -> tuple[str, str]:
        """(binary, function)."""
        return (self.ref.binary, self.ref.function)


@dataclass
class Desk:
    """All drafts in hand by id, in the order they came."""

    items: dict[str, Item] = field(default_factory=dict)

    def add(self, item: Item) -> None:
        """Takes a draft in hand."""
        self.items[item.ref.id] = item

    def at(self, stage: Stage) -> list[Item]:
        """Drafts at a stage, in order."""
        return [item for item in self.items.values() if item.stage is stage]

    def counts(self) -> Mapping[str, int]:
        """How many drafts are at each stage."""
        return Counter(item.stage.name.lower() for item in self.items.values())

    def forget(self, items: Iterable[Item]) -> None:
        """Lets go of settled drafts."""
        for item in items:
            self.items.pop(item.ref.id, None)

    def active(self) -> bool:
        """Whether any draft still wants something done."""
        return any(item.stage not in (Stage.DONE, Stage.WAITING) for item in self.items.values())

    def suspects(self) -> list[Item]:
        """Drafts to be judged alone, in order."""
        return [item for item in self.at(Stage.NEW) if item.suspect and item.place]

    def filter_batches(self, running: set[str], rejudge: set[str], now: float) -> list[tuple[str, list[Item]]]:
        """New drafts by TU, leaving out TUs whose filter runs already; TUs to judge again may have none.

        A draft that had a fault goes after the others of its TU and by itself: what it did to them once is enough.
        """
        batches: dict[str, list[Item]] = {tu: [] for tu in rejudge - running}
        for item in sorted(self.at(Stage.NEW), key=lambda item: bool(item.faults)):
            if item.place is None or item.place.tu in running or item.rests_until > now:
                continue
            if not item.faults or item.place.tu not in batches:
                batches.setdefault(item.place.tu, []).append(item)
        return list(batches.items())

    def queue(self, *, batch: bool, now: float) -> list[Item]:
        """Drafts to be gated now; with `batch` also those that wait for their binary's own cadence."""
        waiting = (i for i in self.at(Stage.WAITING) if batch and i.why_waiting == "batch")
        return [item for item in (*self.at(Stage.QUEUED), *waiting) if item.rests_until <= now]

    def slates(self, queued: list[Item], busy: set[str], most: int) -> list[tuple[tuple[str, ...], list[Item]]]:
        """Sets of binaries that can be gated now, each with its slate: the best draft of each function, at most `most`.

        Binaries joined by a TU of several are one set. A set waits while it is being gated (`busy`), or while drafts of
        it are still in the filter and the slate is not full: one build then takes them all.
        """
        pending = {b for s in (Stage.NEW, Stage.FILTERING) for i in self.at(s) if i.place for b in i.place.binaries}
        ready = []
        for group in _components([item.place.binaries for item in queued if item.place]):
            slate = self._best(item for item in queued if item.place and item.place.binaries[0] in group)
            held = group & busy or (group & pending and len(slate) < most)
            if not held:
                ready.append((tuple(sorted(group)), slate[:most]))
        return sorted(ready, key=lambda pair: -len(pair[1]))

    def rivals(self, winner: Item) -> list[Item]:
        """Other drafts in hand for the same stub."""
        return [item for item in self.items.values() if item.site == winner.site and item is not winner]

    def _best(self, items: Iterable[Item]) -> list[Item]:
        best: dict[tuple[str, str], Item] = {}
        for item in items:
            known = best.get(item.site)
            if known is None or (item.quality, item.order) < (known.quality, known.order):
                best[item.site] = item
        return sorted(best.values(), key=lambda item: item.order)


@dataclass
class Rejects:
    """Drafts refused for their shape, kept by TU: a callee that became C may make them right (group match)."""

    per_function: int = 2
    kept: dict[str, dict[tuple[str, str], list[Item]]] = field(default_factory=dict)

    def keep(self, item: Item) -> None:
        """Keeps a reject if it is among the closest of its function."""
        judged = item.judgement
        if item.place is None or judged is None or judged.verdict is not Verdict.SHAPE:
            return
        drafts = self.kept.setdefault(item.place.tu, {}).setdefault(item.key, [])
        if all(other.ref.digest != item.ref.digest for other in drafts):
            drafts.append(item)
            drafts.sort(key=lambda i: (i.judgement.closeness or 0) if i.judgement else 0)
            del drafts[self.per_function :]

    def of(self, tu: str) -> list[Item]:
        """The kept rejects of a TU, closest first."""
        return [item for drafts in self.kept.get(tu, {}).values() for item in drafts]

    def drop(self, key: tuple[str, str]) -> None:
        """Forgets a function that is no longer open."""
        for functions in self.kept.values():
            functions.pop(key, None)

    def take(self, item: Item) -> None:
        """Forgets one reject, which is in hand again."""
        for functions in self.kept.values():
            drafts = functions.get(item.key, [])
            if item in drafts:
                drafts.remove(item)


def _components(groups: list[tuple[str, ...]]) -> list[set[str]]:
    components: list[set[str]] = []
    for group in groups:
        joined = set(group)
        rest = []
        for component in components:
            if component & joined:
                joined |= component
            else:
                rest.append(component)
        components = [*rest, joined]
    return components
