"""`dim t < T until stop`: `Until` nodes, and the dimensions over which lengths vary."""

from __future__ import annotations

from dataclasses import replace

from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.draft_node import Draft, DraftOrigin
from tempoc.frontend.environment.failure import Failure, StillUnknown
from tempoc.frontend.environment.indexed_tensor import IndexedTensor
from tempoc.frontend.environment.round import Frame, Round
from tempoc.frontend.environment.scope import Scope, TensorName
from tempoc.frontend.errors import lengths as ending_errors
from tempoc.frontend.expressions import apply_operator as apply
from tempoc.frontend.syntax import ast
from tempoc.ops.control.until import Until
from tempoc.ops.definition.types import DType
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Bound, Dim, Universe


def elaborate_lengths(round: Round, top: Frame, main: ast.Module) -> None:
    """Add the `Until` nodes to the round, and the outer dimensions of lengths to `round.outer`."""
    for item in main.items:
        if isinstance(item, ast.DimDecl) and item.until is not None:
            try:
                _elaborate_length(round, top, item, item.until)
            except Failure as problem:
                round.report(problem.diagnostic)
            except StillUnknown:
                continue


def _elaborate_length(round: Round, top: Frame, item: ast.DimDecl, until: ast.Ident) -> None:
    name, span, dim, bound = until.name, until.span, item.name.name, item.bound.name
    binding = top.scope.find(name)
    frame = Frame(
        scope=Scope("loop", parent=top.scope),
        path=("until", item.span.start),
        prefix=f"{name}.until",
        origin=DraftOrigin(span=span),
    )
    value = round.evaluate(frame, ast.Name(span=span, name=name))
    if isinstance(value, val.Unknown):
        return
    if not isinstance(binding, TensorName | IndexedTensor) or not isinstance(value, val.Ref):
        raise Failure(ending_errors.no_tensor(span, name, val.describe(value)))
    ref = value
    if ref.type.dtype is not DType.BOOL or ref.type.shape:
        raise Failure(ending_errors.wrong_type(span, name, ref.type))
    dims = val.dims_of(ref, round.universe)
    if dim not in dims:
        raise Failure(ending_errors.does_not_vary(span, name, dim, dims))
    order = [d.name for d in round.universe.dims]
    for other in dims:
        if order.index(other) > order.index(dim):
            raise Failure(ending_errors.declared_later(span, dim, other, name))
    for other in dims:
        roots = round.universe.roots(round.universe.dim(other).bound)
        if other != dim and any(b.name == bound for b in roots):
            raise Failure(ending_errors.varies_with_itself(span, dim, other, bound))
    round.outer[bound] = tuple(d for d in dims if d != dim)
    draft = Draft(
        hint=f"{name}.until",
        dims=dims,
        types=(),
        origin=frame.origin,
        op=Until(bound=bound),
        role="root",
        spans=(span,),
    )
    draft.inputs = [apply.wire(ref)]
    round.add(draft)


def with_data_dims(universe: Universe, round: Round) -> Universe:
    """The universe with the dimensions that calls of `length` and the like have asked for."""
    made = {d.bound: d for d in round.data_dims.values()}
    known = [d.name for d in universe.dims]
    new = [d for d in made.values() if d.dim not in known]
    bounds = tuple(
        replace(b, value=ix.add(made[b.name].most, ix.ONE)) if b.name in made else b
        for b in universe.bounds
    )
    added = tuple(
        Bound(name=d.bound, value=ix.add(d.most, ix.ONE), until=f"{d.bound}_end") for d in new
    )
    dims = (*universe.dims, *(Dim(name=d.dim, bound=d.bound) for d in new))
    return replace(universe, bounds=(*bounds, *added), dims=dims)


def with_outer_dims(universe: Universe, round: Round) -> Universe:
    """The universe with the outer dimensions of lengths inferred in a round."""
    bounds = tuple(
        replace(b, outer=universe.sorted((*b.outer, *round.outer.get(b.name, ()))))
        for b in universe.bounds
    )
    return universe if bounds == universe.bounds else replace(universe, bounds=bounds)
