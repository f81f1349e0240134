"""What mutants are made from: right bodies, and the names, signatures and strings of the game around them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import msgspec
from msgspec import Struct
from tree_sitter import Node

from shared.demo.forge.snippet import declared_node, node_text, parse, uses, walk

_SYMBOL = re.compile(r"^(\w+) = 0x([0-9A-Fa-f]+);", re.MULTILINE)
_STRING = re.compile(r'^\s*dlabel (\w+)\s*\n[^\n]*\.asciz ("(?:[^"\\\n]|\\.)*")', re.MULTILINE)
_RESIDENT = "main"


class Body(Struct, frozen=True):
    """The right body of one stub: declarations and one definition, in the project's names.

    `alone`: right by itself; otherwise only together with the other bodies of its TU.
    """

    binary: str
    function: str
    tu: str
    address: int
    text: str = ""
    file: str = ""
    alone: bool = True


@dataclass(frozen=True)
class Signature:
    """The part of a prototype that decides whether a call compiles with another callee."""

    returns: bool
    parameters: int


@dataclass(frozen=True)
class Corpus:
    """Bodies, and per binary: addresses of the named symbols, and C literals of the strings that have a name."""

    bodies: tuple[Body, ...]
    addresses: dict[str, dict[str, int]] = field(default_factory=dict)
    strings: dict[str, dict[str, str]] = field(default_factory=dict)

    @cached_property
    def signatures(self) -> dict[str, dict[str, Signature]]:
        """Signatures of all functions by binary and name."""
        found: dict[str, dict[str, Signature]] = {}
        for body in self.bodies:
            signature = _signature(body)
            if signature is not None:
                found.setdefault(body.binary, {})[body.function] = signature
        return found

    @cached_property
    def data_names(self) -> dict[str, list[str]]:
        """Names used in a binary's bodies that are symbols but no functions, sorted."""
        found: dict[str, set[str]] = {}
        for body in self.bodies:
            known = self.addresses.get(body.binary, {})
            found.setdefault(body.binary, set()).update(
                name for name in uses(body.text) if name.startswith("D_") or name in known
            )
        return {
            binary: sorted(names - self.signatures.get(binary, {}).keys() - self.signatures.get(_RESIDENT, {}).keys())
            for binary, names in found.items()
        }

    @cached_property
    def literals(self) -> dict[tuple[str, str], list[tuple[str, str]]]:
        """(function, literal) of each string written in a TU, by (binary, TU)."""
        found: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for body in self.bodies:
            for node in walk(parse(body.text)):
                if node.type == "string_literal":
                    found.setdefault((body.binary, body.tu), []).append((body.function, node_text(node)))
        return found

    def unit_names(self, body: Body) -> list[str]:
        """Names used by the bodies of the same TU, which its headers or its text therefore declare; sorted."""
        return self._unit_names[body.binary, body.tu]

    @cached_property
    def _unit_names(self) -> dict[tuple[str, str], list[str]]:
        found: dict[tuple[str, str], set[str]] = {}
        for body in self.bodies:
            found.setdefault((body.binary, body.tu), set()).update(uses(body.text))
        return {unit: sorted(names) for unit, names in found.items()}

    def callees(self, binary: str) -> dict[str, Signature]:
        """Functions a body of `binary` may call: its own and the resident ones."""
        return {**self.signatures.get(_RESIDENT, {}), **self.signatures.get(binary, {})}

    def address(self, binary: str, name: str) -> int | None:
        """Address of a named symbol as seen from `binary`."""
        for owner in (binary, _RESIDENT):
            if name in self.addresses.get(owner, {}):
                return self.addresses[owner][name]
        return None


def load_corpus(dest: Path) -> Corpus:
    """The corpus of a forged game in `dest` (docs/forge.md). Raises OSError and msgspec.DecodeError."""
    document = msgspec.json.decode((dest / "truth.json").read_bytes(), type=dict[str, msgspec.Raw])
    entries = msgspec.json.decode(document["functions"], type=list[Body])
    bodies = tuple(msgspec.structs.replace(body, text=(dest / body.file).read_text()) for body in entries)
    addresses: dict[str, dict[str, int]] = {}
    strings: dict[str, dict[str, str]] = {}
    project = dest / "project"
    for path in sorted(project.glob("config/*/symbol_addrs.txt")):
        symbols = _SYMBOL.findall(path.read_text())
        addresses[path.parent.name] = {name: int(address, 16) for name, address in symbols}
    for folder in sorted(project.glob("asm/*")):
        for path in sorted(folder.rglob("*.s")):
            strings.setdefault(folder.name, {}).update(_STRING.findall(path.read_text()))
    for body in bodies:
        addresses.setdefault(body.binary, {}).setdefault(body.function, body.address)
    return Corpus(bodies, addresses, strings)


def definition(root: Node) -> Node | None:
    """The function definition of a body."""
    return next((node for node in root.children if node.type == "function_definition"), None)


def declarations(root: Node) -> dict[str, Node]:
    """Declarations beside the function, by the name they declare."""
    found: dict[str, Node] = {}
    for node in root.children:
        if node.type == "declaration":
            for declarator in node.children_by_field_name("declarator"):
                name = declared_node(declarator)
                if name is not None:
                    found[node_text(name)] = node
    return found


def _signature(body: Body) -> Signature | None:
    node = definition(parse(body.text))
    if node is None:
        return None
    declarator = node.child_by_field_name("declarator")
    pointer = False
    while declarator is not None and declarator.type != "function_declarator":
        pointer = pointer or declarator.type == "pointer_declarator"
        declarator = declarator.child_by_field_name("declarator")
    if declarator is None:
        return None
    parameters = declarator.child_by_field_name("parameters")
    type_ = node.child_by_field_name("type")
    if parameters is None or type_ is None:
        return None
    listed = [child for child in parameters.named_children if child.type == "parameter_declaration"]
    count = 0 if [node_text(child) for child in listed] == ["void"] else len(listed)
    return Signature(pointer or node_text(type_) != "void", count)
