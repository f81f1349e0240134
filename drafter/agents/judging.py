"""`python -m drafter.agents.judging`: the oracle's own process, one per shard.

Model output is hostile: it is parsed and compiled here, so that whatever it breaks is not the shard. One JSON object a
line: {"id", "binary", "tu", "function", "code"} in; {"id", "started": true}, then {"id", "judgement", "diff"} out, and
{"alive": true} every few seconds. The end of standard input ends the process.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

import click
import orjson

from drafter.agents.bench import Bench, slot_count
from shared.cli.overriding import set_option
from shared.config import load_campaign
from shared.config.load import CONFIG_NAME
from shared.config.overrides import parse
from shared.errors import CampaignError
from shared.log import setup_logging
from shared.records import encode
from shared.state import open_state

log = logging.getLogger(__name__)

ALIVE_S = 5.0
NICENESS = 10


class _Wire:
    """The answering side; lines of several threads do not mix."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, value: dict[str, Any]) -> None:
        with self._lock:
            self._stream.write(orjson.dumps(value) + b"\n")
            self._stream.flush()


def serve(bench: Bench, threads: int, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answers requests until they end."""
    wire = _Wire(answers)
    ended = threading.Event()

    def pulse() -> None:
        while not ended.wait(ALIVE_S):
            wire.send({"alive": True})

    def work(request: dict[str, Any]) -> None:
        wire.send({"id": request["id"], "started": True})
        code = request["code"].encode("utf-8", "replace")
        look = bench.look(request["binary"], request["tu"], request["function"], code)
        wire.send({"id": request["id"], "judgement": encode(look.judgement), "diff": look.listing})

    threading.Thread(target=pulse, daemon=True).start()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="oracle")
    for line in requests:
        pool.submit(_guarded, work, orjson.loads(line))
    ended.set()
    pool.shutdown(wait=False, cancel_futures=True)


def _guarded(work: Any, request: dict[str, Any]) -> None:
    try:
        work(request)
    except BrokenPipeError:
        os._exit(0)
    except Exception:
        # A bug in the judge is as deadly as a crash: the shard counts it and goes on with a new process.
        log.exception("ORACLE-CRASH function=%r", request.get("function"))
        os._exit(70)


@click.command()
@click.option("--root", type=click.Path(path_type=Path, exists=True, file_okay=False), required=True, help="Project.")
@set_option
def main(root: Path, sets: tuple[str, ...]) -> None:
    """Judges drafts for one shard, which starts it; talks on standard input and output."""
    setup_logging()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # standard output is the wire: nothing else may print there
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the shard decides when: it closes our standard input
    os.nice(NICENESS)
    try:
        campaign = load_campaign(root / CONFIG_NAME, [parse(text) for text in sets])
        state = open_state(root)
        os.environ["TMPDIR"] = str(state.tmp)
        bench = Bench(campaign, state)
        serve(bench, slot_count(campaign), sys.stdin.buffer, answers)
        bench.close()
    except CampaignError as error:
        log.error("%s", error)
        os._exit(error.exit_code)
    os._exit(0)  # without waiting for threads in a compile: their compilers die with their own limits


if __name__ == "__main__":
    main()
