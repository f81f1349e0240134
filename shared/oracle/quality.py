"""Which of several agreeing drafts is the best to keep.

The gate takes the one with the fewest added declarations, then the least ugly, then the first seen.
"""

from __future__ import annotations

from collections.abc import Iterator

import tree_sitter_c
from tree_sitter import Language, Node, Parser

_PARSER = Parser(Language(tree_sitter_c.language()))
_DECLARATIONS = frozenset(
    ("declaration", "type_definition", "struct_specifier", "union_specifier", "enum_specifier", "preproc_include")
)


def rank(text: bytes) -> tuple[int, int]:
    """Sort key of an accepted draft: (added declarations, ugliness), less is better."""
    root = _PARSER.parse(text).root_node
    return _added(root), _ugliness(root)


def added_declarations(text: bytes) -> int:
    """Names an accepted draft declares beside its function, at file scope or by `extern` and prototypes inside it.

    `extern s32 a, b;` counts two; a type definition and an `#include` count one each.
    """
    return _added(_PARSER.parse(text).root_node)


def ugliness(text: bytes) -> int:
    """Gotos, asm (pins and barriers), `volatile` and raw offset casts like `*(s32 *)((u8 *)p + 0x10)`, one each."""
    return _ugliness(_PARSER.parse(text).root_node)


def _added(root: Node) -> int:
    count = 0
    for node in root.children:
        if node.type in _DECLARATIONS:
            count += max(1, len(node.children_by_field_name("declarator")))
        elif node.type == "function_definition":
            count += sum(_names_declared_outside(inner) for inner in _walk(node) if inner.type == "declaration")
    return count


def _names_declared_outside(declaration: Node) -> int:
    """How many names of a declaration inside the function are defined elsewhere."""
    declarators = declaration.children_by_field_name("declarator")
    if any(node.type == "storage_class_specifier" and node.text == b"extern" for node in declaration.children):
        return len(declarators)
    return sum(_is_prototype(node) for node in declarators)


def _is_prototype(declarator: Node | None) -> bool:
    """True for `f(...)` and `*f(...)`, false for `(*f)(...)`."""
    while declarator is not None and declarator.type == "pointer_declarator":
        declarator = declarator.child_by_field_name("declarator")
    if declarator is None or declarator.type != "function_declarator":
        return False
    inner = declarator.child_by_field_name("declarator")
    return inner is not None and inner.type == "identifier"


def _ugliness(root: Node) -> int:
    count = 0
    for node in _walk(root):
        kind = node.type
        if kind in ("goto_statement", "gnu_asm_expression"):
            count += 1
        elif kind == "type_qualifier":
            count += node.text in (b"volatile", b"__volatile", b"__volatile__")
        elif kind == "cast_expression":
            count += _is_raw_offset(node)
    return count


def _is_raw_offset(cast: Node) -> bool:
    """True for a cast to a pointer of a sum in brackets."""
    type_ = cast.child_by_field_name("type")
    value = cast.child_by_field_name("value")
    if type_ is None or value is None or value.type != "parenthesized_expression":
        return False
    declarator = type_.child_by_field_name("declarator")
    while value is not None and value.type == "parenthesized_expression":
        value = next(iter(value.named_children), None)
    return (
        declarator is not None
        and declarator.type == "abstract_pointer_declarator"
        and value is not None
        and value.type == "binary_expression"
        and any(child.type in ("+", "-") for child in value.children)
    )


def _walk(root: Node) -> Iterator[Node]:
    """All nodes below `root`, without recursion: nesting is the draft's choice."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node.children)
