"""C tokens of a hostile text, cut as GCC cuts them.

A syntax tree is not enough here: tree-sitter knows nothing of line continuations inside a token, digraphs or
trigraphs, and refuses C that GCC takes (a label before a brace, an unnamed bit-field, `case 1 ... 5`). So the
translation phases of C11 5.1.1.2 are followed by hand: trigraphs are refused, continued lines joined, then comments,
literals and words told apart.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from enum import IntEnum
from typing import NamedTuple

from shared.oracle.hygiene.violation import Rule, Violation


class Kind(IntEnum):
    """Kinds of token; blanks and comments are no tokens."""

    WORD = 1
    NUMBER = 2
    STRING = 3
    CHAR = 4
    PUNCT = 5
    NEWLINE = 6  # only the one that ends a directive


class Token(NamedTuple):
    """One token. `start` is its offset in the joined text; `first` = first on its logical line."""

    kind: Kind
    text: bytes
    start: int
    first: bool


class Source:
    """A text with its continued lines joined, and the way back to line numbers."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.joined = text
        self._cuts: list[int] = []  # per cut: offset in the joined text
        self._removed: list[int] = []  # per cut: bytes removed up to it
        self._starts: list[int] | None = None
        if b"\\" in text and _CONTINUED.search(text):
            self._join()

    def _join(self) -> None:
        parts: list[bytes] = []
        end = removed = 0
        for match in _CONTINUED.finditer(self.text):
            parts.append(self.text[end : match.start()])
            end = match.end()
            removed += end - match.start()
            self._cuts.append(end - removed)
            self._removed.append(removed)
        parts.append(self.text[end:])
        self.joined = b"".join(parts)

    def line(self, offset: int) -> int:
        """The original line, from 1, of an offset in the joined text."""
        if self._starts is None:
            self._starts = [match.end() for match in re.finditer(rb"\n", self.text)]
        cut = bisect_right(self._cuts, offset)
        return bisect_right(self._starts, offset + (self._removed[cut - 1] if cut else 0)) + 1


class Lexed(NamedTuple):
    """What `lex` found. `complete` is false when the text could not be cut to its end."""

    source: Source
    tokens: list[Token]
    comments: list[tuple[int, bytes]]
    violations: list[Violation]
    complete: bool


# GCC also joins when blanks stand between the backslash and the line's end.
_CONTINUED = re.compile(rb"\\[ \t\v\f\r]*\n")
_TRIGRAPH = re.compile(rb"\?\?[=/'()!<>-]")
_CONTROL = re.compile(rb"[\x00-\x08\x0d-\x1f\x7f]")

_TOKEN = re.compile(
    rb"""
    [ \t\v\f]*(?:
      ([A-Za-z_][A-Za-z_0-9]*)
    | (\.?[0-9](?:[eEpP][+-]|[A-Za-z_0-9.])*)
    | ("(?:[^"\\\n]|\\[^\n])*")
    | ('(?:[^'\\\n]|\\[^\n])+')
    | (->|\+\+|--|\.\.\.|%(?![:>])|<(?![%:])|:(?!>)|/(?![/*])|[-+*&|^!~>=?;,.()\[\]{}\#])
    | (//[^\n]*|/\*(?s:.*?)\*/)
    | (%:|<%|%>|<:|:>)
    | (\n)
    | ((?s:.))
    )
    """,
    re.VERBOSE,
)
# The groups of _TOKEN; the first five are the kinds.
_COMMENT, _DIGRAPH, _NEWLINE, _OTHER = 6, 7, 8, 9
_KINDS = (None, Kind.WORD, Kind.NUMBER, Kind.STRING, Kind.CHAR, Kind.PUNCT, None, None, None, None)
_PREFIXES = (b"L", b"u", b"U", b"u8")
_RAW_PREFIXES = (b"R", b"LR", b"uR", b"UR", b"u8R")


def lex(text: bytes) -> Lexed:
    """Cut a normalised text into tokens; stops at the first place where it cannot be sure of what follows."""
    source = Source(text)
    joined = source.joined
    tokens: list[Token] = []
    comments: list[tuple[int, bytes]] = []
    found: list[Violation] = []
    lexed = Lexed(source, tokens, comments, found, False)

    def refuse(rule: Rule, offset: int, message: str) -> None:
        found.append(Violation(rule, source.line(offset), message))

    if control := _CONTROL.search(joined):
        refuse(Rule.ENCODING, control.start(), f"control byte 0x{control.group()[0]:02X}")
        return lexed
    if not joined.endswith(b"\n"):
        refuse(Rule.PARSE, len(joined) - 1, "the last line runs on into what follows the draft")
        return lexed
    if trigraph := _first_trigraph(joined):
        refuse(Rule.TRIGRAPH, trigraph.start(), f"trigraph `{trigraph.group().decode()}`")
        return lexed

    first = True
    directive = False
    end = -1
    for match in _TOKEN.finditer(joined):
        group = match.lastindex or _OTHER
        value = match[group]
        start = match.start(group)
        kind = _KINDS[group]
        if kind is not None:
            if start == end and value[0] in b"\"'":
                before = tokens[-1]
                if before.text in _RAW_PREFIXES:
                    refuse(Rule.LITERAL, start, "raw string literal")
                    return lexed
                if before.kind is Kind.NUMBER or (before.kind is Kind.WORD and before.text not in _PREFIXES):
                    refuse(Rule.LITERAL, start, "literal glued to the word before it")
                    return lexed
            elif value == b"#":
                directive = True
            tokens.append(Token(kind, value, start, first))
            first = False
            end = match.end()
        elif group == _NEWLINE:
            if directive:
                tokens.append(Token(Kind.NEWLINE, value, start, False))
                directive = False
            first = True
        elif group == _COMMENT:
            comments.append((start, value))
        elif group == _DIGRAPH:
            refuse(Rule.DIGRAPH, start, f"digraph `{value.decode()}`")
            first = False
        elif value in (b'"', b"'", b"/"):
            refuse(Rule.PARSE, start, "unterminated comment" if value == b"/" else "unterminated literal")
            return lexed
        else:
            refuse(Rule.CHARACTER, start, f"byte 0x{value[0]:02X} outside of literals and comments")
            return lexed
    return lexed._replace(complete=True)


def _first_trigraph(joined: bytes) -> re.Match[bytes] | None:
    """The first trigraph that could matter.

    Trigraphs exist only under some -std options, so a text that reads differently with them is refused. The others are
    harmless in literals and comments ("What??!" is the compiler's to judge); `??/` and `??'` could move their ends.
    """
    if b"??" not in joined:
        return None
    quiet: list[tuple[int, int]] = []
    for match in _TOKEN.finditer(joined):
        if match.lastindex == _OTHER:
            break
        if match.lastindex in (Kind.STRING, Kind.CHAR, _COMMENT):
            quiet.append(match.span(match.lastindex))
    starts = [span[0] for span in quiet]
    for match in _TRIGRAPH.finditer(joined):
        at = bisect_right(starts, match.start()) - 1
        inside = at >= 0 and match.start() < quiet[at][1]
        if not inside or match.group() in (b"??/", b"??'"):
            return match
    return None
