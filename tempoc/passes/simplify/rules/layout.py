"""Rules for layout: transposes, new axes, reshapes and broadcasts cancel or move to consumers.

Elements are moved, never computed differently.
"""

from __future__ import annotations

from tempoc.ops.control.control import Select
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.shapes import axes_of, axis_of, is_smaller, same_shape
from tempoc.ops.indexing.indexing import TakeAlong
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary
from tempoc.ops.tensor.movement import BroadcastTo, ExpandDims, Squeeze, Transpose
from tempoc.ops.tensor.reduction import All, Any, Max, Min, Reduction
from tempoc.ops.tensor.reshape import Reshape
from tempoc.ops.tensor.source import Full, Literal
from tempoc.passes.simplify.rules.pattern import Match, Producer, Rewrite, RewriteRule, rule
from tempoc.sdg.graph.graph import Edge
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols


@rule("a transpose that keeps the order", Transpose)
def _transpose_same(v: Match, op: Transpose) -> Rewrite | None:
    ndim = v.result.ndim
    return v.same(0) if op.order(ndim) == tuple(range(ndim)) else None


@rule("a transpose of a transpose", Transpose, of=(Transpose,))
def _transpose_twice(v: Match, op: Transpose, inner: Producer[Transpose]) -> Rewrite:
    first = inner.op.order(v.result.ndim)
    axes = tuple(first[k] for k in op.order(v.result.ndim))
    return Rewrite(inner.edges, Transpose(axes=axes))


@rule("a transpose before an operation", unary.Unary, binary.Nary, Select)
def _transpose_after_elementwise(v: Match, op: Op) -> Rewrite | None:
    """An elementwise operation whose operands are all transposed in the same way."""
    ndim = v.result.ndim
    orders: set[tuple[int, ...]] = set()
    edges: list[Edge] = []
    for slot, edge in enumerate(v.node.inputs):
        rank = v.operand(slot).ndim
        inner = v.producer(slot, Transpose, own=True) if rank == ndim else None
        if inner is not None and ndim:
            orders.add(inner.op.order(ndim))
            edges += inner.edges
        elif rank == 0:
            edges.append(edge)
        else:
            return None
    if len(orders) != 1:
        return None
    return Rewrite((v.make(op, *edges),), Transpose(axes=orders.pop()))


def _reshaped(v: Match, edge: Edge, *, if_static: bool = True) -> Rewrite | None:
    """A reshape of a read to the node's shape, if needed.

    ``None`` if it is needed and an extent varies with the point: then tensors are not contiguous.
    """
    shape = v.type_of(edge).shape
    if same_shape(shape, v.result.shape, v.facts):
        return Rewrite((edge,))
    dims = v.node.domain.dims
    if if_static and any(n in dims for e in (*shape, *v.result.shape) for n in symbols(e)):
        return None
    return Rewrite((edge,), Reshape(shape=v.result.shape))


@rule("a shape that is there already", Reshape, BroadcastTo)
def _already_that_shape(v: Match, _: Op) -> Rewrite | None:
    same = same_shape(v.operand(0).shape, v.result.shape, v.facts)
    return Rewrite(v.node.inputs) if same else None


@rule("a reshape of a reshape", Reshape, of=(Reshape, ExpandDims, Squeeze))
def _reshape_axes(v: Match, _: Reshape, inner: Producer[Op]) -> Rewrite | None:
    """A reshape of a reshape, or of an operand that gained or lost axes of extent 1."""
    return _reshaped(v, inner.edges[0], if_static=not isinstance(inner.op, Reshape))


@rule("a new axis of a reshape", ExpandDims, Squeeze, of=(Reshape,))
def _axes_of_reshape(v: Match, _: Op, inner: Producer[Reshape]) -> Rewrite | None:
    """A new axis, or one less, of a reshaped operand."""
    return _reshaped(v, inner.edges[0])


@rule("a squeeze of a new axis", ExpandDims, Squeeze, of=(ExpandDims, Squeeze))
def _axes_cancel(v: Match, op: Op, inner: Producer[Op]) -> Rewrite | None:
    """A squeeze of a new axis, or the other way around."""
    match op, inner.op:
        case (ExpandDims(axis=axis), Squeeze(axes=axes)):
            ndim = v.result.ndim
        case (Squeeze(axes=axes), ExpandDims(axis=axis)):
            ndim = inner.node.types[0].ndim
        case _:
            return None
    fits = same_shape(v.type_of(inner.edges[0]).shape, v.result.shape, v.facts)
    return Rewrite(inner.edges) if fits and [a % ndim for a in axes] == [axis % ndim] else None


@rule("a broadcast of a broadcast", BroadcastTo, of=(BroadcastTo, ExpandDims))
def _broadcast_twice(v: Match, op: BroadcastTo, inner: Producer[Op]) -> Rewrite | None:
    """A broadcast of a broadcast, or of a new leading axis, which it adds itself."""
    return Rewrite(inner.edges, op) if _is_leading_broadcast(inner) else None


def _is_leading_broadcast(inner: Producer[Op]) -> bool:
    """Whether broadcasting the operand gives the same as broadcasting the result."""
    if isinstance(inner.op, ExpandDims):
        return axis_of(inner.op.axis, inner.node.types[0].ndim) == 0
    return isinstance(inner.op, BroadcastTo)


@rule("a new axis of a broadcast", ExpandDims, of=(BroadcastTo,))
def _axis_of_broadcast(v: Match, op: ExpandDims, inner: Producer[BroadcastTo]) -> Rewrite:
    """A new axis of a broadcast: add the axis first, then broadcast."""
    (edge,) = inner.edges
    axis = axis_of(op.axis, v.result.ndim) - (v.operand(0).ndim - v.type_of(edge).ndim)
    if axis > 0:
        edge = v.make(ExpandDims(axis=axis), edge)
    return Rewrite((edge,), BroadcastTo(shape=v.result.shape))


@rule("a broadcast number", BroadcastTo)
def _broadcast_number(v: Match, _: BroadcastTo) -> Rewrite | None:
    number = v.number(v.node.inputs[0])
    return None if number is None else v.constant(number)


@rule("a broadcast before an operation", binary.Nary, Select)
def _implicit_broadcast(v: Match, _: Op) -> Rewrite | None:
    """An implicit broadcast of a broadcast operand; or an operation with a smaller result."""
    edges = v.node.inputs
    for slot, edge in enumerate(edges):
        inner = v.producer(slot, BroadcastTo, ExpandDims)
        full = v.nodes[edge.source].op
        if inner is not None and _is_leading_broadcast(inner):
            (operand,) = inner.edges
        elif edge.entries == () and isinstance(full, Full) and full.shape:
            operand = v.make(Literal(value=full.value, dtype=full.dtype))
        else:
            continue
        rewrite = _broadcast_result(v, v.with_operand(slot, operand))
        if rewrite is not None:
            return rewrite
    # Each alone leaves the result's shape to the others.
    inners = [v.producer(slot, BroadcastTo) for slot in range(len(edges))]
    small = (e if i is None else i.edges[0] for e, i in zip(edges, inners, strict=True))
    return _broadcast_result(v, tuple(small))


@rule("a broadcast of positions", TakeAlong)
def _broadcast_positions(v: Match, op: TakeAlong) -> Rewrite | None:
    """Positions that are the same along an axis: whole rows are taken, not element by element."""
    inner = v.producer(1, BroadcastTo)
    if inner is None:
        return None
    x, (positions,) = v.node.inputs[0], inner.edges
    for _ in range(v.result.ndim - v.type_of(positions).ndim):
        positions = v.make(ExpandDims(axis=0), positions)
    small, shape = v.type_of(positions).shape, v.operand(1).shape
    axes = [k for k, extent in enumerate(small) if extent == ix.ONE != shape[k]]
    # Of no rows at all positions are not checked.
    if not all(v.facts.holds(ix.compare(">=", shape[k], ix.ONE)) for k in axes):
        return None
    (type_,) = op.infer((v.type_of(x), v.type_of(positions)), v.facts)
    fits = same_shape(type_.shape, v.result.shape, v.facts)
    return Rewrite((x, positions), op) if fits else None


def _broadcast_result(v: Match, edges: tuple[Edge, ...]) -> Rewrite | None:
    """The operation on these operands; its result is broadcast if it has become smaller."""
    if edges == v.node.inputs:
        return None
    (type_,) = v.op.infer(tuple(map(v.type_of, edges)), v.facts)
    if same_shape(type_.shape, v.result.shape, v.facts):
        return Rewrite(edges, v.op)
    if is_smaller(type_.shape, v.result.shape):
        return Rewrite((v.make(v.op, *edges),), BroadcastTo(shape=v.result.shape))
    return None


@rule("a broadcast before a function", unary.Unary, of=(BroadcastTo,))
def _broadcast_after_function(v: Match, op: Op, inner: Producer[BroadcastTo]) -> Rewrite | None:
    if not is_smaller(v.type_of(inner.edges[0]).shape, v.result.shape):
        return None
    return Rewrite((v.make(op, *inner.edges),), BroadcastTo(shape=v.result.shape))


@rule("a transpose before a reduction", Reduction, of=(Transpose,))
def _reduced_transpose(v: Match, op: Reduction, inner: Producer[Transpose]) -> Rewrite | None:
    """A reduction of a transpose, if the remaining axes keep their order."""
    ndim = v.operand(0).ndim
    order, axes = inner.op.order(ndim), axes_of(op.axes, ndim)
    remaining = [order[k] for k in range(ndim) if k not in axes]
    if op.keepdims or remaining != sorted(remaining):
        return None
    return Rewrite(inner.edges, type(op)(axes=tuple(sorted(order[a] for a in axes))))


@rule("a reduction of a broadcast", Max, Min, Any, All)
def _reduced_broadcast(v: Match, op: Reduction) -> Rewrite | None:
    """A maximum, or any(), over broadcast axes."""
    operand = without_broadcast(v, op)
    return None if operand is None else Rewrite((operand,), op)


def without_broadcast(v: Match, op: Reduction) -> Edge | None:
    """A reduction's operand before the broadcast of reduced axes, if these are not empty."""
    inner = v.producer(0, BroadcastTo)
    if inner is None:
        return None
    shape = v.operand(0).shape
    small = v.type_of(inner.edges[0]).shape
    small = (ix.ONE,) * (len(shape) - len(small)) + small
    axes = [a for a in axes_of(op.axes, len(shape)) if small[a] == ix.ONE != shape[a]]
    if not axes or not all(v.facts.holds(ix.compare(">=", shape[a], ix.ONE)) for a in axes):
        return None
    target = tuple(ix.ONE if k in axes else e for k, e in enumerate(shape))
    return v.make(BroadcastTo(shape=target), *inner.edges)


@rule("a reduction of one element", Max, Min, Any, All)
def _reduced_singletons(v: Match, op: Reduction) -> Rewrite | None:
    return reduced_singletons(v, op)


def reduced_singletons(v: Match, op: Reduction) -> Rewrite | None:
    """A reduction over axes of extent 1."""
    axes = axes_of(op.axes, v.operand(0).ndim)
    if any(v.operand(0).shape[a] != ix.ONE for a in axes):
        return None
    return v.same(0) if op.keepdims or not axes else Rewrite(v.node.inputs, Squeeze(axes=axes))


LAYOUT: tuple[RewriteRule, ...] = (
    _transpose_same, _transpose_twice, _transpose_after_elementwise, _reduced_transpose,
    _already_that_shape, _reshape_axes, _axes_of_reshape, _axes_cancel, _broadcast_twice,
    _axis_of_broadcast, _broadcast_number, _implicit_broadcast, _broadcast_positions,
    _broadcast_after_function, _reduced_broadcast, _reduced_singletons,
)  # fmt: skip
