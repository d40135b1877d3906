"""Where the derivative of an operator for a factor is that of the equations which it stands for.

By both it is the same where all pivots have roots that are not zero. Where one has none, all of it
is no number by the operator. So it is by the equations, if a loss depends on the last pivot, of
which all elements are a part: each is then divided by what is no number. If only rows before matter
to a loss, derivatives by the equations are those of a smaller factor, which may have all its roots.
(If the last pivot alone is zero, some derivatives are infinite by the equations, and no number by
the operator.)
"""

from __future__ import annotations

from tempoc.ops.control.gradient import Gradient
from tempoc.passes.dispatch.cholesky import CholeskyEquations
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.active import active_nodes, ends_of
from tempoc.sdg.graph.graph import Graph
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain


def is_derivative_kept(
    graph: Graph, space: Space, part: tuple[str, ...], equations: CholeskyEquations
) -> bool:
    """Whether all gradients through a factor depend on its last pivot, at all points of others."""
    for node in graph.nodes.values():
        if isinstance(node.op, Gradient) and equations.state.name not in ends_of(node)[1]:
            active = active_nodes(graph, node)
            readers = [n for n in graph.nodes if n in active and n not in part]
            is_through = any(n in active for n in part)
            if is_through and not _read_last(graph, space, readers, equations):
                return False
    return True


def _read_last(
    graph: Graph, space: Space, readers: list[str], equations: CholeskyEquations
) -> bool:
    """Whether some nodes read the last pivot: of the factor, or of a tensor that has the roots."""
    state = equations.state
    end = ix.sub(ix.Sym(graph.universe.dim(equations.row).bound), ix.ONE)
    here = [ix.compare("==", ix.Sym(d), end) for d in (equations.row, equations.column)]
    last = Domain(state.domain.dims, ix.conjunction(state.domain.where, *here))
    needed = {state.name: space.set(last)}
    for edge in equations.roots:
        root = graph.nodes[edge.source]
        needed[root.name] = space.access_map(last, edge.entries, root.domain).range()
    for name in readers:
        reader = graph.nodes[name]
        for edge in reader.inputs:
            if edge.source in needed:
                at = space.restrict(reader.domain, edge.guard)
                read = space.access_map(at, edge.entries, graph.nodes[edge.source].domain).range()
                needed[edge.source] = needed[edge.source].subtract(read)
    return any(points.is_empty() for points in needed.values())
