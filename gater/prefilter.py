"""`gater prefilter`: the filter's word on drafts by hand. Writes no journal, no spool and no commit."""

from __future__ import annotations

import queue
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import msgspec
import orjson
from msgspec import Struct

from gater.bench import Entry
from gater.executor import Jobs
from gater.jobs import ControlResult, FilterResult, control_job, filter_job
from gater.stubs import Place, StubIndex
from shared.config import Campaign
from shared.errors import CampaignError, ConfigError
from shared.git import Git
from shared.records import Judgement, Verdict
from shared.state import StateDir
from shared.target.base import Base, load_base


class Row(Struct, frozen=True, forbid_unknown_fields=True):
    """One draft to judge, a line of `--batch`: `draft` is the path of its C file."""

    binary: str
    function: str
    draft: str


def read_batch(path: Path) -> list[Row]:
    """The rows of a JSONL file. Raises ConfigError with the line of the first bad one."""
    rows = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            rows.append(msgspec.convert(orjson.loads(line), Row))
        except (orjson.JSONDecodeError, msgspec.ValidationError) as error:
            raise ConfigError(f"is not {{binary, function, draft}}: {error}", path, number) from error
    return rows


def prefilter(campaign: Campaign, state: StateDir, rows: list[Row], slots: int) -> list[Judgement]:
    """A judgement per row, in order; drafts of one TU are judged alone and together, as the gater would.

    Judged at the landing head, or at the followed branch where there is no landing branch yet. A row that cannot be
    judged is a FAULT with its reason. Raises ConfigError for a draft file that cannot be read.
    """
    texts = [_read(Path(row.draft)) for row in rows]
    with _Pool() as pool:
        return _Prefilter(campaign, state, slots, pool).run(rows, texts)


def render(row: Row, judgement: Judgement, *, as_json: bool) -> str:
    """A judgement for a person (verdict, reason, evidence below) or as one JSON line."""
    if as_json:
        return orjson.dumps(msgspec.to_builtins(row) | msgspec.to_builtins(judgement)).decode()
    distance = "" if judgement.closeness is None else f" ({judgement.closeness} of {judgement.words} words off)"
    lines = [f"{judgement.verdict.value} {row.binary}/{row.function}{distance}: {judgement.reason}"]
    for fact in judgement.evidence:
        where = " ".join(part for part in (fact.where, "" if fact.word is None else f"word {fact.word}") if part)
        sides = f" mine {fact.mine}" * bool(fact.mine) + f" target {fact.target}" * bool(fact.target)
        lines.append(f"    {fact.kind} {where}{sides} {fact.note}".rstrip())
    return "\n".join(lines)


class _Pool:
    """Jobs run one after another in a worker process, so that a crash costs one draft's verdict and nothing else."""

    def __enter__(self) -> _Pool:
        self._jobs = Jobs(1)
        return self

    def __exit__(self, *_: object) -> None:
        self._jobs.close()

    def call(self, job: Any, *args: Any) -> Any:
        done: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self._jobs.submit(job, *args, done=done.put)
        future = done.get()
        self._jobs.finished()
        return future.result()


class _Prefilter:
    def __init__(self, campaign: Campaign, state: StateDir, slots: int, pool: _Pool) -> None:
        self.campaign, self.state, self.slots, self.pool = campaign, state, slots, pool
        self.git = Git(campaign.root)
        self.commit = self.git.find(campaign.landing.branch) or self.git.commit_of(campaign.landing.follow)
        self.controls: dict[str, ControlResult] = {}

    def run(self, rows: list[Row], texts: list[bytes]) -> list[Judgement]:
        stubs = StubIndex(self.campaign, self.git)
        stubs.refresh(self.commit, self._bases(row.binary for row in rows))
        result: dict[int, Judgement] = {}
        by_tu: dict[str, dict[int, Place]] = {}
        for number, row in enumerate(rows):
            place = stubs.open.get((row.binary, row.function))
            if place is None:
                result[number] = self._unplaced(row, stubs)
            else:
                by_tu.setdefault(place.tu, {})[number] = place
        for tu, places in by_tu.items():
            binaries = next(iter(places.values())).binaries
            entries = [Entry(str(n), rows[n].function, tu, texts[n]) for n in places]
            result.update({int(name): judged for name, judged in self._judge(tu, binaries, entries).items()})
        return [result[number] for number in range(len(rows))]

    def _bases(self, wanted: Iterable[str]) -> dict[str, Base]:
        """Bases of every binary: which of them compile a TU is only known from their links."""
        if not any(name in self.campaign.binaries for name in wanted):
            return {}
        found = {}
        for binary in self.campaign.binaries:
            control = self.pool.call(control_job, self.campaign, self.state, binary, self.commit, self.slots)
            self.controls[binary] = control
            base = load_base(control.path) if control.path else None
            if base is not None:
                found[binary] = base
        return found

    def _unplaced(self, row: Row, stubs: StubIndex) -> Judgement:
        if row.binary not in self.campaign.binaries:
            known = ", ".join(self.campaign.binaries)
            return Judgement(Verdict.REFUSED, f"{row.binary!r} is no binary of this project; known are {known}")
        control = self.controls[row.binary]
        if control.state != "green":
            return Judgement(Verdict.FAULT, control.reason)
        twice = stubs.twice.get((row.binary, row.function))
        if twice is not None:
            return Judgement(Verdict.REFUSED, f"{row.function} is open twice in {row.binary}: {' and '.join(twice)}")
        return Judgement(
            Verdict.NOT_A_STUB, f"{row.function} is not an open stub of {row.binary} at {self.commit[:12]}"
        )

    def _judge(self, tu: str, binaries: tuple[str, ...], entries: list[Entry]) -> Mapping[str, Judgement]:
        paths = {name: path for name in binaries if (path := self.controls[name].path) is not None}
        if len(paths) < len(binaries):
            red = next(self.controls[name].reason for name in binaries if name not in paths)
            return {entry.id: Judgement(Verdict.FAULT, red) for entry in entries}
        try:
            result: FilterResult = self.pool.call(
                filter_job, self.campaign, self.state, self.commit, tu, paths, entries, [], self.slots
            )
        except BrokenProcessPool:
            if len(entries) == 1:
                return {entries[0].id: Judgement(Verdict.FAULT, "the judge died on this draft")}
            return {e.id: judged for e in entries for judged in self._judge(tu, binaries, [e]).values()}
        except CampaignError as error:
            return {entry.id: Judgement(Verdict.FAULT, str(error)) for entry in entries}
        return result.judgements


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}; name the draft's C file", path) from error
