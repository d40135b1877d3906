"""Which equations factor a symmetric matrix without roots.

    %L.0 = div %L.a, %d[j]            : [i, j | i > j]
    %L   = merge %L.0 when i > j, ..  : [i, j]
    %d   = sub %A[i, i], %d.p         : [i]

where ``%L.a`` is an element of the matrix less ``sum(L[i, 0:j] * L[j, 0:j] * d[0:j])``, and
``%d.p`` is ``sum(L[i, 0:i] ** 2 * d[0:i])``. What else the tensors have is of no matter.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from tempoc.ops.linear.ldl_rows import LdlRows
from tempoc.passes.dispatch.element_tables import (
    FactorTables,
    TableElements,
    has_numbers,
    own_nodes,
    summed_tables,
)
from tempoc.passes.dispatch.equation_walk import EquationWalk, NoFactor
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain


def ldl_equations(graph: Graph, space: Space, part: tuple[str, ...]) -> FactorTables:
    """The equations of a cycle; raises ``NoFactor``, also if their derivatives are to be kept."""
    for tables in summed_tables(graph, part):
        if len(tables) != 2:
            continue
        for lower, pivots in itertools.permutations(graph.nodes[name] for name in tables):
            for row, column in itertools.permutations(lower.domain.dims, 2):
                with suppress(NoFactor):
                    equations = _equations(graph, space, part, (lower, pivots), (row, column))
                    if equations.is_differentiable(graph, space, part):
                        return equations
    raise NoFactor


def _equations(
    graph: Graph,
    space: Space,
    part: tuple[str, ...],
    tables: tuple[Node, Node],
    square: tuple[str, str],
) -> FactorTables:
    """The equations of these tensors with these rows and columns; raises ``NoFactor``."""
    lower, pivots = tables
    row, column = square
    dims = lower.domain.dims
    others = tuple(d for d in dims if d not in square)
    along = [d for d in pivots.domain.dims if d not in others]
    rows, columns = (ix.Sym(graph.universe.dim(d).bound) for d in square)
    if not space.equal(rows, columns, Domain(())) or along not in ([row], [column]):
        raise NoFactor
    if len(pivots.domain.dims) != len(others) + 1 or not all(map(has_numbers, tables)):
        raise NoFactor
    batch = space.project(pivots.domain, others)
    below = ix.conjunction(batch.where, ix.compare(">", ix.Sym(row), ix.Sym(column)))
    for table, where in ((lower, below), (pivots, batch.where)):
        if not space.contains(table.domain, Domain(table.domain.dims, where)):
            raise NoFactor
        if not space.contains(batch, space.project(table.domain, others)):
            raise NoFactor
    walk = LdlWalk(
        graph=graph, space=space, part={*part}, tables=(lower.name, pivots.name), row=row,
        column=column, at=lower.domain, before=column, along=along[0],
    )  # fmt: skip
    elements = (*walk.below(lower, batch), *walk.diagonal(pivots, dims, batch))
    here = tuple(ix.Sym(d) for d in pivots.domain.dims)
    return FactorTables(
        op=LdlRows(), names=(lower.name, pivots.name), row=row, column=column, batch=batch,
        elements=elements, pivots=Edge(source=pivots.name, entries=here), is_symmetric=True,
    )  # fmt: skip


@dataclass(slots=True, kw_only=True)
class LdlWalk(EquationWalk):
    """Looks at the equations of both factors; the pivots have the dimension ``along``."""

    along: str

    def below(self, table: Node, batch: Domain) -> Iterator[TableElements]:
        """The elements below the diagonal; raises ``NoFactor``."""
        for edge, node, target in own_nodes(self.graph, table, batch):
            self.at = self.space.restrict(table.domain, edge.guard)
            if self.is_where(">") and node is not None:
                at = table.domain.at(target)
                read = self.quotient(replace(edge, guard=ix.TRUE))
                yield TableElements(node, read, at[self.row], at[self.column])
            elif not self.is_where("<="):
                raise NoFactor

    def diagonal(
        self, table: Node, dims: tuple[str, ...], batch: Domain
    ) -> Iterator[TableElements]:
        """The elements of the diagonal, as those of a matrix; raises ``NoFactor``."""
        on = ix.compare("==", ix.Sym(self.row), ix.Sym(self.column))
        for edge, node, target in own_nodes(self.graph, table, batch):
            where = self.space.restrict(table.domain, edge.guard).where
            self.at = Domain(dims, ix.conjunction(where, on))
            if node is None:
                raise NoFactor
            place = target[table.domain.dims.index(self.along)]
            yield TableElements(node, self.element(replace(edge, guard=ix.TRUE)), place, place)

    def is_diagonal(self, edge: Edge) -> bool:
        """Whether a divisor is the pivot in the element's column."""
        table = self.graph.nodes[self.tables[1]]
        own = (ix.Sym(self.column if d == self.along else d) for d in table.domain.dims)
        return edge.source == table.name and self.same(edge.entries, tuple(own))

    def are_rows(self, edges: Sequence[Edge]) -> bool:
        """Whether factors are an element's row, its diagonal's and the pivots, up to its column."""
        weights = [edge for edge in edges if edge.source == self.tables[1]]
        rows = [edge for edge in edges if edge.source != self.tables[1]]
        if len(weights) != 1 or not self.is_range(weights[0], self.along, {}):
            return False
        return self.are_two_rows(rows, self.tables[0])
