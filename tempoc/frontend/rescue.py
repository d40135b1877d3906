"""What can still be checked of a file with mistakes that spoil single statements only.

The statements at fault are left out, and so are the other equations of their tensors; the names
that go missing with them are kept, so that nobody is told that they are unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tempoc.base.diagnostics import Diagnostic
from tempoc.frontend import ast

SMALL = ("RT008", "RT010", "RT012")
"""Codes of mistakes that the parser sees in statements whose extent and names are clear."""


def rescue(tree: ast.Module, errors: Sequence[Diagnostic]) -> ast.Module | None:
    """The tree without what is at fault; None if more than single statements is."""
    faulty: list[ast.Item] = []
    for error in errors:
        found = _item(tree, error)
        if error.code not in SMALL or found is None:
            return None
        faulty.append(found)
    lost: dict[str, None] = dict.fromkeys(n for item in faulty for n in _names(item))
    kept = [item for item in tree.items if not any(item is f for f in faulty)]
    while True:
        spoiled = [item for item in kept if any(n in lost for n in _names(item))]
        if not spoiled:
            break
        lost |= dict.fromkeys(n for item in spoiled for n in _names(item))
        kept = [item for item in kept if not any(item is s for s in spoiled)]
    return replace(tree, items=(*kept, ast.Lost(span=tree.span, names=tuple(lost))))


def _item(tree: ast.Module, error: Diagnostic) -> ast.Item | None:
    if error.primary is None:
        return None
    place = error.primary.span.start
    for item in tree.items:
        if item.span.start <= place < item.span.end:
            whole = isinstance(item, ast.Equation | ast.Input | ast.Param | ast.Output)
            return item if whole else None
    return None


def _names(item: ast.Item) -> tuple[str, ...]:
    match item:
        case ast.Equation(targets=targets):
            return tuple(t.name.name for t in targets)
        case ast.Input(name=name) | ast.Param(name=name):
            return (name.name,)
        case _:
            return ()
