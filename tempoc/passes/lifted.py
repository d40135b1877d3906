"""Reductions over moving ranges, and the scans and windows that compute all points of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tempoc.ops.arithmetic import Divide
from tempoc.ops.elementwise import Cast
from tempoc.ops.indexing import SpatialIndex
from tempoc.ops.movement import ExpandDims, Pad
from tempoc.ops.opdef import Op, OperandError
from tempoc.ops.reduction import HALVES, All, Any, LogSumExp, Max, Mean, Min, Prod, Reduction, Sum
from tempoc.ops.scan import CumLogSumExp, CumMax, CumMin, CumProd, CumSum, Scan
from tempoc.ops.shapes import axes_of
from tempoc.ops.source import IndexValue
from tempoc.ops.spell import Number
from tempoc.ops.types import DType
from tempoc.ops.window import Window
from tempoc.passes.made import Maker, read
from tempoc.passes.moving import Moving, Sliding, moving
from tempoc.poly.space import Space
from tempoc.sdg.graph import Edge, Graph, Node
from tempoc.sdg.query import operand_type
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import ZERO, Expr, Slice
from tempoc.symbolic.walk import symbols

SCANS: dict[type[Op], type[Scan]] = {
    Sum: CumSum, Prod: CumProd, Max: CumMax, Min: CumMin, Any: CumMax, All: CumMin,
    Mean: CumSum, LogSumExp: CumLogSumExp,
}  # fmt: skip
"""The scan that computes all partial reductions; that of a ``bool`` is one of 0 and 1."""

_WINDOWS: dict[type[Op], str] = {
    Sum: "sum", Prod: "prod", Max: "max", Min: "min", Any: "any", All: "all", Mean: "sum"
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A node that reduces a range which moves with ``dim``.

    It is entry ``place`` of the node's only operand, and axis ``axis`` of what is read.
    """

    node: Node
    dim: str
    place: int
    axis: int
    range: Moving

    @property
    def edge(self) -> Edge:
        """What the node reads."""
        return self.node.inputs[0]

    @property
    def entry(self) -> Slice:
        """The range."""
        entry = self.edge.entries[self.place]
        assert isinstance(entry, Slice)
        return entry


def targets(graph: Graph, node: Node, space: Space) -> Iterator[Target]:
    """The ranges that a node reduces and that move with one of its dimensions, and no other way."""
    if type(node.op) not in SCANS or len(node.inputs) != 1:
        return
    assert isinstance(node.op, Reduction)
    (edge,) = node.inputs
    type_ = operand_type(graph, edge)
    axes, axis = axes_of(node.op.axes, type_.ndim), 0
    for place, entry in enumerate(edge.entries):
        if not isinstance(entry, Slice):
            continue
        rest = (*edge.entries[:place], *edge.entries[place + 1 :])
        extents = (*type_.shape[:axis], *type_.shape[axis + 1 :])
        for dim in node.domain.dims if axis in axes else ():
            alone = not any(dim in symbols(e) for e in (*rest, *extents))
            if alone and (found := moving(entry, dim, node.domain, space)) is not None:
                yield Target(node=node, dim=dim, place=place, axis=axis, range=found)
        axis += 1


def lifted(graph: Graph, target: Target, space: Space) -> tuple[Node, ...] | None:
    """Nodes in the place of the target that compute all its points at once; the last has its name.

    ``None`` where that cannot be stated.
    """
    maker = Maker(graph, space, target.node)
    try:
        whole = _whole(maker, target)
        if whole is None:
            return None
        point = _point(maker, target, whole)
    except OperandError:
        return None
    return tuple(maker.nodes.values()) if maker.last(point) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Whole:
    """The values of all points, side by side along an axis of a node without the dimension."""

    node: Node
    axis: int


def _whole(maker: Maker, target: Target) -> _Whole | None:
    """All partial reductions."""
    node, space, found = target.node, maker.space, target.range
    assert isinstance(node.op, Reduction)
    domain = space.project(node.domain, tuple(d for d in node.domain.dims if d != target.dim))
    entries = list(target.edge.entries)
    entries[target.place] = found.slice
    edge = replace(target.edge, entries=tuple(entries))
    source = maker.graph.nodes[edge.source].domain
    if space.outside(domain, edge.entries, source) is not None:
        return None
    edge, axis = _reduced(maker, target, edge, domain)
    dtype = maker.type(edge).dtype
    if isinstance(node.op, Mean | LogSumExp):
        wanted = node.types[0].dtype
        wanted = DType.F32 if isinstance(node.op, Mean) and wanted in HALVES else wanted
        if wanted != dtype:
            edge, dtype = read(maker.put("cast", Cast(dtype=wanted), (edge,), domain)), wanted
    if isinstance(found, Sliding):
        return _windows(maker, target, found, edge, axis, domain)
    scan = SCANS[type(node.op)](axis=axis, reverse=found.reverse)
    made = maker.put("scan", scan, (edge,), domain)
    if found.pad != ZERO:
        around = (ZERO, found.pad) if found.reverse else (found.pad, ZERO)
        ndim = made.types[0].ndim
        widths = tuple(around if k == axis else (ZERO, ZERO) for k in range(ndim))
        value = neutral(node.op, made.types[0].dtype)
        made = maker.put("padded", Pad(widths=widths, value=value), (read(made),), domain)
    return _Whole(node=made, axis=axis)


def _reduced(maker: Maker, target: Target, edge: Edge, domain: Domain) -> tuple[Edge, int]:
    """What is left to scan when all other axes have been reduced, and along which axis."""
    op = target.node.op
    assert isinstance(op, Reduction)
    axes = axes_of(op.axes, operand_type(maker.graph, target.edge).ndim)
    others = tuple(a for a in axes if a != target.axis)
    if not others:
        return edge, target.axis
    rows = maker.put("rows", type(op)(axes=others), (edge,), domain)
    return read(rows), target.axis - sum(a < target.axis for a in others)


def _windows(
    maker: Maker, target: Target, found: Sliding, edge: Edge, axis: int, domain: Domain
) -> _Whole | None:
    """The reductions of all windows."""
    name = _WINDOWS.get(type(target.node.op))
    if name is None:
        return None
    op = Window(reduce=name, size=found.size, before=found.before, after=found.after, axis=axis)
    return _Whole(node=maker.put("windows", op, (edge,), domain), axis=axis)


def _point(maker: Maker, target: Target, whole: _Whole) -> Node:
    """The value of the point at hand, as the node has it."""
    node, shape = target.node, whole.node.types[0].shape
    assert isinstance(node.op, Reduction)
    parts: list[Expr | tuple[Expr, Expr, int]] = [(ZERO, e, 1) for e in shape]
    parts[whole.axis] = target.range.position
    made = maker.put("at", SpatialIndex(entries=tuple(parts)), (read(whole.node),))
    if isinstance(node.op, Mean):
        count = maker.put("count", IndexValue(expr=target.range.count), ())
        count = maker.put("number", Cast(dtype=made.types[0].dtype), (read(count),))
        made = maker.put("mean", Divide(), (read(made), read(count)))
    if made.types[0].dtype != node.types[0].dtype:
        made = maker.put("cast", Cast(dtype=node.types[0].dtype), (read(made),))
    if node.op.keepdims:
        for axis in sorted(axes_of(node.op.axes, operand_type(maker.graph, target.edge).ndim)):
            made = maker.put("kept", ExpandDims(axis=axis), (read(made),))
    return made


def neutral(op: Op, dtype: DType) -> Number:
    """What a reduction gives for an empty range, in the dtype of its scan."""
    if isinstance(op, LogSumExp):
        return -math.inf
    return Window(reduce=_WINDOWS[type(op)], size=ZERO).neutral(dtype)
