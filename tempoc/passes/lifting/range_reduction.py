"""Reductions over moving ranges: which nodes they are, and the operators that replace them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from tempoc.ops.definition.shapes import axes_of
from tempoc.ops.tensor.reduction import Reduction
from tempoc.passes.lifting.moving_range import MovingRange, classify_range
from tempoc.passes.lifting.range_operand import Rebuild, operand_slices
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import operand_type
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeReduction:
    """A node that reduces ranges which move with ``dim``: ``axis`` of its only operand."""

    node: Node
    dim: str
    axis: int
    ndim: int
    range: MovingRange

    @property
    def edge(self) -> Edge:
        """The operand of the node."""
        return self.node.inputs[0]

    @property
    def place(self) -> int:
        """The axis of the range, counted from the last axis."""
        return self.ndim - self.axis


def range_reductions(graph: Graph, node: Node, space: Space) -> Iterator[RangeReduction]:
    """The reductions of a node over ranges that move with one of its dimensions."""
    if not isinstance(node.op, Reduction) or node.op.scan is None or len(node.inputs) != 1:
        return
    ndim = operand_type(graph, node.inputs[0]).ndim
    for axis in axes_of(node.op.axes, ndim):
        for entry in islice(operand_slices(graph, node.inputs[0], ndim - axis), 1):
            for dim in node.domain.dims:
                moving_range = classify_range(entry, dim, node.domain, space)
                if moving_range is not None:
                    yield RangeReduction(
                        node=node, dim=dim, axis=axis, ndim=ndim, range=moving_range
                    )


def full_range_operands(
    builder: NodeBuilder, dim: str, place: int, moving_range: MovingRange
) -> Rebuild:
    """A ``Rebuild`` that computes the operands of all points' ranges together."""
    node, space = builder.node, builder.space

    def domain_of(dims: tuple[str, ...]) -> Domain:
        return space.project(node.domain, tuple(d for d in dims if d != dim))

    def widened(entry: ix.Slice) -> ix.Slice | None:
        widened_range = classify_range(entry, dim, node.domain, space)
        is_same_kind = (
            widened_range is not None
            and replace(widened_range, slice=moving_range.slice) == moving_range
        )
        return widened_range.slice if widened_range is not None and is_same_kind else None

    return Rebuild(builder, dim, place, "all", True, widened, domain_of)
