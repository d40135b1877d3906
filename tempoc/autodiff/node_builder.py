"""Builders that add nodes to a graph, in one domain, for derivative rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tempoc.base.names import Names
from tempoc.diagnostics.source import Span
from tempoc.ops.control.control import Copy, Merge
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import TensorType
from tempoc.ops.gradients.calculus import Calculus, Term
from tempoc.ops.tensor.source import Full, Literal
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import expressions, type_of_read
from tempoc.sdg.statements.build import identity
from tempoc.sdg.verification.verify import DomainFacts
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import symbols


@dataclass(slots=True, kw_only=True, eq=False)
class GraphBuilder:
    """A graph to which nodes are added; equal nodes are added once."""

    graph: Graph
    space: Space
    nodes: dict[str, Node]
    names: Names
    known: dict[tuple[Op, tuple[Edge, ...], Domain], str] = field(default_factory=dict)

    def type_of(self, edge: Edge, domain: Domain) -> TensorType:
        """The type of a read at the points of a domain."""
        declared = type_of_read(self.nodes[edge.source], edge)
        shape = tuple(self.space.reduce(e, domain) for e in declared.shape)
        return TensorType(declared.dtype, shape, declared.weak)


@dataclass(frozen=True, slots=True, kw_only=True)
class PointBuild:
    """Builds nodes in `domain`, with names that start with `prefix`."""

    builder: GraphBuilder
    domain: Domain
    prefix: str
    spans: tuple[Span, ...] = ()

    @property
    def facts(self) -> DomainFacts:
        """Facts about these points."""
        return DomainFacts(self.builder.space, self.domain)

    @property
    def calculus(self) -> Calculus:
        """Arithmetic at these points."""
        return Calculus(self)

    def read(self, edge: Edge) -> Term:
        """An operand."""
        node = self.builder.nodes[edge.source]
        number = node.op.value if isinstance(node.op, (Literal, Full)) else None
        type = self.builder.type_of(edge, self.domain)
        return Term(type, edge, None if number is None else float(number))

    def make(self, op: Op, args: Sequence[Term]) -> tuple[Term, ...]:
        """Add an operator, over the dimensions that its operands vary with; its results."""
        edges = tuple(edge_of(a) for a in args)
        types = op.infer(tuple(a.type for a in args), self.facts)
        entries: list[ix.Entry] = [e for edge in edges for e in edge.entries]
        entries += [*expressions(op), *(e for t in types for e in t.shape)]
        universe = self.builder.space.universe
        names = universe.ordered(tuple(n for e in entries for n in symbols(e)))
        domain = self.builder.space.project(self.domain, names)
        if not universe.has_lengths(domain.where, domain.dims):
            names = universe.ordered((*names, *symbols(domain.where)))
            domain = self.builder.space.project(self.domain, names)
        return self.node(op, edges, domain, types)

    def node(
        self, op: Op, edges: tuple[Edge, ...], domain: Domain, types: tuple[TensorType, ...]
    ) -> tuple[Term, ...]:
        """The results of a new node, or of an equal one that exists."""
        builder = self.builder
        key = (op, edges, domain)
        name = builder.known.get(key)
        if name is None:
            name = builder.names.fresh(f"{self.prefix}.{op.name}")
            builder.known[key] = name
            builder.nodes[name] = Node(
                name=name, op=op, domain=domain, inputs=edges, types=types, spans=self.spans
            )
        number = op.value if isinstance(op, (Literal, Full)) else None
        node = builder.nodes[name]
        return tuple(Term(t, read_of(node, k), number) for k, t in enumerate(types))

    def at_all_points(self, x: Term) -> Term:
        """The term as a node in exactly this domain, whatever it varies with."""
        edge = edge_of(self.calculus.held(x))
        node = self.builder.nodes[edge.source]
        if edge.entries == identity(self.domain) and node.domain == self.domain:
            return Term(x.type, edge, x.number)
        return self.node(Copy(), (edge,), self.domain, (x.type,))[0]

    def zero_extended(self, x: Term, within: ix.Expr = ix.TRUE) -> Term:
        """The term extended by 0 to all points of the dimensions, or those of `within`."""
        x = self.at_all_points(x)
        where, dims = self.domain.where, self.domain.dims
        if where == within:
            return x
        box = Domain(dims, within)
        complement = Domain(dims, ix.conjunction(within, ix.negation(where)))
        outside = replace(self, domain=complement)
        zero = outside.at_all_points(outside.calculus.number(0.0, x.type.dtype, x.shape))
        own_point = identity(box)
        edges = (replace(edge_of(x), guard=where), replace(edge_of(zero), guard=complement.where))
        merge = Merge(targets=(own_point, own_point))
        return replace(self, domain=box).node(merge, edges, box, (x.type,))[0]


def edge_of(x: Term) -> Edge:
    """The read that a term is."""
    assert isinstance(x.handle, Edge)
    return x.handle
