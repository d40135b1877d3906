"""Maxima that need not be NaN, because what they are subtracted from is.

    %m = max{axes=(0,), keepdims=true} %x     : [t] f32[1]
    %d = sub %x, %m                           : [t] f32[K]
    %e = exp %d                               : [t] f32[K]
    %s = sum{axes=(0,), keepdims=true} %e     : [t] f32[1]
    %y = div %e, %s                           : [t] f32[K]

If an element of ``%x`` is NaN, so is that of ``%d`` and ``%e``, whatever the maximum, hence the sum
of the row, hence all that is divided by it. Where each consumer of a maximum ends in such a sum, or
meets it again, ``%m`` is marked: emitted code does not look for NaN, which takes as long again.
Where rows are computed in parts, the maximum of one is compared with those of the others, the sums
of all are added, and the other parts meet the sum as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from tempoc.base.effort import EFFORT
from tempoc.ops.definition.shapes import Shape, axes_of
from tempoc.ops.tensor.movement import ExpandDims, Pad
from tempoc.ops.tensor.reduction import Max, Sum
from tempoc.passes.context import GraphPass, PassContext
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import OperandUse, operand_type, operand_types, users
from tempoc.sdg.statements.build import is_identity
from tempoc.symbolic import expr as ix


class SoftmaxMaxima(GraphPass):
    """Marks maxima of which nothing shows whether they are NaN."""

    __slots__ = ()
    name: ClassVar[str] = "maxima"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with marks at these maxima."""
        uses, outputs = users(graph), frozenset(o.source for o in graph.outputs)
        marked = {
            n.name: replace(n, op=replace(n.op, loses_nan=True))
            for n in graph.nodes.values()
            if isinstance(n.op, Max)
            and n.types[0].dtype.is_float
            and _RowsOf(graph, uses, outputs, n).are_nan()
        }
        return replace(graph, nodes={**graph.nodes, **marked}) if marked else graph


@dataclass(frozen=True, slots=True)
class _RowsOf:
    """What is computed of a maximum where an element of its row is NaN.

    ``partly`` are nodes of which an element of the row is NaN, ``wholly`` those of which all of the
    row is, whatever the maximum. ``rows`` is the shape of the operand with 1 in place of the axes.
    """

    graph: Graph
    uses: Mapping[str, tuple[OperandUse, ...]]
    outputs: frozenset[str]
    greatest: Node
    partly: set[str] = field(default_factory=set)
    wholly: set[str] = field(default_factory=set)

    @property
    def axes(self) -> tuple[int, ...]:
        assert isinstance(self.greatest.op, Max)
        return axes_of(
            self.greatest.op.axes, operand_type(self.graph, self.greatest.inputs[0]).ndim
        )

    @property
    def rows(self) -> Shape:
        shape = operand_type(self.graph, self.greatest.inputs[0]).shape
        return tuple(ix.ONE if k in self.axes else e for k, e in enumerate(shape))

    @property
    def sources(self) -> tuple[Edge, ...]:
        """The operand, and what it is without padding."""
        (operand,) = self.greatest.inputs
        node = self.graph.nodes[operand.source]
        padded = isinstance(node.op, Pad) and node.op.value == node.op.value  # is not NaN
        there = is_identity(operand, self.graph) and self.is_there(node)
        return (operand, *node.inputs) if padded and there else (operand,)

    def are_nan(self) -> bool:
        """Whether whatever depends on the maximum is NaN, also if that is not."""
        self.find_nan()
        return bool(self.partly) and self.is_hidden()

    def find_nan(self) -> None:
        """Follow what is computed of the maximum, as far as rows stay apart."""
        worklist, sources = [self.greatest], self.sources
        reached: set[str] = set()
        while worklist and len(reached) < EFFORT.nodes_of_maximum:
            for reader, slot in self.readers(worklist.pop()):
                if not self.keeps_rows(reader, slot):
                    continue
                nodes = self.nan_nodes(reader, sources)
                if reader.name not in reached or (nodes and reader.name not in nodes[0]):
                    worklist.append(reader)
                reached.add(reader.name)
                for known in nodes:
                    known.add(reader.name)

    def nan_nodes(self, node: Node, sources: Collection[Edge]) -> tuple[set[str], ...]:
        """The sets to which a node belongs by its operands, the smaller one first."""
        names = {e.source for e in node.inputs if self.has_rows(e, node)}
        wholly = not names.isdisjoint(self.wholly)
        partly = not names.isdisjoint(self.partly) or any(e in sources for e in node.inputs)
        if isinstance(node.op, Sum):
            wholly = partly
        elif not isinstance(node.op, ExpandDims):
            partly &= node.op.keeps_nan and node.types[0].dtype.is_float
        return (self.wholly, self.partly) if partly and wholly else (self.partly,) * partly

    def is_hidden(self) -> bool:
        """Whether all nodes that depend on the maximum end in others that are NaN in any case."""
        worklist, reached = [self.greatest], {self.greatest.name}
        while worklist:
            node = worklist.pop()
            if node.name in self.outputs or len(reached) > EFFORT.nodes_of_maximum:
                return False
            for reader, slot in self.readers(node):
                if not self.keeps_rows(reader, slot):
                    if node.name not in self.partly or not self.is_summed(reader, slot):
                        return False
                elif reader.name not in self.wholly | reached:
                    reached.add(reader.name)
                    worklist.append(reader)
        return True

    def keeps_rows(self, reader: Node, slot: int) -> bool:
        """Whether each row of a consumer is computed of the same rows alone."""
        if not self.has_rows(reader.inputs[slot], reader) or not self.is_there(reader):
            return False
        if isinstance(reader.op, Sum):
            whole = self.reduced(reader, slot) == {*self.axes}
            return whole and (self.is_aligned(reader) or self.is_bare(reader))
        return self.is_aligned(reader) and (
            reader.op.elementwise or isinstance(reader.op, ExpandDims)
        )

    def has_rows(self, edge: Edge, reader: Node) -> bool:
        """Whether an operand has the rows of its source where they stand, or where they come."""
        bare = self.is_bare(self.graph.nodes[edge.source])
        return is_identity(edge, self.graph) and (not bare or isinstance(reader.op, ExpandDims))

    def is_aligned(self, node: Node) -> bool:
        """Whether rows stand where those of the operand do; axes of length 1 may lack in front."""
        if not node.types:  # an effect
            return False
        shape, rows = node.types[0].shape, self.rows
        if len(shape) > len(rows):
            return False
        shape = (ix.ONE,) * (len(rows) - len(shape)) + shape
        return all(
            k in self.axes or a == b for k, (a, b) in enumerate(zip(shape, rows, strict=True))
        )

    def is_bare(self, node: Node) -> bool:
        """Whether these are numbers of rows, without the axes that were reduced."""
        rest = tuple(e for k, e in enumerate(self.rows) if k not in self.axes)
        reduced = isinstance(node.op, Max | Sum) and not node.op.keepdims
        return reduced and node.types[0].shape == rest and not self.is_aligned(node)

    def is_summed(self, reader: Node, slot: int) -> bool:
        """Whether a consumer sums products along all of the row."""
        at_point = is_identity(reader.inputs[slot], self.graph) and self.is_there(reader)
        summing = isinstance(reader.op, Sum) or reader.op.contraction
        return at_point and summing and self.reduced(reader, slot) >= {*self.axes}

    def reduced(self, reader: Node, slot: int) -> set[int | None]:
        """The axes of an operand that no result has."""
        given = operand_types(self.graph, reader)
        links = reader.op.links(given, reader.types, lambda a, b: a == b)
        return {link.operands[slot] for link in links if link.is_reduced}

    def is_there(self, node: Node) -> bool:
        """Whether a node has the maximum's dimensions."""
        return node.domain.dims == self.greatest.domain.dims

    def readers(self, node: Node) -> Iterator[tuple[Node, int]]:
        """The consumers of a node, and the operands by which they read it."""
        return ((self.graph.nodes[u.reader], u.slot) for u in self.uses[node.name])
