"""Compiler, assembler and linker options: the same for the retail game and for the project's Makefile.

Which of them matter, and what breaks without each, was measured by dropping one at a time; docs/forge.md has the table.
"""

from __future__ import annotations

from shared.demo.forge.settings import Binary, Compile, Settings
from shared.demo.forge.tools import PREFIX

OFF = (
    "toplevel-reorder merge-constants inline partial-inlining optimize-sibling-calls tree-switch-conversion "
    "store-merging tree-vectorize tree-slp-vectorize reorder-functions section-anchors common ident "
    "tree-loop-distribute-patterns asynchronous-unwind-tables "
    "ipa-ra ipa-modref ipa-pure-const ipa-reference ipa-cp ipa-sra ipa-icf ipa-bit-cp ipa-vrp"
)
COMMON = ["-O2", "-mno-abicalls", "-fno-pic", "-msoft-float", "-ffreestanding", "-fno-builtin"]
COMMON += [f"-fno-{name}" for name in OFF.split()]
MACHINE = {
    "psx": ["-EL", "-march=r3000", "-mips1"],
    "n64": ["-EB", "-march=vr4300", "-mips3", "-mabi=32"],
}
EMULATION = {"psx": "elf32ltsmip", "n64": "elf32btsmip"}
NO_PAD = "-Wa,--no-pad-sections"


def base_flags(settings: Settings) -> list[str]:
    """CFLAGS of the whole project."""
    return _edit([*MACHINE[settings.platform], *COMMON], settings.compile)


def binary_flags(binary: Binary) -> list[str]:
    """Further flags of one binary's TUs."""
    return [f"-G{binary.small_data}", *([] if binary.pad_sections else [NO_PAD]), *binary.compile.flags]


def tu_flags(settings: Settings, binary: Binary, file: str) -> list[str]:
    """All code flags of one TU, in the order the Makefile gives them."""
    own = settings.tus.get(file, Compile())
    drop = {*binary.compile.drop_flags, *own.drop_flags}
    kept = [flag for flag in [*base_flags(settings), *binary_flags(binary)] if flag not in drop]
    return [*kept, *own.flags]


def definitions(settings: Settings, binary: Binary, file: str) -> list[str]:
    """-D options of one TU; a later one for the same name wins."""
    own = settings.tus.get(file, Compile())
    return [*defines(settings.compile), *defines(binary.compile), *defines(own)]


def defines(table: Compile) -> list[str]:
    """-D options of one table."""
    return [f"-D{name}={value}" for name, value in table.defines.items()]


def compile_command(settings: Settings, binary: Binary, file: str) -> list[str]:
    """Compiles one TU as the Makefile does; the caller adds `-o OBJECT SOURCE`."""
    flags = tu_flags(settings, binary, file)
    return [f"{PREFIX}gcc", *flags, "-w", "-Iinclude", *definitions(settings, binary, file), "-c"]


def cpp_command(settings: Settings, binary: Binary, file: str) -> list[str]:
    """Preprocesses one file to stdout without line markers; the caller adds the source."""
    flags = tu_flags(settings, binary, file)
    return [f"{PREFIX}gcc", *flags, "-E", "-P", "-Iinclude", *definitions(settings, binary, file)]


def assembler_flags(settings: Settings, binary: Binary) -> list[str]:
    """Options for splat's data files."""
    pad = [] if binary.pad_sections else ["--no-pad-sections"]
    machine = ["-EL", "-march=r3000"] if settings.platform == "psx" else ["-EB", "-march=vr4300", "-mabi=32"]
    return [*machine, "-mno-shared", "-msoft-float", "-G0", *pad, "-Iinclude"]


def _edit(flags: list[str], change: Compile) -> list[str]:
    return [flag for flag in flags if flag not in change.drop_flags] + change.flags
