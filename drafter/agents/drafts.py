"""The best draft of a target on disk: durable at every oracle call that improves it, never replaced by a worse one."""

from __future__ import annotations

from pathlib import Path

from drafter.agents.transcript import Best, Transcript
from shared import durable
from shared.failpoint import failpoint
from shared.hashing import digest_bytes, digest_file
from shared.records import Judgement, Verdict

RANK: dict[str, int] = {
    Verdict.AGREE: 0,
    Verdict.MISMATCH: 1,
    Verdict.UNRESOLVED: 2,
    Verdict.ORPHANS_SYMBOL: 2,
    Verdict.TU_CONFLICT: 3,
    Verdict.SHAPE: 4,
    Verdict.COMPILE_FAIL: 5,
    Verdict.REFUSED: 6,
    Verdict.NOT_A_STUB: 7,
    Verdict.FAULT: 8,
}
"""Nearest to a bank first: what a repair can finish comes before what needs another draft."""

FAR = 1 << 30


def rank(verdict: str, closeness: int | None) -> tuple[int, int]:
    """Sort key of a judged draft, the best lowest."""
    return (RANK.get(verdict, len(RANK)), FAR if closeness is None else closeness)


class DraftKeeper:
    """Keeps one target's best draft. `best` is None until a draft was judged, or found on disk with its record."""

    def __init__(self, path: Path, transcript: Transcript, best: Best | None) -> None:
        self.path = path
        self._transcript = transcript
        self.best: Best | None = None
        if path.is_file():
            digest = digest_file(path)
            # A draft without its record was written just before a death: its oracle call is run again.
            self.best = best if best is not None and best.digest == digest else Best(digest, Verdict.FAULT, None)

    def offer(self, code: str, judgement: Judgement) -> bool:
        """Keeps `code` when it is at least as good as the best so far; True when kept. Raises DiskFull, OSError."""
        data = normal(code)
        digest = digest_bytes(data)
        best = Best(digest, judgement.verdict, judgement.closeness)
        if self.best is not None and rank(best.verdict, best.closeness) > rank(self.best.verdict, self.best.closeness):
            self._transcript.sync()
            return False
        if self.best is None or self.best.digest != digest:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            durable.write(self.path, data)
            failpoint("agent.draft")
        self.best = best
        self._transcript.best(best)
        self._transcript.sync()
        return True

    def code(self) -> str:
        """The best draft's text, "" when there is none."""
        return self.path.read_text("utf-8", "replace") if self.best is not None else ""

    def measured(self) -> tuple[str, str, int, str, int | None]:
        """Path, digest, size, verdict and closeness of the best draft as a row wants them; empty when there is none."""
        if self.best is None:
            return ("", "", 0, "", None)
        return (
            str(self.path),
            self.best.digest,
            self.path.stat().st_size,
            self.best.verdict,
            self.best.closeness,
        )


def normal(code: str) -> bytes:
    """A draft's bytes: UTF-8, LF line ends, one newline at the end, no byte-order mark."""
    text = code.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return (text.strip("\n") + "\n").encode("utf-8", "replace")
