"""Which points of each node somebody asks for, as a box: a first and a last one for each dimension.

Outputs ask for what they read; what is seen outside happens at all of its points. A node that is
asked for asks for what it reads there. Around a recurrence that is repeated until nothing changes;
an end that keeps moving is given up, and is then that of the domain: so the boxes are never too
small. Ends are affine expressions over bounds that are known when the program starts.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field

from tempoc.ops.tensor.source import Param
from tempoc.passes.analysis.variance import is_outward
from tempoc.passes.analysis.worklist import Waiting
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import topological
from tempoc.sdg.statements.build import identity
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import (
    ONE,
    TRUE,
    ZERO,
    Entry,
    Expr,
    IndexMax,
    IndexMin,
    Slice,
    Sym,
    add,
    compare,
    conjunction,
    sub,
)  # fmt: skip
from tempoc.symbolic.walk import is_affine, symbols

PATIENCE = 3
"""How often an end may move before it is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DimRange:
    """The first and the last point along a dimension; ``None`` is that of the domain."""

    low: Expr | None = None
    high: Expr | None = None


WHOLE = DimRange()
Box = Mapping[str, DimRange]


def wanted(graph: Graph, space: Space, whole: Container[str] = ()) -> dict[str, Box]:
    """For each node that is asked for the box of points; all of them for the nodes in ``whole``."""
    worklist = Waiting(topological(graph)[::-1])
    search = _BoxSearch(graph=graph, space=space, whole=whole, waiting=worklist)
    for output in graph.outputs:
        edge = Edge(source=output.source, out=output.out, entries=output.entries)
        search.ask(Domain(()), {}, edge)
    for node in graph.nodes.values():
        if is_outward(node) or isinstance(node.op, Param):
            search.join(node, dict.fromkeys(node.domain.dims, WHOLE))
    search.run()
    return search.found


def part(domain: Domain, box: Box) -> Domain:
    """The points of a domain inside of a box."""
    conditions = [domain.where]
    for dim in domain.dims:
        ends = box.get(dim, WHOLE)
        if ends.low is not None:
            conditions.append(compare(">=", Sym(dim), ends.low))
        if ends.high is not None:
            conditions.append(compare("<", Sym(dim), add(ends.high, ONE)))
    return Domain(domain.dims, conjunction(*conditions))


@dataclass(slots=True, kw_only=True)
class _BoxSearch:
    """Boxes that grow; ``moved`` counts how often each end did."""

    graph: Graph
    space: Space
    whole: Container[str]
    waiting: Waiting
    found: dict[str, Box] = field(default_factory=dict)
    moved: dict[tuple[str, str, bool], int] = field(default_factory=dict)
    limits: dict[tuple[Domain, Expr, bool], Expr | None] = field(default_factory=dict)

    def run(self) -> None:
        """Pass on what is asked for until nothing changes."""
        while (name := self.waiting.take()) is not None:
            node = self.graph.nodes[name]
            for edge in node.inputs:
                self.ask(node.domain, self.found[name], edge)

    def ask(self, sink: Domain, box: Box, edge: Edge) -> None:
        """What a read needs of its source, at the points of its reader that are asked for."""
        source = self.graph.nodes[edge.source]
        known = self.found.get(source.name)
        if known is not None and all(ends == WHOLE for ends in known.values()):
            return
        if source.name in self.whole or not source.domain.dims:
            self.join(source, dict.fromkeys(source.domain.dims, WHOLE))
            return
        if edge.guard == TRUE and sink == source.domain and edge.entries == identity(sink):
            self.join(source, box)
            return
        inside = part(Domain(sink.dims, conjunction(sink.where, edge.guard)), box)
        if self.space.is_empty(inside):
            return
        pairs = zip(source.domain.dims, edge.entries, strict=True)
        self.join(source, {d: self.ends(source, d, e, inside) for d, e in pairs})

    def ends(self, source: Node, dim: str, entry: Entry, sink: Domain) -> DimRange:
        """The box of what an entry reads along a dimension."""
        if self.is_whole(dim, entry, sink):
            return WHOLE
        first, last = (entry.lo, sub(entry.hi, ONE)) if isinstance(entry, Slice) else (entry, entry)
        return DimRange(
            low=self.limit(source.domain, dim, first, sink, greatest=False),
            high=self.limit(source.domain, dim, last, sink, greatest=True),
        )

    def is_whole(self, dim: str, entry: Entry, sink: Domain) -> bool:
        """Whether an entry plainly reads all points: a test for speed, not needed otherwise."""
        bound = self.graph.universe.dim(dim).bound
        if isinstance(entry, Slice):
            return entry == Slice(ZERO, Sym(bound))
        if not isinstance(entry, Sym) or entry.name not in sink.dims:
            return False
        free = entry.name not in symbols(sink.where)
        return free and self.graph.universe.dim(entry.name).bound == bound

    def limit(
        self, source: Domain, dim: str, e: Expr, sink: Domain, *, greatest: bool
    ) -> Expr | None:
        """The least or greatest value, if that cuts something off the source."""
        value, own = self.extreme(sink, e, greatest), self.extreme(source, Sym(dim), greatest)
        if value is None or own is None or value == own:
            return None
        covers_source = compare(">=", value, own) if greatest else compare("<=", value, own)
        return None if self.space.implies(Domain(()), covers_source) else value

    def extreme(self, domain: Domain, e: Expr, greatest: bool) -> Expr | None:
        """The least or greatest value over a domain, if it is plain and known at the start."""
        key = domain, e, greatest
        if key not in self.limits:
            limit = self.space.upper_bound if greatest else self.space.lower_bound
            value = self.space.reduce(limit(e, domain), Domain(())) if is_affine(e) else None
            if value is not None and (
                isinstance(value, IndexMin | IndexMax)
                or not is_affine(value)
                or any(n in self.graph.universe.lengths for n in symbols(value))
            ):
                value = None
            self.limits[key] = value
        return self.limits[key]

    def join(self, node: Node, box: Box) -> None:
        """Add a box to what is asked for of a node."""
        known = self.found.get(node.name)
        if known is None:
            self.found[node.name] = box
            self.waiting.add(node.name)
            return
        joined = {}
        for dim in node.domain.dims:
            old, new = known[dim], box.get(dim, WHOLE)
            joined[dim] = DimRange(
                low=self.outer((node.name, dim, False), old.low, new.low),
                high=self.outer((node.name, dim, True), old.high, new.high),
            )
        if joined != known:
            self.found[node.name] = joined
            self.waiting.add(node.name)

    def outer(self, end: tuple[str, str, bool], a: Expr | None, b: Expr | None) -> Expr | None:
        """The outer one of two ends; none where nobody knows which, or it moved too often."""
        if a is None or b is None:
            return None
        _, _, greatest = end
        for x, y in ((a, b), (b, a)):
            order = compare(">=", x, y) if greatest else compare("<=", x, y)
            if x == y or self.space.implies(Domain(()), order):
                if x == a:
                    return a
                self.moved[end] = self.moved.get(end, 0) + 1
                return b if self.moved[end] < PATIENCE else None
        return None
