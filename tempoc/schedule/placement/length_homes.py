"""Lengths that each step of a loop finds out for itself: in which loop they matter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tempoc.schedule.tree import Execute, ScheduleTree, TreeLoop, walk
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.graph.query import expressions, index_expressions, operand_types
from tempoc.sdg.statements.statements import Statement, Statements
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols


def length_homes(
    tree: ScheduleTree, statements: Statements, graph: Graph
) -> Mapping[str, TreeLoop]:
    """The lengths that matter within a step of one loop only, each with that loop.

    ::

        for i in 0..I:              K[i] begins as the largest length,
          for k in 0..K[i]:         is found out here,
            x[i, k]                 and is forgotten after this step of i:
          root[i]                   i is the home of K

    So a loop on the device can find them out: none has to be kept, or told to the host.
    """
    universe = graph.universe
    uses = {s.name: frozenset(_lengths(s, graph)) for s in statements.statements}
    homes: dict[str, TreeLoop] = {}
    for b in universe.ended:
        if not b.outer or b.name in _outside(graph):
            continue
        needing = [
            _home(execute, around, statements.by_name[execute.statement], b.outer)
            for execute, around in walk(tree)
            if isinstance(execute, Execute) and b.name in uses[execute.statement]
        ]
        home = needing[0] if needing else None
        if home is not None and all(loop is home for loop in needing):
            homes[b.name] = home
    return homes


def _home(
    execute: Execute, around: tuple[TreeLoop, ...], statement: Statement, outer: tuple[str, ...]
) -> TreeLoop | None:
    """The innermost of the loops that are at the point of the length; ``None`` if some are not."""
    at = statement.domain.at(execute.point)
    points = [at.get(d) for d in outer]
    if any(not isinstance(e, ix.Sym) for e in points):
        return None
    homes = [loop for loop in around if ix.Sym(loop.var) in points]
    return homes[-1] if len({loop.var for loop in homes}) == len(outer) else None


def _lengths(statement: Statement, graph: Graph) -> Iterator[str]:
    """The lengths on which it depends what a statement is, or at which points it is executed."""
    universe = graph.universe
    indices = [
        statement.domain.where,
        *(ix.Sym(universe.dim(d).bound) for d in statement.domain.dims),
        *(e for read in statement.reads for e in expressions(read.entries)),
        *(e for write in statement.writes for e in expressions((*write.entries, write.where))),
    ]
    for node in (graph.nodes[m] for m in statement.members):
        indices += index_expressions(node)
        indices += (e for t in operand_types(graph, node) for e in t.shape)
    yield from statement.ends
    for name in dict.fromkeys(name for e in indices for name in symbols(e)):
        yield from (b.name for b in universe.roots(name))


def _outside(graph: Graph) -> frozenset[str]:
    """The lengths that are needed outside of statements."""
    universe = graph.universe
    indices = [*universe.assumptions, *(b.value for b in universe.bounds if b.value is not None)]
    indices += (e for output in graph.outputs for e in expressions(output.entries))
    return frozenset(b.name for e in indices for n in symbols(e) for b in universe.roots(n))
