"""Stubs in C source: the units that say "still assembly".

Works on bytes: sources come in EUC-JP, Shift-JIS and UTF-8, and every byte outside a stub must survive. Comments,
strings and directives are seen the way a compiler sees them, so a stub in a comment is none. The forms (splat, its
legacy mode, asm-processor) and where each is documented: docs/target.md.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from typing import Literal

StubKind = Literal["include_asm", "pragma", "block"]

_LEXEMES = re.compile(
    rb"/\*.*?(?:\*/|\Z)|//(?:\\\r?\n|[^\n])*|\"(?:\\(?:\r\n|.)|[^\"\\\n])*\"?|'(?:\\(?:\r\n|.)|[^'\\\n])*'?", re.DOTALL
)
_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*([A-Za-z_]*)((?:\\\r?\n|[^\n])*)", re.MULTILINE)
_CALL = re.compile(rb"(?<![A-Za-z0-9_])(INCLUDE_ASM|GLOBAL_ASM)[ \t\r\n]*\(")
_STRING = re.compile(rb'"((?:\\.|[^"\\\n])*)"')
_NAME = re.compile(rb"[A-Za-z_$.][A-Za-z0-9_$.]*")
_SKIPPED = r"NON_MATCHING|NON_EQUIVALENT"
_WANTS_DRAFT = re.compile(rf"(?:defined\s*\(?\s*)?(?:{_SKIPPED})\s*\)?|0".encode())
_WANTS_STUB = re.compile(rf"!\s*(?:defined\s*\(?\s*)?\(?\s*(?:{_SKIPPED})\s*\)?|1".encode())


@dataclass(frozen=True, slots=True)
class Stub:
    """One stub: bytes [start, end) of the source, the 1-based line it starts on.

    `asm` is the `.s` as the source spells it, folder and name. `nonmatching` is the draft a NON_MATCHING block keeps.
    `conditional`: it stands under an `#if` of another kind, so a given build may not compile it at all.
    """

    function: str
    start: int
    end: int
    line: int
    kind: StubKind
    asm: str
    nonmatching: bytes | None = None
    conditional: bool = False


@dataclass
class _Branch:
    start: int
    end: int = 0
    stub_side: bool | None = None


@dataclass
class _Conditional:
    start: int
    branches: list[_Branch]
    end: int = 0
    closed: bool = False


def find_stubs(source: bytes) -> list[Stub]:
    """Every stub in file order. A function with two stubs (one per version, say) appears twice."""
    if b"_ASM" not in source:
        return []
    plain, code = _blank(source)
    directives = list(_DIRECTIVE.finditer(plain))
    conditionals = _conditionals(source, directives)
    hidden = [(m.start(), m.end()) for m in directives]
    found = _pragmas(source, directives) + _calls(source, plain, code, hidden)
    found.sort(key=lambda stub: stub.start)
    return _join_blocks(source, found, conditionals)


def _blank(source: bytes) -> tuple[bytes, bytes]:
    """The source without comments, and without comments and string contents; same length, same newlines."""
    if b"/" not in source and b'"' not in source and b"'" not in source:
        return source, source
    plain, code = bytearray(source), bytearray(source)
    for match in _LEXEMES.finditer(source):
        start, end = match.span()
        empty = re.sub(rb"[^\r\n]", b" ", match[0])
        code[start:end] = empty
        if source[start : start + 1] == b"/":
            plain[start:end] = empty
    return bytes(plain), bytes(code)


def _pragmas(source: bytes, directives: list[re.Match[bytes]]) -> list[Stub]:
    found = []
    for match in directives:
        if match[1] != b"pragma":
            continue
        body = re.fullmatch(rb'\s*GLOBAL_ASM\s*\(\s*"([^"\n]+)"\s*\)\s*', match[2])
        if body:
            asm = body[1].decode("utf-8", "surrogateescape")
            end = match.start() + len(source[match.start() : match.end()].rstrip())
            end = min(end, match.end())
            found.append(Stub(_stem(asm), match.start(), end, _line(source, match.start()), "pragma", asm))
    return found


def _calls(source: bytes, plain: bytes, code: bytes, hidden: list[tuple[int, int]]) -> list[Stub]:
    found = []
    for match in _CALL.finditer(code):
        start = match.start()
        if any(low <= start < high for low, high in hidden):
            continue
        close = _closing(code, match.end())
        if close < 0:
            continue
        parts = _arguments(plain[match.end() : close], code[match.end() : close])
        folder = next((i for i, part in enumerate(parts) if b'"' in part), None)
        if folder is None:
            continue
        text = b"".join(_STRING.findall(parts[folder])).decode("utf-8", "surrogateescape")
        if match[1] == b"GLOBAL_ASM":
            function, asm = _stem(text), text
        else:
            if folder + 1 >= len(parts):
                continue
            name = _NAME.search(parts[folder + 1].replace(b'"', b" "))
            if name is None:
                continue
            function = name[0].decode("ascii")
            asm = f"{text.rstrip('/')}/{function}.s"
        end = close + 1
        semicolon = re.match(rb"[ \t]*;", code[end:])
        found.append(
            Stub(function, start, end + (semicolon.end() if semicolon else 0), _line(source, start), "include_asm", asm)
        )
    return found


def _closing(code: bytes, position: int) -> int:
    depth = 1
    for match in re.finditer(rb"[()]", code[position:]):
        depth += 1 if match[0] == b"(" else -1
        if depth == 0:
            return position + match.start()
    return -1


def _arguments(plain: bytes, code: bytes) -> list[bytes]:
    cuts, depth = [-1], 0
    for position, char in enumerate(code):
        if char in b"([{":
            depth += 1
        elif char in b")]}":
            depth -= 1
        elif char == ord(",") and depth == 0:
            cuts.append(position)
    cuts.append(len(code))
    return [plain[low + 1 : high] for low, high in itertools.pairwise(cuts)]


def _conditionals(source: bytes, directives: list[re.Match[bytes]]) -> list[_Conditional]:
    stack: list[_Conditional] = []
    found: list[_Conditional] = []
    for match in directives:
        word = match[1]
        if word in (b"if", b"ifdef", b"ifndef"):
            stack.append(_Conditional(match.start(), [_Branch(match.end(), stub_side=_side(word, match[2]))]))
        elif word in (b"else", b"elif") and stack:
            last = stack[-1].branches[-1]
            last.end = match.start()
            plain_else = word == b"else" and len(stack[-1].branches) == 1 and last.stub_side is not None
            stack[-1].branches.append(_Branch(match.end(), stub_side=not last.stub_side if plain_else else None))
        elif word == b"endif" and stack:
            done = stack.pop()
            done.branches[-1].end = match.start()
            done.end = match.start() + len(source[match.start() : match.end()].rstrip(b"\r\n \t"))
            found.append(done)
    return found


def _side(word: bytes, condition: bytes) -> bool | None:
    """Whether the branch is compiled while the function is a stub; None when the condition is about something else."""
    text = condition.strip()
    while text.startswith(b"(") and text.endswith(b")") and text.count(b"(") == 1:
        text = text[1:-1].strip()
    if word == b"if":
        return False if _WANTS_DRAFT.fullmatch(text) else True if _WANTS_STUB.fullmatch(text) else None
    if not re.fullmatch(_SKIPPED.encode(), text):
        return None
    return word == b"ifndef"


def _join_blocks(source: bytes, stubs: list[Stub], conditionals: list[_Conditional]) -> list[Stub]:
    joined: list[Stub] = []
    for stub in stubs:
        around = [c for c in conditionals if c.start <= stub.start and stub.end <= c.end]
        around.sort(key=lambda c: c.start, reverse=True)
        sides = [(c, b) for c in around for b in c.branches if b.start <= stub.start < b.end]
        if any(branch.stub_side is False for _, branch in sides):
            continue
        conditional = any(branch.stub_side is None for _, branch in sides)
        block = next(((c, b) for c, b in sides if b.stub_side is True and len(c.branches) <= 2), None)
        if block is not None and sum(block[1].start <= s.start < block[1].end for s in stubs) == 1:
            whole, branch = block
            other = next((b for b in whole.branches if b is not branch), None)
            kept = source[other.start : other.end].strip(b"\r\n") if other else None
            line = _line(source, whole.start)
            joined.append(Stub(stub.function, whole.start, whole.end, line, "block", stub.asm, kept, conditional))
        else:
            joined.append(replace(stub, conditional=conditional))
    return joined


def _stem(path: str) -> str:
    name = path.rsplit("/", 1)[-1]
    return name[: -len(".s")] if name.endswith(".s") else name


def _line(source: bytes, position: int) -> int:
    return source.count(b"\n", 0, position) + 1
