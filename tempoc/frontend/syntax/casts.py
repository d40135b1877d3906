"""The names that casts introduce: `k` in `x as f32[k]`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tempoc.frontend.syntax import ast
from tempoc.frontend.syntax.parse import children


def extents(e: ast.TypeExpr) -> Iterator[ast.Name]:
    """The names that are extents of a type by themselves."""
    yield from (x for x in type_extents(e) if isinstance(x, ast.Name))


def type_extents(e: ast.TypeExpr) -> Iterator[ast.Expression]:
    """The extents of a type, of a record those of its fields."""
    if isinstance(e, ast.RecordType):
        for f in e.fields:
            yield from type_extents(f.type)
        return
    yield from e.extents


def casts(e: ast.Expression) -> Iterator[ast.AsType]:
    """The casts in an expression, in no particular order."""
    if " as " not in e.span.text:
        return
    worklist: list[ast.SyntaxNode] = [e]
    while worklist:
        node = worklist.pop()
        worklist.extend(children(node))
        if isinstance(node, ast.AsType):
            yield node


def cast_names(
    statements: Iterable[ast.SyntaxNode],
) -> dict[str, tuple[ast.Equation | ast.Return, ...]]:
    """The names that equations and `return` may introduce by casts, with those that do."""
    names: dict[str, list[ast.Equation | ast.Return]] = {}
    for s in statements:
        if isinstance(s, ast.Equation | ast.Return):
            own = {x.name: True for e in s.values for cast in casts(e) for x in extents(cast.type)}
            for name in sorted(own):
                names.setdefault(name, []).append(s)
    return {name: tuple(statements) for name, statements in names.items()}
