"""A forged project of one's own with drafts in its spool, and what a gater left behind read back."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest

from shared import durable
from shared.config import load_campaign
from shared.demo.forge import Forged
from shared.demo.night.count import Truth, load_truth, open_stubs, rebuild
from shared.git import Git
from shared.journal import read_journal
from shared.records import Marker
from shared.spool import Spool, draft_ref
from shared.state import StateDir, create_state

GATER = Path(sys.executable).parent / "gater"


@dataclass
class Yard:
    """One project with its state, and the `gater` command on it."""

    root: Path
    state: StateDir
    truth: list[Truth]
    start: str
    drafts: int = 0
    markers: int = 0
    environment: dict[str, str] = field(default_factory=dict)

    def text(self, function: str, binary: str) -> bytes:
        return next(t.text for t in self.truth if (t.function, t.binary) == (function, binary))

    def publish(self, drafts: list[tuple[str, str, bytes]], **fields: Any) -> str:
        """One marker of (binary, function, text) drafts."""
        self.markers += 1
        folder = self.state.waves / "w000001" / "drafts"
        folder.mkdir(parents=True, exist_ok=True)
        refs = []
        for binary, function, text in drafts:
            self.drafts += 1
            path = folder / f"d{self.drafts}.c"
            durable.write(path, text)
            names = {"binary": binary, "function": function, "attempt": 1, "backend": "test"}
            refs.append(draft_ref(self.state, path, id=f"w000001-{self.drafts}", **names))
        name = f"w000001-{self.markers}"
        Spool(self.state).publish(Marker(id=name, wave="w000001", sequence=self.markers, drafts=tuple(refs), **fields))
        return name

    def publish_truth(self) -> None:
        """Every right body, a marker per binary; a stub of a TU of several binaries once."""
        seen: set[tuple[str, str]] = set()
        for binary in dict.fromkeys(t.binary for t in self.truth):
            drafts = []
            for t in self.truth:
                if t.binary == binary and (t.tu, t.function) not in seen:
                    seen.add((t.tu, t.function))
                    drafts.append((t.binary, t.function, t.text))
            self.publish(drafts)

    def gater(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Runs `gater` to its end, at most two minutes."""
        return subprocess.run(
            [str(GATER), "--root", str(self.root), *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env=os.environ | self.environment | environment,
        )

    @contextlib.contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        """A gater beside the block, drained at its end."""
        process = subprocess.Popen(
            [str(GATER), "--root", str(self.root), "run"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            yield process
            self.state.stop.touch()
            assert process.wait(60) == 0
        finally:
            self.state.stop.unlink(missing_ok=True)
            process.kill()
            process.wait(10)

    def wait_for(self, met: Callable[[], bool], timeout_s: float = 60) -> None:
        """Looks again and again until it is so."""
        deadline = time.monotonic() + timeout_s
        while not met():
            assert time.monotonic() < deadline, f"not within {timeout_s} s; verdicts are {self.verdicts()}"
            time.sleep(0.05)

    def standing(self) -> dict[str, dict[str, Any]]:
        """The last row of every draft."""
        return {row["id"]: row for row in read_journal(self.state.journal / "drafts.jsonl")}

    def verdicts(self) -> Counter[str]:
        return Counter(row["verdict"] for row in self.standing().values())

    def ledger(self, kind: str) -> list[dict[str, Any]]:
        return [row for row in read_journal(self.state.journal / "ledger.jsonl") if row["kind"] == kind]

    def git(self, *arguments: str) -> str:
        return Git(self.root).call(*arguments)

    def left(self) -> set[tuple[str, str]]:
        """Stubs open on the landing branch."""
        campaign = load_campaign(self.root / "campaign.toml")
        return open_stubs(campaign, Git(self.root), campaign.landing.branch)

    def red(self) -> list[str]:
        """Binaries that are not byte-identical by a clean rebuild of the landing head."""
        campaign = load_campaign(self.root / "campaign.toml")
        return rebuild(campaign, Git(self.root).commit_of(campaign.landing.branch), self.root.parent)

    def check(self) -> None:
        """What must hold after every night, however it went."""
        assert self.red() == []
        assert list(self.state.tmp.iterdir()) == []
        counts = Spool(self.state).counts()
        assert counts == {"ready": 0, "claimed": 0, "done": self.markers, "poison": 0}
        assert sorted(row["marker"] for row in self.ledger("marker")) == sorted(
            f"w000001-{n}" for n in range(1, self.markers + 1)
        )
        banked = [row for row in self.standing().values() if row["verdict"] == "BANKED"]
        trailers = self.git("log", "--format=%(trailers:key=Draft,valueonly)", f"{self.start}..campaign").split()
        assert sorted(row["digest"] for row in banked) == sorted(trailers)
        assert sum(row["banked"] for row in self.ledger("batch")) == len(banked)
        assert sum(row["banked"] for row in self.ledger("marker")) + self.waiting_banked() == len(banked)
        for row in self.ledger("marker"):
            assert sum(row["filter"].values()) == row["drafts"]

    def waiting_banked(self) -> int:
        """Banks of drafts whose marker was settled while they waited, or that were revived."""
        settled: Counter[str] = Counter({row["marker"]: row["banked"] for row in self.ledger("marker")})
        banked = Counter(row["marker"] for row in self.standing().values() if row["verdict"] == "BANKED")
        return sum((banked - settled).values())


def _lay(forged: Forged, tmp_path: Path, *, batch: bool) -> Yard:
    root = tmp_path / "project"
    shutil.copytree(forged.project, root, symlinks=True)
    config = root / "campaign.toml"
    text = config.read_text()
    if not batch and 'lane = "batch"' in text:
        config.write_text(text.replace('lane = "batch"', 'lane = "queue"'))
        Git(root).call("commit", "--quiet", "-am", "lanes")
    state = create_state(root, "yard", home=tmp_path / "home")
    return Yard(root, state, load_truth(forged.truth.parent), Git(root).commit_of("main"))


@pytest.fixture
def yard(forged_small: Forged, tmp_path: Path) -> Callable[..., Yard]:
    """Makes a project of one's own; with `batch` its main binary stays on the batch lane as forged."""

    def make(*, batch: bool = False) -> Yard:
        return _lay(forged_small, tmp_path, batch=batch)

    return make


@pytest.fixture
def yard64(forged_game64: Forged, tmp_path: Path) -> Yard:
    """A big-endian project of one binary."""
    return _lay(forged_game64, tmp_path, batch=True)


def read(path: Path) -> Any:
    return orjson.loads(path.read_bytes())
