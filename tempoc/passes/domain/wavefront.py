"""Wavefronts: tables whose cells need their neighbours are computed by anti-diagonals.

    %d.2 = add %d[i-1, j], %d[i, j-1] : [i, j | i >= 1 and j >= 1] f32
    %d = merge %x when j == 0, %d.1 when i == 0 and j != 0, %d.2 when i != 0 and j != 0 : [i, j] f32
    ->
    %d.2.skewed = add %d.rows[w-1, max(i-1, 0)], %d.rows[w-1, i] : [w, i | w >= 1] f32
    %d.skewed = where %d.when, %x, %d.which                       : [w, i | w >= 1] f32
    %d.rows = merge %zero when w == 0, %d.skewed when w >= 1      : [w, i] f32
    %d = copy %d.rows[i+j+1, i]                                   : [i, j] f32

Cells of a lattice (``lattice.py``) with the same ``i + j`` do not need each other, so that with the
new dimension ``w`` in place of ``j`` the loop over it computes all ``i`` at once: of I*J steps
I+J are left (Wolfe, Loop skewing: The wavefront method revisited, 1986). Rows are whole, so that
they are vectors of one length: what is computed beyond the rim of the table is not used. Equations
of the rim are selected among (as in ``if_conversion.py``), and a few rows that nothing precedes
are zeros. What cells read of other tensors is computed with them, if that is little work; else it
is laid out beforehand in the order in which rows take it: ``x[j-1]`` as a reversed line of which
each row takes a part, and tables in rows. An element of a row of a table, as of a softmax over a
vocabulary, is laid out without the row. A table of which others read only the maximum, or another
total that is never rounded, is not stored: rows take along what it is so far at each place.

Equations written ahead, as ``d[i+1, j+1] = ...``, are taken at the cells that they write if they
are no lattice as they stand. The price is up to I*(I+J) cells in place of I*J, so that the places
of a row should be those of the shorter dimension. It runs late: what a scan can compute is one by
then, and what is laid out beforehand is not forwarded to where it would be gathered.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from tempoc.ops.control.control import Merge
from tempoc.ops.control.effects import EffectOp
from tempoc.ops.tensor.source import Input
from tempoc.passes.analysis.lattice import Lattice, StaysNested, lattice, nested_cycles
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.domain.retime import shifted_node
from tempoc.passes.domain.skewing import Skewed, Skewing
from tempoc.pipeline.step import LoopRemark
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import has_run_lengths, users
from tempoc.sdg.graph.rewrite import drop_dead
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import symbols


class Wavefront(GraphPass):
    """Computes tables by anti-diagonals."""

    __slots__ = ()
    name: ClassVar[str] = "wavefront"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with a loop over diagonals for each lattice.

        Those with lengths that the data decide stay as they are.
        """
        cycles = [c for c in nested_cycles(graph) if not has_run_lengths(graph, c[0])]
        earlier: dict[str, Skewed] = {}
        for names, (i, j) in cycles:
            first = min(names, key=lambda n: (n.count("."), [*graph.nodes].index(n)))
            shown, span = f"`{first.split('.')[0]}`", graph.nodes[first].span
            try:
                _check_readers(graph, names)
                rows = _rows_along((i, j), graph, context.space.symbolic)
                tables, cells = _lattice(graph, names, rows, context.space.symbolic)
                skewing = Skewing.of(tables, cells, context, earlier)
                graph = drop_dead(skewing.result())
            except StaysNested as reason:
                message = (
                    f"{shown} stays a loop over {i} and one over {j}, point by point: {reason}"
                )
                context.remarks.add(self.name, message, span)
            else:
                earlier |= skewing.skewed()
                sign = "+" if cells.directions[0] == cells.directions[1] else "-"
                message = f"{shown}: all points with the same {i} {sign} {j} are computed at once"
                loop = LoopRemark(reason="diagonals", dim=skewing.diagonals.dim, nodes=names)
                context.remarks.add(self.name, message, span, loop)
            context.declare(graph.universe)
        return graph


def _lattice(
    graph: Graph, names: tuple[str, ...], dims: tuple[str, str], space: Space
) -> tuple[Graph, Lattice]:
    """The lattice of a cycle, and its graph. Raises ``StaysNested``."""
    try:
        return graph, lattice(graph, names, dims, space)
    except StaysNested as reason:
        moved = _at_written_cells(graph, names, dims, space)
        if moved is None:
            raise
        try:
            return moved, lattice(moved, names, dims, space)
        except StaysNested:
            raise reason from None


def _at_written_cells(
    graph: Graph, names: tuple[str, ...], dims: tuple[str, str], space: Space
) -> Graph | None:
    """The graph in which equations such as ``d[i+1, j+1] = ...`` are at the cells that they write.

    ``None`` where all are, or where some write at several distances.
    """
    ahead: dict[str, dict[str, int]] = {}
    waiting = [n for n in names if isinstance(graph.nodes[n].op, Merge)]
    for name in waiting:  # grows meanwhile
        for edge in graph.nodes[name].inputs:
            source = graph.nodes[edge.source]
            if source.name not in names or isinstance(source.op, Merge):
                continue
            steps: dict[str, int] = {}
            for dim, entry in zip(source.domain.dims, edge.entries, strict=True):
                far = ix.sub(entry, ix.Sym(dim)) if isinstance(entry, ix.Expr) else None
                if dim in dims and not isinstance(far, ix.Const):
                    return None
                if dim in dims and isinstance(far, ix.Const):
                    steps[dim] = far.value + ahead.get(name, {}).get(dim, 0)
            if source.name not in ahead:
                waiting.append(source.name)
            if ahead.setdefault(source.name, steps) != steps:
                return None
    shifts = [(name, d, k) for name, steps in ahead.items() for d, k in steps.items() if k]
    for name, dim, count in shifts:
        graph = shifted_node(graph, name, dim, count, space)
    return graph if shifts else None


def _rows_along(dims: tuple[str, str], graph: Graph, space: Space) -> tuple[str, str]:
    """The dimension that gets the places of a row, which should be the shorter one, and the other.

    Where nothing tells the extents, one along which no input alone has elements is taken to be
    shorter: customers that come with data pass a few stations. It is the same for all lattices
    along these dimensions.
    """
    universe, (first, second) = graph.universe, dims
    sizes = [universe.settled(ix.Sym(universe.dim(d).bound)) for d in dims]
    known = [isinstance(size, ix.Const) for size in sizes]
    point = Domain(())
    if space.implies(point, ix.compare("<=", *sizes)):
        return first, second
    if space.implies(point, ix.compare("<=", sizes[1], sizes[0])) or known == [False, True]:
        return second, first
    given = [_extents(graph, n) for n in graph.nodes.values() if isinstance(n.op, Input)]
    a, b = (universe.dim(d).bound for d in dims)
    own = [any(x in names and y not in names for names in given) for x, y in ((a, b), (b, a))]
    return (second, first) if own == [True, False] and not known[0] else (first, second)


def _extents(graph: Graph, node: Node) -> set[str]:
    """The bounds of the dimensions and axes of a node."""
    axes = (name for t in node.types for e in t.shape for name in symbols(e))
    return {graph.universe.dim(d).bound for d in node.domain.dims}.union(axes)


def _check_readers(graph: Graph, names: Iterable[str]) -> None:
    """Raise ``StaysNested`` if effects read a cycle."""
    uses = users(graph)
    for name in names:
        if any(isinstance(graph.nodes[u.reader].op, EffectOp) for u in uses[name]):
            raise StaysNested("what is printed or saved of it should not wait for the last point")
