"""What an agent may read: an allow-list of the target project, read-only and size-capped.

Allowed are tracked text files, the binaries' assembly folders, and `knowledge/` (Markdown in the state directory).
The path as given and the path behind every link must both be inside; nothing else of the machine can be named.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from shared.git import Git
from shared.proc import Limits, run

TEXT_SUFFIXES = frozenset({".c", ".h", ".s", ".inc", ".txt", ".md", ".yaml", ".yml", ".ld", ".hpp", ".cpp"})
ASM_SUFFIXES = frozenset({".s", ".inc"})
KNOWLEDGE = "knowledge"

RESULT_CHARS = 24_000
"""Characters of one tool result; the rest is cut with a line saying so."""
READ_BYTES = 1 << 20
LISTED = 200
HITS = 80
HIT_CHARS = 240
_TRACKED_S = 60.0
_SEARCH = Limits(timeout_s=10.0, output_kib=256, file_mib=1)


class NotAllowed(Exception):
    """The path or pattern cannot be served; the message goes to the model."""


@dataclass(frozen=True)
class _Place:
    real: Path
    shown: str
    kind: str  # tracked | asm | knowledge | folder


class Library:
    """Reads and searches for agents. Blocking: call it in a worker thread. Safe to share between threads."""

    def __init__(self, root: Path, asm: Iterable[str], knowledge: Path) -> None:
        self.root = root.resolve()
        self._asm = tuple(PurePosixPath(folder) for folder in asm)
        self._knowledge = knowledge.resolve()
        self._lock = threading.Lock()
        self._tracked: frozenset[str] = frozenset()
        self._listed_at = float("-inf")

    def read(self, path: str, first: int = 1, last: int | None = None) -> str:
        """Lines `first`..`last` (1-based) of a file, or the listing of a folder. Raises NotAllowed."""
        place = self._place(path)
        if place.kind == "folder":
            return self._listing(place)
        lines = self._text(place).splitlines()
        first = max(1, first)
        chosen = lines[first - 1 : last]
        header = f"{place.shown}: {len(lines)} lines"
        if first > 1 or (last is not None and last < len(lines)):
            header += f", showing {first} to {first + len(chosen) - 1}"
        return clip(header + "\n" + "\n".join(chosen))

    def text(self, path: str) -> str:
        """A whole allowed file. Raises NotAllowed."""
        place = self._place(path)
        if place.kind == "folder":
            raise NotAllowed(f"{path} is a folder")
        return self._text(place)

    def grep(self, pattern: str, path: str = "") -> str:
        """Lines matching an extended regular expression, as `file:line: text`. Raises NotAllowed."""
        if not pattern or "\0" in pattern or "\n" in pattern or len(pattern) > 500:
            raise NotAllowed("the pattern must be one line of 1 to 500 characters")
        hits: list[str] = []
        for arguments, prefix in self._searches(pattern, path):
            done = run(arguments, cwd=self.root, limits=_SEARCH)
            if done.returncode > 1 and not done.timed_out and not done.truncated:
                words = done.stderr.decode("utf-8", "replace").strip().splitlines()
                raise NotAllowed(f"the search failed: {words[-1][:200] if words else 'no reason given'}")
            hits += self._hits(done.stdout, prefix)
            if len(hits) >= HITS:
                return clip("\n".join([*hits[:HITS], f"(first {HITS} hits; narrow the pattern or the path)"]))
            if done.timed_out:
                hits.append("(the search took too long and was ended; narrow it)")
        return clip("\n".join(hits)) if hits else "no hits"

    def _searches(self, pattern: str, path: str) -> list[tuple[list[str], str]]:
        git = ["git", "--literal-pathspecs", "grep", "-n", "-I", "--no-color", "-E", "-e", pattern, "--"]
        plain = ["grep", "-r", "-n", "-H", "-I", "-m", str(HITS), "-E", "-e", pattern]
        asm = [*plain, *(f"--include=*{suffix}" for suffix in sorted(ASM_SUFFIXES)), "--"]
        notes = [*plain, "--include=*.md", "--", str(self._knowledge)]
        if not path or path in (".", "./"):
            folders = [str(folder) for folder in self._asm if (self.root / folder).is_dir()]
            searches = [([*git, "."], "")]
            if folders:
                searches.append(([*asm, *folders], ""))
            if self._knowledge.is_dir():
                searches.append((notes, str(self._knowledge)))
            return searches
        place = self._place(path)
        if place.kind == "knowledge":
            return [([*plain, "--", str(place.real)], str(self._knowledge))]
        if place.kind == "asm":
            return [([*asm, place.shown], "")]
        if place.kind == "folder":
            if place.shown == KNOWLEDGE or place.shown.startswith(f"{KNOWLEDGE}/"):
                return [([*notes[:-1], str(place.real)], str(self._knowledge))]
            inside = [str(f) for f in self._asm if _within(f, place.shown) and (self.root / f).is_dir()]
            if self._under_asm(place.shown):
                inside = [place.shown]
            return [([*git, place.shown], ""), *([([*asm, *inside], "")] if inside else [])]
        return [([*git, place.shown], "")]

    def _hits(self, output: bytes, prefix: str) -> list[str]:
        hits = []
        for line in output.decode("utf-8", "replace").splitlines():
            name, _, rest = line.partition(":")
            number, _, text = rest.partition(":")
            if not number.isdigit():
                continue
            if prefix:
                relative = name.removeprefix(prefix).lstrip("/")
                section = self._section(Path(name), int(number))
                hits.append(f"{KNOWLEDGE}/{relative}:{number}:{section} {text.strip()[:HIT_CHARS]}")
            elif name in self._tracked_files() or self._under_asm(name):
                hits.append(f"{name}:{number}: {text.strip()[:HIT_CHARS]}")
        return hits

    @staticmethod
    def _section(path: Path, number: int) -> str:
        """The heading a line of a Markdown file stands under."""
        heading = ""
        with path.open(encoding="utf-8", errors="replace") as stream:
            for at, line in enumerate(stream, 1):
                if at > number:
                    break
                if line.startswith("#"):
                    heading = line.strip("# \n")
        return f" [{heading}]" if heading else ""

    def _place(self, path: str) -> _Place:
        given = PurePosixPath(path or ".")
        if "\0" in path or given.is_absolute() or ".." in given.parts or len(path) > 1000:
            raise NotAllowed(f"{path[:200]!r} is not a path inside the project")
        base, relative = self.root, given
        if given.parts[:1] == (KNOWLEDGE,) and self._knowledge.is_dir():
            base, relative = self._knowledge, PurePosixPath(*given.parts[1:])
        try:
            real = (base / relative).resolve(strict=True)
        except (OSError, RuntimeError) as error:
            raise NotAllowed(f"{path[:200]} does not exist; list its folder with read_file") from error
        if real != base and base not in real.parents:
            raise NotAllowed(f"{path[:200]} leads outside the project")
        inner = real.relative_to(base).as_posix()
        if base != self.root:
            shown = KNOWLEDGE if inner == "." else f"{KNOWLEDGE}/{inner}"
            if real.is_dir():
                return _Place(real, shown, "folder")
            return self._allowed(real, shown, "knowledge", real.suffix == ".md")
        if real.is_dir():
            visible = inner == "." or self._under_asm(inner) or any(_within(name, inner) for name in self._roots())
            if not visible:
                raise NotAllowed(f"{path[:200]} is not one of the folders you may read")
            return _Place(real, inner, "folder")
        if self._under_asm(inner):
            return self._allowed(real, inner, "asm", real.suffix in ASM_SUFFIXES)
        return self._allowed(real, inner, "tracked", inner in self._tracked_files())

    @staticmethod
    def _allowed(real: Path, shown: str, kind: str, allowed: bool) -> _Place:
        if not allowed:
            raise NotAllowed(f"{shown[:200]} is not one of the files you may read")
        return _Place(real, shown, kind)

    def _roots(self) -> Iterable[str]:
        yield from self._tracked_files()
        for folder in self._asm:
            yield str(folder)

    def _under_asm(self, name: str) -> bool:
        parts = PurePosixPath(name)
        return any(parts == folder or folder in parts.parents for folder in self._asm)

    def _tracked_files(self) -> frozenset[str]:
        with self._lock:
            if time.monotonic() - self._listed_at > _TRACKED_S:
                out = Git(self.root, timeout_s=30.0).raw("ls-files", "-z")
                names = (name.decode("utf-8", "surrogateescape") for name in out.split(b"\0") if name)
                self._tracked = frozenset(name for name in names if PurePosixPath(name).suffix in TEXT_SUFFIXES)
                self._listed_at = time.monotonic()
            return self._tracked

    def _listing(self, place: _Place) -> str:
        names: set[str] = set()
        if place.shown != KNOWLEDGE and not place.shown.startswith(f"{KNOWLEDGE}/"):
            prefix = "" if place.shown == "." else place.shown + "/"
            for name in self._roots():
                if name.startswith(prefix) and name != place.shown:
                    head, slash, _ = name[len(prefix) :].partition("/")
                    folder = slash or (not slash and PurePosixPath(name) in self._asm)
                    names.add(head + ("/" if folder else ""))
        suffixes = {".md"} if place.shown.startswith(KNOWLEDGE) else ASM_SUFFIXES
        if place.shown.startswith(KNOWLEDGE) or self._under_asm(place.shown):
            with os.scandir(place.real) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        names.add(entry.name + "/")
                    elif Path(entry.name).suffix in suffixes:
                        names.add(entry.name)
        listed = sorted(names)
        more = [f"(and {len(listed) - LISTED} more)"] if len(listed) > LISTED else []
        return clip("\n".join([f"{place.shown}/: {len(listed)} entries", *listed[:LISTED], *more]))

    @staticmethod
    def _text(place: _Place) -> str:
        try:
            descriptor = os.open(place.real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise NotAllowed(f"{place.shown} cannot be read: {error.strerror}") from error
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise NotAllowed(f"{place.shown} is not a file")
            data = os.read(descriptor, READ_BYTES)
        finally:
            os.close(descriptor)
        return data.decode("utf-8", "replace")


def clip(text: str, limit: int = RESULT_CHARS) -> str:
    """`text` within `limit` characters, cut in the middle with a line saying how much is missing."""
    if len(text) <= limit:
        return text
    half = (limit - 60) // 2
    return f"{text[:half]}\n... ({len(text) - 2 * half} characters left out) ...\n{text[-half:]}"


def _within(name: str | PurePosixPath, folder: str) -> bool:
    return folder == "." or PurePosixPath(folder) in PurePosixPath(name).parents
