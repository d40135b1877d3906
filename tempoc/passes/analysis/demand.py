"""Demand analysis: which points of each node are read, as a box of a range for each dimension.

A backward data-flow analysis. Outputs demand what they read, effects are demanded at all of their
points, and a demanded node demands its operands there, up to a fixpoint. A limit of a box that
keeps moving is widened to that of the domain, so a box is never too small. Limits are affine
expressions over bounds that are known when the program starts.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field

from tempoc.base.effort import EFFORT
from tempoc.base.graphs import Worklist
from tempoc.ops.tensor.source import Param
from tempoc.passes.analysis.variance import is_external
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import topological
from tempoc.sdg.statements.build import identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import is_affine, symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class DimRange:
    """The first and the last point along a dimension; ``None`` stands for that of the domain."""

    low: ix.Expr | None = None
    high: ix.Expr | None = None


UNBOUNDED = DimRange()
Box = Mapping[str, DimRange]


def demanded_boxes(
    graph: Graph,
    space: Space,
    full: Container[str],
    within: Mapping[str, Container[str]] | None = None,
) -> dict[str, Box]:
    """The box of each node that is read at all; for the nodes in ``full`` it is their domain.

    Nodes in ``within`` have limits along these of their dimensions only.
    """
    worklist = Worklist(topological(graph)[::-1])
    search = _BoxSearch(graph=graph, space=space, full=full, within=within or {}, worklist=worklist)
    for output in graph.outputs:
        search.add_read(Domain(()), {}, output.edge)
    for node in graph.nodes.values():
        if is_external(node) or isinstance(node.op, Param):
            search.widen(node, dict.fromkeys(node.domain.dims, UNBOUNDED))
    search.run()
    return search.boxes


def restrict_to_box(domain: Domain, box: Box) -> Domain:
    """The points of a domain inside of a box."""
    conditions = [domain.where]
    for dim in domain.dims:
        ends = box.get(dim, UNBOUNDED)
        if ends.low is not None:
            conditions.append(ix.compare(">=", ix.Sym(dim), ends.low))
        if ends.high is not None:
            conditions.append(ix.compare("<", ix.Sym(dim), ix.add(ends.high, ix.ONE)))
    return Domain(domain.dims, ix.conjunction(*conditions))


@dataclass(slots=True, kw_only=True)
class _BoxSearch:
    """Growing boxes; ``moves`` counts how often each limit (node, dimension, upper) has moved."""

    graph: Graph
    space: Space
    full: Container[str]
    within: Mapping[str, Container[str]]
    worklist: Worklist[str]
    boxes: dict[str, Box] = field(default_factory=dict)
    moves: dict[tuple[str, str, bool], int] = field(default_factory=dict)
    limits: dict[tuple[Domain, ix.Expr, bool], ix.Expr | None] = field(default_factory=dict)

    def run(self) -> None:
        """Propagate demand to a fixpoint."""
        while (name := self.worklist.take()) is not None:
            node = self.graph.nodes[name]
            for edge in node.inputs:
                self.add_read(node.domain, self.boxes[name], edge)

    def add_read(self, sink: Domain, box: Box, edge: Edge) -> None:
        """Add what a reader in ``sink``, itself demanded in ``box``, reads of its source."""
        source = self.graph.nodes[edge.source]
        known = self.boxes.get(source.name)
        if known is not None and all(ends == UNBOUNDED for ends in known.values()):
            return
        if source.name in self.full or not source.domain.dims:
            self.widen(source, dict.fromkeys(source.domain.dims, UNBOUNDED))
            return
        if edge.guard == ix.TRUE and sink == source.domain and edge.entries == identity(sink):
            self.widen(source, box)
            return
        inside = restrict_to_box(Domain(sink.dims, ix.conjunction(sink.where, edge.guard)), box)
        if self.space.is_empty(inside):
            return
        pairs = zip(source.domain.dims, edge.entries, strict=True)
        self.widen(source, {d: self.ends(source, d, e, inside) for d, e in pairs})

    def ends(self, source: Node, dim: str, entry: ix.Entry, sink: Domain) -> DimRange:
        """The range that an entry reads along a dimension."""
        if self.reads_full_range(dim, entry, sink):
            return UNBOUNDED
        first, last = (
            (entry.lo, ix.sub(entry.hi, ix.ONE)) if isinstance(entry, ix.Slice) else (entry, entry)
        )
        return DimRange(
            low=self.limit(source.domain, dim, first, sink, greatest=False),
            high=self.limit(source.domain, dim, last, sink, greatest=True),
        )

    def reads_full_range(self, dim: str, entry: ix.Entry, sink: Domain) -> bool:
        """Whether an entry obviously reads all points: a shortcut for speed only."""
        bound = self.graph.universe.dim(dim).bound
        if isinstance(entry, ix.Slice):
            return entry == ix.Slice(ix.ZERO, ix.Sym(bound))
        if not isinstance(entry, ix.Sym) or entry.name not in sink.dims:
            return False
        free = entry.name not in symbols(sink.where)
        return free and self.graph.universe.dim(entry.name).bound == bound

    def limit(
        self, source: Domain, dim: str, e: ix.Expr, sink: Domain, *, greatest: bool
    ) -> ix.Expr | None:
        """The least or greatest value, unless the source has no points beyond it."""
        value, own = self.extreme(sink, e, greatest), self.extreme(source, ix.Sym(dim), greatest)
        if value is None or own is None or value == own:
            return None
        covers_source = ix.compare(">=", value, own) if greatest else ix.compare("<=", value, own)
        return None if self.space.implies(Domain(()), covers_source) else value

    def extreme(self, domain: Domain, e: ix.Expr, greatest: bool) -> ix.Expr | None:
        """The least or greatest value over a domain, if it is affine and known at program start."""
        key = domain, e, greatest
        if key not in self.limits:
            limit = self.space.upper_bound if greatest else self.space.lower_bound
            value = self.space.reduce(limit(e, domain), Domain(())) if is_affine(e) else None
            if value is not None and (
                isinstance(value, ix.IndexMin | ix.IndexMax)
                or not is_affine(value)
                or any(n in self.graph.universe.lengths for n in symbols(value))
            ):
                value = None
            self.limits[key] = value
        return self.limits[key]

    def widen(self, node: Node, box: Box) -> None:
        """Join a box with the node's box; puts the node on the worklist if that grows."""
        if node.name in self.within:
            limited = self.within[node.name]
            box = {
                d: box.get(d, UNBOUNDED) if d in limited else UNBOUNDED for d in node.domain.dims
            }
        known = self.boxes.get(node.name)
        if known is None:
            self.boxes[node.name] = box
            self.worklist.add(node.name)
            return
        joined = {}
        for dim in node.domain.dims:
            old, new = known[dim], box.get(dim, UNBOUNDED)
            joined[dim] = DimRange(
                low=self.outer((node.name, dim, False), old.low, new.low),
                high=self.outer((node.name, dim, True), old.high, new.high),
            )
        if joined != known:
            self.boxes[node.name] = joined
            self.worklist.add(node.name)

    def outer(
        self, end: tuple[str, str, bool], a: ix.Expr | None, b: ix.Expr | None
    ) -> ix.Expr | None:
        """The outer one of two limits; ``None`` if they are incomparable, or it moved too often."""
        if a is None or b is None:
            return None
        _, _, greatest = end
        for x, y in ((a, b), (b, a)):
            order = ix.compare(">=", x, y) if greatest else ix.compare("<=", x, y)
            if x == y or self.space.implies(Domain(()), order):
                if x == a:
                    return a
                self.moves[end] = self.moves.get(end, 0) + 1
                return b if self.moves[end] < EFFORT.limit_moves else None
        return None
