"""New nodes of a finished graph are computed only where something reads them.

Derivatives are made at all points of what they are derivatives of; of the last step of a training
loop, for example, nobody wants them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tempoc.ops.control.control import Merge
from tempoc.poly.relations.run_lengths import moves_elsewhere
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Node
from tempoc.sdg.graph.query import components
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import FALSE, Expr, Sym, conjunction

SWEEPS = 4
"""How often demand is carried around a cycle; nodes keep all their points if it still grows."""


def trim_to_demand(nodes: dict[str, Node], new: Sequence[str], space: Space) -> None:
    """Make the domains of the `new` nodes what their readers read."""
    _CotangentDemand(nodes=nodes, space=space, asked=dict.fromkeys(new, FALSE)).run(new)


@dataclass(slots=True, kw_only=True)
class _CotangentDemand:
    """`asked`: the points wanted so far of each new node."""

    nodes: dict[str, Node]
    space: Space
    asked: dict[str, Expr]

    def run(self, new: Sequence[str]) -> None:
        """Readers before what they read, cycle by cycle."""
        for node in self.nodes.values():
            if node.name not in self.asked:
                self.read_by(node, node.domain)

        def operands(name: str) -> list[str]:
            return [e.source for e in self.nodes[name].inputs if e.source in self.asked]

        for group in reversed(components(list(new), operands)):
            self.settle(group)

    def settle(self, group: tuple[str, ...]) -> None:
        """Decide about the nodes of a cycle, or one node."""
        alone = len(group) == 1 and all(e.source != group[0] for e in self.nodes[group[0]].inputs)
        if not alone and not self.closed(group):
            for name in group:
                self.asked[name] = self.nodes[name].domain.where
        for name in group:
            self.fix(name)
        for name in group:
            self.read_by(self.nodes[name], self.nodes[name].domain)

    def closed(self, group: tuple[str, ...]) -> bool:
        """Carry demand around a cycle; whether it stopped growing."""
        for _ in range(SWEEPS):
            grown = [self.read_by(self.nodes[n], self.wanted(n)) for n in group]
            if not any(grown):
                return True
        return False

    def wanted(self, name: str) -> Domain:
        """The points of a node that are asked for."""
        return Domain(self.nodes[name].domain.dims, self.asked[name])

    def fix(self, name: str) -> None:
        """Give a node its domain; a merge loses the branches that are not taken there."""
        node = replace(self.nodes[name], domain=self.wanted(name))
        if isinstance(node.op, Merge):
            used = [k for k, e in enumerate(node.inputs) if not self.never(node.domain, e)]
            if used:
                targets = tuple(node.op.targets[k] for k in used)
                inputs = tuple(node.inputs[k] for k in used)
                node = replace(node, op=Merge(targets=targets), inputs=inputs)
        self.nodes[name] = node

    def never(self, domain: Domain, edge: Edge) -> bool:
        """Whether a branch is taken nowhere."""
        both = conjunction(domain.where, edge.guard)
        return self.space.symbolic.is_empty(Domain(domain.dims, both))

    def read_by(self, node: Node, domain: Domain) -> bool:
        """Ask for what a node reads at these points; whether anything was new."""
        new = False
        for edge in node.inputs:
            if edge.source in self.asked and domain.where != FALSE:
                new = self.ask(domain, edge) or new
        return new

    def ask(self, domain: Domain, edge: Edge) -> bool:
        """Ask for what an edge reads; whether that was new."""
        symbolic, source = self.space.symbolic, self.nodes[edge.source].domain
        known = self.asked[edge.source]
        if known == source.where:
            return False
        sink = Domain(domain.dims, conjunction(domain.where, edge.guard))
        points = self.image(sink, edge, source)
        if not symbolic.universe.has_lengths(points, source.dims):
            points = source.where
        if points == FALSE or symbolic.implies(Domain(source.dims, points), known):
            return False
        if known != FALSE:
            both = symbolic.union(Domain(source.dims, known), Domain(source.dims, points))
            points = both.where
        if symbolic.implies(source, points):
            points = source.where
        self.asked[edge.source] = points
        return True

    def image(self, sink: Domain, edge: Edge, source: Domain) -> Expr:
        """The points of the source that are read."""
        symbolic = self.space.symbolic
        if symbolic.is_empty(sink):
            return FALSE
        pairs = zip(source.dims, edge.entries, strict=True)
        if moves_elsewhere(symbolic.universe, sink, edge.entries, source):
            return source.where
        if all(e == Sym(d) for d, e in pairs):
            return symbolic.project(sink, source.dims).where
        points = symbolic.access_map(sink, edge.entries, source).range()
        return symbolic.domain(points, source.dims).where
