"""Builds the nodes of tiles: fresh names, inferred types, an order with operands first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tempoc.base.names import fresh_name
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.shapes import Shape, axes_of
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary
from tempoc.ops.tensor.joining import Stack
from tempoc.ops.tensor.reduction import Reduction
from tempoc.ops.tensor.source import IndexValue
from tempoc.passes.running_recurrence import LoopEnds, running_recurrence
from tempoc.passes.tiling.partial_results import Combination
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import type_of_read
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain


@dataclass(slots=True, kw_only=True)
class TileNodeBuilder:
    """Adds nodes to those of a graph, some of them at each point of the new dimension ``dim``.

    ``space`` declares that dimension; the loop over it runs upwards if ``forward``. ``places`` has
    for each old node the new ones to insert before it.
    """

    old: Graph
    space: Space
    dim: str
    forward: bool = True
    nodes: dict[str, Node] = field(default_factory=dict)
    places: dict[str, list[str]] = field(default_factory=dict)

    @property
    def bound(self) -> ix.Expr:
        """The number of tiles."""
        return self.size_of(self.dim)

    def size_of(self, dim: str) -> ix.Expr:
        """The number of points of a dimension."""
        return ix.Sym(self.space.universe.dim(dim).bound)

    def tiled(self, domain: Domain) -> Domain:
        """The domain with the dimension of tiles."""
        return Domain(self.space.universe.ordered((*domain.dims, self.dim)), domain.where)

    def type_of(self, edge: Edge) -> TensorType:
        """The type of a read of an old or new node."""
        return type_of_read(self.nodes[edge.source], edge)

    def parts_of(self, node: Node) -> NodeBuilder:
        """A builder of nodes that are inserted before ``node``."""
        places = self.places.setdefault(node.name, [])
        return _PartBuilder(
            graph=self.old, space=self.space, node=node, nodes=self.nodes, places=places
        )

    def put(
        self, node: Node, part: str, op: Op, operands: Iterable[Edge | Node], domain: Domain
    ) -> Node:
        """Insert a node before ``node``, as `NodeBuilder.put` builds it."""
        return self.parts_of(node).put(part, op, operands, domain)

    def add(self, node: Node, added: Node) -> Node:
        """Insert a node before another one."""
        return self.parts_of(node).add(added)

    def fresh_name(self, node: Node, part: str) -> str:
        """A free name for a part of a node."""
        return fresh_name(f"{node.name}.{part}", self.nodes)

    def running_recurrence(
        self,
        node: Node,
        each: Node,
        how: Combination,
        type_: TensorType,
        scale: Edge | None,
    ) -> Node:
        """The recurrence that combines the tiles; its value at the last tile is the result.

        The previous value is multiplied by ``scale`` at each tile.
        """

        def combined(past: Node) -> tuple[Op, tuple[Node, ...]]:
            if scale is not None:
                past = self.put(node, "scaled", binary.Multiply(), (past, scale), each.domain)
            if how.stacked:
                return how.more, (self.put(node, "both", Stack(), (past, each), each.domain),)
            return how.more, (past, each)

        parts = self.parts_of(node)
        return running_recurrence(parts, each, type_, how.start, [self.loop], combined)

    @property
    def loop(self) -> LoopEnds:
        """The loop over tiles."""
        return LoopEnds.along(self.dim, ix.Slice(ix.ZERO, self.bound), forward=self.forward)

    def count(self, node: Node, shape: Shape, dtype: DType) -> Node:
        """The number of elements of which a node takes the mean."""
        assert isinstance(node.op, Reduction)
        expr = ix.product(shape[a] for a in axes_of(node.op.axes, len(shape)))
        count = self.put(node, "count", IndexValue(expr=expr), (), node.domain)
        return self.put(node, "number", unary.Cast(dtype=dtype), (count,), node.domain)


@dataclass(slots=True, kw_only=True)
class _PartBuilder(NodeBuilder):
    """Builds parts of a node; ``places`` gets their names in order."""

    places: list[str]

    def add(self, node: Node) -> Node:
        self.places.append(node.name)
        return NodeBuilder.add(self, node)
