"""From a marker's rename into ready/ to the gater taking it up, and a start with many markers waiting.

    python tests/benchmarks/spool.py [--quick]

A real gater watches the spool of a forged project; closing markers without drafts are renamed into ready/ one at a
time, first with the machine idle, then beside one running build. The baseline is the mean wait of a 20 s poll, which
needs no run. Then so many markers are laid down while no gater runs, and one is started. Prints one JSON object; exit 1
when a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import orjson  # noqa: E402
import psutil  # noqa: E402

from shared.demo.forge import forge  # noqa: E402
from shared.records import Marker, encode  # noqa: E402
from shared.spool import Spool, file_name  # noqa: E402
from shared.state import StateDir, create_state  # noqa: E402

POLL_S = 20.0
MEDIAN_MS, P99_MS, START_S, MEMORY_MIB = 20.0, 100.0, 5.0, 300.0


class RunningGater:
    """A `gater run` process; `ready_s` is how long its READY took."""

    def __init__(self, project: Path, folder: Path) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            address = folder / "notify"
            address.unlink(missing_ok=True)
            notify.bind(str(address))
            notify.settimeout(60)
            begun = time.monotonic()
            self.process = subprocess.Popen(
                [str(Path(sys.executable).parent / "gater"), "--root", str(project), "run"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=os.environ | {"NOTIFY_SOCKET": str(address)},
            )
            while b"READY=1" not in notify.recv(4096):
                pass
            self.ready_s = time.monotonic() - begun

    def peak_mib(self) -> float:
        """Resident memory of the gater process itself."""
        return float(psutil.Process(self.process.pid).memory_info().rss) / 2**20

    def end(self) -> None:
        """Ends it."""
        self.process.terminate()
        self.process.wait(30)


def closing(number: int) -> Marker:
    """A marker that asks for nothing."""
    return Marker(id=f"w{number:06d}-end", wave=f"w{number:06d}", sequence=number, drafts=(), closing=True)


def latencies(state: StateDir, first: int, count: int) -> list[float]:
    """Milliseconds from the rename until the marker has left ready/."""
    spool = Spool(state)
    found = []
    for number in range(first, first + count):
        name = file_name(closing(number))
        temp = spool.tmp / name
        temp.write_bytes(orjson.dumps(encode(closing(number))))
        begun = time.perf_counter()
        temp.rename(spool.ready / name)
        while (spool.ready / name).exists():
            if time.perf_counter() - begun > 30:
                raise SystemExit("a marker was not taken up within 30 s")
            time.sleep(0.0005)
        found.append((time.perf_counter() - begun) * 1000)
        time.sleep(0.02)
    return found


def figures(values: list[float]) -> dict[str, float]:
    """Median and 99th percentile in milliseconds."""
    return {
        "median_ms": round(statistics.median(values), 2),
        "p99_ms": round(statistics.quantiles(values, n=100)[98], 2),
    }


def many(state: StateDir, project: Path, folder: Path, first: int, count: int) -> dict[str, Any]:
    """A start with `count` markers waiting."""
    spool = Spool(state)
    for number in range(first, first + count):
        (spool.ready / file_name(closing(number))).write_bytes(orjson.dumps(encode(closing(number))))
    before = spool.counts()["done"]
    gater = RunningGater(project, folder)
    peak = 0.0
    deadline = time.monotonic() + 900
    while spool.counts()["done"] < before + count and time.monotonic() < deadline:
        peak = max(peak, gater.peak_mib())
        time.sleep(0.5)
    counts = spool.counts()
    gater.end()
    return {
        "markers": count,
        "ready_s": round(gater.ready_s, 2),
        "skipped": before + count - counts["done"],
        "peak_mib": round(peak, 1),
    }


def main() -> int:
    """Measures, prints the object, and says by the exit code whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer markers, in less than 30 s")
    quick = parser.parse_args().quick
    each, waiting = (100, 2000) if quick else (400, 50_000)
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    try:
        forged = forge(folder / "forged", ROOT / "tests/fixtures/small", each=False)
        state = create_state(forged.project, "bench", home=folder / "home")
        gater = RunningGater(forged.project, folder)
        time.sleep(3)  # the null controls of a first start
        idle = figures(latencies(state, 1, each))
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        loop = "while :; do rm -rf build; make -s -j1 all; done"
        build = subprocess.Popen(["bash", "-c", loop], cwd=forged.project, **quiet)  # type: ignore[call-overload]
        beside = figures(latencies(state, 1 + each, each))
        build.kill()
        build.wait()
        gater.end()
        start = many(state, forged.project, folder, 1 + 2 * each, waiting)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    met = idle["median_ms"] < MEDIAN_MS and idle["p99_ms"] < P99_MS
    met = met and start["ready_s"] < START_S and not start["skipped"] and start["peak_mib"] <= MEMORY_MIB
    result = {
        "name": "spool",
        "unit": "ms from rename to taken up, median, idle",
        "baseline": POLL_S * 1000 / 2,
        "ours": idle["median_ms"],
        "ratio": round(idle["median_ms"] / (POLL_S * 1000 / 2), 6),
        "goal": f"median < {MEDIAN_MS:g} ms, p99 < {P99_MS:g} ms; ready < {START_S:g} s with all waiting, none skipped,"
        f" <= {MEMORY_MIB:g} MiB",
        "met": met,
        "idle": idle,
        "beside_a_build": beside,
        "start": start,
        "sizes": {"quick": quick, "markers_each": each},
    }
    print(json.dumps(result))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
