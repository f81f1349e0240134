"""What the twins are looked for in: the keys of every `.s`, and the sources and headers of one commit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from drafter.twins.pairing import Keys, keys
from shared.config import Campaign
from shared.errors import CampaignError
from shared.git import Git
from shared.target.asmfile import AsmFile, AsmFunction, read_asm

_CALLED = re.compile(rb"\b([A-Za-z_]\w*)[ \t\r\n]*\(")
_HEADERS = (".h", ".inc", ".hpp")


@dataclass(frozen=True, slots=True)
class Shelved:
    """One function of a `.s`: the binary whose folder it lies in, its name, its keys."""

    binary: str
    path: Path
    function: str
    keys: Keys


class Shelf:
    """The functions of every binary's assembly folder. A file that has not changed is not read again."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self._known: dict[Path, tuple[tuple[int, int], tuple[Shelved, ...]]] = {}

    @property
    def byte_order(self) -> Literal["little", "big"]:
        """Of the words in the `.s`."""
        return "big" if self._campaign.project.platform == "n64" else "little"

    def scan(self) -> Iterator[Shelved]:
        """All functions, each once. Files that cannot be read are left out: nothing can be said of them."""
        for binary, settings in self._campaign.binaries.items():
            for path in sorted((self._campaign.root / settings.asm).rglob("*.s")):
                yield from self._file(binary, path)

    def read(self, entry: Shelved) -> AsmFunction | None:
        """The function itself."""
        return self.function(entry.path, entry.function)

    def function(self, path: Path, name: str) -> AsmFunction | None:
        """A function of a `.s`, None when it cannot be read."""
        try:
            return read_asm(path, self.byte_order).function(name)
        except CampaignError:
            return None

    def _file(self, binary: str, path: Path) -> tuple[Shelved, ...]:
        try:
            status = path.stat()
            stamp = (status.st_mtime_ns, status.st_size)
            known = self._known.get(path)
            if known is not None and known[0] == stamp:
                return known[1]
            found: AsmFile | None = read_asm(path, self.byte_order)
        except (CampaignError, OSError):
            return ()
        # A file of one function only: splat writes those for what C replaces, whole-file assembly is a person's.
        functions = found.functions if found is not None and len(found.functions) == 1 else ()
        entries = tuple(Shelved(binary, path, f.name, keys(f)) for f in functions)
        self._known[path] = (stamp, entries)
        return entries


class Sources:
    """Sources and headers of a commit. Blobs read before are not read again."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self._git = Git(campaign.root)
        self._blobs: dict[str, bytes] = {}
        self._called: dict[str, frozenset[bytes]] = {}
        self._tree: dict[str, str] = {}
        self._by_name: dict[str, list[str]] = {}

    def open(self, commit: str) -> None:
        """Looks at a commit from now on. Raises GitError."""
        self._tree = {path: blob for path, (_, blob) in self._git.tree(commit).items()}
        self._by_name = {}
        for path in self._tree:
            if path.endswith(_HEADERS):
                self._by_name.setdefault(path.rsplit("/", 1)[-1], []).append(path)
        here = set(self._tree.values())
        self._blobs = {blob: text for blob, text in self._blobs.items() if blob in here}
        self._called = {blob: found for blob, found in self._called.items() if blob in here}

    def text(self, path: str) -> bytes:
        """A tracked file. Raises KeyError, GitError."""
        blob = self._tree[path]
        if blob not in self._blobs:
            self._blobs[blob] = self._git.raw("cat-file", "blob", blob)
        return self._blobs[blob]

    def header(self, name: str) -> bytes | None:
        """A header by the name an `#include` gives it; None for none, the first in path order of several."""
        tail = PurePosixPath(name)
        for path in self._by_name.get(tail.name, ()):
            if path == name or path.endswith("/" + name):
                return self.text(path)
        return None

    def naming(self, binary: str, function: str, asm: Path) -> list[str]:
        """C files of a binary in which `function(` stands, those the `.s`'s own folder is named after first."""
        name, folder = function.encode(), asm.parent.name
        found = [tu for tu in self._units(binary) if name in self._words(tu)]
        return sorted(found, key=lambda tu: (PurePosixPath(tu).stem != folder, tu))

    def binaries(self, tu: str) -> list[str]:
        """The binaries whose source folders hold a C file."""
        return [name for name, settings in self._campaign.binaries.items() if _under(tu, settings.sources)]

    def _units(self, binary: str) -> Iterable[str]:
        folders = self._campaign.binaries[binary].sources
        return (path for path in self._tree if path.endswith(".c") and _under(path, folders))

    def _words(self, tu: str) -> frozenset[bytes]:
        blob = self._tree[tu]
        if blob not in self._called:
            self._called[blob] = frozenset(_CALLED.findall(self.text(tu)))
        return self._called[blob]


def _under(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)
