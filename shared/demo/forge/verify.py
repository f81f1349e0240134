"""Checks every right body against a real build: alone in its TU, and with all others of the TU."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from shared.demo.forge.flags import EMULATION, compile_command, tu_flags
from shared.demo.forge.retail import Image
from shared.demo.forge.settings import Settings
from shared.demo.forge.tools import CORES, LIMITS, PREFIX
from shared.demo.forge.truth import Body
from shared.demo.forge.units import Unit
from shared.proc import run


@dataclass(frozen=True)
class Proven:
    """What the builds said of one body: right `alone`, with its whole TU in C (`group`), or neither (`reason`)."""

    body: Body
    alone: bool
    group: bool
    reason: str = ""


class Verifier:
    """Builds variants of one project's TUs in scratch folders; the project itself is only read."""

    def __init__(self, settings: Settings, images: Mapping[str, Image], project: Path, stage: Path) -> None:
        self.settings = settings
        self.images = images
        self.project = project.resolve()
        self.stage = stage.resolve()
        self._slots = threading.local()

    def check(
        self, units: Sequence[Unit], texts: Mapping[tuple[str, str], str], bodies: Sequence[Body], each: bool
    ) -> list[Proven]:
        """Proves the bodies; `texts` are the TUs by binary and segment with every function open.

        Every TU is built with all its bodies. Each body is also built alone, unless `each` is off, the TU passed as a
        whole and is compiled without inlining: then only that is known of it, and taken to hold for each.
        """
        work = [(unit, [b for b in bodies if (b.binary, b.segment) == (unit.binary, unit.segment)]) for unit in units]
        work = [(unit, mine) for unit, mine in work if mine]
        with ThreadPoolExecutor(CORES) as pool:
            whole = list(pool.map(lambda job: self._try(job[0], texts, job[1]), work))
            singles = [
                (unit, body)
                for (unit, mine), reason in zip(work, whole, strict=True)
                if each or reason or self._inlines(unit)
                for body in mine
            ]
            alone = dict(
                zip(map(_key, singles), pool.map(lambda job: self._try(job[0], texts, [job[1]]), singles), strict=True)
            )
            results = pool.map(
                lambda job: self._settle(job[0][0], job[0][1], texts, not job[1], alone),
                zip(work, whole, strict=True),
            )
            return [proven for result in results for proven in result]

    def _inlines(self, unit: Unit) -> bool:
        return "-fno-inline" not in tu_flags(self.settings, self.settings.binaries[unit.binary], unit.file)

    def _settle(
        self,
        unit: Unit,
        bodies: Sequence[Body],
        texts: Mapping[tuple[str, str], str],
        whole: bool,
        alone: Mapping[tuple[str, str, str], str],
    ) -> list[Proven]:
        reasons = {body.function: alone.get(_key((unit, body)), "") for body in bodies}
        if whole:
            group = any(reasons.values())
            return [Proven(body, not reasons[body.function], group) for body in bodies]
        kept: list[Body] = []
        for body in bodies:
            if not reasons[body.function]:
                reasons[body.function] = self._try(unit, texts, [*kept, body])
                if not reasons[body.function]:
                    kept.append(body)
        return [Proven(body, body in kept, False, reasons[body.function]) for body in bodies]

    def _try(self, unit: Unit, texts: Mapping[tuple[str, str], str], bodies: Sequence[Body]) -> str:
        """Empty when the binary stays identical with these bodies, else what is wrong."""
        text = texts[unit.binary, unit.segment]
        for body in bodies:
            text = substitute(text, body)
        folder = self._slot()
        source = folder / unit.tu
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(text, encoding="utf-8")
        binary = self.settings.binaries[unit.binary]
        own = f"build/{unit.binary}/src/{unit.segment}.o"
        command = compile_command(self.settings, binary, unit.file)
        command += ["-DINCLUDE_ASM_USE_MACRO_INC=1", f"-Wa,-Iasm/{unit.binary}", "-o", "unit.o", unit.tu]
        compiled = run(command, cwd=folder, limits=LIMITS)
        if not compiled.ok:
            return _first_line(compiled.stderr)
        script = (self.project / "linker" / f"{unit.binary}.ld").read_text(encoding="ascii").replace(own, "unit.o")
        (folder / "unit.ld").write_text(script, encoding="ascii")
        auto = [f"linker/{unit.binary}.undefined_{kind}_auto.txt" for kind in ("funcs", "syms")]
        ld = [f"{PREFIX}ld", "-m", EMULATION[self.settings.platform], "-nostdlib", "--no-check-sections"]
        linked = run([*ld, "-T", "unit.ld", "-T", auto[0], "-T", auto[1], "-o", "unit.elf"], cwd=folder, limits=LIMITS)
        if not linked.ok:
            return _first_line(linked.stderr)
        copied = run([f"{PREFIX}objcopy", "-O", "binary", "unit.elf", "unit.bin"], cwd=folder, limits=LIMITS)
        if not copied.ok:
            return _first_line(copied.stderr)
        same = (folder / "unit.bin").read_bytes() == self.images[unit.binary].data
        return "" if same else "the build differs"

    def _slot(self) -> Path:
        folder: Path | None = getattr(self._slots, "folder", None)
        if folder is None:
            folder = Path(tempfile.mkdtemp(prefix="verify", dir=self.stage))
            for part in ("asm", "linker", "include", "build"):
                (folder / part).symlink_to(self.project / part)
            self._slots.folder = folder
        return folder


def _key(job: tuple[Unit, Body]) -> tuple[str, str, str]:
    return job[0].binary, job[0].segment, job[1].function


def substitute(text: str, body: Body) -> str:
    """The TU with one stub (its whole NON_MATCHING block, if it has one) replaced by a body."""
    lines = text.split("\n")
    at = next(
        i for i, line in enumerate(lines) if line.startswith("INCLUDE_ASM(") and line.endswith(f" {body.function});")
    )
    start, end = at, at + 1
    if at and lines[at - 1] == "#else":
        start = max(i for i in range(at) if lines[i].startswith("#ifdef "))
        end = at + 2
    return "\n".join([*lines[:start], body.text.rstrip("\n"), *lines[end:]])


def _first_line(stderr: bytes) -> str:
    lines = stderr.decode("utf-8", "replace").splitlines()
    return next((line for line in lines if "error" in line or "undefined" in line), lines[0] if lines else "no output")
