"""The frontier: every open stub in committed source, as a card or refused with a reason.

Committed source is the only truth for "open". A TU that several binaries compile gives one card, of the first of them
in config order. Nothing is built here: whether a binary is green is the gater's to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from drafter.draw import Frontier, Key, Refused
from shared.config import Campaign
from shared.errors import CampaignError, RepositoryError
from shared.frontier.features import features_of
from shared.git import Git
from shared.oracle.context import find_asm
from shared.records import Card
from shared.target.asmfile import AsmFile, read_asm
from shared.target.stubs import Stub, find_stubs

DUPLICATE = "DUPLICATE-NAME"
NO_ASM = "NO-ASM"
NEEDS_CARVE = "NEEDS-CARVE"

_BATCH = 400
_Stamp: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class _Open:
    binary: str
    tu: str
    stub: Stub

    @property
    def key(self) -> Key:
        return (self.binary, self.stub.function)


class FrontierReader:
    """Reads the frontier of a commit. Blobs and `.s` files read before are not read again."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self._git = Git(campaign.root)
        self._stubs: dict[str, tuple[Stub, ...]] = {}
        self._asm: dict[Path, tuple[_Stamp, AsmFile | str]] = {}
        self._last: Frontier | None = None

    def head(self) -> str:
        """The commit work is drawn from: the landing branch, or the followed one before anything landed.

        Raises RepositoryError.
        """
        landing = self._campaign.landing
        head = self._git.find(f"refs/heads/{landing.branch}") or self._git.find(f"refs/heads/{landing.follow}")
        if head is None:
            raise RepositoryError(
                f"{self._campaign.root} has neither a branch {landing.branch!r} nor {landing.follow!r}; "
                "name the branch you work on in [landing] follow"
            )
        return head

    def read(self, commit: str) -> Frontier:
        """All open stubs at `commit`. Raises GitError."""
        if self._last is not None and self._last.commit == commit:
            return self._last
        found = list(self._open(commit))
        names = Counter(entry.key for entry in found)
        places: dict[Key, list[str]] = {}
        for entry in found:
            if names[entry.key] > 1:
                places.setdefault(entry.key, []).append(f"{entry.tu}:{entry.stub.line}")
        cards: list[Card] = []
        refused: list[Refused] = []
        for entry in found:
            if entry.key in places:
                refused.append(Refused(entry.binary, entry.stub.function, DUPLICATE, " and ".join(places[entry.key])))
                continue
            made = self._card(entry)
            if isinstance(made, Card):
                cards.append(made)
            else:
                refused.append(made)
        self._last = Frontier(commit, tuple(cards), tuple(refused))
        return self._last

    def _open(self, commit: str) -> Iterator[_Open]:
        tree = self._git.tree(commit, *sorted({s for b in self._campaign.binaries.values() for s in b.sources}))
        owners: dict[str, str] = {}
        for binary, settings in self._campaign.binaries.items():
            for tu in tree:
                if tu.endswith(".c") and tu not in owners and _under(tu, settings.sources):
                    owners[tu] = binary
        blobs = {tree[tu][1] for tu in owners}
        self._stubs = {blob: stubs for blob, stubs in self._stubs.items() if blob in blobs}
        self._read_blobs(sorted(blobs - self._stubs.keys()))
        for tu, binary in owners.items():
            for stub in self._stubs[tree[tu][1]]:
                yield _Open(binary, tu, stub)

    def _read_blobs(self, blobs: Sequence[str]) -> None:
        for start in range(0, len(blobs), _BATCH):
            chunk = blobs[start : start + _BATCH]
            out = self._git.raw("cat-file", "--batch", stdin="".join(f"{blob}\n" for blob in chunk).encode())
            at = 0
            for blob in chunk:
                line = out.index(b"\n", at)
                size = int(out[at:line].split()[2])
                self._stubs[blob] = tuple(find_stubs(out[line + 1 : line + 1 + size]))
                at = line + 1 + size + 1

    def _card(self, entry: _Open) -> Card | Refused:
        stub = entry.stub
        root = self._campaign.root
        # In a TU of several binaries the stub's folder lies below each binary's own assembly.
        path = find_asm(root, self._campaign.binaries[entry.binary].asm, stub) or root / stub.asm
        asm = self._read_asm(path)
        if isinstance(asm, str):
            return Refused(entry.binary, stub.function, NO_ASM, asm)
        function = asm.function(stub.function)
        if function is None or not function.instructions:
            return Refused(entry.binary, stub.function, NO_ASM, f"{stub.asm} holds no code of that name")
        shown = features_of(function, asm.data)
        if shown.carve:
            detail = f"its jump table {shown.carve} is not migrated into {stub.asm}; give splat its rodata"
            return Refused(entry.binary, stub.function, NEEDS_CARVE, detail)
        return Card(
            binary=entry.binary,
            function=stub.function,
            tu=entry.tu,
            asm=path.relative_to(root).as_posix(),
            address=function.address,
            instructions=function.instructions,
            gid=shown.gid,
            twin=shown.twin,
            levers=shown.levers,
        )

    def _read_asm(self, path: Path) -> AsmFile | str:
        try:
            status = path.stat()
        except OSError as error:
            return f"{path}: {error.strerror}"
        stamp = (status.st_mtime_ns, status.st_size)
        known = self._asm.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        order: Literal["little", "big"] = "big" if self._campaign.project.platform == "n64" else "little"
        try:
            result: AsmFile | str = read_asm(path, order)
        except CampaignError as error:
            result = str(error)
        self._asm[path] = (stamp, result)
        return result


def _under(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)
