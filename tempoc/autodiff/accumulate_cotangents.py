"""The cotangent of a tensor: the sum of what its readers send, each where it sends anything.

The points fall into cells, in each of which the same readers count; more than one cell is a
`Merge` of sums.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from tempoc.autodiff.invert_reads import contributions
from tempoc.autodiff.node_builder import GraphBuilder, PointBuild, edge_of
from tempoc.autodiff.transpose_read import Contribution, OperandCotangent, transpose
from tempoc.base.source import Span
from tempoc.ops.control.control import Copy, Merge
from tempoc.ops.gradients.calculus import Term
from tempoc.sdg.graph.graph import Edge, Node
from tempoc.sdg.statements.build import identity
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import TRUE, Expr, conjunction, negation

MAX_CELLS = 12
"""With more cells than this every contribution is spread with zeros over all points."""

CotangentPart = tuple[Expr, list[Contribution]]


def accumulate(
    growing: GraphBuilder,
    held: Node,
    source: Domain,
    readings: list[OperandCotangent],
    seeds: int,
    spans: tuple[Span, ...],
) -> None:
    """Make the node `held` the cotangent.

    `source` is the domain of the tensor itself, `seeds` how often it is a loss.
    """
    parts = [p for r in readings for p in contributions(growing, r, source, held.name)]
    parts += [Contribution(where=TRUE, reading=None)] * seeds
    cells = _cells(growing, held.domain, parts)
    if cells is not None:
        _assemble(growing, held, cells, spans)
        return
    build = PointBuild(growing=growing, domain=held.domain, prefix=held.name, spans=spans)
    terms: list[Term] = []
    for part in parts:
        part_node = replace(held, name=growing.names.fresh(f"{held.name}.part"))
        _assemble(growing, part_node, _cells(growing, held.domain, [part]) or [], spans)
        terms.append(build.read(Edge(source=part_node.name, entries=identity(held.domain))))
    _sum(growing, held, build, terms)


def _assemble(
    growing: GraphBuilder, held: Node, cells: list[CotangentPart], spans: tuple[Span, ...]
) -> None:
    """Put the sums of some cells into the graph, as one node."""
    if len(cells) == 1:
        _sum_contributions(growing, held, held.domain, cells[0][1], spans)
        return
    own_point = identity(held.domain)
    edges: list[Edge] = []
    for number, (where, inside) in enumerate(cells):
        name = growing.names.fresh(f"{held.name}.{number}")
        full = growing.space.symbolic.simplify(
            conjunction(held.domain.where, where), Domain(held.domain.dims)
        )
        branch = replace(held, name=name, domain=Domain(held.domain.dims, full))
        _sum_contributions(growing, branch, branch.domain, inside, spans)
        edges.append(Edge(source=name, entries=own_point, guard=where))
    merge = Merge(targets=(own_point,) * len(edges))
    growing.nodes[held.name] = replace(held, op=merge, inputs=tuple(edges), spans=spans)


def _cells(
    growing: GraphBuilder, domain: Domain, parts: list[Contribution]
) -> list[CotangentPart] | None:
    """Disjoint conditions that cover the domain, and the contributions that count there.

    `None` if there are too many.
    """
    symbolic = growing.space.symbolic
    cells: list[CotangentPart] = [(TRUE, [])]
    for part in parts:
        where = symbolic.simplify(part.where, domain)
        split: list[CotangentPart] = []
        for condition, inside in cells:
            given = Domain(domain.dims, conjunction(domain.where, condition))
            within = symbolic.simplify(where, given)
            if within == TRUE:
                split.append((condition, [*inside, part]))
                continue
            both = conjunction(condition, within)
            if symbolic.is_empty(Domain(domain.dims, conjunction(domain.where, both))):
                split.append((condition, inside))
                continue
            outside = conjunction(condition, negation(within))
            split.append((symbolic.simplify(both, domain), [*inside, part]))
            split.append((symbolic.simplify(outside, domain), inside))
        cells = split
        if len(cells) > MAX_CELLS and len(parts) > 1:
            return None
    return cells


def _sum_contributions(
    growing: GraphBuilder,
    node: Node,
    domain: Domain,
    parts: list[Contribution],
    spans: tuple[Span, ...],
) -> None:
    """Put the sum of contributions into the graph under the node's name."""
    build = PointBuild(growing=growing, domain=domain, prefix=node.name, spans=spans)
    c, type = build.calculus, node.types[0]
    one = c.number(1.0, type.dtype, type.shape)
    _sum(growing, node, build, [one if p.reading is None else transpose(build, p) for p in parts])


def _sum(growing: GraphBuilder, node: Node, build: PointBuild, terms: list[Term]) -> None:
    """Make the node the sum of terms at the points of `build`."""
    c, type = build.calculus, node.types[0]
    total = reduce(c.add, terms) if terms else c.number(0.0, type.dtype, type.shape)
    edge = edge_of(c.held(c.spread(c.cast(total, type.dtype), type.shape)))
    cotangent = replace(node, op=Copy(), domain=build.domain, inputs=(edge,), spans=build.spans)
    growing.nodes[node.name] = cotangent
