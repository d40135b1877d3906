"""Rules for layout: transposes, new axes, reshapes and broadcasts cancel or move to consumers.

Elements are moved, never computed differently.
"""

from __future__ import annotations

from tempoc.ops.control.control import Select
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.shapes import axes_of, axis_of, same_shape
from tempoc.ops.definition.types import TensorType
from tempoc.ops.tensor import elementwise as one
from tempoc.ops.tensor.arithmetic import Nary
from tempoc.ops.tensor.movement import BroadcastTo, ExpandDims, Squeeze, Transpose
from tempoc.ops.tensor.reduction import Any, Max, Reduction
from tempoc.ops.tensor.reshape import Reshape
from tempoc.ops.tensor.source import Full, Literal
from tempoc.passes.simplify.rules.pattern import Match, Producer, Rewrite, RewriteRule, fewer
from tempoc.sdg.graph.graph import Edge
from tempoc.symbolic.expr import ONE, compare
from tempoc.symbolic.walk import symbols

BROADCASTING: tuple[type[Op], ...] = (Nary, Select)
"""Operators that broadcast their operands implicitly."""


def _transpose_same(v: Match) -> Rewrite | None:
    assert isinstance(v.op, Transpose)
    order = v.op.order(v.result.ndim)
    return v.same(0) if order == tuple(range(v.result.ndim)) else None


def _transpose_twice(v: Match) -> Rewrite | None:
    inner = v.inner(0, Transpose)
    if inner is None:
        return None
    assert isinstance(v.op, Transpose) and isinstance(inner.op, Transpose)
    outer, first = v.op.order(v.result.ndim), inner.op.order(v.result.ndim)
    return Rewrite(edges=inner.edges, op=Transpose(axes=tuple(first[k] for k in outer)))


def _transpose_after_elementwise(v: Match) -> Rewrite | None:
    """An elementwise operation whose operands are all transposed in the same way."""
    if len(v.node.types) > 1 or not v.result.shape:
        return None
    orders: list[tuple[int, ...]] = []
    edges: list[Edge] = []
    for slot, edge in enumerate(v.node.inputs):
        ndim = v.operand(slot).ndim
        inner = v.inner(slot, Transpose, alone=True) if ndim else None
        if inner is not None and inner.aligned and ndim == v.result.ndim:
            assert isinstance(inner.op, Transpose)
            orders.append(inner.op.order(ndim))
            edges += inner.edges
        elif ndim == 0:
            edges.append(edge)
        else:
            return None
    if not orders or any(order != orders[0] for order in orders):
        return None
    return Rewrite(edges=(v.make(v.op, *edges),), op=Transpose(axes=orders[0]))


def _is_static(v: Match, *types: TensorType) -> bool:
    """Whether no extent varies with the point: such tensors are contiguous."""
    dims = v.node.domain.dims
    return not any(n in dims for t in types for e in t.shape for n in symbols(e))


def _reshape_axes(v: Match) -> Rewrite | None:
    """A reshape of a reshape, or of an operand that gained or lost axes of extent 1."""
    assert isinstance(v.op, Reshape)
    inner = v.inner(0, Reshape, ExpandDims, Squeeze)
    if inner is None:
        return None
    (edge,) = inner.edges
    type_ = v.type_of(edge)
    if same_shape(type_.shape, v.result.shape, v.facts):
        return Rewrite(edges=(edge,))
    if isinstance(inner.op, Reshape) or _is_static(v, type_, v.result):
        return Rewrite(edges=(edge,), op=Reshape(shape=v.result.shape))
    return None


def _axes_of_reshape(v: Match) -> Rewrite | None:
    """A new axis, or one less, of a reshaped operand."""
    inner = v.inner(0, Reshape)
    if inner is None or not _is_static(v, v.type_of(inner.edges[0]), v.result):
        return None
    if same_shape(v.type_of(inner.edges[0]).shape, v.result.shape, v.facts):
        return Rewrite(edges=inner.edges)
    return Rewrite(edges=inner.edges, op=Reshape(shape=v.result.shape))


def _axes_cancel(v: Match) -> Rewrite | None:
    """A squeeze of a new axis, or the other way around."""
    inner = v.inner(0, Squeeze if isinstance(v.op, ExpandDims) else ExpandDims)
    if inner is None:
        return None
    if isinstance(v.op, ExpandDims):
        assert isinstance(inner.op, Squeeze)
        ndim = v.result.ndim
        same = [a % ndim for a in inner.op.axes] == [v.op.axis % ndim]
    else:
        assert isinstance(v.op, Squeeze) and isinstance(inner.op, ExpandDims)
        ndim = inner.node.types[0].ndim
        same = [a % ndim for a in v.op.axes] == [inner.op.axis % ndim]
    fits = same and same_shape(v.type_of(inner.edges[0]).shape, v.result.shape, v.facts)
    return Rewrite(edges=inner.edges) if fits else None


def _already_that_shape(v: Match) -> Rewrite | None:
    same = same_shape(v.operand(0).shape, v.result.shape, v.facts)
    return Rewrite(edges=v.node.inputs) if same else None


def _broadcast_twice(v: Match) -> Rewrite | None:
    """A broadcast of a broadcast, or of a new leading axis, which it adds itself."""
    inner = v.inner(0, BroadcastTo, ExpandDims)
    if inner is None or not _is_leading_broadcast(inner):
        return None
    return Rewrite(edges=inner.edges, op=v.op)


def _is_leading_broadcast(inner: Producer) -> bool:
    """Whether broadcasting the operand gives the same as broadcasting the result."""
    if isinstance(inner.op, ExpandDims):
        return axis_of(inner.op.axis, inner.node.types[0].ndim) == 0
    return isinstance(inner.op, BroadcastTo)


def _axis_of_broadcast(v: Match) -> Rewrite | None:
    """A new axis of a broadcast: add the axis first, then broadcast."""
    assert isinstance(v.op, ExpandDims)
    inner = v.inner(0, BroadcastTo)
    if inner is None:
        return None
    (edge,) = inner.edges
    axis = axis_of(v.op.axis, v.result.ndim) - (v.operand(0).ndim - v.type_of(edge).ndim)
    if axis > 0:
        edge = v.make(ExpandDims(axis=axis), edge)
    return Rewrite(edges=(edge,), op=BroadcastTo(shape=v.result.shape))


def _broadcast_number(v: Match) -> Rewrite | None:
    number = v.number(0)
    return None if number is None else v.constant(number)


def _implicit_broadcast(v: Match) -> Rewrite | None:
    """An implicit broadcast of a broadcast operand; or an operation with a smaller result."""
    edges = list(v.node.inputs)
    for slot, edge in enumerate(edges):
        inner = v.inner(slot, BroadcastTo, ExpandDims)
        if inner is not None and _is_leading_broadcast(inner):
            edges[slot] = inner.edges[0]
        elif edge.entries == () and isinstance(full := v.nodes[edge.source].op, Full):
            if full.shape and v.operand(slot).dtype is full.dtype:
                edges[slot] = v.make(Literal(value=full.value, dtype=full.dtype))
        else:
            continue
        rewrite = _broadcast_result(v, tuple(edges))
        if rewrite is not None:
            return rewrite
        edges[slot] = edge
    return _broadcast_result(v, _without_broadcasts(v))


def _without_broadcasts(v: Match) -> tuple[Edge, ...]:
    """The operands without any broadcast."""
    edges = []
    for slot, edge in enumerate(v.node.inputs):
        inner = v.inner(slot, BroadcastTo)
        edges.append(edge if inner is None else inner.edges[0])
    return tuple(edges)


def _broadcast_result(v: Match, edges: tuple[Edge, ...]) -> Rewrite | None:
    """The operation on these operands; its result is broadcast if it has become smaller."""
    if edges == v.node.inputs:
        return None
    (type_,) = v.op.infer(tuple(map(v.type_of, edges)), v.facts)
    if same_shape(type_.shape, v.result.shape, v.facts):
        return Rewrite(edges=edges, op=v.op)
    if fewer(type_.shape, v.result.shape):
        return Rewrite(edges=(v.make(v.op, *edges),), op=BroadcastTo(shape=v.result.shape))
    return None


def _broadcast_after_function(v: Match) -> Rewrite | None:
    inner = v.inner(0, BroadcastTo)
    if inner is None or not fewer(v.type_of(inner.edges[0]).shape, v.result.shape):
        return None
    return Rewrite(edges=(v.make(v.op, *inner.edges),), op=BroadcastTo(shape=v.result.shape))


def _reduced_transpose(v: Match) -> Rewrite | None:
    """A reduction of a transpose, if the remaining axes keep their order."""
    assert isinstance(v.op, Reduction)
    inner = v.inner(0, Transpose)
    if inner is None or v.op.keepdims:
        return None
    assert isinstance(inner.op, Transpose)
    ndim = v.operand(0).ndim
    order, axes = inner.op.order(ndim), axes_of(v.op.axes, ndim)
    remaining = [order[k] for k in range(ndim) if k not in axes]
    if remaining != sorted(remaining):
        return None
    return Rewrite(edges=inner.edges, op=type(v.op)(axes=tuple(sorted(order[a] for a in axes))))


def _reduced_broadcast(v: Match) -> Rewrite | None:
    """A maximum, or any(), over broadcast axes."""
    operand = without_broadcast(v)
    return None if operand is None else Rewrite(edges=(operand,), op=v.op)


def without_broadcast(v: Match) -> Edge | None:
    """A reduction's operand before the broadcast of reduced axes, if these are not empty."""
    assert isinstance(v.op, Reduction)
    inner = v.inner(0, BroadcastTo)
    if inner is None:
        return None
    shape = v.operand(0).shape
    small = v.type_of(inner.edges[0]).shape
    small = (ONE,) * (len(shape) - len(small)) + small
    axes = [a for a in axes_of(v.op.axes, len(shape)) if small[a] == ONE != shape[a]]
    if not axes or not all(v.facts.holds(compare(">=", shape[a], ONE)) for a in axes):
        return None
    target = tuple(ONE if k in axes else e for k, e in enumerate(shape))
    return v.make(BroadcastTo(shape=target), *inner.edges)


def reduced_singletons(v: Match) -> Rewrite | None:
    """A reduction over axes of extent 1."""
    assert isinstance(v.op, Reduction)
    axes = axes_of(v.op.axes, v.operand(0).ndim)
    if any(v.operand(0).shape[a] != ONE for a in axes):
        return None
    if v.op.keepdims or not axes:
        return v.same(0)
    return Rewrite(edges=v.node.inputs, op=Squeeze(axes=axes))


_UNARY: tuple[type[Op], ...] = (one.Unary,)
LAYOUT: tuple[RewriteRule, ...] = (
    RewriteRule(name="a transpose that keeps the order", ops=(Transpose,), find=_transpose_same),
    RewriteRule(name="a transpose of a transpose", ops=(Transpose,), find=_transpose_twice),
    RewriteRule(
        name="a transpose before an operation",
        ops=(*_UNARY, Nary, Select),
        find=_transpose_after_elementwise,
    ),
    RewriteRule(name="a transpose before a reduction", ops=(Reduction,), find=_reduced_transpose),
    RewriteRule(
        name="a shape that is there already", ops=(Reshape, BroadcastTo), find=_already_that_shape
    ),
    RewriteRule(name="a reshape of a reshape", ops=(Reshape,), find=_reshape_axes),
    RewriteRule(name="a new axis of a reshape", ops=(ExpandDims, Squeeze), find=_axes_of_reshape),
    RewriteRule(name="a squeeze of a new axis", ops=(ExpandDims, Squeeze), find=_axes_cancel),
    RewriteRule(name="a broadcast of a broadcast", ops=(BroadcastTo,), find=_broadcast_twice),
    RewriteRule(name="a new axis of a broadcast", ops=(ExpandDims,), find=_axis_of_broadcast),
    RewriteRule(name="a broadcast number", ops=(BroadcastTo,), find=_broadcast_number),
    RewriteRule(name="a broadcast before an operation", ops=BROADCASTING, find=_implicit_broadcast),
    RewriteRule(name="a broadcast before a function", ops=_UNARY, find=_broadcast_after_function),
    RewriteRule(name="a reduction of a broadcast", ops=(Max, Any), find=_reduced_broadcast),
    RewriteRule(name="a reduction of one element", ops=(Max, Any), find=reduced_singletons),
)
