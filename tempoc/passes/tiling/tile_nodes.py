"""Builds the nodes of tiles: fresh names, inferred types, an order with operands first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

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
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import operand_type
from tempoc.sdg.statements.build import identity
from tempoc.sdg.verification.verify import DomainFacts
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

    def view(self) -> Graph:
        """The graph with the nodes built so far."""
        return replace(self.old, universe=self.space.universe, nodes=self.nodes)

    def put(self, node: Node, part: str, op: Op, inputs: Iterable[Edge], domain: Domain) -> Node:
        """Add a node with the type that its operator infers."""
        edges = tuple(inputs)
        args = tuple(operand_type(self.view(), e) for e in edges)
        types = op.infer(args, DomainFacts(self.space, domain))
        name = self.fresh_name(node, part)
        vector = tuple(d for d in node.vector if d in domain.dims)
        added = replace(
            node, name=name, op=op, inputs=edges, domain=domain, types=types, vector=vector
        )
        self.add(node, added)
        return added

    def add(self, node: Node, added: Node) -> None:
        """Insert a node before another one."""
        self.nodes[added.name] = added
        self.places.setdefault(node.name, []).append(added.name)

    def fresh_name(self, node: Node, part: str) -> str:
        """A free name for a part of a node."""
        name, number = f"{node.name}.{part}", 2
        while name in self.nodes:
            name, number = f"{node.name}.{part}{number}", number + 1
        return name

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
        before = read_of(past)
        if scale is not None:
            before = read_of(self.put(node, "scaled", Multiply(), (before, scale), dims))
        both = [before, read_of(each)]
        if how.stacked:
            both = [read_of(self.put(node, "both", Stack(), both, dims))]
        now = replace(past, name=now_name, op=how.more, inputs=tuple(both))
        self.add(node, now)
        return now

    def count(self, node: Node, shape: Shape, dtype: DType) -> Node:
        """The number of elements of which a node takes the mean."""
        assert isinstance(node.op, Reduction)
        expr = product(shape[a] for a in axes_of(node.op.axes, len(shape)))
        count = self.put(node, "count", IndexValue(expr=expr), (), node.domain)
        return self.put(node, "number", Cast(dtype=dtype), (read_of(count),), node.domain)


def at_point(domain: Domain, dim: str, point: Expr) -> tuple[Expr, ...]:
    """A read at a point of a dimension, otherwise at the reader's own."""
    return tuple(point if d == dim else Sym(d) for d in domain.dims)


def read_of(node: Node) -> Edge:
    """A read at the reader's own point."""
    return Edge(source=node.name, entries=identity(node.domain))
