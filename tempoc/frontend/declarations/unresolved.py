"""Names that exist nowhere, also in what no call and no choice ever reaches.

A function is looked at where it is called, and of a choice by constants only one side is. A name
that is misspelt is a mistake all the same. Only names are looked for here: what they may be used
for is known where they are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tempoc.base.diagnostics import Diagnostic
from tempoc.frontend.environment.scope import Scope, nearest
from tempoc.frontend.environment.values import Closure, Package
from tempoc.frontend.errors import domains as domain_errors
from tempoc.frontend.errors import names as name_errors
from tempoc.frontend.syntax import ast
from tempoc.frontend.syntax.parse import children

NameSet = frozenset[str]


def in_functions(scope: Scope) -> Iterator[Diagnostic]:
    """What is unknown in the functions of a file."""
    for value in scope.names.values():
        if isinstance(value, Closure) and value.scope is scope:
            yield from _unknown(scope, value.definition)


def in_equations(scope: Scope, items: Iterable[ast.Item]) -> Iterator[Diagnostic]:
    """What is unknown in the equations of a program."""
    for item in items:
        if isinstance(item, ast.Equation):
            yield from _unknown(scope, item)


def _unknown(scope: Scope, item: ast.Def | ast.Equation) -> Iterator[Diagnostic]:
    waiting: list[tuple[ast.SyntaxNode, NameSet]] = [(item, frozenset(_own(item)))]
    while waiting:
        node, local = waiting.pop()
        found = _problem(scope, node, local)
        if found is not None:
            yield found
        inside = children(node)
        match node:
            case ast.ForLoop(name=name, over=over) | ast.ListComp(name=name, over=over):
                turn = local | {name.name}
                waiting += [(part, local if part is over else turn) for part in inside]
            case ast.CallExpr(function=ast.Name() as function) if found is not None:
                waiting += [(part, local) for part in inside if part is not function]
            case _:
                waiting += [(part, local) for part in inside]


def _own(item: ast.Def | ast.Equation) -> Iterator[str]:
    """The names that a function, or an equation with `as`, makes itself."""
    waiting: list[ast.SyntaxNode] = [item]
    while waiting:
        node = waiting.pop()
        waiting += children(node)
        match node:
            case ast.DefParam(name=name) | ast.EquationTarget(name=name):
                yield name.name
            case ast.AsType(type=type):
                yield from _extents(type)
            case _:
                pass


def _extents(type: ast.TypeExpr) -> Iterator[str]:
    """The names for which an `as` finds an extent, if there is nothing else of that name."""
    if isinstance(type, ast.RecordType):
        for f in type.fields:
            yield from _extents(f.type)
        return
    yield from (e.name for e in type.extents if isinstance(e, ast.Name))


def _problem(scope: Scope, node: ast.SyntaxNode, local: NameSet) -> Diagnostic | None:
    """What is wrong with a name that stands here."""

    def missing(name: str) -> bool:
        return name not in local and scope.find(name) is None

    def close(name: str) -> str | None:
        return nearest(name, iter((*sorted(local), *scope.visible())))

    match node:
        case ast.CallExpr(function=ast.Name(name=name, span=span)) if missing(name):
            return name_errors.unknown_function(span, name, close(name))
        case ast.Name(name=name, span=span) if missing(name):
            return name_errors.unknown_name(span, name, close(name))
        case ast.BracketEntry(name=ast.Ident(name=name, span=span)) if missing(name):
            return domain_errors.not_a_dimension(span, name, close(name))
        case ast.Field(base=ast.Name(name=name), name=member) if name not in local:
            package = scope.find(name)
            if isinstance(package, Package) and member not in package.scope.names:
                near = nearest(member, iter(package.scope.names))
                return name_errors.unknown_member(node.name_span, package.name, member, near)
    return None
