"""Maxima that need not be NaN, because what they are subtracted from is.

    %m = max{axes=(0,), keepdims=true} %x     : [t] f32[1]
    %d = sub %x, %m                           : [t] f32[K]
    %e = exp %d                               : [t] f32[K]
    %s = sum{axes=(0,), keepdims=true} %e     : [t] f32[1]
    %y = div %e, %s                           : [t] f32[K]

If an element of ``%x`` is NaN, so is that of ``%d`` and ``%e``, whatever the maximum, hence the sum
of the row, hence all that is divided by it. Where each consumer of a maximum ends in such a sum, or
meets it again, ``%m`` is marked: emitted code does not look for NaN, which takes as long again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from tempoc.ops.definition.shapes import Shape, axes_of
from tempoc.ops.tensor.arithmetic import Subtract
from tempoc.ops.tensor.movement import ExpandDims
from tempoc.ops.tensor.reduction import Max, Sum
from tempoc.passes.context import GraphPass, PassContext
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import OperandUse, operand_type, operand_types, users
from tempoc.sdg.statements.build import is_identity
from tempoc.symbolic import expr as ix


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftmaxMaxima(GraphPass):
    """Marks maxima of which nothing shows whether they are NaN."""

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

    ``partly`` are nodes with the operand's shape of which that element is NaN, ``wholly`` those of
    which all of the row is. ``shape`` is that of the operand, ``rows`` has 1 in place of the axes.
    """

    graph: Graph
    uses: Mapping[str, tuple[OperandUse, ...]]
    outputs: frozenset[str]
    greatest: Node
    partly: set[str] = field(default_factory=set)
    wholly: set[str] = field(default_factory=set)

    @property
    def shape(self) -> Shape:
        return operand_type(self.graph, self.greatest.inputs[0]).shape

    @property
    def axes(self) -> tuple[int, ...]:
        assert isinstance(self.greatest.op, Max)
        return axes_of(self.greatest.op.axes, len(self.shape))

    @property
    def rows(self) -> Shape:
        return tuple(ix.ONE if k in self.axes else e for k, e in enumerate(self.shape))

    def are_nan(self) -> bool:
        """Whether whatever depends on the maximum is NaN, also if that is not."""
        worklist = self.differences()
        while worklist:
            joined: list[tuple[Node, int]] = []
            while worklist:
                node = worklist.pop()
                if node.name not in self.partly:
                    if not self.are_partly_or_joined(node, worklist, joined):
                        return False
                    self.partly.add(node.name)
            for reader, slot in joined:
                if not self.is_read(reader, 1 - slot, self.wholly):
                    worklist.append(reader)
        return bool(self.partly)

    def differences(self) -> list[Node]:
        """The differences of operand and maximum; none if anything else depends on it."""
        offsets, differences = [self.greatest], []
        while offsets:
            offset = offsets.pop()
            if offset.name in self.outputs:
                return []
            for reader, slot in self.readers(offset):
                beside = reader.inputs[1 - slot :][:1]
                if isinstance(reader.op, ExpandDims) and is_identity(
                    reader.inputs[slot], self.graph
                ):
                    offsets.append(reader)
                elif (
                    isinstance(reader.op, Subtract)
                    and is_identity(reader.inputs[slot], self.graph)
                    and beside == self.greatest.inputs
                    and self.is_row(offset)
                ):
                    differences.append(reader)
                else:
                    return []
        return differences

    def are_partly_or_joined(
        self, node: Node, worklist: list[Node], joined: list[tuple[Node, int]]
    ) -> bool:
        """Whether all that reads such a node keeps NaN; some of it only with another operand."""
        same = node.types[0].shape == self.shape and node.types[0].dtype.is_float
        if not same or node.name in self.outputs or not self.is_there(node):
            return False
        for reader, slot in self.readers(node):
            if not is_identity(reader.inputs[slot], self.graph):
                return False
            if reader.op.keeps_nan and len(reader.inputs) == 2:
                joined.append((reader, slot))
            elif reader.op.keeps_nan:
                worklist.append(reader)
            elif not self.is_summed(reader, slot):
                return False
            elif isinstance(reader.op, Sum):
                self.add_wholly(reader)
        return True

    def add_wholly(self, total: Node) -> None:
        """The sum of rows, and what is computed of it."""
        worklist = [total]
        while worklist:
            node = worklist.pop()
            if node.name in self.wholly or not self.is_there(node):
                continue
            if self.is_row(node) or node.types[0].shape == self.shape:
                self.wholly.add(node.name)
            elif node is not total and not isinstance(node.op, ExpandDims):
                continue
            for reader, slot in self.readers(node):
                keeps = reader.op.keeps_nan and reader.types[0].dtype.is_float
                keeps &= node.name in self.wholly or len(reader.inputs) == 1
                if (keeps or isinstance(reader.op, ExpandDims)) and is_identity(
                    reader.inputs[slot], self.graph
                ):
                    worklist.append(reader)

    def is_summed(self, reader: Node, slot: int) -> bool:
        """Whether a consumer sums products along all of the row."""
        if not (isinstance(reader.op, Sum) or reader.op.contraction):
            return False
        given = operand_types(self.graph, reader)
        links = [*reader.op.links(given, reader.types, lambda a, b: a == b)]
        summed = {link.operands[slot] for link in links if link.is_reduced}
        return summed >= {*self.axes}

    def is_there(self, node: Node) -> bool:
        """Whether a node has the maximum's dimensions."""
        return node.domain.dims == self.greatest.domain.dims

    def is_row(self, node: Node) -> bool:
        """Whether numbers of rows stand where the rows are."""
        shape = node.types[0].shape
        return (ix.ONE,) * (len(self.shape) - len(shape)) + shape == self.rows

    def is_read(self, reader: Node, slot: int, names: Collection[str]) -> bool:
        """Whether an operand is one of these nodes at the same point."""
        edge = reader.inputs[slot]
        return edge.source in names and is_identity(edge, self.graph)

    def readers(self, node: Node) -> Iterator[tuple[Node, int]]:
        """The consumers of a node, and the operands by which they read it."""
        return ((self.graph.nodes[u.reader], u.slot) for u in self.uses[node.name])
