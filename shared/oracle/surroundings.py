"""Everything beside the text that decides what a compile makes: programs, headers, assembly, by content.

File digests are remembered per process by size, time and inode, so asking again costs one stat per file.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from shared.hashing import digest_file, digest_json
from shared.proc import Limits, child_environment, run
from shared.target.recipe import Recipe
from shared.target.stubs import Stub

_PASSES = ("cc1", "as", "cpp0", "collect2")
_ASK = Limits(timeout_s=20, memory_mib=1024, output_kib=64)
_PATH_OPTIONS = ("-I", "-iquote", "-isystem", "-idirafter", "-B", "-include", "-imacros", "-specs=", "--sysroot=")
_RODATA = re.compile(rb'INCLUDE_RODATA\s*\(\s*"([^"\n]+)"')
_INCLUDED_C = re.compile(rb'#[ \t]*include[ \t]*"([^"\n]*\.c)"')
_digests: dict[tuple[str, int, int, int], str] = {}


def surroundings_digest(
    tree: Path, recipe: Recipe, source: bytes, stubs: Sequence[Stub], asm: str, units: frozenset[str]
) -> str:
    """Digest of the programs and files a compile of `recipe` may read, the source itself aside.

    `asm` is the binary's assembly folder, taken whole when a stub's folder is not found as spelled. `units` are the C
    files of the binary; they are left out of include folders (a bank in one must not make all others miss) unless this
    source includes C files. Raises OSError, MissingTool.
    """
    words = [word for command in recipe.commands for word in _words(command)]
    programs = sorted({command[0] for command in recipe.commands} | {w for w in words if _is_tool(tree, w)})
    rows: list[object] = [[name, _program(tree, name)] for name in programs]
    skip = frozenset() if _INCLUDED_C.search(source) else units
    rows += [[word, _digest(tree / word)] for word in sorted(set(words)) if _is_input(tree, word, recipe)]
    for place in _include_folders(tree, words, recipe):
        rows.append([str(place), list(_listing(tree, place, recipe, skip))])
    for place in _asm_folders(tree, source, stubs, asm):
        rows.append([str(place), list(_listing(tree, place, recipe, frozenset()))])
    return digest_json(rows)


def include_folders(tree: Path, recipe: Recipe) -> tuple[Path, ...]:
    """Folders inside the project that `#include "x"` of the recipe's source may reach, in no particular order."""
    words = [word for command in recipe.commands for word in _words(command)]
    return tuple(tree / place for place in _include_folders(tree, words, recipe) if (tree / place).is_dir())


def _words(command: Sequence[str]) -> list[str]:
    if command[:2] != ("sh", "-c"):
        return list(command)
    try:
        return shlex.split(command[2])
    except ValueError:
        return command[2].split()


def _include_folders(tree: Path, words: Sequence[str], recipe: Recipe) -> list[Path]:
    root = tree.resolve()
    named = [os.path.dirname(recipe.source)]  # noqa: PTH120
    pending = ""
    for word in words:
        if pending:
            named.append(word)
            pending = ""
        elif word in _PATH_OPTIONS:
            pending = word
        else:
            named += [word[len(option) :] for option in _PATH_OPTIONS if word.startswith(option)]
            named += [part[2:] for part in word.split(",")[1:] if word.startswith("-Wa,") and part.startswith("-I")]
    found: dict[Path, None] = {}
    for name in named:
        place = (root / name).resolve()
        if place.is_relative_to(root) and place.exists():
            found[place.relative_to(root)] = None
    return list(found)


def _asm_folders(tree: Path, source: bytes, stubs: Sequence[Stub], asm: str) -> list[Path]:
    named = {os.path.dirname(stub.asm) for stub in stubs}  # noqa: PTH120
    named |= {match.decode("utf-8", "surrogateescape") for match in _RODATA.findall(source)}
    if all((tree / name).is_dir() for name in named):
        return sorted(Path(name) for name in named)
    return [Path(asm)] if (tree / asm).is_dir() else []


def _listing(tree: Path, place: Path, recipe: Recipe, skip: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Relative path and digest of every file below `place`, sorted, but for built things and skipped C files."""
    start = tree / place
    if start.is_file():
        yield str(place), _digest(start)
        return
    built = recipe.object.split("/", 1)[0] if not recipe.source.startswith(recipe.object.split("/", 1)[0] + "/") else ""
    for parent, folders, names in os.walk(start):
        here = os.path.relpath(parent, tree)
        folders[:] = sorted(f for f in folders if f != ".git" and not (here == "." and f == built))
        for name in sorted(names):
            path = os.path.normpath(os.path.join(here, name))  # noqa: PTH118
            if path not in skip and path != recipe.source and not name.endswith((".o", ".d")):
                yield path, _digest(tree / path)


def _is_tool(tree: Path, word: str) -> bool:
    """A script or program of the project's own, named in the middle of a command."""
    return "/" in word and not word.startswith("-") and os.access(tree / word, os.X_OK) and (tree / word).is_file()


def _is_input(tree: Path, word: str, recipe: Recipe) -> bool:
    path = os.path.normpath(word.lstrip("@"))
    return (
        bool(word)
        and not word.startswith("-")
        and path not in (recipe.source, recipe.object)
        and not path.endswith((".o", ".d"))
        and (tree / path).is_file()
    )


def _program(tree: Path, name: str) -> list[str]:
    found = shutil.which(name, path=child_environment().get("PATH")) if "/" not in name else str(tree / name)
    if found is None or not os.path.exists(found):  # noqa: PTH110
        return ["absent"]
    real = os.path.realpath(found)
    return [*_identity(real, _digest(Path(real)))]


@functools.lru_cache(maxsize=256)
def _identity(real: str, digest: str) -> tuple[str, ...]:
    """Content of a program and, for a compiler driver, of the passes it runs."""
    rows = [digest]
    if re.search(r"(?:gcc|g\+\+|cc|clang)(?:-[\d.]+)?$", os.path.basename(real)):  # noqa: PTH119
        for part in _PASSES:
            ran = run([real, f"-print-prog-name={part}"], cwd=Path("/"), limits=_ASK)
            path = ran.stdout.decode("utf-8", "replace").strip()
            path = path if "/" in path else shutil.which(path) or ""
            if ran.ok and path and os.path.exists(path):  # noqa: PTH110
                rows.append(_digest(Path(path)))
    return tuple(rows)


def _digest(path: Path) -> str:
    try:
        status = path.stat()
    except FileNotFoundError:
        return "absent"
    key = (str(path), status.st_size, status.st_mtime_ns, status.st_ino)
    if key not in _digests:
        _digests[key] = digest_file(path)
    return _digests[key]


def read_headers(folders: Iterable[Path]) -> Iterator[bytes]:
    """The texts of the headers below `folders`."""
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".h", ".inc", ".hpp") and path.is_file():
                yield path.read_bytes()
