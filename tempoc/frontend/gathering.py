"""The cotangent of a tensor: the sum of what its readers send, each where it sends anything.

The points fall into cells, in each of which the same readers count; more than one cell is a
`Merge` of sums.
"""

from __future__ import annotations

from dataclasses import replace

from tempoc.base.source import Span
from tempoc.frontend.point_build import Growing, PointBuild, edge_of
from tempoc.frontend.transposed import Contribution, Reading, contributions, sent
from tempoc.ops.calculus import Term
from tempoc.ops.control import Copy, Merge
from tempoc.sdg.graph import Edge, Node
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import TRUE, Expr, Sym, conjunction, negation

MAX_CELLS = 12
"""With more cells than this every contribution is spread with zeros over all points."""

Cell = tuple[Expr, list[Contribution]]


def gather(
    growing: Growing,
    held: Node,
    source: Domain,
    readings: list[Reading],
    seeds: int,
    spans: tuple[Span, ...],
) -> None:
    """Make the node `held` the cotangent. Raises `NoInverse`.

    `source` is the domain of the tensor itself, `seeds` how often it is a loss.
    """
    parts = [p for reading in readings for p in contributions(growing, reading, source, held.name)]
    parts += [Contribution(where=TRUE, reading=None)] * seeds
    cells = _cells(growing, held.domain, parts)
    if len(cells) == 1:
        _fill(growing, held, held.domain, cells[0][1], spans)
        return
    here = tuple(Sym(d) for d in held.domain.dims)
    edges: list[Edge] = []
    for number, (where, inside) in enumerate(cells):
        name = growing.names.fresh(f"{held.name}.{number}")
        full = growing.space.symbolic.simplify(
            conjunction(held.domain.where, where), Domain(held.domain.dims)
        )
        branch = replace(held, name=name, domain=Domain(held.domain.dims, full))
        _fill(growing, branch, branch.domain, inside, spans)
        edges.append(Edge(source=name, entries=here, guard=where))
    merge = Merge(targets=(here,) * len(edges))
    growing.nodes[held.name] = replace(held, op=merge, inputs=tuple(edges), spans=spans)


def _cells(growing: Growing, domain: Domain, parts: list[Contribution]) -> list[Cell]:
    """Disjoint conditions that cover the domain, and the contributions that count there."""
    there = growing.space.symbolic
    cells: list[Cell] = [(TRUE, [])]
    for part in parts:
        where = there.simplify(part.where, domain)
        split: list[Cell] = []
        for condition, inside in cells:
            given = Domain(domain.dims, conjunction(domain.where, condition))
            within = there.simplify(where, given)
            if within == TRUE:
                split.append((condition, [*inside, part]))
                continue
            both = conjunction(condition, within)
            if there.is_empty(Domain(domain.dims, conjunction(domain.where, both))):
                split.append((condition, inside))
                continue
            rest = conjunction(condition, negation(within))
            split.append((there.simplify(both, domain), [*inside, part]))
            split.append((there.simplify(rest, domain), inside))
        cells = split
    return cells


def _fill(
    growing: Growing, node: Node, domain: Domain, parts: list[Contribution], spans: tuple[Span, ...]
) -> None:
    """Put the sum of contributions into the graph under the node's name."""
    build = PointBuild(growing=growing, domain=domain, prefix=node.name, spans=spans)
    c = build.calculus
    type = node.types[0]
    total: Term | None = None
    for part in parts:
        term = c.number(1.0, type.dtype, type.shape) if part.reading is None else sent(build, part)
        total = term if total is None else c.add(total, term)
    if total is None:
        total = c.number(0.0, type.dtype, type.shape)
    edge = edge_of(c.held(c.spread(c.cast(total, type.dtype), type.shape)))
    growing.nodes[node.name] = replace(node, op=Copy(), domain=domain, inputs=(edge,), spans=spans)
