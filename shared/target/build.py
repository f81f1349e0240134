"""Builds one binary in a private tree and says whether it is the expected image.

A build is trusted by its exit code *and* by the hash of an output that was deleted before it started: a failed link
leaves the old image behind, and reading that as success is how wrong code lands.
"""

from __future__ import annotations

import errno
import logging
import os
import posixpath
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from shared.config.schema import Binary, Gate
from shared.errors import DiskFull, ForeignContract, InstrumentFault
from shared.hashing import digest_file
from shared.proc import Limits, Ran, run

log = logging.getLogger(__name__)

BuildState = Literal["green", "red", "failed", "fault"]

ALGORITHMS = {40: "sha1", 64: "sha256"}
LOG_KIB = 512
_LINE = re.compile(r"^\\?([0-9A-Fa-f]{40}|[0-9A-Fa-f]{64})[ \t]+\*?(\S.*?)\s*$")
_BSD = re.compile(r"^SHA(?:1|2?-?256)\s*\((.+)\)\s*=\s*([0-9A-Fa-f]{40}|[0-9A-Fa-f]{64})\s*$", re.IGNORECASE)
_ERROR_LINE = re.compile(r"\berror\b|\bError:|No rule to make target|undefined reference|No such file|not found")
_INSTRUMENT = re.compile(
    r"No space left on device|Disk quota exceeded|Cannot allocate memory|virtual memory exhausted|out of memory"
    r"|Killed signal terminated|\] (?:Killed|Terminated|Hangup)\b|File size limit exceeded|fork: retry"
)


@dataclass(frozen=True)
class Expected:
    """The contract of one binary: what its image must hash to, and where that stands."""

    algorithm: str
    digest: str
    source: str


@dataclass(frozen=True)
class Built:
    """What one build came to.

    green: exit 0 and the expected image. red: exit 0, another image. failed: the build itself refused (compiler,
    linker). fault: it was killed, ran out of time, memory or disk, or left no output; says nothing about the drafts.
    """

    state: BuildState
    exit_code: int
    digest: str
    expected: str
    log: str
    wall_s: float
    reason: str


def expected_hash(tree: Path, name: str, binary: Binary) -> Expected:
    """The line of the checksum file that names this binary's output.

    Raises ForeignContract when no line does, or two contradict each other: another binary's hash is never taken.
    """
    path = tree / binary.checksums
    try:
        text = path.read_text("utf-8", "replace")
    except OSError as error:
        raise ForeignContract(
            f"{path}: the checksum file of [binary.{name}] cannot be read: {error.strerror}; "
            "correct `checksums` or restore the file"
        ) from error
    output = posixpath.normpath(binary.output)
    folder = posixpath.dirname(posixpath.normpath(binary.checksums))
    found = set()
    for line in text.splitlines():
        match = _LINE.match(line.strip())
        digest, target = (match[1], match[2]) if match else ("", "")
        if not match:
            match = _BSD.match(line.strip())
            if not match:
                continue
            target, digest = match[1], match[2]
        if output in (posixpath.normpath(target), posixpath.normpath(posixpath.join(folder, target))):
            found.add(digest.lower())
    if len(found) == 1:
        digest = found.pop()
        return Expected(ALGORITHMS[len(digest)], digest, binary.checksums)
    what = "has no line" if not found else f"has {len(found)} different hashes"
    raise ForeignContract(
        f"{path}: {what} for {binary.output}, the output of [binary.{name}]; "
        "no other binary's hash is used, add or correct its line"
    )


def build_binary(tree: Path, name: str, binary: Binary, gate: Gate, inherit: Sequence[int] = ()) -> Built:
    """Builds `binary` in `tree`, whose lock the caller holds; `inherit` are descriptors the build keeps open.

    Raises ForeignContract before anything is built, MissingTool, DiskFull.
    """
    expected = expected_hash(tree, name, binary)
    output = tree / binary.output
    try:
        output.unlink(missing_ok=True)
    except OSError as error:
        raise InstrumentFault(f"{output}: the old image cannot be deleted: {error.strerror}") from error
    limits = Limits(timeout_s=gate.build_timeout_s, memory_mib=gate.build_memory_mib, output_kib=LOG_KIB, file_mib=None)
    try:
        with tempfile.TemporaryDirectory(prefix="build-", dir=os.environ.get("TMPDIR")) as temp:
            ran = run(binary.build, cwd=tree, limits=limits, env={"TMPDIR": temp}, inherit=tuple(inherit), isolate=True)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"no space left to build {name}; free some, no verdict was given") from error
        raise
    text = _log(ran)
    digest = digest_file(output, expected.algorithm) if output.is_file() else ""
    state, reason = _judge(ran, text, digest, expected, binary.output)
    return Built(state, ran.returncode, digest, expected.digest, text, ran.wall_s, reason)


def _judge(ran: Ran, text: str, digest: str, expected: Expected, output: str) -> tuple[BuildState, str]:
    if ran.timed_out:
        return "fault", f"the build was stopped after {ran.wall_s:.0f} s"
    if ran.returncode < 0 or ran.returncode >= 128:
        return "fault", f"the build was killed (exit {ran.returncode})"
    if ran.returncode:
        broken = _INSTRUMENT.search(text)
        if broken:
            return "fault", f"the build ran into a limit: {broken[0]}"
        return "failed", f"the build ended with exit code {ran.returncode}: {_first_error(text)}"
    if not digest:
        return "fault", f"the build ended with exit code 0 and left no {output}"
    if digest == expected.digest:
        return "green", "the image is the expected one"
    return "red", f"{expected.algorithm} is {digest}, {expected.source} wants {expected.digest}"


def _first_error(text: str) -> str:
    """The first line that names an error, else the last that is not make's own farewell."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = next((line for line in lines if _ERROR_LINE.search(line)), None)
    said = [line for line in lines if not line.startswith("make") and "Leaving directory" not in line]
    return (named or (said or lines or ["no word of why"])[-1])[:300]


def _log(ran: Ran) -> str:
    cut = "\n[cut]\n" if ran.truncated else ""
    return (ran.stdout + ran.stderr).decode("utf-8", "replace") + cut
