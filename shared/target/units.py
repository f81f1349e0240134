"""Which C file an object of the link was compiled from, by path alone.

Builds name objects after their sources: the object's path without its endings ends in the source's path without its
ending (`build/us/src/main/a.c.o` from `src/main/a.c`). Where a build shortens the path, the longest common tail that
only one source has is taken; the compile recipe, which must name both, is the proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path


def source_files(tree: Path, sources: Sequence[str]) -> list[str]:
    """The C files under `sources` (folders or files, relative to `tree`), sorted, relative with `/`."""
    found: set[str] = set()
    for source in sources:
        place = tree / source
        files: Iterable[Path] = [place] if place.is_file() else place.rglob("*.c")
        found.update(str(path.relative_to(tree)) for path in files if path.suffix == ".c" and path.is_file())
    return sorted(found)


def object_tus(tree: Path, objects: Sequence[str], sources: Sequence[str]) -> dict[str, str]:
    """Object path (as the map spells it) -> C file, for those that have one."""
    tails: dict[tuple[str, ...], set[str]] = {}
    for tu in source_files(tree, sources):
        parts = tuple(tu[: -len(".c")].split("/"))
        for length in range(1, len(parts) + 1):
            tails.setdefault(parts[-length:], set()).add(tu)
    found: dict[str, str] = {}
    for path in objects:
        names = _stem_parts(path)
        if names is None:
            continue
        best: set[str] = set()
        for length in range(1, len(names) + 1):
            owners = tails.get(names[-length:])
            if not owners:
                break
            best = owners
        if len(best) == 1:
            found[path] = next(iter(best))
    return _whole_paths_win(found)


def _stem_parts(path: str) -> tuple[str, ...] | None:
    for ending in (".o", ".obj"):
        if path.endswith(ending):
            stem = path[: -len(ending)]
            break
    else:
        return None
    if stem.endswith(".s"):
        return None
    return tuple((stem[: -len(".c")] if stem.endswith(".c") else stem).split("/"))


def _whole_paths_win(found: dict[str, str]) -> dict[str, str]:
    """Drops guesses by a shortened tail where another object carries the source's whole path."""
    whole = {tu for path, tu in found.items() if _carries(path, tu)}
    return {path: tu for path, tu in found.items() if tu not in whole or _carries(path, tu)}


def _carries(path: str, tu: str) -> bool:
    source = tuple(tu[: -len(".c")].split("/"))
    return (_stem_parts(path) or ())[-len(source) :] == source
