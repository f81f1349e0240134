"""Compiles translation units in scratch mirrors, with limits, isolated, and without touching the tree."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from shared.config.schema import Filter
from shared.oracle.diagnostics import CRASH
from shared.proc import Limits, run
from shared.target.mirror import Mirror
from shared.target.recipe import Recipe

KEPT_MIRRORS = 64
"""One per translation unit in turn: a mirror is some hundred links, and making one costs as much as a small compile."""
OBJECT_MIB = 64
"""A translation unit's object or temporary file larger than this is a compile bomb."""


@dataclass(frozen=True)
class Compiled:
    """error: the compiler refused the text. fault: it broke, or ran into a limit; says nothing about the text."""

    state: Literal["ok", "error", "fault"]
    object: bytes = b""
    stderr: str = ""
    reason: str = ""


class Compilers:
    """Scratch mirrors of one tree, made on demand and used again. Safe to use from several threads."""

    def __init__(self, tree: Path, limits: Filter, scratch: Path | None = None) -> None:
        self._tree = tree
        self._flags = tuple(limits.flags)
        self._limits = Limits(
            timeout_s=limits.compile_timeout_s,
            memory_mib=limits.compile_memory_mib,
            output_kib=256,
            file_mib=OBJECT_MIB,
        )
        self._parent = scratch
        self._folder: Path | None = None
        self._lock = threading.Lock()
        self._idle: list[Mirror] = []
        self._made = 0

    def compile(self, recipe: Recipe, text: bytes) -> Compiled:
        """One compile of `text` as the recipe's source. Never raises for what the text does."""
        with self._mirror(recipe) as mirror:
            mirror.write(text)
            errors = []
            for command in recipe.with_flags(self._flags):
                ran = run(command, cwd=mirror.root, limits=self._limits, env={"TMPDIR": str(mirror.temp)}, isolate=True)
                stderr = ran.stderr.decode("utf-8", "replace")
                errors.append(stderr)
                if ran.timed_out:
                    return Compiled("fault", reason=f"the compile was stopped after {ran.wall_s:.0f} s")
                if ran.returncode < 0 or ran.returncode >= 128:
                    return Compiled("fault", stderr=stderr, reason=f"the compiler was killed (exit {ran.returncode})")
                if ran.returncode:
                    broken = CRASH.search(stderr)
                    if broken:
                        return Compiled("fault", stderr=stderr, reason=f"the compiler broke: {broken[0]}")
                    return Compiled("error", stderr="".join(errors), reason=f"exit code {ran.returncode}")
            try:
                return Compiled("ok", mirror.object.read_bytes(), "".join(errors))
            except FileNotFoundError:
                return Compiled("fault", reason=f"the recipe ended with exit code 0 and left no {recipe.object}")

    def close(self) -> None:
        """Deletes all scratch files."""
        with self._lock:
            folder, self._folder, self._idle = self._folder, None, []
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def _mirror(self, recipe: Recipe) -> Iterator[Mirror]:
        mirror = self._take(recipe)
        try:
            yield mirror
        except BaseException:
            mirror.discard()
            raise
        else:
            self._give_back(mirror)

    def _take(self, recipe: Recipe) -> Mirror:
        with self._lock:
            for mirror in reversed(self._idle):
                if mirror.recipe == recipe:
                    self._idle.remove(mirror)
                    return mirror
            if self._folder is None:
                parent = self._parent or Path(os.environ.get("TMPDIR") or tempfile.gettempdir())
                self._folder = Path(tempfile.mkdtemp(prefix="oracle-", dir=parent))
            self._made += 1
            folder = self._folder / str(self._made)
        return Mirror(self._tree, recipe, folder)

    def _give_back(self, mirror: Mirror) -> None:
        with self._lock:
            self._idle.append(mirror)
            old = self._idle.pop(0) if len(self._idle) > KEPT_MIRRORS else None
        if old is not None:
            old.discard()
