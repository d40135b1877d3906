"""Elementwise operands of a range, recomputed from another part of the same tensor.

``exp(x[0:t+1] * w)`` is the same function of each element, so it can be computed of all of ``x``,
or of one element alone::

    %a = mul %x[0:t+1], %w : [t] f32[t+1]           %a.all = mul %x[0:T], %w : [] f32[T]
    %b = exp %a            : [t] f32[t+1]     ->    %b.all = exp %a.all      : [] f32[T]

A range is an axis of the operands, counted from the last one, since axes broadcast that way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from tempoc.ops.tensor.source import Input, Param
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import expressions, operand_type
from tempoc.sdg.statements.build import is_computed, is_identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import symbols


def operand_slices(graph: Graph, edge: Edge, place: int) -> Iterator[ix.Slice]:
    """The slices that an axis of an operand comes from; ``place`` is counted from the last axis."""
    for leaf in _leaves(graph, edge):
        axis = operand_type(graph, leaf).ndim - place
        slices = [e for e in leaf.entries if isinstance(e, ix.Slice)]
        if 0 <= axis < len(slices):
            yield slices[axis]


def is_given(graph: Graph, edge: Edge) -> bool:
    """Whether an operand is computed elementwise from inputs, parameters and constants alone."""
    sources = (graph.nodes[leaf.source] for leaf in _leaves(graph, edge))
    return all(isinstance(n.op, Input | Param) or not n.inputs for n in sources)


def _leaves(graph: Graph, edge: Edge) -> Iterator[Edge]:
    """The operands at which the elementwise computation of an operand begins."""
    worklist, seen = [edge], {edge}
    while worklist:
        operand = worklist.pop(0)
        node = graph.nodes[operand.source]
        sliced = any(isinstance(e, ix.Slice) for e in operand.entries)
        if sliced or not node.op.elementwise or not is_identity(operand, graph):
            yield operand
        else:
            worklist += [e for e in node.inputs if e not in seen]
            seen.update(node.inputs)


@dataclass(slots=True)
class Rebuild:
    """Clones the elementwise computation of an operand, reading another part in place of a range.

    ``change`` maps a slice to the slice to read instead, or to a point (then ``axis_stays`` is
    false), or to ``None`` if the slice is of another kind. ``domain_of`` maps the dimensions of a
    node to the domain of its clone, which is that of points ``at`` which ``dim`` has one value;
    ``part`` is the suffix of the clones' names. Apart from the range, nothing may vary with
    ``dim``.
    """

    builder: NodeBuilder
    dim: str
    place: int
    part: str
    axis_stays: bool
    change: Callable[[ix.Slice], ix.Entry | None]
    domain_of: Callable[[tuple[str, ...]], Domain]
    at: Mapping[str, ix.Expr] = field(default_factory=dict)
    memo: dict[Edge, Edge | None] = field(default_factory=dict)

    def edge(self, edge: Edge) -> Edge | None:
        """The operand to read instead; ``None`` where it cannot be recomputed."""
        if edge not in self.memo:
            self.memo[edge] = self._changed(edge)
        return self.memo[edge]

    def _changed(self, edge: Edge) -> Edge | None:
        graph = self.builder.graph
        node, type_ = graph.nodes[edge.source], operand_type(graph, edge)
        axis = type_.ndim - self.place
        slices = [k for k, e in enumerate(edge.entries) if isinstance(e, ix.Slice)]
        if 0 <= axis < len(slices):
            return self._leaf(edge, slices[axis], axis)
        if not any(self.dim in symbols(e) for e in (*edge.entries, *type_.shape)):
            return edge if axis < 0 or (self.axis_stays and type_.shape[axis] == ix.ONE) else None
        if slices or not is_identity(edge, graph) or not is_computed(node):
            return None
        if not node.inputs:
            return self._constant(node)
        inputs = [self.edge(e) for e in node.inputs] if node.op.elementwise else [None]
        operands = [e for e in inputs if e is not None]
        return self._put(node, operands) if len(operands) == len(inputs) else None

    def _leaf(self, edge: Edge, place: int, axis: int) -> Edge | None:
        """The read of the changed slice."""
        entry = edge.entries[place]
        assert isinstance(entry, ix.Slice)
        entry_read = self.change(entry)
        other_entries = (*edge.entries[:place], *edge.entries[place + 1 :])
        shape = operand_type(self.builder.graph, edge).shape
        others = (*other_entries, *shape[:axis], *shape[axis + 1 :])
        if entry_read is None or any(self.dim in symbols(e) for e in others):
            return None
        rebuilt = replace(
            edge, entries=(*edge.entries[:place], entry_read, *edge.entries[place + 1 :])
        )
        source = self.builder.graph.nodes[edge.source].domain
        reader = self.domain_of(self.builder.node.domain.dims)
        inside = self.builder.space.outside(reader, rebuilt.entries, source) is None
        return rebuilt if inside else None

    def _constant(self, node: Node) -> Edge | None:
        """A clone of a constant."""
        mentioned = (*expressions(node.op), *(e for t in node.types for e in t.shape))
        free = not any(self.dim in symbols(e) for e in mentioned)
        return self._put(node, []) if free else None

    def _put(self, node: Node, inputs: list[Edge]) -> Edge:
        name = f"{node.name.rpartition('.')[2]}.{self.part}"
        domain = self.domain_of(node.domain.dims)
        clone = self.builder.put(name, node.op, inputs, domain)
        return read_of(self.builder.add(replace(clone, spans=node.spans)))
