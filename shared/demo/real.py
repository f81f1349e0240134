"""Real third-party C for the forge: fetched from source packages at run time, never kept in this repository.

Brotli (MIT) gives the resident binary (decoder) and one overlay (part of its encoder), lz4 (BSD) another. The sources
are compiled as they are; what differs is stated in the forge.toml that is written here: no forced inlining, stub
headers for the C library, and addresses for what the library would provide.
"""

from __future__ import annotations

import json
import logging
import shutil
import sys
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path

from shared.errors import InstrumentFault
from shared.proc import Limits, run

log = logging.getLogger(__name__)

PACKAGES = {"brotli": "1.2.1", "lz4": "4.4.5"}
"""Source distributions and the versions whose file lists are below."""

FILES = {
    "main": {
        "brotli/common": ["constants", "context", "platform", "transform", "shared_dictionary"],
        "brotli/dec": ["bit_reader", "decode", "huffman", "prefix", "state", "static_init"],
    },
    "enc": {
        "brotli/enc": [
            "bit_cost",
            "command",
            "compound_dictionary",
            "encoder_dict",
            "entropy_encode",
            "histogram",
            "memory",
            "static_dict",
            "utf8_util",
        ],
    },
    "lz4": {"lz4": ["lz4", "xxhash"]},
}
"""What each binary is linked from: enough for a night of a minute or two. What these files use of others (and brotli's
generated tables, hundreds of KB of data) becomes external."""

HEADERS = {
    "stddef.h": "typedef __SIZE_TYPE__ size_t;\ntypedef __PTRDIFF_TYPE__ ptrdiff_t;\n#define NULL ((void *)0)\n"
    "#define offsetof(t, m) __builtin_offsetof(t, m)\n",
    "stdint.h": "".join(
        f"typedef __{sign}INT{bits}_TYPE__ {name}int{bits}_t;\n"
        for bits in (8, 16, 32, 64)
        for sign, name in (("", ""), ("U", "u"))
    )
    + "typedef __INTPTR_TYPE__ intptr_t;\ntypedef __UINTPTR_TYPE__ uintptr_t;\n#define UINT32_MAX 0xFFFFFFFFu\n",
    "limits.h": "#define CHAR_BIT 8\n#define INT_MAX 0x7FFFFFFF\n#define UINT_MAX 0xFFFFFFFFu\n",
    "string.h": "#include <stddef.h>\nvoid *memcpy(void *, const void *, size_t);\n"
    "void *memmove(void *, const void *, size_t);\nvoid *memset(void *, int, size_t);\n"
    "int memcmp(const void *, const void *, size_t);\nsize_t strlen(const char *);\n",
    "stdlib.h": "#include <stddef.h>\nvoid *malloc(size_t);\nvoid *calloc(size_t, size_t);\nvoid free(void *);\n"
    "void exit(int);\nvoid abort(void);\n#define EXIT_FAILURE 1\n",
    "assert.h": "#define assert(x) ((void)0)\n",
    "math.h": "double log2(double);\n#define HUGE_VAL __builtin_huge_val()\n",
    "stdio.h": "",
    "sys/types.h": "",
}

FLAGS = ["-nostdinc", "-U__linux__", "-Ulinux", "-U__unix__"]
DEFINES = {"always_inline": "unused", "__always_inline__": "__unused__"}
"""A function that is always inlined could not be a stub of its own."""


@dataclass(frozen=True)
class RealSources:
    """A sources folder for the forge, and the seconds its download took."""

    folder: Path
    download_s: float


def fetch_real_sources(dest: Path, cache: Path | None = None) -> RealSources:
    """Downloads the packages with this Python's pip and its configuration and lays them out in the new folder `dest`.

    Archives already in `cache` are not downloaded again. Raises InstrumentFault when pip or an archive fails.
    """
    started = time.monotonic()
    store = cache or dest.parent / f"{dest.name}.download"
    store.mkdir(parents=True, exist_ok=True)
    archives = {name: _archive(store, name, version) for name, version in PACKAGES.items()}
    spent = time.monotonic() - started
    unpacked = dest / "unpacked"
    for name, archive in archives.items():
        with tarfile.open(archive) as tar:
            tar.extractall(unpacked, filter="data")
        (unpacked / archive.name.removesuffix(".tar.gz")).rename(unpacked / name)
    shutil.copytree(unpacked / "brotli/c/include", dest / "include")
    for part in ("common", "dec", "enc"):
        shutil.copytree(unpacked / "brotli/c" / part, dest / "brotli" / part)
    shutil.copytree(unpacked / "lz4/lz4libs", dest / "lz4")
    shutil.rmtree(unpacked)
    if cache is None:
        shutil.rmtree(store)
    (dest / "forge.toml").write_text(_forge_toml(), encoding="utf-8")
    log.info("real sources in %s, %.1f s of download", dest, spent)
    return RealSources(dest, spent)


def _archive(store: Path, name: str, version: str) -> Path:
    wanted = store / f"{name}-{version}.tar.gz"
    if not wanted.is_file():
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
        command = [*pip, "--no-binary", ":all:", "--dest", str(store), f"{name}=={version}"]
        ran = run(command, cwd=store, limits=Limits(timeout_s=600))
        if not ran.ok or not wanted.is_file():
            said = ran.stderr.decode("utf-8", "replace").strip().splitlines()
            raise InstrumentFault(
                f"{name} {version} could not be downloaded: {said[-1] if said else 'no archive came'}"
            )
    return wanted


def _forge_toml() -> str:
    lines = [
        "preprocess = true",
        "externals_base = 0x80000400",
        "",
        "[compile]",
        f"flags = {json.dumps(FLAGS)}",
        "defines = {" + ", ".join(f"{k} = {json.dumps(v)}" for k, v in DEFINES.items()) + "}",
    ]
    for binary, folders in FILES.items():
        files = [f"{folder}/{stem}.c" for folder, stems in folders.items() for stem in stems]
        lines += ["", f"[binary.{binary}]", f"sources = {json.dumps(files)}"]
    lines += ["", "[headers]", *(f"{json.dumps(name)} = {json.dumps(text)}" for name, text in HEADERS.items())]
    return "\n".join(lines) + "\n"
