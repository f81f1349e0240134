"""Sets the stage of a demo campaign: a forged project, a rehearsal model, a state directory and a campaign.toml."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from shared import durable
from shared.demo.forge import Forged, forge
from shared.errors import InstrumentFault
from shared.proc import child_environment
from shared.state import StateDir, create_state

SHORTENED = """
# A demo's clock: everything that waits is shortened so that a night fits into a minute. Not for a real night.
[landing]
branch = "campaign"
follow = "main"

[gate]
scan_s = 1.0

[drafter]
workers = {workers}
cards_per_wave = 80
queue_depth = 3
attempts = 1
ramp_window_s = 2.0
flush_interval_s = 1.5
marker_drafts = 24
straggler_grace_s = 5.0
stall_s = 120.0
orphan_grace_s = 60.0

[lane.default]
bands = [[0, 50], [50, 120], [120, 2000]]
turns = 8

[pool.rehearsal-a]
url = "{url}"
model = "rehearsal-a"
share = 2.0
key_file = "{key_file}"
output_tokens = 2000
tokens_per_s = 200.0
socket_timeout_s = 30.0
backoff_s = 0.2
backoff_max_s = 2.0

[pool.rehearsal-b]
url = "{url}"
model = "rehearsal-b"
share = 1.0
key_file = "{key_file}"
output_tokens = 2000
tokens_per_s = 200.0
socket_timeout_s = 30.0
backoff_s = 0.2
backoff_max_s = 2.0
"""


GAME = Path(__file__).parent.parent / "game"
"""The C sources of the little game that ships with the product; tests prove each of its bodies."""

FORGED = "forged"
"""Folder of the forged project and its truth, below the demo's own."""


@dataclass
class Stage:
    """A demo campaign ready to start. `end` stops the rehearsal model."""

    folder: Path
    forged: Forged
    state: StateDir
    rehearsal: subprocess.Popen[bytes]
    report: Path
    key: str
    forge_s: float

    @property
    def project(self) -> Path:
        """The forged decomp project."""
        return self.forged.project

    def end(self) -> None:
        """Stops the rehearsal model; it writes its report first."""
        self.rehearsal.terminate()
        try:
            self.rehearsal.wait(10)
        except subprocess.TimeoutExpired:
            self.rehearsal.kill()
            self.rehearsal.wait()


def set_stage(folder: Path, sources: Path, seed: int, *, workers: int, extra: tuple[str, ...] = ()) -> Stage:
    """Forges `sources` into `folder` and starts the rehearsal model over the truth. `extra` are its options.

    Raises CampaignError. The key is random, made here, and handed over in a file only its owner can read.
    """
    folder.mkdir(parents=True, exist_ok=True)
    key_file = folder / "rehearsal.key"
    key = "rehearsal-" + secrets.token_hex(16)
    durable.write(key_file, key.encode() + b"\n")
    key_file.chmod(0o600)
    port_file, report = folder / "rehearsal.port", folder / "rehearsal.json"
    port_file.unlink(missing_ok=True)
    begun = time.monotonic()
    port = _free_port()
    config = SHORTENED.format(url=f"http://127.0.0.1:{port}/v1", key_file=key_file, workers=workers)
    forged = forge(folder / FORGED, sources, extra_toml=config, each=sources != GAME)
    forge_s = time.monotonic() - begun
    command = [sys.executable, "-m", "shared.demo.rehearsal", "--truth", str(folder / FORGED), "--seed", str(seed)]
    command += [
        "--port",
        str(port),
        "--port-file",
        str(port_file),
        "--report",
        str(report),
        "--key-file",
        str(key_file),
    ]
    log = (folder / "rehearsal.log").open("wb")
    with log:
        process = subprocess.Popen(
            [*command, *extra], stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=child_environment()
        )
    _await(port_file, process, folder / "rehearsal.log")
    state = create_state(forged.project, "demo", home=folder / "state")
    return Stage(folder, forged, state, process, report, key, forge_s)


def start_daemon(project: Path, log: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Starts `drafter ...` or `gater ...` as the real separate process, its log appended to `log`."""
    program = Path(sys.executable).parent / arguments[0]
    with log.open("ab") as stream:
        return subprocess.Popen(
            [str(program), "--root", str(project), *arguments[1:]],
            stdout=stream,
            stderr=stream,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            env=child_environment({name: os.environ[name] for name in ("CAMPAIGN_FAILPOINT",) if name in os.environ}),
        )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _await(port_file: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 30
    while not port_file.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise InstrumentFault(f"the rehearsal model did not start; its last words are in {log}")
        time.sleep(0.05)
