"""Syntax trees of programs, changed and written again: for the reducer and for neutral changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.diagnostics.source import Source
from tempoc.frontend.format.format import format_module
from tempoc.frontend.syntax import ast
from tempoc.frontend.syntax.parse import parse

Path = tuple[tuple[str, int], ...]
"""From the root: the name of a field, and the place in it, or -1 where it holds one node."""


def tree_of(text: str) -> ast.Module:
    """The tree of a program without its comments: statements that hold some keep their text."""
    return parse(Source("m.rt", re.sub(r'[ \t]*#[^"\n]*$', "", text, flags=re.MULTILINE)))


def text_of(module: ast.Module) -> str | None:
    """The text of a tree, or None where it is none that can be written."""
    try:
        # One by one: the formatter writes statements in the order of their places in the source.
        text = "".join(format_module(replace(module, items=(i,), doc=None)) for i in module.items)
        parse(Source("m.rt", text))
    except (DiagnosticError, AssertionError, AttributeError, TypeError):
        return None
    return text


def nodes(node: ast.SyntaxNode, path: Path = ()) -> Iterator[tuple[Path, ast.SyntaxNode]]:
    """A node and all below it, with their places."""
    yield path, node
    for name, value in parts(node):
        if isinstance(value, ast.SyntaxNode):
            yield from nodes(value, (*path, (name, -1)))
        elif isinstance(value, tuple):
            for at, part in enumerate(value):
                if isinstance(part, ast.SyntaxNode):
                    yield from nodes(part, (*path, (name, at)))


def parts(node: ast.SyntaxNode) -> list[tuple[str, Any]]:
    """The fields of a node."""
    return [(f.name, getattr(node, f.name)) for f in fields(node) if f.name != "span"]


def put(node: Any, path: Path, new: ast.SyntaxNode | None) -> Any:
    """The tree with another node at a place; None takes it out."""
    if not path:
        return new
    (name, at), rest = path[0], path[1:]
    value = getattr(node, name)
    if at < 0:
        return replace(node, **{name: put(value, rest, new)})
    below = put(value[at], rest, new)
    whole = (*value[:at], *(() if below is None else (below,)), *value[at + 1 :])
    return replace(node, **{name: whole})


def rewrite(node: Any, change: Callable[[Any], Any]) -> Any:
    """The tree with each node changed, from below."""
    updates: dict[str, Any] = {}
    for name, value in parts(node):
        if isinstance(value, ast.SyntaxNode):
            updates[name] = rewrite(value, change)
        elif isinstance(value, tuple):
            updates[name] = tuple(
                rewrite(part, change) if isinstance(part, ast.SyntaxNode) else part
                for part in value
            )
    return change(replace(node, **updates))
