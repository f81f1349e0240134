"""Splits one retail binary with splat: the yaml, the run, and what came out of it."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from shared.demo.forge.retail import NOLOAD, Image
from shared.demo.forge.settings import Settings
from shared.demo.forge.tools import tool
from shared.demo.forge.units import Unit
from shared.errors import ConfigError, InstrumentFault, MissingTool
from shared.hashing import digest_file

GENERATED = ("include_asm.h", "macro.inc", "labels.inc", "gte_macros.inc")
_STUB = re.compile(r'INCLUDE_(ASM|RODATA)\("[^"]*", (\w+)\);')
_LABEL = re.compile(r"^\s*(?:glabel|dlabel|jlabel|alabel) (\w+)", re.M)
_WORD = re.compile(r"/\* [0-9A-F]+ ([0-9A-F]{8}) ")
_ASSIGNED = re.compile(r"^(\w+) = ", re.M)


@dataclass(frozen=True)
class Split:
    """What splat made of one binary.

    `stubs` are (ASM or RODATA, name) by segment, in the order of the C file; `rodata` gives the addresses of the
    latter; `linked` are all names the link will know.
    """

    folder: Path
    stubs: dict[str, tuple[tuple[str, str], ...]]
    rodata: dict[str, dict[str, int]]
    linked: frozenset[str]

    def functions(self) -> set[str]:
        """Every function stub."""
        return {name for stubs in self.stubs.values() for kind, name in stubs if kind == "ASM"}


def splat_yaml(settings: Settings, image: Image, units: Sequence[Unit], disk: Path) -> str:
    """The splat configuration of one binary, to lie in config/<binary>/splat.yaml."""
    binary = image.binary
    name = binary.name
    symbol_files = [f"config/{b}/symbol_addrs.txt" for b in dict.fromkeys([name, settings.resident])]
    sections = ", ".join(f'"{"." + section}"' for section in binary.order)
    align = "" if binary.pad_sections else "  ld_align_section_vram_end: False\n  ld_align_segment_vram_end: False\n"
    gp = "" if image.gp is None else f"  gp_value: {image.gp:#010x}\n"
    header = {
        "exe": "  - [0x0, header, header]\n",
        "rom": "  - [0x0, header, header]\n  - [0x40, bin, boot]\n",
        "raw": "",
    }[binary.format]
    loaded = [span for span in image.spans if span.section not in NOLOAD]
    rest = [span for span in image.spans if span.section in NOLOAD]
    file_end = binary.address + len(image.data) - image.code_offset
    code = {unit.segment for unit in units if unit.functions()}
    lines = []
    for span in loaded:
        kind = {"text": "c", "rodata": ".rodata" if span.segment in code else "rodata"}.get(span.section, span.section)
        lines.append(f"      - [{image.offset(span.start):#x}, {kind}, {span.segment}]")
    if not code:
        raise ConfigError(f"binary {name} has no function; give it C code or leave its folder out")
    end = max(span.end for span in loaded)
    end += -end % (16 if binary.pad_sections else 4)
    if file_end - end >= 16:
        last = [section for section in binary.order if section not in NOLOAD][-1]
        lines.append(f"      - [{image.offset(end):#x}, {last}, {name}/padding]")
    lines += [f"      - {{type: {s.section}, vram: {s.start:#010x}, name: {s.segment}}}" for s in rest]
    bss_size = max((span.end for span in rest), default=file_end) - file_end
    bss = f"    bss_size: {bss_size:#x}\n" if bss_size else ""
    return f"""name: {name}
sha1: {digest_file(disk, "sha1")}
options:
  basename: {name}
  target_path: disk/{binary.file_name}
  base_path: ../..
  platform: {settings.platform}
  compiler: GCC
  asm_path: asm/{name}
  src_path: src
  build_path: build/{name}
  asset_path: asm/{name}/assets
  elf_path: build/{name}.elf
  ld_script_path: linker/{name}.ld
  undefined_funcs_auto_path: linker/{name}.undefined_funcs_auto.txt
  undefined_syms_auto_path: linker/{name}.undefined_syms_auto.txt
  symbol_addrs_path: [{", ".join(symbol_files)}]
  section_order: [{sections}]
  auto_link_sections: []
  subalign: 4
  o_as_suffix: True
  use_legacy_include_asm: False
  auto_decompile_empty_functions: False
  find_file_boundaries: False
  string_encoding: ASCII
  data_string_encoding: ASCII
  disasm_unknown: True
  ld_bss_is_noload: True
{align}{gp}segments:
{header}  - name: {name}
    type: code
    start: {image.code_offset:#x}
    vram: {binary.address:#010x}
{bss}    subsegments:
{chr(10).join(lines)}
  - [{len(image.data):#x}]
"""


def run_splat(name: str, folder: Path) -> Split:
    """Splits one binary in its own copy of the configuration. Raises MissingTool, InstrumentFault."""
    if find_spec("splat") is None:
        raise MissingTool("splat64 is not installed; run `pip install 'splat64[mips]'` in this environment")
    tool([sys.executable, "-m", "splat", "split", f"config/{name}/splat.yaml"], folder, f"splat of {name}")
    stubs = {}
    rodata: dict[str, dict[str, int]] = {}
    for path in sorted((folder / "src").rglob("*.c")):
        segment = path.relative_to(folder / "src").as_posix().removesuffix(".c")
        stubs[segment] = tuple((m[1], m[2]) for m in _STUB.finditer(path.read_text(encoding="utf-8")))
        rodata[segment] = {
            stub: _address(folder / "asm" / name / "nonmatchings" / segment / f"{stub}.s")
            for kind, stub in stubs[segment]
            if kind == "RODATA"
        }
    linked: set[str] = set()
    for path in (folder / "asm").rglob("*.s"):
        linked.update(_LABEL.findall(path.read_text(encoding="utf-8")))
    for kind in ("funcs", "syms"):
        path = folder / "linker" / f"{name}.undefined_{kind}_auto.txt"
        linked.update(_ASSIGNED.findall(path.read_text(encoding="utf-8")))
    return Split(folder, stubs, rodata, frozenset(linked))


def _address(path: Path) -> int:
    found = _WORD.search(path.read_text(encoding="utf-8"))
    if found is None:
        raise InstrumentFault(f"forge: splat wrote no data into {path.name}")
    return int(found[1], 16)
