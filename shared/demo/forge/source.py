"""Reads one C file into items: what a project keeps, what becomes a stub, what becomes assembly data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tree_sitter import Node

from shared.demo.forge.snippet import (
    declared_node,
    decode_literal,
    node_text,
    parse,
    rename,
    storage,
    walk,
    without_storage,
)
from shared.errors import ConfigError

BLOCK = "NON_MATCHING"
"""The one file-scope conditional that may hold code: `#ifdef NON_MATCHING` draft `#else` truth `#endif`."""


@dataclass(frozen=True)
class Kept:
    """Text that stays in the project's TU: includes, macros, types."""

    text: str


@dataclass(frozen=True)
class Declaration:
    """A prototype or `extern` of one name."""

    name: str
    text: str


@dataclass(frozen=True)
class Variable:
    """A data definition; `extern` is its declaration. `owner` is the function of a local static, else empty."""

    name: str
    text: str
    extern: str
    static: bool
    owner: str = ""


@dataclass(frozen=True)
class Function:
    """A function definition without `static` and `inline`. `alternative` is the NON_MATCHING side of its block."""

    name: str
    text: str
    prototype: str
    static: bool
    alternative: str = ""


Item = Kept | Declaration | Variable | Function


def read_items(text: str, path: Path) -> list[Item]:
    """The items of a C file in order. Raises ConfigError with file and line for what the forge cannot carry."""
    root = parse(text)
    items: list[Item] = []
    for node in root.children:
        items += _items(node, path)
    return items


def read_source(path: Path) -> str:
    """The text of a C file. Raises ConfigError when it is not UTF-8, or cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError("is not UTF-8 text; convert it, e.g. with iconv", path) from error
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", path) from error


def header_names(folder: Path) -> frozenset[str]:
    """Names declared at file scope by the headers of a folder: the symbols that keep their names."""
    names: set[str] = set()
    for header in sorted(folder.rglob("*.h")):
        stack = list(parse(read_source(header)).children)
        while stack:
            node = stack.pop()
            if node.type == "declaration":
                names |= {node_text(identifier) for _, identifier in _declarators(node)}
            elif node.type.startswith("preproc_") or node.type == "linkage_specification":
                stack += node.children
    return frozenset(names)


def _items(node: Node, path: Path) -> list[Item]:
    kind = node.type
    if kind in ("comment", ";"):
        return []
    if kind in ("preproc_ifdef", "preproc_if"):
        return _conditional(node, path)
    if node.has_error:
        raise ConfigError("this cannot be read as C; try `preprocess = true` (docs/forge.md)", path, _line(node))
    if kind == "function_definition":
        return _function(node, path)
    if kind == "declaration":
        return _declaration(node, path)
    end = ";" if kind.endswith("_specifier") else ""
    return [Kept(node_text(node).strip() + end)]


def _line(node: Node) -> int:
    return node.start_point[0] + 1


def _conditional(node: Node, path: Path) -> list[Item]:
    code = [n for n in walk(node) if n.type in ("function_definition", "declaration")]
    if not code:
        return [Kept(node_text(node).strip())]
    name = node.child_by_field_name("name")
    other = node.child_by_field_name("alternative")
    if name is not None and node_text(name) == BLOCK and other is not None and other.type == "preproc_else":
        first = [n for n in node.children if n.type == "function_definition"]
        second = [n for n in other.children if n.type == "function_definition"]
        if len(first) == len(second) == 1 and len([n for n in code if n.parent in (node, other)]) == 2:
            items = _function(second[0], path)
            true = items[-1]
            assert isinstance(true, Function)
            inner = node.text or b""
            start = name.end_byte - node.start_byte
            alternative = inner[start : other.start_byte - node.start_byte].decode().strip()
            items[-1] = Function(true.name, true.text, true.prototype, true.static, alternative)
            return items
    raise ConfigError(
        f"a file-scope conditional may hold code only as #ifdef {BLOCK} / #else around one function; "
        "`preprocess = true` resolves others (docs/forge.md)",
        path,
        _line(node),
    )


def _function(node: Node, path: Path) -> list[Item]:
    found = declared_node(node)
    body = node.child_by_field_name("body")
    if found is None or body is None or any(c.type == "declaration" for c in node.children):
        raise ConfigError("this function definition is in a form the forge does not read", path, _line(node))
    name = node_text(found)
    statics = [n for n in walk(body) if n.type == "declaration" and "static" in storage(n)]
    types = [n for n in walk(body) if n.type == "type_definition"] if statics else []
    cut = [(node.start_byte, node.end_byte) for node in [*statics, *types]]
    found_types = [d for t in types for d in t.children_by_field_name("declarator") if d.type == "type_identifier"]
    renames = {node_text(d): f"{name}__{node_text(d)}" for d in found_types}
    moved: list[Item] = [Kept(node_text(definition)) for definition in types]
    for inner in statics:
        moved += _declaration(inner, path, name)
    renames |= {item.name: f"{name}__{item.name}" for item in moved if isinstance(item, Variable)}
    moved = [_renamed(item, renames) for item in moved]
    text = without_storage(node, ("static", "inline", "__inline", "__inline__", "extern"), cut)
    text = rename(text, renames) if renames else text
    whole = without_storage(node, ("static", "inline", "__inline", "__inline__", "extern"), [])
    head = whole[: whole.rindex(node_text(body))]
    # A static prototype's attributes after the declarator (noinline...) are part of the head and stay.
    return [*moved, Function(name, text, " ".join(head.split()) + ";", "static" in storage(node))]


def _renamed(item: Item, renames: dict[str, str]) -> Item:
    if isinstance(item, Variable):
        name = renames[item.name]
        return Variable(name, rename(item.text, renames), rename(item.extern, renames), True, item.owner)
    return Kept(rename(item.text, renames))


def _declaration(node: Node, path: Path, owner: str = "") -> list[Item]:
    kind = storage(node)
    declarators = _declarators(node)
    items: list[Item] = []
    specifiers = without_storage(node, ("static", "inline", "__inline", "__inline__", "extern"), [], specifiers=True)
    aggregate = next(
        (c for c in node.children if c.type in ("struct_specifier", "union_specifier", "enum_specifier")), None
    )
    if aggregate is not None and aggregate.child_by_field_name("body") is not None:
        if not declarators:
            return [Kept(node_text(node).strip())]
        definition = node_text(aggregate)
        word = definition.split(None, 1)[0].rstrip("{")
        tag = aggregate.child_by_field_name("name")
        tagged = f"{word} {node_text(tag) if tag is not None else node_text(declarators[0][1]) + '_s'}"
        items.append(Kept(definition.replace(word, tagged, 1) + ";" if tag is None else definition + ";"))
        specifiers = specifiers.replace(definition, tagged, 1)
    if not declarators:
        return [*items, Kept(node_text(node).strip())]
    for declarator, identifier in declarators:
        name = node_text(identifier)
        bare = declarator.child_by_field_name("declarator") if declarator.type == "init_declarator" else declarator
        assert bare is not None
        if _is_function(bare, identifier) or "extern" in kind:
            prefix = "" if _is_function(bare, identifier) else "extern "
            items.append(Declaration(name, f"{prefix}{specifiers} {node_text(bare)};"))
            continue
        extern = f"extern {specifiers} {_bounded(declarator, bare, path)};"
        items.append(Variable(name, f"{specifiers} {node_text(declarator)};", extern, "static" in kind, owner))
    return items


def _declarators(node: Node) -> list[tuple[Node, Node]]:
    found = []
    for child in node.children_by_field_name("declarator"):
        identifier = declared_node(child)
        if identifier is not None:
            found.append((child, identifier))
    return found


def _is_function(declarator: Node, identifier: Node) -> bool:
    parent = identifier.parent
    while parent is not None and parent.type in ("parenthesized_declarator", "attributed_declarator"):
        parent = parent.parent
    return (
        parent is not None
        and parent.type == "function_declarator"
        and declarator.start_byte <= parent.start_byte < parent.end_byte <= declarator.end_byte
    )


def _bounded(declarator: Node, bare: Node, path: Path) -> str:
    """The declarator with the bound an initializer gives: a small array must stay small for -G."""
    text = node_text(bare)
    if declarator.type != "init_declarator" or "[]" not in text:
        return text
    value = declarator.child_by_field_name("value")
    if value is None or value.type != "initializer_list":
        count = len(decode_literal(value) or b"") + 1 if value is not None else 0
    else:
        entries = [c for c in value.children if c.is_named and c.type != "comment"]
        if any(c.type == "initializer_pair" for c in entries):
            raise ConfigError("an array with designators needs its bound written out", path, _line(declarator))
        count = len(entries)
    return text.replace("[]", f"[{count}]", 1)


def project_items(items: list[Item], named: frozenset[str]) -> Iterator[str]:
    """What a project's TU keeps: types, macros, includes, and declarations of names that stay."""
    for item in items:
        if isinstance(item, Kept) or (isinstance(item, Declaration) and item.name in named):
            yield item.text
