"""What two gates at once are worth: six equal binaries against bare build loops, and a slate against one draft a build.

    python tests/benchmarks/parallel.py [--quick]

Ceiling c: two copies of the same bare build loop at once (three binaries each) against one copy (all six), interleaved
with ours in each round. Ours: the same six builds as gates with right drafts in two slots, judged, spliced, hashed and
their bases kept, against the one bare loop. Every build compiles a large C file besides the drafts, so that it takes
two seconds or more. Then gate.py's right drafts, six gates in two slots against one gate per draft, one at a time.
Null controls are made before. Prints one JSON object; exit 1 when a goal is missed or a right draft is not banked.
"""

from __future__ import annotations

import argparse
import json
import queue
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from gater.executor import Jobs  # noqa: E402
from gater.jobs import Entry, GateResult, gate_job  # noqa: E402
from shared.bases import Bases  # noqa: E402
from shared.config import Campaign, load_campaign  # noqa: E402
from shared.demo.forge import forge  # noqa: E402
from shared.demo.mutants import load_corpus  # noqa: E402
from shared.git import Git  # noqa: E402
from shared.records import GateVerdict  # noqa: E402
from shared.state import StateDir, create_state  # noqa: E402
from shared.target.build import build_binary  # noqa: E402
from shared.workspace import acquire  # noqa: E402

BINARIES = ["main", *(f"wing{n}" for n in range(2, 7))]
HEADER = "typedef signed int s32;\nextern s32 g_sum;\n"
PAD_RULE = """
define pad_rules
build/$(1).elf: build/$(1)/pad.o
build/$(1)/pad.o: pad.c always
\t@mkdir -p $$(@D)
\t$$(CC) $$(CFLAGS) -c -o $$@ $$<
endef
.PHONY: always
always:
$(foreach b,$(BINARIES),$(eval $(call pad_rules,$(b))))
"""


def lay(folder: Path, functions: int) -> Campaign:
    """A project of six equal binaries whose builds also compile a file of `functions` functions."""
    sources = folder / "sources"
    for binary in BINARIES:
        (sources / binary).mkdir(parents=True)
        body = "".join(
            f"s32 step_{k}(s32 a, s32 b) {{ s32 i; for (i = 0; i < b; i++) a += (a >> {k % 7 + 1}) ^ i; return a; }}\n"
            for k in range(10)
        )
        (sources / binary / f"{binary}.c").write_text(f'#include "common.h"\ns32 g_sum = 3;\n{body}')
    (sources / "include").mkdir()
    (sources / "include" / "common.h").write_text(f"#ifndef COMMON_H\n#define COMMON_H\n{HEADER}#endif\n")
    tables = "".join(f'[binary.{b}]\nsources = ["{b}"]\n' for b in BINARIES)
    (sources / "forge.toml").write_text(tables)
    project = forge(folder / "forged", sources, each=False).project
    body = "".join(
        f"int pad_{k}(int *p, int n) {{ int i, s = {k}; for (i = 0; i < n; i++) s = s * p[i] + (s >> 3); return s; }}\n"
        for k in range(functions)
    )
    (project / "pad.c").write_text(body)
    makefile = project / "Makefile"
    makefile.write_text(makefile.read_text() + PAD_RULE)
    git = Git(project)
    git.call("add", "pad.c", "Makefile")
    git.call("commit", "--quiet", "-m", "pad")
    return load_campaign(project / "campaign.toml")


class Hall:
    """A project, the right drafts of each binary, and their gates."""

    def __init__(self, campaign: Campaign, home: Path, size: int) -> None:
        self.campaign = campaign
        self.state: StateDir = create_state(campaign.root, "bench", home=home)
        self.commit = Git(campaign.root).commit_of(campaign.landing.follow)
        corpus = load_corpus(campaign.root.parent)
        self.slates = {
            name: [
                Entry(f"{name}.{b.function}", b.function, b.tu, b.text.encode())
                for b in corpus.bodies
                if b.binary == name and b.alone
            ][:size]
            for name in campaign.binaries
        }
        bases = Bases(campaign, self.state)
        self.paths = {}
        for name in campaign.binaries:
            bases.ensure(name, self.commit, slots=2)
            self.paths[name] = bases.path(name, bases.digest(name, self.commit))

    def gates(self, jobs: Jobs, slates: Sequence[tuple[str, list[Entry]]]) -> float:
        """Seconds for all these gates, as many at once as there are places. Raises SystemExit on a draft not banked."""
        results: queue.SimpleQueue[Future[GateResult]] = queue.SimpleQueue()
        started = time.monotonic()
        waiting = list(slates)
        running = 0
        while waiting or running:
            while waiting and jobs.free() > 0:
                name, slate = waiting.pop()
                paths = {name: self.paths[name]}
                args = (self.campaign, self.state, self.commit, (name,), paths, slate, f"g{len(waiting)}", "gate", 2)
                jobs.submit(gate_job, *args, done=results.put)
                running += 1
            result = results.get().result()
            jobs.finished()
            running -= 1
            bad = {k: v for k, v in result.verdicts.items() if v[0] is not GateVerdict.BANKED}
            if bad:
                raise SystemExit(f"right drafts were not banked: {bad}")
        return time.monotonic() - started

    def bare(self, copies: int) -> float:
        """Seconds for the project's own build of every binary, by so many loops at once, each in a tree of its own."""
        seats = [acquire(self.campaign, self.state, "gate", 2) for _ in range(copies)]
        names = list(self.campaign.binaries)
        for seat in seats:
            assert seat is not None
            seat.sync(self.commit)

        def loop(seat: Any, mine: list[str]) -> None:
            for name in mine:
                for entry in self.slates[name][:1]:
                    (seat.tree / entry.tu).touch()
                built = build_binary(seat.tree, name, self.campaign.binaries[name], self.campaign.gate)
                assert built.state == "green", built.reason

        started = time.monotonic()
        with ThreadPoolExecutor(copies) as pool:
            list(pool.map(loop, seats, [names[n::copies] for n in range(copies)]))
        wall = time.monotonic() - started
        for seat in seats:
            assert seat is not None
            seat.release()
        return wall


def wings(folder: Path, *, quick: bool) -> dict[str, Any]:
    """The first figure: six equal binaries."""
    hall = Hall(lay(folder, 100 if quick else 5200), folder / "home", 20)
    slates = list(hall.slates.items())
    rows = []
    jobs = Jobs(2)
    try:
        hall.bare(1), hall.bare(2), hall.gates(jobs, slates)
        for _ in range(1 if quick else 5):
            rows.append((hall.bare(1), hall.bare(2), hall.gates(jobs, slates)))
    finally:
        jobs.close()
    one, two, ours = (statistics.median(column) for column in zip(*rows, strict=True))
    ceiling = statistics.median(row[0] / row[1] for row in rows)
    speed = statistics.median(row[0] / row[2] for row in rows)
    return {
        "bare_s": round(one, 2),
        "bare_two_s": round(two, 2),
        "ours_s": round(ours, 2),
        "build_s": round(one / len(slates), 2),
        "ceiling": round(ceiling, 3),
        "ours": round(speed, 3),
        "of_ceiling": round(speed / ceiling, 3),
        "rounds": len(rows),
    }


def one_by_one(folder: Path, *, quick: bool) -> dict[str, Any]:
    """The second figure: a slate a binary in two slots against one draft a build, serial."""
    folder.mkdir()
    sources = ROOT / "tests/fixtures/small" if quick else ROOT / "shared/demo/game"
    project = forge(folder / "forged", sources, each=False).project
    hall = Hall(load_campaign(project / "campaign.toml"), folder / "home", 6 if quick else 20)
    slates = list(hall.slates.items())
    jobs, single = Jobs(2), Jobs(1)
    try:
        hall.gates(jobs, slates), hall.gates(single, slates[:1])
        batched = hall.gates(jobs, slates)
        serial = hall.gates(single, [(name, [entry]) for name, slate in slates for entry in slate])
    finally:
        jobs.close()
        single.close()
    drafts = sum(len(slate) for _, slate in slates)
    return {"drafts": drafts, "serial_s": round(serial, 2), "ours_s": round(batched, 2), "times": serial / batched}


def main() -> int:
    """Measures, prints the object, and says by the exit code whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="short builds and few drafts; the goals are not judged")
    quick = parser.parse_args().quick
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    try:
        first = wings(folder, quick=quick)
        second = one_by_one(folder / "game", quick=quick)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    met = quick or (first["of_ceiling"] >= 0.85 and second["times"] >= 8 and first["build_s"] >= 2)
    second["times"] = round(second["times"], 1)
    result = {
        "name": "parallel",
        "unit": "s for six gates, two slots",
        "baseline": first["bare_s"],
        "ours": first["ours_s"],
        "ratio": first["of_ceiling"],
        "goal": ">= 0.85 of the ceiling of two bare loops, builds >= 2 s; >= 8x one draft a build",
        "met": met,
        "six_binaries": first,
        "one_draft_a_build": second,
        "sizes": {"quick": quick},
    }
    print(json.dumps(result))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
