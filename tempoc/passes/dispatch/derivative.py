"""Where the derivative of an operator for a factor is that of the equations which it stands for.

By both it is the same where all pivots have roots that are not zero. Where one has none, all of it
is no number by the operator. So it is by the equations, if a loss depends on the last pivot, of
which all elements are a part: each is then divided by what is no number. If only rows before matter
to a loss, derivatives by the equations are those of a smaller factor, which may have all its roots.
(If the last pivot alone is zero, some derivatives are infinite by the equations, and no number by
the operator.)
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.active import active_nodes, ends_of, gradients
from tempoc.sdg.graph.graph import Edge, Graph
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain


class Pivots(NamedTuple):
    """Reads of pivots from all tensors that have them, at the points ``last`` of the last one."""

    last: Domain
    reads: tuple[Edge, ...]

    @classmethod
    def of_square(
        cls, graph: Graph, whole: Domain, square: tuple[str, str], reads: tuple[Edge, ...]
    ) -> Pivots:
        """Those of a factor with these dimensions of rows and columns."""
        end = ix.sub(ix.Sym(graph.universe.dim(square[0]).bound), ix.ONE)
        here = [ix.compare("==", ix.Sym(d), end) for d in square]
        return cls(Domain(whole.dims, ix.conjunction(whole.where, *here)), reads)


def is_derivative_kept(
    graph: Graph, space: Space, part: tuple[str, ...], pivots: Pivots, free: Collection[str] = ()
) -> bool:
    """Whether all gradients through a factor depend on its last pivot, at all points of others.

    Those by a tensor of ``free`` do not go through it; by no other one of the equations may there
    be any.
    """
    asking = gradients(graph)
    independent = [{*ends_of(node)[1]} & {*part} for node in asking]
    if any(names - {*free} for names in independent):
        return False
    for names, active in zip(independent, active_nodes(graph, asking), strict=True):
        readers = [n for n in graph.nodes if n in active and n not in part]
        is_through = not names and any(n in active for n in part)
        if is_through and not _read_last(graph, space, readers, pivots):
            return False
    return True


def _read_last(graph: Graph, space: Space, readers: list[str], pivots: Pivots) -> bool:
    """Whether some nodes read the last pivot from one of the tensors that have it."""
    needed = {
        edge.source: space.access_map(
            pivots.last, edge.entries, graph.nodes[edge.source].domain
        ).range()
        for edge in pivots.reads
    }
    for name in readers:
        reader = graph.nodes[name]
        for edge in reader.inputs:
            if edge.source in needed:
                at = space.restrict(reader.domain, edge.guard)
                read = space.access_map(at, edge.entries, graph.nodes[edge.source].domain).range()
                needed[edge.source] = needed[edge.source].subtract(read)
    return any(rest.is_empty() for rest in needed.values())
