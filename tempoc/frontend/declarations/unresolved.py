"""Unresolved names in code that is never elaborated.

Functions are elaborated only where they are called, and of a choice by constants only one side is,
but unresolved names are errors everywhere. Only names are checked here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tempoc.diagnostics.diagnostic import Diagnostic
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.scope import Scope, nearest
from tempoc.frontend.errors import domains as domain_errors, names as name_errors
from tempoc.frontend.syntax import ast
from tempoc.frontend.syntax.casts import extents
from tempoc.frontend.syntax.parse import children

NameSet = frozenset[str]


def in_functions(scope: Scope) -> Iterator[Diagnostic]:
    """The unresolved names in the functions of a file."""
    for value in scope.names.values():
        if isinstance(value, val.Closure) and value.scope is scope:
            yield from _unknown(scope, value.definition)


def in_equations(scope: Scope, items: Iterable[ast.Item]) -> Iterator[Diagnostic]:
    """The unresolved names in the equations of a program."""
    for item in items:
        if isinstance(item, ast.Equation):
            yield from _unknown(scope, item)


def _unknown(scope: Scope, item: ast.Def | ast.Equation) -> Iterator[Diagnostic]:
    worklist: list[tuple[ast.SyntaxNode, NameSet]] = [(item, frozenset(_bound_names(item)))]
    while worklist:
        node, local = worklist.pop()
        diagnostic = _name_error(scope, node, local)
        if diagnostic is not None:
            yield diagnostic
        nodes = children(node)
        match node:
            case ast.ForLoop(name=name, over=over) | ast.ListComp(name=name, over=over):
                loop_names = local | {name.name}
                worklist += [(part, local if part is over else loop_names) for part in nodes]
            case ast.CallExpr(function=ast.Name() as function) if diagnostic is not None:
                worklist += [(part, local) for part in nodes if part is not function]
            case _:
                worklist += [(part, local) for part in nodes]


def _bound_names(item: ast.Def | ast.Equation) -> Iterator[str]:
    """The names bound by a function: parameters and their extents, targets, extents of `as`."""
    worklist: list[ast.SyntaxNode] = [item]
    while worklist:
        node = worklist.pop()
        worklist += children(node)
        match node:
            case ast.DefParam(name=name, type=type):
                yield name.name
                yield from () if type is None else (e.name for e in extents(type))
            case ast.EquationTarget(name=name):
                yield name.name
            case ast.AsType(type=type):
                yield from (e.name for e in extents(type))
            case _:
                pass


def _name_error(scope: Scope, node: ast.SyntaxNode, local: NameSet) -> Diagnostic | None:
    """The error for an unresolved name; None if the node has none."""

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
            if isinstance(package, val.Package) and member not in package.scope.names:
                near = nearest(member, iter(package.scope.names))
                return name_errors.unknown_member(node.name_span, package.name, member, near)
    return None
