"""The cycles that one operator may replace, and what must not be left of them.

    %x = f %L[i-1, 0:i]             : [i]
    %k = g %x[i], %x[j]             : [i, j]

If ``%L`` factors ``%k``, each row of the matrix is made of the rows of the factor before it. An
operator, which takes the whole matrix, would need itself.
"""

from __future__ import annotations

from collections.abc import Collection

from tempoc.base.graphs import strongly_connected_components
from tempoc.sdg.graph.graph import Edge, Graph
from tempoc.sdg.graph.query import components
from tempoc.symbolic import expr as ix


def cycles(graph: Graph) -> list[tuple[str, ...]]:
    """The cycles through ranges of points, whatever earlier and later points make."""
    return _cycles(graph, [d.name for d in graph.universe.dims])


def has_order(before: Graph, graph: Graph, dims: Collection[str]) -> bool:
    """Whether new nodes, which take all points of some dimensions, do not need themselves.

    Along other dimensions they may need what earlier ones have made.
    """
    others = [d.name for d in graph.universe.dims if d.name not in dims]
    return all(name in before.nodes for part in _cycles(graph, others) for name in part)


def _cycles(graph: Graph, dims: Collection[str]) -> list[tuple[str, ...]]:
    """The cycles without reads of other points, at a constant distance along these dimensions."""

    def sources(name: str) -> list[str]:
        return [e.source for e in graph.nodes[name].inputs if not _is_moved(graph, e, dims)]

    parts = strongly_connected_components([*graph.nodes], sources)
    return [part for part in parts if len(part) > 1]


def _is_moved(graph: Graph, edge: Edge, dims: Collection[str]) -> bool:
    """Whether a read is of another point, at a constant distance along one of the dimensions."""
    return any(d in dims for d in _shifted_dims(graph, edge))


def _shifted_dims(graph: Graph, edge: Edge) -> list[str]:
    """The dimensions along which a read is of another point, at a constant distance."""
    points = zip(graph.nodes[edge.source].domain.dims, edge.entries, strict=True)
    shifts = ((d, ix.sub(e, ix.Sym(d))) for d, e in points if isinstance(e, ix.Expr))
    return [d for d, shift in shifts if isinstance(shift, ix.Const) and shift.value]


def moved_dims(graph: Graph, part: tuple[str, ...]) -> set[str]:
    """The dimensions along which a point of a cycle may need others, even through other nodes."""
    (whole,) = (c for c in components(graph) if part[0] in c)
    moved: set[str] = set()
    for name in whole:
        for edge in (e for e in graph.nodes[name].inputs if e.source in whole):
            moved.update(_shifted_dims(graph, edge))
            if name in part and edge.source in part:
                dims = graph.nodes[edge.source].domain.dims
                pairs = zip(dims, edge.entries, strict=True)
                moved.update(d for d, entry in pairs if entry != ix.Sym(d))
    return moved
