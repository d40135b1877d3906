"""Updates that forget: a function's state begins anew where the tensor that it updates goes on.

    new = optim.adam(w, g, k)
    w[e, k+1] = new
    w[e+1, 0] = new[e, K-1]

The state of `adam` has a first point in each `e`, at `k = 0`, since it was given `k` alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from tempoc.diagnostics.diagnostic import Diagnostic
from tempoc.frontend.environment.indexed_tensor import IndexedTensor, Placement
from tempoc.frontend.environment.round import Round
from tempoc.frontend.environment.scope import Scope, TensorName
from tempoc.frontend.errors import domains as domain_errors
from tempoc.frontend.syntax import ast
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
                    if any(_forgets(state, call, inner) for state in cells):
                        dims = outer, inner, round.universe.dim(inner).bound
                        yield domain_errors.restarted_state(
                            call.span, call.function.span.text, cell.name, dims, start.target.span
                        )
                        return


def _goes_on(round: Round, cell: IndexedTensor, place: Placement) -> Iterator[tuple[str, str]]:
    """The dimensions `e, k` of an equation for `w[e+1, 0]`."""
    for outer in cell.plan.dims:
        if place.entries[outer] == ix.add(ix.Sym(outer), ix.ONE):
            for inner in cell.plan.dims:
                if not any(round.universe.is_dim(n) for n in symbols(place.entries[inner])):
                    yield outer, inner


def _updates(
    scope: Scope, cell: IndexedTensor, inner: str, start: Placement
) -> Iterator[ast.CallExpr]:
    """The calls, of the tensor itself, whose result is both its next point and where it goes on."""
    following = ix.add(ix.Sym(inner), ix.ONE)
    last = start.equation.values[0]
    goes_on = last.base if isinstance(last, ast.Access) else last
    for place in cell.plan.placements:
        if place.entries[inner] != following or len(place.equation.values) != 1:
            continue
        value: object = place.equation.values[0]
        if not isinstance(goes_on, ast.Name) or goes_on.name not in (cell.name, _name(value)):
            continue
        made = scope.find(_name(value))
        if isinstance(made, TensorName) and made.kind == "plain":
            value = made.equations[0].values[0]
        if isinstance(value, ast.CallExpr):
            given = (*value.args, *(a.value for a in value.kwargs))
            if any(_name(a) == cell.name for a in given):
                yield value


def _name(e: object) -> str:
    return e.name if isinstance(e, ast.Name) else ""


def _forgets(state: IndexedTensor, call: ast.CallExpr, inner: str) -> bool:
    """Whether a tensor is state of the call, along this one dimension."""
    calls = state.origin.calls
    return (
        bool(calls)
        and calls[0].span == call.span
        and state.plan.dims == (inner,)
        and len(state.plan.placements) > 1
    )
