"""Null controls from clean and the instrument check, in a workspace nobody else uses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial

from shared.bases import read_whole_base
from shared.config import Campaign
from shared.errors import CampaignError
from shared.git import Git
from shared.operator.doctor.found import Found, failed, ok, untested
from shared.operator.doctor.instrument import instrument
from shared.state import StateDir
from shared.target.base import Base
from shared.target.build import build_binary
from shared.workspace import Workspace, acquire

SLOTS = 8


def builds(campaign: Campaign, state: StateDir) -> Iterator[Found]:
    """Every binary at the landing head from clean, with no draft in it; then a known-good function per binary."""
    git = Git(campaign.root)
    commit = git.find(f"refs/heads/{campaign.landing.branch}") or git.find(campaign.landing.follow)
    if commit is None:
        yield untested("null control", "there is no commit to build", "commit the project")
        return
    with ExitStack() as held:
        seats = []
        for _ in range(min(SLOTS, os.cpu_count() or 1, len(campaign.binaries))):
            seat = acquire(campaign, state, "doctor", SLOTS)
            if seat is not None:
                held.callback(seat.release)
                held.callback(seat.wipe)
                seats.append(seat)
        if not seats:
            yield untested("null control", "another doctor holds every workspace", "ask again when it has ended")
            return
        lists = [list(campaign.binaries)[number :: len(seats)] for number in range(len(seats))]
        with ThreadPoolExecutor(len(seats)) as threads:
            for rows in threads.map(partial(_seat, campaign, commit), seats, lists):
                yield from rows


def _seat(campaign: Campaign, commit: str, seat: Workspace, binaries: list[str]) -> list[Found]:
    """What one workspace says of its binaries. Each binary is judged on the tree as its own build left it."""
    rows: list[Found] = []
    try:
        seat.wipe()
        seat.sync(commit)
    except CampaignError as error:
        do = "correct [project] inputs, or make what is missing"
        return [failed(f"null control {name}", str(error), do) for name in binaries]
    for binary in binaries:
        row, base = _control(campaign, seat, binary, commit)
        rows.append(row)
        name = f"known-good {binary}"
        if base is None:
            rows.append(untested(name, "its null control is not green"))
            continue
        try:
            rows.append(instrument(name, campaign, seat, base, commit))
        except CampaignError as error:
            rows.append(failed(name, str(error), "the sentence says what to do"))
    return rows


def _control(campaign: Campaign, seat: Workspace, binary: str, commit: str) -> tuple[Found, Base | None]:
    name = f"null control {binary}"
    settings = campaign.binaries[binary]
    try:
        built = build_binary(seat.tree, binary, settings, campaign.gate, inherit=(seat.lock.fd,))
        if built.state != "green":
            do = (
                f"make `{' '.join(settings.build)}` give the expected image in a fresh worktree of {commit[:12]}; "
                "git-ignored files it needs go to [project] inputs"
            )
            return failed(name, f"{built.state} after {built.wall_s:.0f} s: {built.reason}", do), None
        base = read_whole_base(seat.tree, binary, campaign)
    except CampaignError as error:
        return failed(name, str(error), "the sentence says what to do"), None
    return ok(name, f"green from clean in {built.wall_s:.1f} s, {len(base.tus)} C files"), base
