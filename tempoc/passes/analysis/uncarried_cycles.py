"""Cycles of reads that no nest of loops carries by the entries alone, whatever the domains are.

Allen and Kennedy's loop distribution (Automatic translation of Fortran programs to vector form,
TOPLAS 1987) on a graph: where no read in a strongly connected component goes to a later step of a
dimension, a loop over it carries all that go to an earlier one; what is left is tested within.
Guards and domains are not looked at, so that a graph in which nodes have more points, and merges
are selections that read all branches, has an order as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tempoc.base.graphs import edges_in_cycles
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import components
from tempoc.sdg.statements.certain_order import DistanceRange, entry_bounds
from tempoc.symbolic import expr as ix


@dataclass(frozen=True, slots=True)
class _CyclicRead:
    """A read, and how far its source lies from the reader along each dimension of both."""

    reader: str
    source: str
    distances: Mapping[str, DistanceRange]


def uncarried_cycles(graph: Graph) -> set[str]:
    """The nodes of cycles that no such nest carries.

    Where a result of an impure operator takes part in a cycle, all of the cycle: calls have an
    order of their own, which these distances do not show.
    """
    uncarried: set[str] = set()
    for part in components(graph):
        nodes = [graph.nodes[name] for name in part]
        if len(part) == 1 and part[0] not in nodes[0].sources:
            continue
        if all(n.op.pure for n in nodes):
            uncarried |= {*_uncarried(graph, part, _reads(graph, nodes), ())}
        else:
            uncarried |= {*part}
    return uncarried


def is_carried_without(graph: Graph, names: Sequence[str], dim: str) -> bool:
    """Whether loops over other dimensions carry the cycles of nodes with this one among some."""
    nodes = [graph.nodes[name] for name in names]
    reads = _reads(graph, nodes)
    stuck = _uncarried(graph, names, reads, (dim,))
    return not any(dim in graph.nodes[name].domain.dims for name in stuck)


def _uncarried(
    graph: Graph, names: Sequence[str], reads: Sequence[_CyclicRead], done: tuple[str, ...]
) -> Iterator[str]:
    for members, inside in edges_in_cycles(names, reads, lambda r: (r.reader, r.source)):
        for dim in graph.nodes[members[0]].domain.dims:
            if dim not in done and all(dim in graph.nodes[m].domain.dims for m in members):
                within = _within(inside, dim)
                if within is not None:
                    yield from _uncarried(graph, members, within, (*done, dim))
                    break
        else:
            yield from members


def _within(reads: Sequence[_CyclicRead], dim: str) -> list[_CyclicRead] | None:
    """The reads that a loop over a dimension, up or down, does not carry; `None`: it is illegal."""
    spans = [r.distances[dim] for r in reads]
    if all(most is not None and most <= 0 for _, most in spans):
        return [r for r, (_, most) in zip(reads, spans, strict=True) if most == 0]
    if all(least is not None and least >= 0 for least, _ in spans):
        return [r for r, (least, _) in zip(reads, spans, strict=True) if least == 0]
    return None


def _reads(graph: Graph, nodes: Sequence[Node]) -> list[_CyclicRead]:
    """The reads of some nodes among each other."""
    names = {n.name for n in nodes}
    reads = []
    for node in nodes:
        for edge in node.inputs:
            if edge.source in names:
                entries = zip(graph.nodes[edge.source].domain.dims, edge.entries, strict=True)
                at = {d: entry_bounds(e, ix.Sym(d)) for d, e in entries if d in node.domain.dims}
                reads.append(_CyclicRead(node.name, edge.source, at))
    return reads
