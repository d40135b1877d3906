"""Reductions over moving ranges as scans or windows, which compute all points together."""

from __future__ import annotations

from dataclasses import dataclass

from tempoc.ops.definition.operator import OperandError
from tempoc.ops.definition.shapes import axes_of
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary
from tempoc.ops.tensor.movement import ExpandDims, Pad
from tempoc.ops.tensor.reduction import LogSumExp, Mean, Reduction
from tempoc.ops.tensor.source import IndexValue
from tempoc.ops.tensor.window import Window
from tempoc.passes.lifting.moving_range import Sliding
from tempoc.passes.lifting.range_reduction import (
    RangeReduction,
    full_range_operands,
)
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain


def scan_or_windows(graph: Graph, target: RangeReduction, space: Space) -> tuple[Node, ...] | None:
    """Nodes that compute all points of the reduction together; the last has its name.

    ``None`` where the reduction has no such form.
    """
    builder = NodeBuilder(graph=graph, space=space, node=target.node)
    try:
        values = _all_values(builder, target)
        if values is None:
            return None
        point = _value_at_point(builder, target, values)
    except OperandError:
        return None
    return builder.finish(point)


@dataclass(frozen=True, slots=True, kw_only=True)
class _FullAxisValues:
    """The values of all points, along an axis of a node without the dimension."""

    node: Node
    axis: int


def _all_values(builder: NodeBuilder, target: RangeReduction) -> _FullAxisValues | None:
    """The scan of all partial reductions, or all windows."""
    node, moving_range = target.node, target.range
    assert isinstance(node.op, Reduction)
    rebuild = full_range_operands(builder, target.dim, target.place, moving_range)
    operand, domain = rebuild.edge(target.edge), rebuild.domain_of(node.domain.dims)
    if operand is None:
        return None
    edge, axis = _reduce_other_axes(builder, target, operand, domain)
    dtype = builder.type_of(edge).dtype
    if isinstance(node.op, Mean | LogSumExp):
        result_dtype = node.types[0].dtype
        result_dtype = result_dtype.wide if isinstance(node.op, Mean) else result_dtype
        if result_dtype != dtype:
            edge = read_of(builder.put("cast", unary.Cast(dtype=result_dtype), (edge,), domain))
            dtype = result_dtype
    if isinstance(moving_range, Sliding):
        return _windows(builder, target, moving_range, edge, axis, domain)
    assert node.op.scan is not None and node.op.monoid is not None
    scan = node.op.scan(axis=axis, reverse=moving_range.reverse)
    result = builder.put("scan", scan, (edge,), domain)
    if moving_range.pad != ix.ZERO:
        around = (
            (ix.ZERO, moving_range.pad) if moving_range.reverse else (moving_range.pad, ix.ZERO)
        )
        ndim = result.types[0].ndim
        widths = tuple(around if k == axis else (ix.ZERO, ix.ZERO) for k in range(ndim))
        value = node.op.monoid.identity(result.types[0].dtype)
        result = builder.put("padded", Pad(widths=widths, value=value), (result,), domain)
    return _FullAxisValues(node=result, axis=axis)


def _reduce_other_axes(
    builder: NodeBuilder, target: RangeReduction, edge: Edge, domain: Domain
) -> tuple[Edge, int]:
    """The operand with all axes reduced but the range's, and the position of that."""
    op = target.node.op
    assert isinstance(op, Reduction)
    axes = axes_of(op.axes, target.ndim)
    others = tuple(a for a in axes if a != target.axis)
    if not others:
        return edge, target.axis
    rows = builder.put("rows", type(op)(axes=others), (edge,), domain)
    return read_of(rows), target.axis - sum(a < target.axis for a in others)


def _windows(
    builder: NodeBuilder,
    target: RangeReduction,
    sliding: Sliding,
    edge: Edge,
    axis: int,
    domain: Domain,
) -> _FullAxisValues | None:
    """The reductions of all windows."""
    monoid = target.node.op.monoid
    if monoid is None or monoid.combine is None:
        return None
    op = Window(
        reduce=monoid.name, size=sliding.size, before=sliding.before, after=sliding.after, axis=axis
    )
    return _FullAxisValues(node=builder.put("windows", op, (edge,), domain), axis=axis)


def _value_at_point(builder: NodeBuilder, target: RangeReduction, values: _FullAxisValues) -> Node:
    """The reduction's value at the own point, of the node's type."""
    node, shape = target.node, values.node.types[0].shape
    assert isinstance(node.op, Reduction)
    parts: list[ix.Expr | tuple[ix.Expr, ix.Expr, int]] = [(ix.ZERO, e, 1) for e in shape]
    parts[values.axis] = target.range.position
    result = builder.put("at", SpatialIndex(entries=tuple(parts)), (values.node,))
    return finish_reduction(builder, target, result)


def finish_reduction(builder: NodeBuilder, target: RangeReduction, result: Node) -> Node:
    """The value of the node, given the reduction of its range: divided, cast, and with its axes."""
    node = target.node
    assert isinstance(node.op, Reduction)
    if isinstance(node.op, Mean):
        count = builder.put("count", IndexValue(expr=target.range.count))
        count = builder.put("number", unary.Cast(dtype=result.types[0].dtype), (count,))
        result = builder.put("mean", binary.Divide(), (result, count))
    if result.types[0].dtype != node.types[0].dtype:
        result = builder.put("cast", unary.Cast(dtype=node.types[0].dtype), (result,))
    if node.op.keepdims:
        for axis in sorted(axes_of(node.op.axes, target.ndim)):
            result = builder.put("kept", ExpandDims(axis=axis), (result,))
    return result
