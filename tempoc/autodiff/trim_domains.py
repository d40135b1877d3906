"""Demand analysis for new nodes: trim their domains to the points that are read.

Cotangents are first defined at all points of their tensors, though, for example, those of the last
step of a training loop are not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tempoc.base.effort import EFFORT
from tempoc.base.graphs import strongly_connected_components
from tempoc.ops.control.control import Merge
from tempoc.poly.relations.run_lengths import moves_elsewhere
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Node
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain


def trim_to_demand(nodes: dict[str, Node], new: Sequence[str], space: Space) -> None:
    """Trim the domains of the `new` nodes to what their readers read."""
    _CotangentDemand(nodes=nodes, space=space, demand=dict.fromkeys(new, ix.FALSE)).run(new)


@dataclass(slots=True, kw_only=True)
class _CotangentDemand:
    """`demand`: the condition of the points of each new node that are read so far."""

    nodes: dict[str, Node]
    space: Space
    demand: dict[str, ix.Expr]

    def run(self, new: Sequence[str]) -> None:
        """Consumers before producers, by strongly connected components."""
        for node in self.nodes.values():
            if node.name not in self.demand:
                self.add_reads(node, node.domain)

        def operands(name: str) -> list[str]:
            return [e.source for e in self.nodes[name].inputs if e.source in self.demand]

        for group in reversed(strongly_connected_components(new, operands)):
            self.fix_domains(group)

    def fix_domains(self, group: tuple[str, ...]) -> None:
        """Trim the nodes of a component."""
        alone = len(group) == 1 and all(e.source != group[0] for e in self.nodes[group[0]].inputs)
        if not alone and not self.reaches_fixpoint(group):
            for name in group:
                self.demand[name] = self.nodes[name].domain.where
        for name in group:
            self.restrict(name)
        for name in group:
            self.add_reads(self.nodes[name], self.nodes[name].domain)

    def reaches_fixpoint(self, group: tuple[str, ...]) -> bool:
        """Propagate demand in a cycle; whether it stopped growing within `demand_sweeps` rounds."""
        for _ in range(EFFORT.demand_sweeps):
            grown = [self.add_reads(self.nodes[n], self.demanded(n)) for n in group]
            if not any(grown):
                return True
        return False

    def demanded(self, name: str) -> Domain:
        """The demanded domain of a node."""
        return Domain(self.nodes[name].domain.dims, self.demand[name])

    def restrict(self, name: str) -> None:
        """Give a node its demanded domain; a merge loses the branches that are not taken there."""
        node = replace(self.nodes[name], domain=self.demanded(name))
        if isinstance(node.op, Merge):
            used = [k for k, e in enumerate(node.inputs) if not self.is_never_taken(node.domain, e)]
            if used:
                targets = tuple(node.op.targets[k] for k in used)
                inputs = tuple(node.inputs[k] for k in used)
                node = replace(node, op=Merge(targets=targets), inputs=inputs)
        self.nodes[name] = node

    def is_never_taken(self, domain: Domain, edge: Edge) -> bool:
        """Whether a branch is never taken."""
        both = ix.conjunction(domain.where, edge.guard)
        return self.space.symbolic.is_empty(Domain(domain.dims, both))

    def add_reads(self, node: Node, domain: Domain) -> bool:
        """Add the demand of a node in this domain for its operands; whether any has grown."""
        new = False
        for edge in node.inputs:
            if edge.source in self.demand and domain.where != ix.FALSE:
                new = self.add_read(domain, edge) or new
        return new

    def add_read(self, domain: Domain, edge: Edge) -> bool:
        """Add the points that an edge reads to the demand; whether it has grown."""
        symbolic, source = self.space.symbolic, self.nodes[edge.source].domain
        known = self.demand[edge.source]
        if known == source.where:
            return False
        sink = Domain(domain.dims, ix.conjunction(domain.where, edge.guard))
        points = self.image(sink, edge, source)
        if not symbolic.universe.has_lengths(points, source.dims):
            points = source.where
        if points == ix.FALSE or symbolic.implies(Domain(source.dims, points), known):
            return False
        if known != ix.FALSE:
            both = symbolic.union(Domain(source.dims, known), Domain(source.dims, points))
            points = both.where
        if symbolic.implies(source, points):
            points = source.where
        self.demand[edge.source] = points
        return True

    def image(self, sink: Domain, edge: Edge, source: Domain) -> ix.Expr:
        """The points of the source that are read."""
        symbolic = self.space.symbolic
        if symbolic.is_empty(sink):
            return ix.FALSE
        pairs = zip(source.dims, edge.entries, strict=True)
        if moves_elsewhere(symbolic.universe, sink, edge.entries, source):
            return source.where
        if all(e == ix.Sym(d) for d, e in pairs):
            return symbolic.project(sink, source.dims).where
        points = symbolic.access_map(sink, edge.entries, source).range()
        return symbolic.domain(points, source.dims).where
