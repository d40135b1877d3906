"""A dimension that a pass adds to those of a program, under a name that nothing has."""

from __future__ import annotations

from dataclasses import replace

from tempoc.sdg.graph.graph import Graph
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Bound, Dim, Universe


def with_dimension(
    graph: Graph, universe: Universe, name: str, size: ix.Expr, place: int
) -> tuple[Universe, Dim]:
    """The universe with a dimension of that size at a place of its order, and that.

    ``name``: what its name is, with a number where it is taken, and, with an s, that of its bound.
    """
    taken = {*graph.nodes, *(b.name for b in universe.bounds), *(d.name for d in universe.dims)}
    number = ""
    while {f"{name}{number}", f"{name}s{number}"} & taken:
        number = str(int(number or "1") + 1)
    bound = Bound(name=f"{name}s{number}", value=size)
    dim = Dim(name=f"{name}{number}", bound=bound.name)
    dims = (*universe.dims[:place], dim, *universe.dims[place:])
    return replace(universe, bounds=(*universe.bounds, bound), dims=dims), dim
