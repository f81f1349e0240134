"""The forge itself: sources in, project and truth out."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shared import durable
from shared.demo.forge.names import Names, name_everything
from shared.demo.forge.project import (
    collect_splits,
    commit_history,
    unit_text,
    write_campaign,
    write_makefile,
    write_readme,
    write_units,
)
from shared.demo.forge.retail import Image, build_retail
from shared.demo.forge.settings import load_settings
from shared.demo.forge.source import header_names
from shared.demo.forge.split_all import split_all
from shared.demo.forge.tools import CORES, tool
from shared.demo.forge.truth import Body, place_strings, truth_bodies
from shared.demo.forge.units import Unit, read_units
from shared.demo.forge.verify import Proven, Verifier
from shared.errors import ConfigError, InstrumentFault

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Forged:
    """A forged game. `truth` is truth.json; `left_out` counts functions without a right body, which stay stubs."""

    project: Path
    truth: Path
    binaries: tuple[str, ...]
    functions: int
    left_out: int
    wall_s: float


def forge(
    dest: Path,
    sources: Path,
    *,
    extra_toml: str = "",
    config: Path | None = None,
    name: str = "game",
    each: bool = True,
) -> Forged:
    """Makes `dest`/project and `dest`/truth from C sources; docs/forge.md describes both ends.

    `extra_toml` is appended to the project's campaign.toml; `config` replaces `sources`/forge.toml. A body is called
    right only after a build: one with all bodies of its TU, and one with it alone (`each=False` leaves out the latter
    where inlining cannot matter; it takes most of the time). Raises ConfigError for the input, MissingTool,
    InstrumentFault; then nothing of `dest` is left.
    """
    started = time.monotonic()
    if dest.exists() and any(dest.iterdir()):
        raise ConfigError(f"{dest} is not empty; name a new folder")
    settings = load_settings(sources, config)
    project, stage = dest / "project", dest / "stage"
    existed = dest.exists()
    try:
        stage.mkdir(parents=True)
        _headers(project / "include", sources, settings.headers)
        (stage / "include").symlink_to((project / "include").resolve())
        units, named = read_units(settings, stage)
        images, externals = build_retail(settings, units, stage)
        names = name_everything(images, units, externals, named, settings.resident)
        headers = frozenset() if settings.preprocess else header_names(project / "include")
        bodies = [body for b in units for body in truth_bodies(units[b], names[b], headers)]
        log.info("retail: %d binaries, %d functions", len(images), len(bodies))
        splits = split_all(settings, units, images, names, externals, bodies, project, stage)
        collect_splits(project, splits)
        for b in units:
            write_units(project, units[b], names[b], splits[b])
        write_makefile(project, settings, units, name)
        write_campaign(project, settings, name, extra_toml)
        write_readme(project, name, images)
        tool(["make", f"-j{CORES}", "all"], project, "the build of stubs alone")
        for image in images.values():
            if (project / image.binary.output).read_bytes() != image.data:
                raise InstrumentFault(f"forge: {image.binary.output} built from stubs differs from the retail image")
        log.info("all-stub build identical")
        every = [unit for members in units.values() for unit in members]
        texts = {(u.binary, u.segment): unit_text(u, names[u.binary], splits[u.binary]) for u in every}
        placed = [place_strings(b, splits[b.binary].rodata.get(b.segment, {}), images[b.binary]) for b in bodies]
        proven = Verifier(settings, images, project, stage).check(every, texts, placed, each)
        _write_truth(dest, proven, units, names, images)
        commit_history(project)
        shutil.rmtree(stage)
    except BaseException:
        for made in (project, stage, dest / "truth"):
            shutil.rmtree(made, ignore_errors=True)
        (dest / "truth.json").unlink(missing_ok=True)
        if not existed:
            shutil.rmtree(dest, ignore_errors=True)
        raise
    right = sum(1 for p in proven if not p.reason)
    wall = time.monotonic() - started
    log.info("forged: %d right bodies, %d left out, %.1f s", right, len(proven) - right, wall)
    return Forged(project, dest / "truth.json", tuple(units), right, len(proven) - right, wall)


def _headers(folder: Path, sources: Path, extra: Mapping[str, str]) -> None:
    folder.mkdir(parents=True)
    if (sources / "include").is_dir():
        shutil.copytree(sources / "include", folder, dirs_exist_ok=True)
    for name, text in extra.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _write_truth(
    dest: Path,
    proven: Sequence[Proven],
    units: Mapping[str, Sequence[Unit]],
    names: Mapping[str, Names],
    images: Mapping[str, Image],
) -> None:
    tus = {(b, unit.segment): unit.tu for b, members in units.items() for unit in members}
    rows: list[dict[str, Any]] = []
    left_out: list[dict[str, Any]] = []
    first: dict[bytes, dict[str, str]] = {}
    for proof in proven:
        body: Body = proof.body
        tu = tus[body.binary, body.segment]
        if proof.reason:
            left_out.append({"binary": body.binary, "function": body.function, "tu": tu, "reason": proof.reason})
            continue
        symbol = names[body.binary].own[body.function]
        words = images[body.binary].read(symbol.address, symbol.size)
        path = dest / "truth" / body.binary / f"{body.function}.c"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body.text, encoding="utf-8")
        me = {"binary": body.binary, "function": body.function}
        twin = first.setdefault(words, me)
        rows.append(
            me
            | {
                "tu": tu,
                "address": symbol.address,
                "size_bytes": symbol.size,
                "instructions": symbol.size // 4,
                "file": path.relative_to(dest).as_posix(),
                "group": tu if proof.group else None,
                "alone": proof.alone,
                "twin_of": None if twin is me else twin,
            }
        )
    durable.write_json(dest / "truth.json", {"functions": rows, "left_out": left_out})
