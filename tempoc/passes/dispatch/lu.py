"""Which equations factor a matrix without an exchange of rows, as Doolittle and Crout do.

    %L.0 = div %L.a, %U[j, j]                        : [i, j | i > j]
    %L   = merge %L.0 when i > j, ..                 : [i, j]
    %U   = sub %A, %U.p                              : [i, j | i <= j]

where ``%L.a`` is an element of the matrix less ``L[i, 0:j] @ U[0:j, j]``, and ``%U.p`` is
``L[i, 0:i] @ U[0:i, j]``. The tensor may be the same. What else it has is of no matter.

As no loop over rows or columns carries all of these equations, a program would be executed element
by element.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from tempoc.ops.linear.lu_rows import LuRows
from tempoc.passes.dispatch.element_tables import (
    FactorTables,
    TableElements,
    has_numbers,
    own_nodes,
    summed_tables,
)
from tempoc.passes.dispatch.equation_walk import EquationWalk, NoFactor
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain


def lu_equations(graph: Graph, space: Space, part: tuple[str, ...]) -> FactorTables:
    """The equations of a cycle; raises ``NoFactor``, also if their derivatives are to be kept."""
    for tables in summed_tables(graph, part):
        if not 1 <= len(tables) <= 2:
            continue
        dims = graph.nodes[tables[0]].domain.dims
        for lower, upper in itertools.product(tables, repeat=2):
            for row, column in itertools.permutations(dims, 2):
                if (lower != upper) == (len(tables) == 2):
                    with suppress(NoFactor):
                        equations = _equations(graph, space, part, (lower, upper), (row, column))
                        if equations.is_differentiable(graph, space, part):
                            return equations
    raise NoFactor


def _equations(
    graph: Graph,
    space: Space,
    part: tuple[str, ...],
    tables: tuple[str, str],
    square: tuple[str, str],
) -> FactorTables:
    """The equations of these tensors with these rows and columns; raises ``NoFactor``."""
    lower, upper = (graph.nodes[name] for name in tables)
    row, column = square
    dims = lower.domain.dims
    rows, columns = (ix.Sym(graph.universe.dim(d).bound) for d in square)
    others = tuple(d for d in dims if d not in square)
    if upper.domain.dims != dims or not space.equal(rows, columns, Domain(())):
        raise NoFactor
    batch = space.project(upper.domain, others)
    below = ix.compare(">", ix.Sym(row), ix.Sym(column))
    for table, where in ((lower, below), (upper, ix.negation(below))):
        whole = Domain(dims, ix.conjunction(batch.where, where))
        if not space.contains(table.domain, whole):
            raise NoFactor
        if not space.contains(batch, space.project(table.domain, others)) or not has_numbers(table):
            raise NoFactor
    names = tuple(dict.fromkeys(tables))
    walk = LuWalk(
        graph=graph, space=space, part={*part}, tables=names, row=row, column=column,
        at=lower.domain, before=column, lower=lower.name, upper=upper.name,
    )  # fmt: skip
    elements = [x for name in names for x in walk.elements_of(graph.nodes[name], batch)]
    if not elements:
        raise NoFactor
    return FactorTables(
        op=LuRows(), names=names, row=row, column=column, batch=batch, elements=tuple(elements),
        pivots=read_of(upper),
    )  # fmt: skip


@dataclass(slots=True, kw_only=True)
class LuWalk(EquationWalk):
    """Looks at the equations of both factors."""

    lower: str
    upper: str

    def elements_of(self, table: Node, batch: Domain) -> Iterator[TableElements]:
        """The elements of a table that belong to a factor; raises ``NoFactor``."""
        dims = table.domain.dims
        for edge, node, target in own_nodes(self.graph, table, batch):
            self.at = self.space.restrict(table.domain, edge.guard)
            edge = replace(edge, guard=ix.TRUE)
            if table.name == self.lower and self.is_where(">"):
                self.before = self.column
                read = self.quotient(edge)
            elif table.name == self.upper and self.is_where("<="):
                self.before = self.row
                read = self.element(edge)
            elif self.lower != self.upper and self.is_where(
                "<=" if table.name == self.lower else ">"
            ):
                continue
            else:
                raise NoFactor
            if node is None:
                raise NoFactor
            at = dict(zip(dims, target, strict=True))
            yield TableElements(node, read, at[self.row], at[self.column])

    def is_diagonal(self, edge: Edge) -> bool:
        """Whether a divisor is the pivot in the element's column."""
        dims, column = self.graph.nodes[self.upper].domain.dims, ix.Sym(self.column)
        pivot = tuple(column if d == self.row else ix.Sym(d) for d in dims)
        return edge.source == self.upper and self.same(edge.entries, pivot)

    def are_rows(self, edges: Sequence[Edge]) -> bool:
        """Whether factors are a row of the lower factor and a column of the upper one."""
        names = [self.lower, self.upper]
        return any(
            names == [edge.source for edge in pair]
            and self.is_range(pair[0], self.column, {})
            and self.is_range(pair[1], self.row, {})
            for pair in (edges, edges[::-1])
        )
