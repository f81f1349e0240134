"""What else a decomp repository says about itself: checksum files, decomp.yaml, objdiff.json, make variables, git.

The forms are those of real projects: sha1 or sha256 lines in any letter case, many targets in one file, decomp.yaml of
decomp_settings, objdiff.json/.yml/.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml

from shared.errors import CampaignError
from shared.git import Git, GitError
from shared.proc import Limits, run

_LINE = re.compile(r"^([0-9a-fA-F]{40}|[0-9a-fA-F]{64}) [ *](\S.*?)\s*$")
_MOST = 256 << 10
"""Bytes of a file that may be a checksum list."""
_NAMES = re.compile(
    r"(?i)(\.(sha|sha1|sha256|sha1sum|sha256sum|sums?)$|^(sha1sums?|sha256sums?)$|check.*\.(sha\w*|txt)$)"
)


@dataclass(frozen=True)
class Line:
    """One line of a checksum file; `path` is relative to the project root, `hash` in lower case."""

    file: str
    hash: str
    path: str


@dataclass(frozen=True)
class Version:
    """Paths one version of decomp.yaml names."""

    name: str
    paths: dict[str, str]


def checksum_lines(root: Path, files: Iterable[str]) -> list[Line]:
    """Lines of every checksum file among `files`; comments and blanks are passed over."""
    found = []
    for name in files:
        if not _NAMES.search(Path(name).name):
            continue
        try:
            data = (root / name).read_bytes()[:_MOST]
            text = data.decode("utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        for raw in text.splitlines():
            match = _LINE.match(raw)
            if match:
                found.append(Line(name, match[1].lower(), match[2].removeprefix("./")))
    return found


def decomp_versions(root: Path) -> list[Version]:
    """The versions of decomp.yaml; none when there is no such file or it cannot be read."""
    for name in ("decomp.yaml", "decomp.yml"):
        try:
            value = yaml.safe_load((root / name).read_bytes())
        except FileNotFoundError:
            continue
        except (OSError, yaml.YAMLError):
            return []
        versions = value.get("versions", []) if isinstance(value, dict) else []
        return [
            Version(str(v.get("name", "")), {k: str(p) for k, p in v["paths"].items() if isinstance(p, str)})
            for v in versions
            if isinstance(v, dict) and isinstance(v.get("paths"), dict)
        ]
    return []


def objdiff_file(root: Path) -> str:
    """Name of the objdiff configuration in the order objdiff looks, "" when there is none."""
    return next((n for n in ("objdiff.json", "objdiff.yml", "objdiff.yaml") if (root / n).is_file()), "")


def builder(root: Path) -> str:
    """`make`, `ninja` or ""."""
    if any((root / name).is_file() for name in ("Makefile", "makefile", "GNUmakefile")):
        return "make"
    return "ninja" if any(root.glob("*.ninja")) or (root / "configure.py").is_file() else ""


def version_variable(root: Path, versions: set[str]) -> tuple[str, str] | None:
    """The make variable whose default is one of `versions` (folder names), and that default."""
    for name in ("Makefile", "makefile", "GNUmakefile"):
        try:
            text = (root / name).read_text("utf-8", "replace")
        except OSError:
            continue
        for variable, value in re.findall(r"^(\w+)[ \t]*[?:]?=[ \t]*(\S+)[ \t]*$", text, re.MULTILINE):
            if value in versions:
                return variable, value
    return None


def link_of(root: Path, build: list[str], output: str) -> dict[str, str]:
    """`map` and `elf` that the build of `output` would write, from a dry run; empty when it does not tell.

    A dry run runs the makefile's own $(shell ...) parts and nothing else.
    """
    if build[:1] == ["make"]:
        argv = ["make", "-n", *build[1:]]
    elif build[:1] == ["ninja"]:
        argv = ["ninja", "-t", "commands", output]
    else:
        return {}
    try:
        done = run(argv, cwd=root, limits=Limits(timeout_s=60.0, output_kib=32 << 10))
    except CampaignError:
        return {}
    text = done.stdout.decode("utf-8", "replace").replace("\\\n", " ")
    found: dict[str, str] = {}
    for line in reversed(text.splitlines()):
        linked = re.search(r"-Map[=, ]\s*(\S+)", line)
        if linked:
            found["map"] = linked[1].removeprefix("./")
            elf = re.search(r"(?:^|\s)-o\s*(\S+)", line)
            if elf:
                found["elf"] = elf[1].removeprefix("./")
            break
    return found


def tracked(root: Path) -> list[str]:
    """Tracked files. Raises GitError."""
    out = Git(root).raw("ls-files", "-z")
    return [name.decode("utf-8", "surrogateescape") for name in out.split(b"\0") if name]


def ignored(root: Path) -> list[str]:
    """Git-ignored files and folders that are there; a folder ends with `/`."""
    try:
        out = Git(root).raw("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    except GitError:
        return []
    return sorted(name.decode("utf-8", "surrogateescape") for name in out.split(b"\0") if name)


def submodules(root: Path) -> dict[str, bool]:
    """Path of each submodule -> whether it is filled."""
    done = Git(root).attempt("config", "--file", ".gitmodules", "--get-regexp", r"submodule\..*\.path")
    paths = [line.split(maxsplit=1)[1] for line in done.stdout.decode("utf-8", "replace").splitlines() if " " in line]
    return {path: _filled(root / path) for path in paths}


def _filled(folder: Path) -> bool:
    try:
        return any(folder.iterdir())
    except OSError:
        return False
