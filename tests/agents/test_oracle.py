"""The oracle process: what the real judge says of a real forged project, and what a dying process does to nobody."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from drafter.agents.judges import ProcessOracle, open_oracle
from drafter.agents.oracle import Look
from shared.bases import Bases
from shared.config import Campaign, load_campaign
from shared.demo.forge import Forged as Game
from shared.demo.rehearsal.settings import Script
from shared.demo.rehearsal.truth import Truth, load_truth
from shared.demo.rehearsal.wrong import wrong_draft
from shared.git import Git
from shared.oracle.context import find_asm
from shared.records import Card, Verdict
from shared.state import StateDir, create_state
from shared.target.stubs import find_stubs
from tests.agents.conftest import Tiny


@dataclass(frozen=True)
class Forged:
    """A forged game with its bases made, as the gater leaves them."""

    root: Path
    campaign: Campaign
    state: StateDir
    truth: Truth

    def card(self, binary: str, function: str) -> Card:
        entry = self.truth.entries[binary, function]
        stubs = {stub.function: stub for stub in find_stubs((self.root / entry.tu).read_bytes())}
        asm = find_asm(self.root, self.campaign.binaries[binary].asm, stubs[function])
        assert asm is not None
        return Card(binary, function, entry.tu, str(asm.relative_to(self.root)), 0, entry.instructions)


@pytest.fixture(scope="module")
def forged(forged_small: Game, tmp_path_factory: pytest.TempPathFactory) -> Forged:
    """A copy of the small game with its bases made, for this module to write to."""
    folder = tmp_path_factory.mktemp("oracle") / "forged"
    shutil.copytree(forged_small.project.parent, folder, symlinks=True)
    root = folder / "project"
    campaign = load_campaign(root / "campaign.toml")
    state = create_state(root, "small", home=folder / "state")
    commit = Git(root).commit_of("main")
    for binary in campaign.binaries:
        Bases(campaign, state).ensure(binary, commit, slots=1)
    return Forged(root, campaign, state, load_truth(folder))


def ask(oracle: ProcessOracle, questions: list[tuple[Card, str]]) -> list[Look]:
    """All questions at once."""

    async def main() -> list[Look]:
        try:
            return list(await asyncio.wait_for(asyncio.gather(*(oracle.judge(*q) for q in questions)), 120))
        finally:
            await oracle.close()

    return asyncio.run(main())


def snapshot(root: Path) -> dict[str, tuple[int, int]]:
    """Everything in the person's checkout but the state link and git's own admin of worktrees."""
    found = {}
    for parent, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in names:
            status = (Path(parent) / name).lstat()
            found[str(Path(parent) / name)] = (status.st_size, status.st_mtime_ns)
    return found


def test_real_verdicts_on_a_real_project(forged: Forged) -> None:
    import random

    before = snapshot(forged.root)
    alone = [key for key, entry in forged.truth.entries.items() if entry.group is None]
    questions = [(forged.card(*key), forged.truth.bodies[key]) for key in alone]
    rng = random.Random(1)
    wrongs: list[tuple[Script, tuple[Card, str]]] = []
    for key in alone[:6]:
        siblings = {
            entry.function: forged.truth.bodies[other]
            for other, entry in forged.truth.entries.items()
            if entry.binary == key[0] and entry.tu == forged.truth.entries[key].tu
        }
        for script in (Script.WRONG_SHAPE, Script.COMPILE_ERROR, Script.WRONG_SYMBOL):
            draft = wrong_draft(script, forged.truth.bodies[key], key[1], siblings, rng)
            wrongs.append((script, (forged.card(*key), draft)))
    looks = ask(open_oracle(forged.campaign, forged.state), questions + [question for _, question in wrongs])
    for (card, _), look in zip(questions, looks, strict=False):
        assert look.judgement.verdict is Verdict.AGREE, (card, look)
    for (script, (card, draft)), look in zip(wrongs, looks[len(questions) :], strict=True):
        verdict = look.judgement.verdict
        assert verdict not in (Verdict.AGREE, Verdict.FAULT), (card, look)
        if script is Script.COMPILE_ERROR:
            assert verdict is Verdict.COMPILE_FAIL
        elif "rehearsal_pad" in draft:
            assert verdict is Verdict.SHAPE
            assert "|" in look.diff
    again = ask(open_oracle(forged.campaign, forged.state), questions[:3])
    assert all(look.judgement.cached for look in again)
    # Shards write nothing outside the state directory.
    assert snapshot(forged.root) == before
    assert Git(forged.root).call("status", "--porcelain", "--untracked-files=all") == ""


def test_the_tree_follows_the_landing_branch(forged: Forged) -> None:
    key = next(key for key, entry in forged.truth.entries.items() if entry.group is None and key[0] == "main")
    card, body = forged.card(*key), forged.truth.bodies[key]
    git = Git(forged.root)

    async def main() -> tuple[Look, Look]:
        oracle = open_oracle(forged.campaign, forged.state)
        try:
            first = await oracle.judge(card, body)
            text = (forged.root / card.tu).read_bytes()
            stub = next(stub for stub in find_stubs(text) if stub.function == card.function)
            landed = text[: stub.start] + body.encode() + text[stub.end :]
            tree = git.write_tree("main", {card.tu: landed}, forged.state.tmp / "index")
            commit = git.commit_tree(tree, ["main"], "landed")
            git.call("update-ref", "refs/heads/campaign", commit)
            await asyncio.to_thread(Bases(forged.campaign, forged.state).ensure, "main", commit, slots=1)
            await asyncio.sleep(1.1)
            return first, await oracle.judge(card, body + "\n/* another text */\n")
        finally:
            await oracle.close()

    try:
        first, second = asyncio.run(main())
    finally:
        git.attempt("update-ref", "-d", "refs/heads/campaign")
    assert first.judgement.verdict is Verdict.AGREE
    assert second.judgement.verdict is Verdict.NOT_A_STUB


WORKER = """
import json, os, sys
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"id": request["id"], "started": True}), flush=True)
    if request["code"] == "kill":
        os._exit(70)
    if request["code"] == "once" and not os.path.exists(sys.argv[1]):
        open(sys.argv[1], "w").close()
        os._exit(70)
    judgement = {"verdict": "AGREE", "reason": "ok"}
    print(json.dumps({"id": request["id"], "judgement": judgement, "diff": ""}), flush=True)
"""


def worker(tmp_path: Path) -> ProcessOracle:
    return ProcessOracle([sys.executable, "-c", WORKER, str(tmp_path / "died")])


def test_a_draft_that_kills_the_judge_is_a_fault_and_costs_the_others_nothing(tiny: Tiny, tmp_path: Path) -> None:
    card = tiny.card()
    looks = ask(worker(tmp_path), [(card, "a"), (card, "kill"), (card, "b"), (card, "once"), (card, "c")])
    assert [look.judgement.verdict.value for look in looks] == ["AGREE", "FAULT", "AGREE", "AGREE", "AGREE"]
    assert "died 3 times" in looks[1].judgement.reason


def test_a_judge_that_cannot_start_is_a_fault(tiny: Tiny) -> None:
    looks = ask(ProcessOracle(["/nonexistent/judge"]), [(tiny.card(), "a")])
    assert looks[0].judgement.verdict is Verdict.FAULT


def test_the_end_of_its_input_ends_the_judge(tiny: Tiny) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "drafter.agents.judging", "--root", str(tiny.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert process.communicate(b"", timeout=20)[0] == b""
        assert process.returncode == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(5)
