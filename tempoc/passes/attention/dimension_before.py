"""Declares a dimension for an axis, in front of another dimension."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.graph.new_dimension import with_dimension
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Universe


def dimension_before(
    graph: Graph, behind: str, size: ix.Expr, name: str, named: AbstractSet[str]
) -> tuple[Universe, str]:
    """A universe with a dimension of that size in front of ``behind``, and its name.

    ``name``: what its name begins with, and, with an s, that of its bound. A dimension of such a
    name, size and place serves all axes, except for those of nodes that have it already: ``named``.
    """
    universe = graph.universe
    place = next(k for k, d in enumerate(universe.dims) if d.name == behind)
    if place and universe.dims[place - 1].name.startswith(name):
        before = universe.dims[place - 1]
        bound = universe.bound(before.bound)
        if bound.value == size and before.name not in named:
            return universe, before.name
    universe, dim = with_dimension(graph, universe, name, size, place)
    return universe, dim.name
