"""Builds the nodes of tiles: fresh names, inferred types, an order with operands first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from tempoc.base.names import fresh_name
from tempoc.ops.control.control import Merge
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.shapes import Shape, axes_of
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.tensor.arithmetic import Multiply
from tempoc.ops.tensor.elementwise import Cast
from tempoc.ops.tensor.joining import Stack
from tempoc.ops.tensor.reduction import Reduction
from tempoc.ops.tensor.source import Full, IndexValue
from tempoc.passes.tiling.partial_results import Combination
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import type_of_read
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import ONE, ZERO, Expr, Sym, add, compare, product, sub


@dataclass(slots=True, kw_only=True)
class TileNodeBuilder:
    """Adds nodes to those of a graph, some of them at each point of the new dimension ``dim``.

    ``space`` declares that dimension. ``places`` has for each old node the new ones to insert
    before it.
    """

    old: Graph
    space: Space
    dim: str
    nodes: dict[str, Node] = field(default_factory=dict)
    places: dict[str, list[str]] = field(default_factory=dict)

    @property
    def bound(self) -> Expr:
        """The number of tiles."""
        return self.size_of(self.dim)

    def size_of(self, dim: str) -> Expr:
        """The number of points of a dimension."""
        return Sym(self.space.universe.dim(dim).bound)

    def tiled(self, domain: Domain) -> Domain:
        """The domain with the dimension of tiles."""
        return Domain(self.space.universe.ordered((*domain.dims, self.dim)), domain.where)

    def type_of(self, edge: Edge) -> TensorType:
        """The type of a read of an old or new node."""
        return type_of_read(self.nodes[edge.source], edge)

    def put(
        self, node: Node, part: str, op: Op, operands: Iterable[Edge | Node], domain: Domain
    ) -> Node:
        """Insert a node before ``node``, as `NodeBuilder.put` builds it."""
        builder = NodeBuilder(graph=self.old, space=self.space, node=node, nodes=self.nodes)
        return self.add(node, builder.put(part, op, operands, domain))

    def add(self, node: Node, added: Node) -> Node:
        """Insert a node before another one."""
        self.nodes[added.name] = added
        self.places.setdefault(node.name, []).append(added.name)
        return added

    def fresh_name(self, node: Node, part: str) -> str:
        """A free name for a part of a node."""
        return fresh_name(f"{node.name}.{part}", self.nodes)

    # ------------------------------------------------------------ recurrences

    def running_recurrence(
        self,
        node: Node,
        each: Node,
        how: Combination,
        type_: TensorType,
        scale: Edge | None = None,
    ) -> Node:
        """The recurrence that combines the tiles; its value at the last tile is the result.

        The previous value is multiplied by ``scale`` at each tile.
        """
        empty = Full(shape=type_.shape, value=how.start, dtype=type_.dtype)
        none = self.put(node, "none", empty, (), node.domain)
        tile, down, up = Sym(self.dim), sub(Sym(self.dim), ONE), add(Sym(self.dim), ONE)
        past_name, now_name = self.fresh_name(node, "past"), self.fresh_name(node, "now")
        dims = each.domain
        inputs = (
            replace(read_of(none), guard=compare("==", tile, ZERO)),
            Edge(
                source=now_name,
                entries=at_point(dims, self.dim, down),
                guard=compare(">=", tile, ONE),
            ),
        )
        targets = (at_point(dims, self.dim, ZERO), at_point(dims, self.dim, up))
        merge = Merge(targets=targets)
        past = replace(each, name=past_name, op=merge, inputs=inputs, types=(type_,))
        self.add(node, past)
        before = past
        if scale is not None:
            before = self.put(node, "scaled", Multiply(), (before, scale), dims)
        both = [before, each]
        if how.stacked:
            both = [self.put(node, "both", Stack(), both, dims)]
        now = replace(past, name=now_name, op=how.more, inputs=tuple(map(read_of, both)))
        return self.add(node, now)

    def count(self, node: Node, shape: Shape, dtype: DType) -> Node:
        """The number of elements of which a node takes the mean."""
        assert isinstance(node.op, Reduction)
        expr = product(shape[a] for a in axes_of(node.op.axes, len(shape)))
        count = self.put(node, "count", IndexValue(expr=expr), (), node.domain)
        return self.put(node, "number", Cast(dtype=dtype), (count,), node.domain)


def at_point(domain: Domain, dim: str, point: Expr) -> tuple[Expr, ...]:
    """A read at a point of a dimension, otherwise at the reader's own."""
    return tuple(point if d == dim else Sym(d) for d in domain.dims)
