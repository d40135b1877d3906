"""At which points the results of operators that check operands are needed.

A kernel computes its nodes at all points of their common domain. What nobody reads is not computed
in the meaning of a program, so that no position is wrong there, and what a kernel checks must not
be checked there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tempoc.base.graphs import reachable
from tempoc.ops.control.recurrence import Recurrence
from tempoc.ops.control.until import Until
from tempoc.ops.tensor.source import Param
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import OperandUse, components, topological, users
from tempoc.sdg.statements.build import identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, conjuncts, grows
from tempoc.symbolic.walk import is_affine, rebuilt, substitute, symbols


def needed_points(graph: Graph, space: Space) -> dict[str, ix.Expr]:
    """By node that checks something, where its results are read; of those not read everywhere.

    A condition over the dimensions of the node and over bounds. Merges of cycles count as read at
    all points. Of a length that only the run knows a kernel is told the largest, until the data end
    it; what depends on it in another way than to hold for all larger ones counts as read, too.
    """
    checked = [name for name, node in graph.nodes.items() if node.op.checks]
    if not checked:
        return {}
    uses = users(graph)
    relevant = reachable(checked, lambda name: (use.reader for use in uses[name]))
    places = {name: place for place, name in enumerate(topological(graph))}
    parts = (sorted(p, key=places.__getitem__, reverse=True) for p in reversed(components(graph)))
    known: dict[str, ix.Expr] = {}
    for name in (n for part in parts for n in part if n in relevant):
        known[name] = _read_where(graph, graph.nodes[name], uses[name], known, space)
    return {name: known[name] for name in checked if known[name] != ix.TRUE}


def _read_where(
    graph: Graph,
    node: Node,
    uses: tuple[OperandUse, ...],
    known: Mapping[str, ix.Expr],
    space: Space,
) -> ix.Expr:
    """The condition, at points of a node's domain, that something reads it there."""
    if not node.op.pure or isinstance(node.op, Param | Until):
        return ix.TRUE
    reads = [(Domain(()), o.edge) for o in graph.outputs if o.source == node.name]
    for use in uses:
        reader = graph.nodes[use.reader]
        where = ix.conjunction(reader.domain.where, known.get(reader.name, ix.TRUE))
        reads.append((Domain(reader.domain.dims, where), _used_part(reader, use.slot)))
    conditions = []
    for sink, edge in reads:
        where = _points_read(sink, edge, node.domain, space)
        if where in (ix.TRUE, node.domain.where):
            return ix.TRUE
        conditions.append(where)
    universe = graph.universe
    where = _ordered(ix.disjunction(*conditions), node.domain, universe.lengths, space)
    outer = {d for n in symbols(where) if n in universe.lengths for d in universe.outer(n)}
    is_passed = outer <= {*node.domain.dims} and grows(where, universe.lengths)
    if not is_passed or not is_affine(where) or space.symbolic.implies(node.domain, where):
        return ix.TRUE
    return space.symbolic.simplify(where, node.domain)


def _ordered(where: ix.Expr, domain: Domain, lengths: tuple[str, ...], space: Space) -> ix.Expr:
    """A condition with `t < T-1` for `t != T-1` of a length T, which holds for larger ones, too."""

    def ordered(part: ix.Expr) -> ix.Expr:
        match part:
            case ix.Relation(op="!=", left=left, right=right) if {*lengths} & {*symbols(part)}:
                below = space.symbolic.implies(domain, ix.compare("<=", left, right))
                return ix.compare("<", left, right) if below else part
            case _:
                return rebuilt(part, ordered)

    return where if grows(where, lengths) else ordered(where)


def _used_part(reader: Node, slot: int) -> Edge:
    """A read without the rows that a recurrence has but no step takes: arrays are not cut."""
    edge, op = reader.inputs[slot], reader.op
    if not isinstance(op, Recurrence) or not 0 <= (k := slot - len(op.carried)) < len(op.starts):
        return edge

    def taken(entry: ix.Entry) -> ix.Entry:
        if not isinstance(entry, ix.Slice):
            return entry
        first = ix.add(entry.lo, ix.Const(op.starts[k]))
        return ix.Slice(first, ix.add(first, op.count))

    return replace(edge, entries=tuple(map(taken, edge.entries)))


def _points_read(sink: Domain, edge: Edge, source: Domain, space: Space) -> ix.Expr:
    """The condition that a read at some point of ``sink`` includes a point of the source."""
    inside = Domain(sink.dims, ix.conjunction(sink.where, edge.guard))
    if edge.entries == identity(source) and sink.dims == source.dims:
        return inside.where
    if not is_affine(inside.where) or not all(map(is_affine, edge.entries)):
        return ix.TRUE
    # Unions of many pieces, as of the tiles of several dimensions, take long to describe, and what
    # is computed in the same tiles is read alike.
    return space.known.once(
        ("points read", inside, edge.entries, source),
        lambda: _described(inside, edge.entries, source, space),
    )


def _described(
    sink: Domain, entries: tuple[ix.Entry, ...], source: Domain, space: Space
) -> ix.Expr:
    """The condition that some point of ``sink`` reads a point of the source.

    Mostly it is what ``sink`` demands of dimensions that are read at their own points, and all of
    the others is read: by tiles, of which only the space with the values of bounds knows how many
    rows they have. It takes long to describe what they cover without that.
    """
    points = zip(source.dims, entries, strict=True)
    own = {e.name: ix.Sym(d) for d, e in points if isinstance(e, ix.Sym) and e.name in sink.dims}
    others = {d for d in sink.dims if d not in own}
    demanded = (c for c in conjuncts(sink.where) if others.isdisjoint(symbols(c)))
    where = ix.conjunction(source.where, substitute(ix.conjunction(*demanded), own))
    read = space.access_map(sink, entries, source).range()
    # Whatever is read meets the condition.
    if space.set(Domain(source.dims, where)).is_subset(read):
        return source.where if space.implies(source, where) else where
    symbolic = space.symbolic
    return symbolic.domain(symbolic.access_map(sink, entries, source).range(), source.dims).where
