"""What a demo night came to, counted from the source, the journals and clean rebuilds."""

from __future__ import annotations

import shutil
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from shared.config import Campaign
from shared.errors import CampaignError
from shared.git import Git
from shared.journal import read_journal
from shared.oracle.hygiene import normalise
from shared.spool import Spool
from shared.state import StateDir
from shared.target.build import build_binary
from shared.target.stubs import find_stubs


@dataclass(frozen=True)
class Truth:
    """The right body of one function."""

    binary: str
    function: str
    tu: str
    group: str | None
    alone: bool
    text: bytes


@dataclass
class Count:
    """The figures of the night. `problems` is every sum that is off, a sentence each; empty = it adds up."""

    stubs_before: int = 0
    stubs_after: int = 0
    drafts: int = 0
    functions_right: int = 0
    verdicts: dict[str, int] = field(default_factory=dict)
    gated: int = 0
    banked: int = 0
    banked_by: dict[str, int] = field(default_factory=dict)
    reachable: int = 0
    right_lost: list[str] = field(default_factory=list)
    false_banks: int = 0
    commits: int = 0
    builds: int = 0
    controls: int = 0
    requests: int = 0
    h429: int = 0
    byte_identical: bool = False
    red: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def load_truth(folder: Path) -> list[Truth]:
    """truth.json and the bodies beside it. Raises OSError, KeyError."""
    entries = orjson.loads((folder / "truth.json").read_bytes())["functions"]
    return [
        Truth(
            e["binary"], e["function"], e["tu"], e.get("group"), e.get("alone", True), (folder / e["file"]).read_bytes()
        )
        for e in entries
    ]


def open_stubs(campaign: Campaign, git: Git, commit: str) -> set[tuple[str, str]]:
    """(TU, function) of every stub of `commit`: a TU of several binaries counts once."""
    sources = [source for binary in campaign.binaries.values() for source in binary.sources]
    tus = [path for path in git.tree(commit, *sources) if path.endswith(".c")]
    return {(tu, stub.function) for tu in tus for stub in find_stubs(git.show(commit, tu))}


def count_night(campaign: Campaign, state: StateDir, truth: list[Truth], start: str, folder: Path) -> Count:
    """Counts everything from `start` (the commit before the night) to the landing head."""
    git = Git(campaign.root)
    head = git.commit_of(campaign.landing.branch)
    before, after = open_stubs(campaign, git, start), open_stubs(campaign, git, head)
    result = Count(stubs_before=len(before), stubs_after=len(after), banked=len(before - after))
    standing = {row["id"]: row for row in read_journal(state.journal / "drafts.jsonl")}
    result.drafts = len(standing)
    result.verdicts = dict(Counter(row["verdict"] for row in standing.values()))
    result.gated = sum(1 for row in standing.values() if row["stage"] == "gate")
    _right(result, state, truth, list(standing.values()), before - after)
    _ledger(result, state)
    result.commits = int(git.call("rev-list", "--count", "--no-merges", f"{start}..{head}"))
    rates = [row for path in state.journal.glob("rate-*.jsonl") for row in read_journal(path)]
    result.requests = len(rates)
    result.h429 = sum(1 for row in rates if row.get("source"))
    result.red = rebuild(campaign, head, folder)
    result.byte_identical = not result.red
    result.false_banks = 0 if result.byte_identical else len(result.red)
    _add_up(result, state, list(standing.values()))
    return result


def rebuild(campaign: Campaign, commit: str, folder: Path) -> list[str]:
    """Builds every binary from clean at `commit` in a fresh clone; a sentence per one that is not byte-identical."""
    clone = folder / "clean"
    shutil.rmtree(clone, ignore_errors=True)
    Git(folder).call("clone", "--quiet", "--no-checkout", "--shared", str(campaign.root), str(clone))
    Git(clone).call("checkout", "--quiet", "--detach", commit)
    for name in campaign.project.inputs:
        source, target = campaign.root / name, clone / name
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)

    def one(name: str) -> str:
        try:
            built = build_binary(clone, name, campaign.binaries[name], campaign.gate)
        except CampaignError as error:
            return f"{name}: {error}"
        return "" if built.state == "green" else f"{name}: {built.state}: {built.reason}"

    with ThreadPoolExecutor(1) as pool:
        red = [sentence for sentence in pool.map(one, campaign.binaries) if sentence]
    shutil.rmtree(clone, ignore_errors=True)
    return red


def _right(
    result: Count, state: StateDir, truth: list[Truth], rows: list[dict[str, Any]], banked: set[tuple[str, str]]
) -> None:
    """Functions for which a right body was delivered, and which of them were not banked.

    A body that is right only with its TU's others is so only if the right bodies of its whole group were delivered. The
    rehearsal hands right bodies out verbatim, so equality of text finds every one.
    """
    known = {(t.binary, t.function): t for t in truth}
    delivered: set[tuple[str, str]] = set()
    for row in rows:
        key = (row["binary"], row["function"])
        right = known.get(key)
        if right is None:
            continue
        text = normalise(state.resolve(row["path"]).read_bytes()).strip()
        if text == normalise(right.text).strip() or (right.tu, right.function) in banked:
            delivered.add(key)
    groups: dict[str, set[tuple[str, str]]] = {}
    for t in truth:
        if t.group is not None:
            groups.setdefault(t.group, set()).add((t.binary, t.function))
    complete = {key for members in groups.values() if members <= delivered for key in members}
    grouped = {(t.binary, t.function) for t in truth if t.group is not None and not t.alone}
    right_keys = {key for key in delivered if key not in grouped or key in complete}
    places = {(known[key].tu, key[1]): key for key in right_keys}
    result.functions_right = len(places)
    result.reachable = len(places)
    result.right_lost = sorted(f"{key[0]}/{key[1]}" for place, key in places.items() if place not in banked)


def _ledger(result: Count, state: StateDir) -> None:
    commits: Counter[str] = Counter()
    for row in read_journal(state.journal / "ledger.jsonl"):
        if row.get("kind") == "batch":
            result.builds += row["builds"]
            commits[row["commit"]] += row["banked"]
    for row in read_journal(state.journal / "gater.jsonl"):
        result.controls += row.get("event") in ("control", "candidate") and row.get("wall_s", 0) > 0
    by: Counter[str] = Counter()
    for row in {r["id"]: r for r in read_journal(state.journal / "drafts.jsonl")}.values():
        if row["verdict"] == "BANKED":
            by[row.get("backend") or "unknown"] += 1
    result.banked_by = dict(by)
    claimed = sum(count for commit, count in commits.items() if commit)
    if claimed != sum(by.values()):
        result.problems.append(f"the ledger's landings bank {claimed}, the verdict rows {sum(by.values())}")


def _add_up(result: Count, state: StateDir, rows: list[dict[str, Any]]) -> None:
    problems = result.problems
    if sum(result.verdicts.values()) != result.drafts:
        problems.append(f"{result.drafts} drafts have {sum(result.verdicts.values())} verdicts")
    distinct = {(row.get("tu"), row["function"]) for row in rows if row["verdict"] == "BANKED"}
    if len(distinct) != result.banked:
        problems.append(f"{result.banked} stubs are gone from the source, {len(distinct)} functions have a BANKED row")
    if result.banked > result.functions_right:
        problems.append(
            f"{result.banked} functions banked, right bodies were delivered for {result.functions_right} only"
        )
    spool = Spool(state).counts()
    if spool["ready"] or spool["claimed"] or spool["poison"]:
        problems.append(f"markers are left in the spool: {spool}")
    agents = [row for path in state.waves.glob("*/drafts*.jsonl") for row in read_journal(path)]
    with_draft = sum(1 for row in agents if row.get("path"))
    if with_draft > result.drafts:
        problems.append(f"agents finished {with_draft} drafts, the gater judged {result.drafts}")
    problems.extend(f"not byte-identical: {sentence}" for sentence in result.red)
    if len(result.right_lost) > 0.02 * max(1, result.functions_right):
        names = ", ".join(result.right_lost[:5])
        problems.append(f"{len(result.right_lost)} of {result.functions_right} right functions did not bank: {names}")
