"""What things are called in the project: names that headers give, and address-made names for all the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from shared.demo.forge.retail import Image, Symbol
from shared.demo.forge.snippet import uses
from shared.demo.forge.source import Declaration, Function, Kept, Variable
from shared.demo.forge.units import Unit
from shared.errors import ConfigError

JR_RA = 0x03E00008


@dataclass(frozen=True)
class Names:
    """Names of one binary. `project` maps link names (own, resident's, externals) to the project's."""

    binary: str
    project: Mapping[str, str]
    own: Mapping[str, Symbol]  # by project name
    addresses: Mapping[str, int]  # by project name, the resident's and externals too

    def of(self, unit: Unit) -> dict[str, str]:
        """Renaming of one TU's C names to the project's."""
        linked = {item.name: unit.names.get(item.name, item.name) for item in unit.items if not isinstance(item, Kept)}
        return {name: self.project[link] for name, link in linked.items() if link in self.project}


def name_everything(
    images: Mapping[str, Image],
    units: Mapping[str, list[Unit]],
    externals: Mapping[str, int],
    named: frozenset[str],
    resident: str,
) -> dict[str, Names]:
    """The names of every binary. Raises ConfigError when a shared TU uses a name that differs between its binaries."""
    kept: dict[str, set[str]] = {}
    for binary, members in units.items():
        kept[binary] = {
            unit.names.get(item.name, item.name)
            for unit in members
            for item in unit.items
            if isinstance(item, Function | Variable) and (unit.shared or item.name in named)
        }
    result: dict[str, Names] = {}
    base: dict[str, str] = {name: name for name in externals}
    base_addresses: dict[str, int] = dict(externals)
    for binary in sorted(images, key=lambda name: name != resident):
        project = dict(base)
        own: dict[str, Symbol] = {}
        for link, symbol in images[binary].symbols.items():
            prefix = "func" if symbol.function else "D"
            project[link] = link if link in kept[binary] else f"{prefix}_{symbol.address:08X}"
            own[project[link]] = symbol
        addresses = base_addresses | {name: symbol.address for name, symbol in own.items()}
        result[binary] = Names(binary, project, own, addresses)
        if binary == resident:
            base, base_addresses = project, addresses
    _check_shared(units, result)
    return result


def _check_shared(units: Mapping[str, list[Unit]], names: Mapping[str, Names]) -> None:
    seen: dict[str, dict[str, str]] = {}
    for members in units.values():
        for unit in members:
            if not unit.shared:
                continue
            mine = names[unit.binary].of(unit)
            used = set().union(*(uses(item.text) for item in unit.items))
            mine = {name: new for name, new in mine.items() if name in used}
            other = seen.setdefault(unit.file, mine)
            for name in sorted(mine.keys() | other.keys()):
                if mine.get(name) != other.get(name):
                    raise ConfigError(
                        f"{unit.file} is shared between binaries and uses `{name}`: declare it in a header"
                    )


def symbol_file(
    names: Names, image: Image, externals: Mapping[str, int], functions: Iterable[str], extra: Mapping[str, int]
) -> str:
    """symbol_addrs.txt of one binary: its names, and addresses of nameless things a splitter would not find.

    `functions` are the externals that are functions; `extra` are further names to list.
    """
    functions = set(functions)
    lines: list[tuple[int, str]] = []
    unseen = _unseen_starts(image)
    for name, symbol in names.own.items():
        made = name.endswith(f"_{symbol.address:08X}")
        if symbol.function:
            if not made or symbol.address in unseen or name in extra:
                size = f" size:{symbol.size:#x}" if name in extra else ""
                lines.append((symbol.address, f"{name} = {symbol.address:#010x}; // type:func{size}"))
        elif not made or symbol.size > 4 or name in extra or image.in_rodata(symbol.address):
            words = [f"size:{symbol.size:#x}"] if symbol.size > 4 or name in extra else []
            # A string before the table is padded only while it is assembly.
            words += ["align:4"] if image.in_rodata(symbol.address) and symbol.address % 4 == 0 else []
            # Else a table read by bytes is taken for bytes, and what it points to is not seen.
            words += ["type:u32"] if symbol.name in image.pointers else []
            tail = f" // {' '.join(words)}" if words else ""
            lines.append((symbol.address, f"{name} = {symbol.address:#010x};{tail}"))
    lines += [(address, f"{name} = {address:#010x};") for name, address in extra.items() if name not in names.own]
    for name, address in externals.items():
        lines.append((address, f"{name} = {address:#010x};" + (" // type:func" if name in functions else "")))
    return "".join(f"{line}\n" for _, line in sorted(lines))


def _unseen_starts(image: Image) -> set[int]:
    """Starts a disassembler may miss: the function before does not end in `jr $ra`, so its end is not seen."""
    order: Literal["big", "little"] = "big" if image.binary.format == "rom" else "little"
    functions = sorted((s for s in image.symbols.values() if s.function), key=lambda s: s.address)
    unseen = set()
    for before, after in pairwise(functions):
        code = image.read(before.address, before.size)
        tail = [int.from_bytes(code[i : i + 4], order) for i in range(max(0, len(code) - 8), len(code), 4)]
        if JR_RA not in tail:
            unseen.add(after.address)
    return unseen


def external_functions(units: Mapping[str, list[Unit]], externals: Mapping[str, int]) -> set[str]:
    """Externals that are functions: those not declared as data."""
    data = {
        item.name
        for members in units.values()
        for unit in members
        for item in unit.items
        if isinstance(item, Declaration) and item.text.startswith("extern ")
    }
    return set(externals) - data
