"""Splits every binary until splat's picture is complete: all functions found, all names a draft needs in the link."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from shared.demo.forge.names import Names, external_functions, symbol_file
from shared.demo.forge.retail import Image
from shared.demo.forge.settings import Settings
from shared.demo.forge.splitting import Split, run_splat, splat_yaml
from shared.demo.forge.tools import CORES
from shared.demo.forge.truth import Body
from shared.demo.forge.units import Unit
from shared.errors import InstrumentFault

ROUNDS = 4
log = logging.getLogger(__name__)


def split_all(
    settings: Settings,
    units: Mapping[str, Sequence[Unit]],
    images: Mapping[str, Image],
    names: Mapping[str, Names],
    externals: Mapping[str, int],
    bodies: Sequence[Body],
    project: Path,
    stage: Path,
) -> dict[str, Split]:
    """Writes config/ and disk/ into `project` and splits there-alike copies in `stage`.

    A binary is split again when a start was missed, a name is not in the link, or strings of a shared TU need names
    that are the same in each of its binaries. Raises InstrumentFault when that does not settle.
    """
    functions = external_functions({name: list(members) for name, members in units.items()}, externals)
    extra: dict[str, dict[str, int]] = {name: {} for name in images}
    for name, image in images.items():
        for folder in (project / "config" / name, project / "disk"):
            folder.mkdir(parents=True, exist_ok=True)
        disk = project / "disk" / image.binary.file_name
        disk.write_bytes(image.data)
        text = splat_yaml(settings, image, units[name], disk)
        (project / "config" / name / "splat.yaml").write_text(text, encoding="ascii")
    splits: dict[str, Split] = {}
    stale = set(images)
    for _ in range(ROUNDS):
        for name in stale:
            own = externals if name == settings.resident else {}
            text = symbol_file(names[name], images[name], own, functions, extra[name])
            (project / "config" / name / "symbol_addrs.txt").write_text(text, encoding="ascii")
        log.info("splat: %s", ", ".join(sorted(stale)))
        with ThreadPoolExecutor(CORES) as pool:
            splits |= zip(stale, pool.map(lambda name: _split(name, project, stage), stale), strict=True)
        before = {name: dict(found) for name, found in extra.items()}
        waiting = {n for n in images if _complete(settings, units[n], names, splits[n], n, bodies, extra)}
        stale = waiting | {name for name in images if extra[name] != before[name]}
        for name in stale:
            log.debug("%s also lists %s", name, ", ".join(sorted(extra[name].keys() - before[name].keys())))
        if not stale:
            return splits
    missing = ", ".join(
        f"{n} in {name}" for name in sorted(stale) for n in sorted(extra[name].keys() - before[name].keys())
    )
    raise InstrumentFault(f"forge: splat still misses {missing}")


def _split(name: str, project: Path, stage: Path) -> Split:
    folder = stage / "split" / name
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    for part in ("config", "disk"):
        (folder / part).symlink_to(project.resolve() / part)
    return run_splat(name, folder)


def _complete(
    settings: Settings,
    units: Sequence[Unit],
    names: Mapping[str, Names],
    split: Split,
    name: str,
    bodies: Sequence[Body],
    extra: dict[str, dict[str, int]],
) -> bool:
    """Adds to `extra` what the symbol files still lack; true when this binary waits for a name of the resident's."""
    waits = False
    own = names[name].own
    wanted = {n for n, symbol in own.items() if symbol.function}
    found = split.functions()
    for missed in wanted - found:
        extra[name][missed] = own[missed].address
    for invented in found - wanted:
        # A start inside a function: giving the function its size keeps it whole.
        address = int(invented.rsplit("_", 1)[1], 16)
        for function, symbol in own.items():
            if symbol.function and symbol.address < address < symbol.address + symbol.size:
                extra[name][function] = symbol.address
    for body in bodies:
        if body.binary != name:
            continue
        for need in body.needs - split.linked:
            owner = name if need in own else settings.resident
            waits |= owner != name
            extra[owner][need] = names[owner].addresses[need]
    for unit in units:
        if unit.shared:
            stem = unit.segment.rsplit("/", 1)[-1]
            for i, (string, address) in enumerate(split.rodata.get(unit.segment, {}).items()):
                if string not in own and string not in extra[name]:
                    extra[name][f"{stem}_str_{i}"] = address
    return waits
