"""Whether this machine can carry the configured fleet, the programs answer, and the time limits are in order."""

from __future__ import annotations

import os
import platform
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path

from shared.config import Campaign
from shared.errors import CampaignError
from shared.operator.doctor.found import Found, failed, ok, untested, warning
from shared.operator.stopping import gate_bound_s
from shared.operator.units.render import WATCHDOG_S
from shared.proc import Limits, isolation, run
from shared.stopping import drain_bound_s

AGENT_MIB = 0.4
"""One agent in flight; a thousand were measured within 400 MiB."""
PROCESS_MIB = 120
"""A daemon, a shard or a gater worker at rest."""
COMPILER_MIB = 100
"""What a TU's compiler really takes; `compile_memory_mib` is its ceiling, not its use."""
GIT = (2, 38)
PROGRAMS = ("git", "prlimit", "setpriv", "unshare", "flock")


def programs(campaign: Campaign) -> Iterator[Found]:
    """Everything the daemons start themselves, asked for its version."""
    name = "programs"
    wanted = list(PROGRAMS)
    for binary in campaign.binaries.values():
        wanted += [words[0] for words in (binary.build, binary.compile) if words]
    lacking, said = [], []
    for program in dict.fromkeys(wanted):
        path = shutil.which(program) if "/" not in program else program
        if path is None or ("/" in program and not (campaign.root / program).exists() and not Path(program).exists()):
            lacking.append(program)
            continue
        said.append(_version(campaign, program))
    if lacking:
        yield failed(name, f"not found: {', '.join(lacking)}", "install them, or put them on PATH")
        return
    numbers = tuple(int(part) for part in said[0].removeprefix("git ").split(".")[:2] if part.isdigit())
    if numbers < GIT:
        yield failed(name, f"{said[0]} is older than {GIT[0]}.{GIT[1]}", "install a newer git")
        return
    yield ok(name, f"{', '.join(said)}; Python {platform.python_version()}")
    prefix = isolation()
    if not prefix:
        yield warning("isolation", "builds get no PID namespace", "allow user namespaces; a killed build may live on")
    elif "--net" not in prefix:
        yield warning("isolation", "builds run with the network", "allow user and network namespaces")
    else:
        yield ok("isolation", "builds run in a PID namespace of their own, without network")


def _version(campaign: Campaign, program: str) -> str:
    short = Path(program).name
    try:
        done = run([program, "--version"], cwd=campaign.root, limits=Limits(timeout_s=10.0))
    except CampaignError:
        return short
    words = (done.stdout or done.stderr).decode("utf-8", "replace").split()
    number = next((word.strip("(),") for word in words if word[:1].isdigit()), "")
    return f"{short} {number}".strip()


def fleet(campaign: Campaign) -> Iterator[Found]:
    """Memory, cores and descriptors against the set point."""
    cores = os.cpu_count() or 1
    total, free = memory_mib()
    workers, per_shard = campaign.drafter.workers, campaign.drafter.agents_per_shard
    pools = max(1, sum(1 for pool in campaign.pools.values() if pool.share > 0))
    shards = max(pools, -(-workers // per_shard))
    gates = campaign.gate.slots or cores
    oracles = campaign.filter.oracle_slots or max(1, cores - 1)
    wanted = int(workers * AGENT_MIB + (2 + shards + gates) * PROCESS_MIB + (oracles + gates) * COMPILER_MIB)
    what = (
        f"{workers} agents in {shards} shards, {gates} builds and {oracles} oracle compilers want about {wanted} MiB; "
        f"{free} of {total} MiB are free"
    )
    if total and total < wanted:
        yield failed("memory", what, "lower drafter.workers, gate.slots or filter.oracle_slots")
    elif total and free < wanted:
        yield warning("memory", what, "end what else uses memory, or lower drafter.workers or gate.slots")
    else:
        yield ok("memory", what)
    what = f"{cores} cores for {gates} builds and {oracles} oracle compilers at a time"
    if gates > cores or oracles > cores:
        yield warning("cores", what, f"set gate.slots and filter.oracle_slots to {cores} at most, or to 0")
    else:
        yield ok("cores", what)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 2 * min(workers, per_shard) + 128
    what = f"a shard may need {most} descriptors, the limit is {soft}"
    if soft != resource.RLIM_INFINITY and soft < most:
        yield failed("descriptors", what, f"ulimit -n {max(4096, most)} (the systemd units set it themselves)")
    else:
        yield ok("descriptors", what)


def memory_mib() -> tuple[int, int]:
    """(all, available) memory, (0, 0) where the kernel does not say."""
    known = {}
    for line in Path("/proc/meminfo").read_text("ascii").splitlines():
        name, _, rest = line.partition(":")
        known[name] = int(rest.split()[0]) >> 10
    return known.get("MemTotal", 0), known.get("MemAvailable", 0)


def timeouts(campaign: Campaign) -> Iterator[Found]:
    """The limits one inside the other, the arithmetic shown. campaign.toml is refused where pools break theirs."""
    name = "timeouts"
    drafter, gate, filters = campaign.drafter, campaign.gate, campaign.filter
    steps = [
        f"{pool}: generation {p.output_tokens / p.tokens_per_s:.0f} s < socket_timeout_s {p.socket_timeout_s:g} s "
        f"< drafter.stall_s {drafter.stall_s:g} s"
        for pool, p in campaign.pools.items()
    ]
    wrong = []
    if not filters.compile_timeout_s < gate.build_timeout_s:
        wrong.append(
            f"filter.compile_timeout_s {filters.compile_timeout_s:g} s must be below "
            f"gate.build_timeout_s {gate.build_timeout_s:g} s"
        )
    if not gate.scan_s < WATCHDOG_S:
        wrong.append(f"gate.scan_s {gate.scan_s:g} s must be below the units' watchdog, {WATCHDOG_S} s")
    if not drafter.flush_interval_s < drafter.stall_s:
        wrong.append(
            f"drafter.flush_interval_s {drafter.flush_interval_s:g} s must be below stall_s {drafter.stall_s:g} s"
        )
    if wrong:
        yield failed(name, "; ".join(wrong), "correct campaign.toml")
        return
    drain = (
        f"a drain ends the agents within {drain_bound_s(campaign):.0f} s, a build within {gate_bound_s(campaign):.0f} s"
    )
    if not steps:
        yield untested(name, f"no pool yet; {drain}", "add a [pool.NAME]")
        return
    yield ok(name, "; ".join([*steps, drain]))
