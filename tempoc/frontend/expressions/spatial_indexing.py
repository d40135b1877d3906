"""Spatial brackets: NumPy indexing of tensors, and selection from lists."""

from __future__ import annotations

from dataclasses import dataclass

from tempoc.diagnostics.source import Span
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.failure import Failure, StillUnknown
from tempoc.frontend.environment.round import Frame, FrameFacts, Round
from tempoc.frontend.errors import types as type_errors
from tempoc.frontend.expressions import index_expressions as indices, numpy_indexing as slicing
from tempoc.frontend.expressions.apply_operator import make, spread, tensor
from tempoc.frontend.expressions.arithmetic import as_expr
from tempoc.frontend.expressions.witness import shown_point
from tempoc.ops.definition.operator import OperandError
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import evaluate, is_affine, is_condition, symbols


@dataclass(frozen=True, slots=True)
class Position:
    """One entry that is no slice."""

    value: val.Value
    span: Span


@dataclass(frozen=True, slots=True)
class EvaluatedSlice:
    """`lo:hi:step`; what is left out is None."""

    low: val.Value | None
    high: val.Value | None
    step: val.Value | None
    span: Span


def select(
    round: Round,
    frame: Frame,
    value: val.Value,
    items: tuple[Position | EvaluatedSlice, ...],
    span: Span,
) -> val.Value:
    """`value[items]`. Raises `Failure` or `StillUnknown`."""
    if isinstance(value, (val.Listing, val.Several)):
        return _from_list(round.universe, value, items, span)
    if isinstance(value, val.RecordValue):
        raise Failure(type_errors.record_index(span, value))
    x = tensor(round, frame, value, span)
    if len(items) > x.type.ndim:
        varies = bool(val.dims_of(value, round.universe))
        raise Failure(type_errors.too_many_indices(span, len(items), x.type.ndim, varies))
    written: list[slicing.IndexEntry] = []
    gathers: list[val.Ref] = []
    named: list[str] = []
    for axis, item in enumerate(items):
        parts = (item.low, item.high) if isinstance(item, EvaluatedSlice) else (item.value,)
        named += (d for v in parts if v is not None for d in val.dims_of(v, round.universe))
        if isinstance(item, EvaluatedSlice):
            written.append(_range(round.universe, item))
            continue
        e = as_expr(item.value)
        if e is None or is_condition(e):
            gathers.append(tensor(round, frame, item.value, item.span))
            written.append("tensor")
            continue
        _prove(round, frame, e, x, axis, (item.span, span))
        written.append(e)
    if len(gathers) > 1:
        if any(g.type.ndim for g in gathers):
            raise Failure(type_errors.index_gather_twice(span))
        # An element of an axis leaves that out, so that one after the other is the same.
        k, whole = written.index("tensor"), EvaluatedSlice(None, None, None, span)
        part = select(round, frame, value, (*[whole] * k, items[k]), span)
        return select(round, frame, part, (*items[:k], *items[k + 1 :]), span)
    try:
        op = slicing.spatial_index(x.type.shape, written, FrameFacts(round, frame.where))
    except OperandError as error:
        raise Failure(type_errors.operands(span, error.message, error.help)) from None
    result = make(round, frame, op, (x, *gathers), span)[0]
    return spread(round, frame, result, round.universe.ordered(tuple(named)))


def _from_list(
    universe: Universe,
    value: val.Listing | val.Several,
    items: tuple[Position | EvaluatedSlice, ...],
    span: Span,
) -> val.Value:
    first, *others = items
    if others:
        raise Failure(type_errors.too_many_indices(span, len(items), 1))
    count = len(value.items)
    if isinstance(first, EvaluatedSlice):
        ends = [
            None if v is None else indices.integer(universe, v, first.span, "an index into a list")
            for v in (first.low, first.high, first.step)
        ]
        if ends[2] == 0:
            raise Failure(type_errors.spatial_step(first.span))
        return val.Listing(value.items[slice(*ends)])
    k = indices.integer(universe, first.value, first.span, "an index into a list")
    if not -count <= k < count:
        raise Failure(type_errors.list_index(first.span, k, count))
    return value.items[k]


def _range(universe: Universe, item: EvaluatedSlice) -> slicing.SliceRange:
    ends: list[ix.Expr | None] = []
    for v in (item.low, item.high):
        if isinstance(v, val.Unknown):
            raise StillUnknown(v)
        expr = None if v is None else as_expr(v)
        if v is not None and (expr is None or is_condition(expr)):
            raise Failure(type_errors.needs_index(item.span, "an end of a spatial slice", v))
        ends.append(expr)
    step = val.ConstantNumber(1) if item.step is None else item.step
    by = indices.integer(universe, step, item.span, "the step of a slice")
    if by == 0:
        raise Failure(type_errors.spatial_step(item.span))
    return slicing.SliceRange(lo=ends[0], hi=ends[1], step=by)


def _prove(
    round: Round,
    frame: Frame,
    e: ix.Expr,
    x: val.Ref,
    axis: int,
    places: tuple[Span, Span],
) -> None:
    """Prove that an index is in bounds; a negative constant counts from the end.

    ``places``: that of the index, and that of the whole access.
    """
    extent = x.type.shape[axis]
    position = ix.add(extent, e) if isinstance(e, ix.Const) and e.value < 0 else e
    inside = ix.conjunction(ix.compare(">=", position, ix.ZERO), ix.compare("<", position, extent))
    if not is_affine(inside):
        return
    domain = round.domain(frame.where, e, extent)
    point = round.space.witness(domain, inside)
    if point is None:
        return
    when = shown_point(round.universe, domain.dims, (e, extent), point)
    own = [d for d in val.dims_of(x, round.universe) if d in symbols(e)]
    meant = ""
    if len(own) == 1 and e != ix.Sym(own[0]):
        meant = f"`[{own[0]} = {show(e)}]` reads another point of the dimension"
    elif len(own) == 1 and places[1].text.count("[") == 1:
        meant = f"without it, the point of this `{own[0]}` is read"
    index, length = evaluate(e, point), evaluate(extent, point)
    raise Failure(
        type_errors.spatial_range(
            places[0], places[1].text, index, length, show(extent), when, meant
        )
    )
