"""The cotangent of a tensor: the sum of the contributions of its readers.

The domain is partitioned into cells, in each of which the same contributions count; more than one
cell is a `Merge` of sums.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from tempoc.autodiff.invert_reads import contributions
from tempoc.autodiff.node_builder import GraphBuilder, PointBuild, edge_of
from tempoc.autodiff.transpose_read import Contribution, OperandCotangent, transpose
from tempoc.base.effort import EFFORT
from tempoc.diagnostics.source import Span
from tempoc.ops.control.control import Copy, Merge
from tempoc.ops.gradients.calculus import Term
from tempoc.sdg.builder import read_of
from tempoc.sdg.graph.graph import Edge, Node
from tempoc.sdg.statements.build import identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain

CotangentPart = tuple[ix.Expr, list[Contribution]]


def accumulate(
    builder: GraphBuilder,
    cotangent: Node,
    source: Domain,
    reads: list[OperandCotangent],
    seeds: int,
    spans: tuple[Span, ...],
) -> None:
    """Define the node `cotangent` as the sum of all contributions of `reads`.

    `source` is the domain of the tensor itself, `seeds` counts how often it is a loss.
    """
    parts = [p for r in reads for p in contributions(builder, r, source, cotangent.name)]
    parts += [Contribution(where=ix.TRUE, operand=None)] * seeds
    cells = _cells(builder, cotangent.domain, parts)
    if cells is not None:
        _assemble(builder, cotangent, cells, spans)
        return
    build = PointBuild(builder=builder, domain=cotangent.domain, prefix=cotangent.name, spans=spans)
    terms: list[Term] = []
    for part in parts:
        part_node = replace(cotangent, name=builder.names.fresh(f"{cotangent.name}.part"))
        _assemble(builder, part_node, _cells(builder, cotangent.domain, [part]) or [], spans)
        terms.append(build.read(read_of(part_node)))
    _sum(builder, cotangent, build, terms)


def _assemble(
    builder: GraphBuilder, cotangent: Node, cells: list[CotangentPart], spans: tuple[Span, ...]
) -> None:
    """Add the sums of some cells to the graph, as one node."""
    if len(cells) == 1:
        _sum_contributions(builder, cotangent, cotangent.domain, cells[0][1], spans)
        return
    own_point = identity(cotangent.domain)
    edges: list[Edge] = []
    for number, (where, inside) in enumerate(cells):
        name = builder.names.fresh(f"{cotangent.name}.{number}")
        full = builder.space.symbolic.simplify(
            ix.conjunction(cotangent.domain.where, where), Domain(cotangent.domain.dims)
        )
        branch = replace(cotangent, name=name, domain=Domain(cotangent.domain.dims, full))
        _sum_contributions(builder, branch, branch.domain, inside, spans)
        edges.append(Edge(source=name, entries=own_point, guard=where))
    merge = Merge(targets=(own_point,) * len(edges))
    builder.nodes[cotangent.name] = replace(cotangent, op=merge, inputs=tuple(edges), spans=spans)


def _cells(
    builder: GraphBuilder, domain: Domain, parts: list[Contribution]
) -> list[CotangentPart] | None:
    """Disjoint conditions that cover the domain, each with the contributions that count there.

    `None` if there are too many.
    """
    symbolic = builder.space.symbolic
    cells: list[CotangentPart] = [(ix.TRUE, [])]
    for part in parts:
        where = symbolic.simplify(part.where, domain)
        split: list[CotangentPart] = []
        for condition, inside in cells:
            given = Domain(domain.dims, ix.conjunction(domain.where, condition))
            within = symbolic.simplify(where, given)
            if within == ix.TRUE:
                split.append((condition, [*inside, part]))
                continue
            both = ix.conjunction(condition, within)
            if symbolic.is_empty(Domain(domain.dims, ix.conjunction(domain.where, both))):
                split.append((condition, inside))
                continue
            outside = ix.conjunction(condition, ix.negation(within))
            split.append((symbolic.simplify(both, domain), [*inside, part]))
            split.append((symbolic.simplify(outside, domain), inside))
        cells = split
        if len(cells) > EFFORT.cotangent_cells and len(parts) > 1:
            return None
    return cells


def _sum_contributions(
    builder: GraphBuilder,
    node: Node,
    domain: Domain,
    parts: list[Contribution],
    spans: tuple[Span, ...],
) -> None:
    """Add the sum of contributions to the graph under the node's name."""
    build = PointBuild(builder=builder, domain=domain, prefix=node.name, spans=spans)
    c, type = build.calculus, node.types[0]
    one = c.number(1.0, type.dtype, type.shape)
    _sum(builder, node, build, [one if p.operand is None else transpose(build, p) for p in parts])


def _sum(builder: GraphBuilder, node: Node, build: PointBuild, terms: list[Term]) -> None:
    """Define the node as the sum of terms at the points of `build`."""
    c, type = build.calculus, node.types[0]
    total = reduce(c.add, terms) if terms else c.number(0.0, type.dtype, type.shape)
    edge = edge_of(c.held(c.spread(c.cast(total, type.dtype), type.shape)))
    cotangent = replace(node, op=Copy(), domain=build.domain, inputs=(edge,), spans=build.spans)
    builder.nodes[node.name] = cotangent
