"""Operators that check operands, where a length that the run finds decides whether they are read.

    %p = put %x, %n, %v     : [b]                          %p = ...            : [b, i | K >= 3]
    %h = add %g, %p[b]      : [b, i, k | k >= 2]      ->   %h = add %g, %p[b, i]

Here ``K`` varies with ``b`` and ``i``. No condition at the points of ``[b]`` says whether some loop
is long enough, so a node gets the dimensions over which the lengths of its readers vary, and is
computed as soon as its length is known to suffice. So does what lies between it and the loop.
What only the next step reads is computed where there is one: ``%e[t-1]`` makes ``[t]`` of ``%e``
``[t | t + 1 < T]``. Without that a position counts as wrong although nothing reads what is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from tempoc.base.graphs import reachable
from tempoc.ops.control.cond import Cond
from tempoc.ops.control.control import Merge
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import OperandUse, topological, users
from tempoc.sdg.graph.rewrite import rewrite_reads
from tempoc.sdg.statements.build import identity, is_computed
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import is_affine, substitute, symbols


def with_checked_points(graph: Graph, space: Space) -> Graph:
    """The graph, with such nodes only at points that something reads.

    Merges, nodes of a ``cond``, and those that outputs read keep their domains.
    """
    if not graph.universe.lengths or any(isinstance(n.op, Cond) for n in graph.nodes.values()):
        return graph
    checked = [name for name, node in graph.nodes.items() if node.op.checks]
    if not checked:
        return graph
    uses = users(graph)
    relevant = reachable(checked, lambda name: (use.reader for use in uses[name]))
    given = {output.source for output in graph.outputs}
    places = {name: place for place, name in enumerate(topological(graph))}
    domains: dict[str, Domain] = {}
    for name in sorted(relevant, key=places.__getitem__, reverse=True):
        node = graph.nodes[name]
        plain = is_computed(node) and node.op.pure and not isinstance(node.op, Merge)
        if plain and name not in given and all(use.reader != name for use in uses[name]):
            domain = _read_at(graph, domains, node, uses[name], space.symbolic)
            if domain is not None:
                domains[name] = domain

    def narrower_readers(name: str) -> list[str]:
        return [use.reader for use in uses[name] if use.reader in domains]

    narrowed = reachable((n for n in checked if n in domains), narrower_readers)
    return _with_domains(graph, {n: domains[n] for n in narrowed}) if narrowed else graph


def _with_domains(graph: Graph, domains: Mapping[str, Domain]) -> Graph:
    """The graph with these domains of nodes; readers are at the same points of new dimensions."""
    nodes = {n: replace(x, domain=domains.get(n, x.domain)) for n, x in graph.nodes.items()}

    def read(edge: Edge, reader: Node | None) -> Edge:
        domain = domains.get(edge.source)
        if domain is None:
            return edge
        at = graph.nodes[edge.source].domain.at(edge.entries)
        return replace(edge, entries=tuple(at.get(d, ix.Sym(d)) for d in domain.dims))

    return rewrite_reads(replace(graph, nodes=nodes), read)


class _ReadPoints(NamedTuple):
    """The dimensions of a reader, and at which points of some of them it reads."""

    dims: tuple[str, ...]
    points: Domain


def _read_at(
    graph: Graph,
    domains: Mapping[str, Domain],
    node: Node,
    uses: tuple[OperandUse, ...],
    space: Space,
) -> Domain | None:
    """The points at which a node is read; ``None`` if they do not depend on lengths, or on others.

    ``domains`` are those that its readers get.
    """
    lengths = {*graph.universe.lengths}
    reads: list[_ReadPoints] = []
    for use in uses:
        reader = graph.nodes[use.reader]
        reader = replace(reader, domain=domains.get(reader.name, reader.domain))
        read = _points(graph, reader, reader.inputs[use.slot], node, space)
        if read is None:
            return None
        reads.append(read)
    varying = [r.points for r in reads if not lengths.isdisjoint(symbols(r.points.where))]
    more = {d for points in varying for d in points.dims}
    if not varying or not all(more <= {*r.dims} for r in reads):
        return None
    dims = graph.universe.sorted(tuple({*node.domain.dims, *more}))
    where = ix.disjunction(*(r.points.where for r in reads))
    own = Domain(dims, node.domain.where)
    if not is_affine(where) or space.implies(own, where):
        return None
    return space.restrict(own, where)


def _points(graph: Graph, reader: Node, edge: Edge, node: Node, space: Space) -> _ReadPoints | None:
    """Where a reader reads a node, if so many steps from its own point; ``None`` if elsewhere."""
    universe, dims = graph.universe, node.domain.dims
    if not {*dims} <= {*reader.domain.dims}:
        return None
    own = identity(reader.domain)
    if isinstance(reader.op, Merge) and any(target != own for target in reader.op.targets):
        return None
    where = ix.conjunction(reader.domain.where, edge.guard)
    outer_of_lengths = {d for name in universe.lengths for d in universe.outer(name)}
    for dim, entry in zip(dims, edge.entries, strict=True):
        steps = None if isinstance(entry, ix.Slice) else ix.sub(entry, ix.Sym(dim))
        if not isinstance(steps, ix.Const):
            return None
        if steps != ix.ZERO:
            if dim in outer_of_lengths:
                return None  # the reader's length is another one
            there = ix.sub(ix.Sym(dim), steps)
            inside = ix.compare("<", there, ix.Sym(universe.dim(dim).bound))
            where = ix.conjunction(
                substitute(where, {dim: there}), ix.compare(">=", there, ix.ZERO), inside
            )
    sink = Domain(reader.domain.dims, where)
    if not is_affine(sink.where):
        return None
    named = {*symbols(sink.where), *(universe.dim(d).bound for d in sink.dims if d not in dims)}
    outer = {d for name in named if not universe.is_dim(name) for d in universe.outer(name)}
    if not outer <= {*sink.dims}:
        return None
    points = space.project(sink, universe.sorted(tuple({*dims, *outer})))
    if {*universe.lengths}.isdisjoint(symbols(points.where)):
        points = space.project(points, dims)
    return _ReadPoints(sink.dims, points)
