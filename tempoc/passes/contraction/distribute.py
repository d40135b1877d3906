"""Distribute over concatenations: compute on the parts, and combine what is reduced.

    %k = concat{axis=0} %far[0:4], %near[t-8:t+1] : [t | t >= 8] f32[13, n]
    %s = matmul %k, %q                            : [t | t >= 8] f32[13]
    %m = max{axes=(0,)} %s                        : [t | t >= 8] f32[]
    ->
    %s.part  = matmul %far[0:4], %q               : [t | t >= 8] f32[4]
    %s.part2 = matmul %near[t-8:t+1], %q          : [t | t >= 8] f32[9]
    %m.each  = max{axes=(0,)} %s.part             : [t | t >= 8] f32[]
    %m.each2 = max{axes=(0,)} %s.part2            : [t | t >= 8] f32[]
    %m       = maximum %m.each, %m.each2          : [t | t >= 8] f32[]

Where ranges that move with the point are joined, each point would copy its own. Alone, a range is a
window over memory that all points share, and the joined axis is never longer than its parts. So
attention over a sliding window and some words that all see is computed on both, with one maximum
and one sum. A concatenation that is needed as a whole stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from tempoc.base.effort import EFFORT
from tempoc.ops.control.control import Copy
from tempoc.ops.definition.axis_links import AxisPart
from tempoc.ops.definition.operator import OperandError
from tempoc.ops.definition.shapes import axes_of, axis_of, same_shape
from tempoc.ops.definition.types import TensorType
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.tensor import arithmetic as binary
from tempoc.ops.tensor.elementwise import Cast
from tempoc.ops.tensor.joining import Concat, Stack
from tempoc.ops.tensor.movement import Pad
from tempoc.ops.tensor.reduction import Reduction
from tempoc.ops.tensor.source import IndexValue
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.contraction.joined_axes import JoinedAxes, JoinedAxis
from tempoc.passes.simplify.copy_propagation import forward_copies
from tempoc.passes.tiling.partial_results import Combination, combination
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import operand_type, operand_types
from tempoc.sdg.graph.rewrite import drop_dead, replace_nodes
from tempoc.sdg.verification.verify import DomainFacts
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols


class Distribute(GraphPass):
    """Computes on the parts of concatenations of ranges that move with the point."""

    __slots__ = ()
    name: ClassVar[str] = "distribute"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph without such concatenations."""
        for _ in range(EFFORT.simplify_rounds):
            after = _distributed(graph, context)
            if after is graph:
                break
            graph = drop_dead(forward_copies(after))
        return graph


def _distributed(graph: Graph, context: PassContext) -> Graph:
    """The graph with regions of one axis each computed part by part."""
    joined = [n for n in graph.nodes.values() if _joins_ranges(graph, n, context.space)]
    if not joined:
        return graph
    changed = graph
    for region in JoinedAxes(graph=graph, space=context.space).regions():
        roots = [n for n in joined if n.name in region]
        if not roots or any(len(a.extents) > EFFORT.joined_parts for a in region.values()):
            continue
        try:
            nodes = _Distributor(graph=graph, space=context.space, region=region).built()
        except OperandError:
            continue
        changed = replace_nodes(changed, nodes)
        for node in roots:
            message = f"`{node.name}`: what reads it is computed on its parts, then combined"
            context.remarks.add(Distribute.name, message, node.span)
    return changed


def _joins_ranges(graph: Graph, node: Node, space: Space) -> bool:
    """Whether a node joins ranges that move with its point."""
    if not isinstance(node.op, Concat):
        return False
    axis = axis_of(node.op.axis, node.types[0].ndim)
    extents = [operand_type(graph, e).shape[axis] for e in node.inputs]
    slices = [s for e in node.inputs for s in e.entries if isinstance(s, ix.Slice)]
    ranges = (*extents, *(end for s in slices for end in (s.lo, s.hi)))
    return any(space.universe.is_dim(name) for e in ranges for name in symbols(e))


@dataclass(slots=True, kw_only=True)
class _Distributor:
    """Builds the nodes of a region part by part; ``parts`` has those of each carrier."""

    graph: Graph
    space: Space
    region: Mapping[str, JoinedAxis]
    parts: dict[str, list[Node]] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)

    def built(self) -> dict[str, Iterable[Node]]:
        """The nodes that replace each node. Raises ``OperandError`` where one has other types."""
        replacements: dict[str, Iterable[Node]] = {}
        for name, joined in self.region.items():
            node = self.graph.nodes[name]
            builder = NodeBuilder(graph=self._seen(), space=self.space, node=node)
            if joined.axis is None:
                self._finish(builder, joined)
            else:
                self.parts[name] = self._carrier(builder, joined)
            self.nodes.update(builder.nodes)
            replacements[name] = list(builder.nodes.values())
        return replacements

    def _seen(self) -> Graph:
        """The graph with what was built so far."""
        return replace(self.graph, nodes={**self.graph.nodes, **self.nodes})

    def _carrier(self, builder: NodeBuilder, joined: JoinedAxis) -> list[Node]:
        """The parts of a node that has the axis."""
        node, count = builder.node, len(joined.extents)
        if isinstance(node.op, Concat):
            return [_converted(builder, e, node.types[0]) for e in node.inputs]
        ops = (node.op.narrowed(joined.link, _at(joined, k)) for k in range(count))
        return [
            builder.put("part", o, self._operands(builder, joined, k)) for k, o in enumerate(ops)
        ]

    def _operands(self, builder: NodeBuilder, joined: JoinedAxis, number: int) -> list[Edge]:
        """The operands of a node for one part."""
        pairs = zip(builder.node.inputs, joined.link.operands, strict=True)
        return [self._operand(builder, joined, number, e, place) for e, place in pairs]

    def _operand(
        self, builder: NodeBuilder, joined: JoinedAxis, number: int, edge: Edge, place: int | None
    ) -> Edge:
        """An operand for one part, cut from the operand if that has no parts."""
        if place is None:
            return edge
        if edge.source in self.parts:
            return replace(edge, source=self.parts[edge.source][number].name)
        at = _at(joined, number)
        shape = builder.type_of(edge).shape
        own = ((ix.ZERO, extent, 1) for extent in shape)
        entries = ((at.start, at.count, 1) if k == place else e for k, e in enumerate(own))
        return read_of(builder.put("cut", SpatialIndex(entries=tuple(entries)), (edge,)))

    def _finish(self, builder: NodeBuilder, joined: JoinedAxis) -> None:
        """The node at which the axis ends, of its parts."""
        node = builder.node
        if joined.picked is not None:
            assert isinstance(node.op, SpatialIndex)
            (place,) = (p for p in joined.link.operands if p is not None)
            own = (ix.ZERO, joined.extents[joined.picked], 1)
            entries = (*node.op.entries[:place], own, *node.op.entries[place + 1 :])
            operands = self._operands(builder, joined, joined.picked)
            shape = builder.type_of(operands[0]).shape
            whole = entries == tuple((ix.ZERO, extent, 1) for extent in shape)
            op = Copy() if whole else replace(node.op, entries=entries)
            _finished(builder, builder.put("part", op, operands))
            return
        args = operand_types(self.graph, node)
        how = combination(node.op, args, node.types[0].dtype)
        assert how is not None
        total = self._each(builder, joined, how, 0)
        for number in range(1, len(joined.extents)):
            total = _combined(builder, how, total, self._each(builder, joined, how, number))
        if how.divided:
            total = _mean(builder, total, args[0])
        _finished(builder, total)

    def _each(
        self, builder: NodeBuilder, joined: JoinedAxis, how: Combination, number: int
    ) -> Node:
        """The result of one part, in the dtype in which results are combined."""
        operands = self._operands(builder, joined, number)
        if isinstance(how.part, Reduction):
            (edge,) = operands
            if how.part.nonempty:
                edge = _nonempty(builder, joined, edge, how)
            if builder.type_of(edge).dtype is not how.dtype:
                edge = read_of(builder.put("wide", Cast(dtype=how.dtype), (edge,)))
            operands = [edge]
        each = builder.put("each", how.part.narrowed(joined.link, _at(joined, number)), operands)
        wide = each.types[0].dtype is how.dtype
        return each if wide else builder.put("wide", Cast(dtype=how.dtype), (each,))


def _at(joined: JoinedAxis, number: int) -> AxisPart:
    """Where a part stands in the joined axis."""
    return AxisPart(ix.add(ix.ZERO, *joined.extents[:number]), joined.extents[number])


def _converted(builder: NodeBuilder, edge: Edge, type_: TensorType) -> Node:
    """An operand of a concatenation, in the dtype of the result."""
    own = builder.type_of(edge)
    if (own.dtype, own.weak) == (type_.dtype, type_.weak):
        return builder.put("part", Copy(), (edge,))
    return builder.put("part", Cast(dtype=type_.dtype), (edge,))


def _nonempty(builder: NodeBuilder, joined: JoinedAxis, edge: Edge, how: Combination) -> Edge:
    """An operand that is never empty: one that may be gets the neutral element as its last."""
    (place,) = joined.link.operands
    assert place is not None
    shape = builder.type_of(edge).shape
    if builder.space.implies(builder.node.domain, ix.compare(">=", shape[place], ix.ONE)):
        return edge
    widths = ((ix.ZERO, ix.ONE if k == place else ix.ZERO) for k in range(len(shape)))
    return read_of(builder.put("full", Pad(widths=tuple(widths), value=how.start), (edge,)))


def _combined(builder: NodeBuilder, how: Combination, a: Node, b: Node) -> Node:
    """Two partial results as one."""
    if how.stacked:
        return builder.put("more", how.more, (builder.put("both", Stack(), (a, b)),))
    return builder.put("more", how.more, (a, b))


def _mean(builder: NodeBuilder, total: Node, operand: TensorType) -> Node:
    """The sum of all elements divided by their number."""
    assert isinstance(builder.node.op, Reduction)
    axes = axes_of(builder.node.op.axes, operand.ndim)
    count = ix.product(operand.shape[a] for a in axes)
    number = builder.put("count", IndexValue(expr=count))
    number = builder.put("number", Cast(dtype=total.types[0].dtype), (number,))
    return builder.put("mean", binary.Divide(), (total, number))


def _finished(builder: NodeBuilder, result: Node) -> None:
    """Let the result take the place of the node, in its dtype."""
    node = builder.node
    if result.types[0].dtype is not node.types[0].dtype:
        result = builder.put("cast", Cast(dtype=node.types[0].dtype), (result,))
    facts = DomainFacts(builder.space, node.domain)
    (own,), (type_,) = result.types, node.types
    if own.weak != type_.weak or not same_shape(own.shape, type_.shape, facts):
        raise OperandError(f"{own} is not {type_}")
    builder.add(replace(node, op=Copy(), inputs=(read_of(result),)))
