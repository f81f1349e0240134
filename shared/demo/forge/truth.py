"""Right bodies: for each stub the declarations it needs and one definition, in the project's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shared.demo.forge.names import Names
from shared.demo.forge.retail import Image
from shared.demo.forge.snippet import literals, rename, uses
from shared.demo.forge.source import Declaration, Function, Kept, Variable
from shared.demo.forge.units import Unit


@dataclass(frozen=True)
class Body:
    """The right body of one stub. `needs` are the project names it refers to."""

    binary: str
    function: str
    segment: str
    text: str
    needs: frozenset[str]


def truth_bodies(units: Sequence[Unit], names: Names, headers: frozenset[str]) -> list[Body]:
    """Bodies of one binary before its strings are placed. `headers` are the names that headers declare."""
    bodies = []
    for unit in units:
        renames = names.of(unit)
        declared = headers | {item.name for item in kept_declarations(unit, renames)}
        for function in unit.functions():
            used = uses(function.text) - {function.name}
            lines = []
            for name in sorted(used & renames.keys() - declared, key=lambda n: renames[n]):
                lines.append(rename(_declaration(unit, name), renames))
            text = "\n".join(lines) + ("\n\n" if lines else "") + rename(function.text, renames) + "\n"
            needs = {renames.get(name, name) for name in used} & names.addresses.keys()
            bodies.append(Body(unit.binary, renames[function.name], unit.segment, text, frozenset(needs)))
    return bodies


def kept_declarations(unit: Unit, renames: Mapping[str, str]) -> list[Declaration]:
    """Declarations that the project's TU keeps: of names that stay."""
    return [i for i in unit.items if isinstance(i, Declaration) and renames.get(i.name, i.name) == i.name]


def _declaration(unit: Unit, name: str) -> str:
    written = [item for item in unit.items if not isinstance(item, Kept) and item.name == name]
    for item in written:
        if isinstance(item, Variable):
            return item.extern
        if isinstance(item, Function):
            return item.prototype
    return written[0].text


def place_strings(body: Body, rodata: Mapping[str, int], image: Image) -> Body:
    """Refers to the strings that stay in INCLUDE_RODATA by name: a literal of its own would be a second copy."""
    contents = {}
    for name, address in rodata.items():
        start = image.offset(address)
        contents[image.data[start : image.data.index(b"\0", start)]] = name
    data = body.text.encode()
    pieces = []
    at = 0
    used: set[str] = set()
    for literal in literals(body.text):
        if name := contents.get(literal.content, ""):
            pieces += [data[at : literal.start], name.encode()]
            at = literal.end
            used.add(name)
    externs = "".join(f"extern char {name}[];\n" for name in sorted(used))
    text = b"".join([*pieces, data[at:]]).decode()
    return Body(body.binary, body.function, body.segment, externs + ("\n" if externs else "") + text, body.needs)
