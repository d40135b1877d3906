"""Updates that forget: a function's state begins anew where the tensor that it updates goes on.

    new = optim.adam(w, g, k)
    w[e, k+1] = new                    w[e, k] = new[e, k-1] when k >= 1
    w[e+1, 0] = new[e, K-1]      or    w[e, 0] = new[e-1, K-1] when e >= 1

The state of `adam` has a first point in each `e`, at `k = 0`, since it was given `k` alone. Given
`e` alone it would have one for each `k`.

An update is made of a gradient. Cells in layers, each with a state of its own, may well hand their
values from one to the next.
"""

from __future__ import annotations

from collections.abc import Iterator

from tempoc.diagnostics.diagnostic import Diagnostic
from tempoc.frontend.environment.indexed_tensor import IndexedTensor, Placement
from tempoc.frontend.environment.round import Round
from tempoc.frontend.environment.scope import Scope, TensorName
from tempoc.frontend.environment.values import Closure
from tempoc.frontend.errors import domains as domain_errors
from tempoc.frontend.syntax import ast
from tempoc.frontend.syntax.parse import children
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols


def restarted(round: Round, scope: Scope) -> Iterator[Diagnostic]:
    """The errors of a program's updates."""
    cells = list(round.cells.values())
    for cell in cells:
        if len(cell.key) > 1 or len(cell.plan.dims) < 2:
            continue
        for start in cell.plan.placements:
            for outer, inner in _goes_on(round, cell, start):
                for call in _updates(scope, cell, inner, start):
                    given = [d for d in (inner, outer) if any(_has(x, call, d) for x in cells)]
                    if given:
                        dims = outer, inner, round.universe.dim(inner).bound
                        function, goes_on = call.function.span.text, start.target.span
                        yield domain_errors.restarted_state(
                            call.span, function, cell.name, dims, given[0], goes_on
                        )
                        return


def _goes_on(round: Round, cell: IndexedTensor, place: Placement) -> Iterator[tuple[str, str]]:
    """The dimensions `e, k` of an equation for `w[e+1, 0]`, or for `w[e, 0]` of what is read at
    `e-1`."""
    for outer in cell.plan.dims:
        if _is_next(cell, place, outer):
            for inner in cell.plan.dims:
                if not any(round.universe.is_dim(n) for n in symbols(place.entries[inner])):
                    yield outer, inner


def _is_next(cell: IndexedTensor, place: Placement, dim: str) -> bool:
    """Whether an equation takes a value over from one step along a dimension to the next."""
    if place.entries[dim] == ix.add(ix.Sym(dim), ix.ONE):
        return True
    value = place.equation.values[0]
    if place.entries[dim] != ix.Sym(dim) or not isinstance(value, ast.Access):
        return False
    at = cell.plan.dims.index(dim)
    named = [e for e in value.entries if e.name is not None]
    mine = [e for e in named if e.name is not None and e.name.name == dim]
    entries = mine if named else value.entries[at : at + 1]
    entry = entries[0].value if entries else None
    return (
        isinstance(entry, ast.Binary)
        and (entry.op, _name(entry.left)) == ("-", dim)
        and isinstance(entry.right, ast.NumberExpr)
        and entry.right.value == 1
    )


def _updates(
    scope: Scope, cell: IndexedTensor, inner: str, start: Placement
) -> Iterator[ast.CallExpr]:
    """The calls, of the tensor itself, whose result is both its next point and where it goes on."""
    goes_on = _base(start.equation.values[-1])
    for place in cell.plan.placements:
        if len(place.equation.values) != 1 or not _is_next(cell, place, inner):
            continue
        value = _base(place.equation.values[0])
        if not isinstance(goes_on, ast.Name) or goes_on.name not in (cell.name, _name(value)):
            continue
        made = scope.find(_name(value))
        if isinstance(made, TensorName) and made.kind == "plain":
            value = made.equations[0].values[0]
        if isinstance(value, ast.CallExpr):
            given = (*value.args, *(a.value for a in value.kwargs))
            if any(_name(a) == cell.name for a in given) and _has_gradient(scope, value, cell.name):
                yield value


def _has_gradient(scope: Scope, call: ast.CallExpr, tensor: str) -> bool:
    """Whether a call is given a gradient of a tensor, or its function takes one."""
    seen = {tensor}
    worklist: list[tuple[ast.SyntaxNode, bool]] = [(call, False)]
    while worklist:
        node, inside = worklist.pop()
        if isinstance(node, ast.CallExpr) and _name(node.function) == "grad":
            of = (*node.args[1:], *(a.value for a in node.kwargs if a.name.name == "x"))
            if inside or any(_root(x) == tensor for x in of):
                return True
        worklist += [(child, inside) for child in children(node)]
        name = "" if inside else _name(node)
        made = None if name in seen else scope.find(name)
        seen.add(name)
        if isinstance(made, TensorName):
            worklist += [(value, False) for e in made.equations for value in e.values]
        elif isinstance(made, Closure):
            worklist.append((made.definition, True))
    return False


def _root(value: object) -> str:
    """The tensor of `net`, `net[i]` or `net.w`."""
    while isinstance(value, ast.Access | ast.Field):
        value = value.base
    return _name(value)


def _base(value: object) -> object:
    """What is read, without where."""
    return value.base if isinstance(value, ast.Access) else value


def _name(e: object) -> str:
    return e.name if isinstance(e, ast.Name) else ""


def _has(state: IndexedTensor, call: ast.CallExpr, dim: str) -> bool:
    """Whether a tensor is state of the call, along this one dimension."""
    calls = state.origin.calls
    return (
        bool(calls)
        and calls[0].span == call.span
        and state.plan.dims == (dim,)
        and len(state.plan.placements) > 1
    )
