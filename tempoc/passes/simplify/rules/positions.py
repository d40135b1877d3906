"""Rules for positions that are data: one in place of several, and sums by position."""

from __future__ import annotations

from dataclasses import replace

from tempoc.ops.definition.shapes import axes_of, axis_of
from tempoc.ops.definition.types import DType
from tempoc.ops.indexing.indexing import IndexPart, InRange, OneHot, SpatialIndex
from tempoc.ops.indexing.scatter import ScatterAdd
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary
from tempoc.ops.tensor.reduction import Sum
from tempoc.ops.tensor.reshape import Reshape
from tempoc.ops.tensor.source import IndexValue
from tempoc.passes.simplify.rules.contractions import read_at
from tempoc.passes.simplify.rules.pattern import Match, Producer, Rewrite, RewriteRule, rule
from tempoc.sdg.graph.graph import Edge
from tempoc.symbolic import expr as ix

_POSITIONS = 2**31
"""How many positions `i32` has."""


def _position(v: Match, op: SpatialIndex | ScatterAdd, n: ix.Expr, axis: int, idx: Edge) -> Edge:
    return idx if op.sure else v.make(InRange(n=n, axis=axis), idx)


def _joint(v: Match, first: Edge, second: Edge, n: ix.Expr) -> Edge:
    """The position in two axes that became one; the second has extent ``n``."""
    scaled = v.make(binary.Multiply(), first, v.make(IndexValue(expr=n)))
    return v.make(binary.Add(), scaled, second)


def _joint_extent(first: ix.Expr, second: ix.Expr) -> ix.Const | None:
    """The extent of two axes as one; ``None`` if it is unknown, or more than positions can be."""
    if not (isinstance(first, ix.Const) and isinstance(second, ix.Const)):
        return None
    count = first.value * second.value
    return ix.Const(count) if count < _POSITIONS else None


@rule("an element of a row", SpatialIndex, of=(SpatialIndex,))
def _element_of_row(v: Match, op: SpatialIndex, inner: Producer[SpatialIndex]) -> Rewrite | None:
    """Elements of a row that is chosen by data, `x[i][j]`: one position in both axes of `x`."""
    if not (op.gathers and inner.op.gathers):
        return None
    x, first = inner.edges
    shape, own = v.type_of(x).shape, inner.op.searched_axes
    others = zip(inner.op.entries, shape, strict=True)
    whole = all(e in ("tensor", (ix.ZERO, n, 1)) for e, n in others)
    if v.type_of(first).shape or not whole or op.searched_axes.start != own.start:
        return None
    before, n = ix.product(shape[own]), op.joint(v.operand(0).shape)[own.start]
    if _joint_extent(before, n) is None:
        return None
    joint = _joint(
        v,
        _position(v, inner.op, before, own.start, first),
        _position(v, op, n, own.start, v.node.inputs[1]),
        n,
    )
    before_it, after_it = op.entries[: own.start], op.entries[own.start :]
    entries: tuple[IndexPart, ...] = (*before_it, *inner.op.entries[own], *after_it)
    return Rewrite((x, joint), replace(op, entries=entries, sure=True))


@rule("sums by position of sums by position", ScatterAdd, exact=False)
def _scattered_twice(v: Match, op: ScatterAdd) -> Rewrite | None:
    """Rows that were added up by position are added up by position: one position in both axes."""
    edge, last = v.node.inputs
    inner = v.nodes[edge.source]
    rank = v.type_of(last).ndim
    if not isinstance(inner.op, ScatterAdd) or v.uses[inner.name] != 1 or not rank:
        return None
    sliced = [isinstance(e, ix.Slice) for e in edge.entries]
    axis = axis_of(inner.op.axis, inner.types[0].ndim)
    count = _joint_extent(op.n, inner.op.n)
    if sum(sliced) != rank or axis_of(op.axis, v.result.ndim) or axis or count is None:
        return None
    x, first = (read_at(v, edge, read) for read in inner.inputs)
    ranging = tuple(d for d, s in zip(inner.domain.dims, sliced, strict=True) if s)
    positions = v.nodes[inner.inputs[1].source].types[0]
    if x is None or first is None or x[1] != ranging or first[1] != ranging or positions.shape:
        return None
    joint = _joint(
        v,
        _position(v, op, op.n, 0, last),
        _position(v, inner.op, inner.op.n, 0, first[0]),
        inner.op.n,
    )
    rows = v.make(ScatterAdd(axis=0, n=count, sure=True), x[0], joint)
    return Rewrite((rows,), Reshape(shape=v.result.shape))


@rule("how often a number occurs", Sum, exact=False)
def _counted(v: Match, op: Sum) -> Rewrite | None:
    """A sum of `one_hot`: a one is added at each position, and nothing for those outside."""
    (edge,) = v.node.inputs
    hot = v.nodes[edge.source]
    ndim = v.operand(0).ndim
    if not isinstance(hot.op, OneHot) or op.keepdims or ndim < 2:
        return None
    if axes_of(op.axes, ndim) != tuple(range(ndim - 1)):
        return None
    at = dict(zip(hot.domain.dims, edge.entries, strict=True))
    read = read_at(v, edge, hot.inputs[0])
    if read is None or read[1] != tuple(d for d, e in at.items() if isinstance(e, ix.Slice)):
        return None
    n = v.operand(0).shape[-1]
    if not v.facts.holds(ix.compare(">=", n, ix.ONE)):
        return None
    idx, dtype = read[0], v.type_of(read[0]).dtype
    end, zero = (_integer(v, e, dtype) for e in (n, ix.ZERO))
    above, below = v.make(binary.GreaterEqual(), idx, zero), v.make(binary.Less(), idx, end)
    one = v.make(unary.Cast(dtype=v.result.dtype), v.make(binary.And(), above, below))
    last = _integer(v, ix.sub(n, ix.ONE), dtype)
    place = v.make(binary.Clip(), idx, zero, last)
    return Rewrite((one, place), ScatterAdd(axis=0, n=n, sure=True))


def _integer(v: Match, e: ix.Expr, dtype: DType) -> Edge:
    return v.make(unary.Cast(dtype=dtype), v.make(IndexValue(expr=e)))


POSITIONS: tuple[RewriteRule, ...] = (_element_of_row, _scattered_twice, _counted)
