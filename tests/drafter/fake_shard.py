"""A shard that speaks the real protocol on disk and drafts nothing: what it does is told by `fake.json` in the state.

delay_s: length of one agent; die_after: rows before it kills itself; hang: it never does anything.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import signal
import sys
import time
from pathlib import Path

from drafter.agents.files import ShardFiles
from drafter.identity import start_time
from shared import durable
from shared.hashing import digest_bytes
from shared.journal import Journal
from shared.records import AgentRow, Target, decode, encode
from shared.state import open_state


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("--root", "--shard", "--pool"):
        parser.add_argument(name, required=True)
    for name in ("--lock-fd", "--key-fd"):
        parser.add_argument(name, type=int, required=True)
    options, _ = parser.parse_known_args()
    state = open_state(Path(options.root))
    files = ShardFiles(state, options.shard)
    fcntl.flock(options.lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    plan = json.loads((state.root / "fake.json").read_text())
    workers = json.loads(files.share.read_text())["workers"]
    term: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: term.append(number))
    me = {"pid": os.getpid(), "start": start_time(os.getpid())}
    running: dict[str, tuple[Target, float]] = {}
    rows = progress = 0
    reason = ""
    with Journal(state.root / "launched.jsonl") as launched:
        launched.append({"shard": options.shard, "targets": []})
    while True:
        durable.write_json(files.heartbeat, me | {"progress": progress, "agents": len(running)})
        if plan.get("hang"):
            time.sleep(0.1)
            continue
        reason = "stop" if state.stopping() else "term" if term else ""
        for path in sorted(files.inbox.glob("*.json")):
            if reason or len(running) >= workers or path.stem in running:
                continue
            target = decode(Target, durable.read_json(path))
            running[target.id] = (target, time.monotonic() + plan.get("delay_s", 0.05))
            with Journal(state.root / "launched.jsonl") as launched:
                launched.append({"shard": options.shard, "pid": os.getpid(), "target": target.id})
            draft = files.draft(target.wave, target.id)
            draft.parent.mkdir(exist_ok=True)
            durable.write(draft, f"int {target.card.function}(void) {{ return 0; }} /* best so far */\n".encode())
        for name, (target, due) in list(running.items()):
            if time.monotonic() >= due or reason:
                finish(files, target, "saved" if reason else "match")
                del running[name]
                rows += 1
                progress += 1
                if rows == plan.get("die_after"):
                    os.kill(os.getpid(), signal.SIGKILL)
        if reason and not running:
            break
        time.sleep(0.02)
    durable.write_json(files.exit, me | {"reason": reason, "code": 0, "unfinished": []})
    sys.exit(0)


def finish(files: ShardFiles, target: Target, outcome: str) -> None:
    """The row of a target, then its inbox file away."""
    card = target.card
    data = f"int {card.function}(void) {{ return 0; }}\n".encode()
    path = files.draft(target.wave, target.id)
    durable.write(path, data)
    row = AgentRow(
        id=target.id,
        binary=card.binary,
        function=card.function,
        attempt=card.attempt,
        outcome=outcome,
        path=files.state.relative(path),
        digest=digest_bytes(data),
        size=len(data),
        verdict="AGREE",
        pool=target.pool,
    )
    with Journal(files.rows(target.wave)) as journal:
        journal.append(encode(row), durable=True)
    files.target(target.id).unlink()


if __name__ == "__main__":
    main()
