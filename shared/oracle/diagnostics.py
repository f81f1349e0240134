"""What compilers and assemblers say, as places and messages.

gcc's modern form (`file:line:col: error: text`), its old one (`file:line: text`, where only warnings are marked), and
gas' (`file.s:line: Error: text`). The first error is the one that counts: later ones follow from it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from shared.target.splice import Spliced

_MODERN = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+):(?:\d+:)? (?P<kind>fatal error|error|note|warning): (?P<text>.*)$"
)
_GAS = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+): (?P<kind>Error|Fatal error|Warning): (?P<text>.*)$")
_OLD = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+): (?P<text>(?!warning:|note:|\(|In |At top|from ).+)$")
_CLASH = re.compile(
    r"conflicting types? |conflicting type qualifiers|redefinition of|redeclaration of|redeclared as"
    r"|multiple definition|follows (?:non-)?static declaration|redefined as|already defined|previous declaration"
)
_TOPLEVEL = re.compile(r"[‘'`]([A-Za-z_]\w*)[’']")

CRASH = re.compile(
    r"internal compiler error|Killed signal terminated|No space left on device|out of memory|virtual memory exhausted"
    r"|Cannot allocate memory|File size limit exceeded|Disk quota exceeded|cannot execute|signal terminated program"
)
"""Text that says the compiler itself broke: nothing about the draft is known."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message at a place; `error` is false for a note."""

    file: str
    line: int
    text: str
    error: bool = True

    @property
    def clash(self) -> bool:
        """Says that two declarations contradict each other."""
        return bool(_CLASH.search(self.text))

    @property
    def name(self) -> str:
        """The first name the message quotes, "" without."""
        match = _TOPLEVEL.search(self.text)
        return match[1] if match else ""


def parse_diagnostics(text: str) -> list[Diagnostic]:
    """Errors and notes in order. Lines of the old unmarked form count only when nothing is marked as an error."""
    found: list[Diagnostic] = []
    old: list[Diagnostic] = []
    for line in text.splitlines():
        match = _MODERN.match(line) or _GAS.match(line)
        if match:
            kind = match["kind"].lower()
            if kind != "warning":
                found.append(Diagnostic(match["file"], int(match["line"]), match["text"], kind != "note"))
            continue
        match = _OLD.match(line)
        if match:
            old.append(Diagnostic(match["file"], int(match["line"]), match["text"]))
    return found if any(d.error for d in found) else old


@dataclass(frozen=True)
class FirstError:
    """The first error, and where both sides of it lie.

    `function` and `line` place it in a draft ("" and the line of the file itself when it is elsewhere); `other` is the
    place a note names as the other side of a clash: (function, line, file).
    """

    text: str
    file: str
    function: str
    line: int
    clash: bool
    name: str
    other: tuple[str, int, str] | None = None


def first_error(stderr: str, source: str, spliced: Spliced) -> FirstError | None:
    """The first error of a compile of `source` with drafts spliced in; None when no line has the form of one."""
    found = parse_diagnostics(stderr)
    index = next((i for i, d in enumerate(found) if d.error), None)
    if index is None:
        return None
    error = found[index]
    function, line = _place(error, source, spliced)
    other = None
    for note in found[index + 1 :]:
        if note.error:
            break
        place = _place(note, source, spliced)
        if place != (function, line) or note.file != error.file:
            other = (*place, note.file)
            break
    return FirstError(error.text, error.file, function, line, error.clash, error.name, other)


def _place(diagnostic: Diagnostic, source: str, spliced: Spliced) -> tuple[str, int]:
    if diagnostic.file.removeprefix("./") == source:
        inside = spliced.draft_line(diagnostic.line)
        if inside is not None:
            return inside
    return "", diagnostic.line
