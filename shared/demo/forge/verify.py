"""Checks every right body against a real build: alone in its TU, and with all others of the TU."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from shared.demo.forge.flags import EMULATION, compile_command
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

    def check(self, units: Sequence[Unit], texts: Mapping[str, str], bodies: Sequence[Body]) -> list[Proven]:
        """Proves the bodies of one binary; `texts` are its TUs by segment with every function open."""
        by_unit = {unit.segment: [b for b in bodies if b.segment == unit.segment] for unit in units}
        with ThreadPoolExecutor(CORES) as pool:
            alone = dict(
                pool.map(
                    lambda job: ((job[0].segment, job[1].function), self._try(job[0], texts, [job[1]])),
                    [(unit, body) for unit in units for body in by_unit[unit.segment]],
                )
            )
            return [
                proven
                for result in pool.map(lambda u: self._unit(u, texts, by_unit[u.segment], alone), units)
                for proven in result
            ]

    def _unit(
        self,
        unit: Unit,
        texts: Mapping[str, str],
        bodies: Sequence[Body],
        alone: Mapping[tuple[str, str], str],
    ) -> list[Proven]:
        reasons = {body.function: alone[unit.segment, body.function] for body in bodies}
        if not bodies or not self._try(unit, texts, bodies):
            whole = any(reasons.values())
            return [Proven(body, not reasons[body.function], whole) for body in bodies]
        kept: list[Body] = []
        for body in bodies:
            if not reasons[body.function]:
                reasons[body.function] = self._try(unit, texts, [*kept, body])
                if not reasons[body.function]:
                    kept.append(body)
        return [Proven(body, body in kept, False, reasons[body.function]) for body in bodies]

    def _try(self, unit: Unit, texts: Mapping[str, str], bodies: Sequence[Body]) -> str:
        """Empty when the binary stays identical with these bodies, else what is wrong."""
        text = texts[unit.segment]
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
