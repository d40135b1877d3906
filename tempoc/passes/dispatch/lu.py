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
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from tempoc.ops.control.control import Copy, Merge, Select
from tempoc.ops.control.gradient import Gradient
from tempoc.ops.definition.types import DType
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.linear.lu_rows import LuRows
from tempoc.ops.tensor.source import IndexValue, Literal
from tempoc.passes.dispatch.cholesky import EquationWalk
from tempoc.passes.dispatch.matrix_elements import (
    MatrixElement,
    NoFactor,
    put_element,
    put_rows,
)
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.active import active_nodes
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.rewrite import replace_nodes
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain


@dataclass(frozen=True, slots=True, kw_only=True)
class LuEquations:
    """Equations of both factors: the nodes that have elements, each with what it reads.

    ``names`` are the tensors, ``row`` and ``column`` dimensions; ``batch`` is the domain of others.
    """

    names: tuple[str, ...]
    row: str
    column: str
    batch: Domain
    elements: tuple[tuple[Node, MatrixElement], ...]

    def applied(self, graph: Graph, space: Space) -> Graph:
        """The graph with elements of one operator in place of these nodes. Raises ``NoFactor``."""
        factor, made = self.replaced(graph, space)
        graph = _read_elements(replace_nodes(graph, made), space, self)
        selected: dict[str, tuple[Node, ...]] = {}
        for table in (graph.nodes[name] for name in self.names):
            numbers = _numbers_beside(graph, table, {node.name for node, _ in self.elements})
            if numbers:
                builder = NodeBuilder(graph=graph, space=space, node=replace(table, vector=()))
                last = builder.put("element", self.point, (read_of(factor),))
                for guard, made_by in numbers:  # it may be defined at fewer points
                    number = builder.put("number", made_by.op, (), Domain(()), made_by.types)
                    when = builder.put("when", IndexValue(expr=guard))
                    last = builder.put("which", Select(), (when, number, last))
                selected[table.name] = builder.finish(last) or (table,)
        return replace_nodes(graph, selected)

    @property
    def point(self) -> SpatialIndex:
        """What takes an element at its point."""
        return SpatialIndex(entries=(ix.Sym(self.row), ix.Sym(self.column)))

    def replaced(self, graph: Graph, space: Space) -> tuple[Node, Mapping[str, tuple[Node, ...]]]:
        """The operator, and what replaces the nodes of elements. Raises ``NoFactor``."""
        first = self.elements[0][0]
        builder = NodeBuilder(graph=graph, space=space, node=replace(first, vector=()))
        type_ = first.types[0]
        branches = [(put_element(builder, e, type_), e.domain.where) for _, e in self.elements]
        rows = put_rows(builder, branches, self.row, self.column, self.batch, type_)
        factor = builder.put("factor", LuRows(), (rows,), self.batch)
        made: dict[str, tuple[Node, ...]] = {}
        for node, _ in self.elements:
            if made:
                own, nodes = replace(node, vector=()), {factor.name: factor}
                builder = NodeBuilder(graph=graph, space=space, node=own, nodes=nodes)
            whole = builder.finish(builder.put("element", self.point, (read_of(factor),)))
            if whole is None:
                raise NoFactor
            made[node.name] = whole[1:] if made else whole
        return factor, made


def _read_elements(graph: Graph, space: Space, equations: LuEquations) -> Graph:
    """The graph in which reads of nothing but elements of one equation are reads of that one.

    The equation is one of the table that is read: the other one has other numbers there.
    """
    nodes: dict[str, Node] = {}
    for name, reader in graph.nodes.items():
        inputs = list(reader.inputs)
        for slot, edge in enumerate(inputs):
            if edge.source in equations.names and name not in equations.names:
                at = space.restrict(reader.domain, edge.guard)
                own = (edge.source, *graph.nodes[edge.source].sources)
                for node, element in equations.elements:
                    if node.name not in own:
                        continue
                    if space.outside(at, edge.entries, element.domain) is None:
                        inputs[slot] = replace(edge, source=node.name)
                        break
        nodes[name] = replace(reader, inputs=tuple(inputs))
    return replace(graph, nodes=nodes)


def _numbers_beside(
    graph: Graph, table: Node, elements: Collection[str]
) -> list[tuple[ix.Expr, Node]]:
    """The equations of a table beside those of elements, if each is a number; none otherwise."""
    numbers: list[tuple[ix.Expr, Node]] = []
    for edge in table.inputs if isinstance(table.op, Merge) else ():
        if edge.source in elements:
            continue
        number = graph.nodes[edge.source]
        while isinstance(number.op, Copy):
            number = graph.nodes[number.sources[0]]
        if not isinstance(number.op, Literal):
            return []
        numbers.append((edge.guard, number))
    return numbers


def lu_equations(graph: Graph, space: Space, part: tuple[str, ...]) -> LuEquations:
    """The equations of a cycle; raises ``NoFactor``, also if a gradient goes through them.

    The operator has no derivative.
    """
    tables = dict.fromkeys(
        e.source
        for name in part
        for e in graph.nodes[name].inputs
        if e.source in part and any(isinstance(x, ix.Slice) for x in e.entries)
    )
    if not 1 <= len(tables) <= 2:
        raise NoFactor
    dims = graph.nodes[next(iter(tables))].domain.dims
    for lower, upper in itertools.product(tables, repeat=2):
        for row, column in itertools.permutations(dims, 2):
            if (lower != upper) == (len(tables) == 2):
                with suppress(NoFactor):
                    equations = _equations(graph, space, part, (lower, upper), (row, column))
                    if not _is_differentiated(graph, part):
                        return equations
    raise NoFactor


def _is_differentiated(graph: Graph, part: tuple[str, ...]) -> bool:
    """Whether a gradient goes back through a cycle."""
    gradients = (n for n in graph.nodes.values() if isinstance(n.op, Gradient))
    return any(not active_nodes(graph, node).isdisjoint(part) for node in gradients)


def _equations(
    graph: Graph,
    space: Space,
    part: tuple[str, ...],
    tables: tuple[str, str],
    square: tuple[str, str],
) -> LuEquations:
    """The equations of these tensors with these rows and columns; raises ``NoFactor``."""
    lower, upper = (graph.nodes[name] for name in tables)
    row, column = square
    dims = lower.domain.dims
    rows, columns = (ix.Sym(graph.universe.dim(d).bound) for d in square)
    others = tuple(d for d in dims if d not in square)
    if upper.domain.dims != dims or not space.equal(rows, columns, Domain(())):
        raise NoFactor
    batch = space.project(lower.domain, others)
    below = ix.compare(">", ix.Sym(row), ix.Sym(column))
    for table, where in ((lower, below), (upper, ix.negation(below))):
        whole = Domain(dims, ix.conjunction(batch.where, where))
        if not space.contains(table.domain, whole):
            raise NoFactor
        if space.project(table.domain, others) != batch or not _has_numbers(table):
            raise NoFactor
    walk = LuWalk(
        graph=graph, space=space, part={*part}, state=lower, row=row, column=column,
        at=lower.domain, lower=lower.name, upper=upper.name,
    )  # fmt: skip
    names = tuple(dict.fromkeys(tables))
    elements = [x for name in names for x in walk.elements_of(graph.nodes[name])]
    if not elements:
        raise NoFactor
    return LuEquations(names=names, row=row, column=column, batch=batch, elements=tuple(elements))


def _has_numbers(table: Node) -> bool:
    """Whether each point has one number."""
    (type_,) = table.types
    return not type_.shape and type_.dtype in (DType.F32, DType.F64)


@dataclass(slots=True, kw_only=True)
class LuWalk(EquationWalk):
    """Looks at the equations of both factors; sums go over what is ``before``."""

    lower: str
    upper: str
    before: str = field(default="")

    def elements_of(self, table: Node) -> Iterator[tuple[Node, MatrixElement]]:
        """The elements of a table that belong to a factor; raises ``NoFactor``."""
        branches = table.inputs if isinstance(table.op, Merge) else (read_of(table),)
        for edge in branches:
            self.at = self.space.restrict(table.domain, edge.guard)
            edge = replace(edge, guard=ix.TRUE)
            if table.name == self.lower and self.is_where(">"):
                self.before = self.column
                yield self.node(edge), self.quotient(edge)
            elif table.name == self.upper and self.is_on_or_above():
                self.before = self.row
                yield self.node(edge), self.element(edge)
            elif self.lower == self.upper or not (
                self.is_on_or_above() if table.name == self.lower else self.is_where(">")
            ):
                raise NoFactor

    def is_on_or_above(self) -> bool:
        """Whether an equation is of no element below the diagonal."""
        condition = ix.compare("<=", ix.Sym(self.row), ix.Sym(self.column))
        return self.space.implies(self.at, condition)

    def node(self, edge: Edge) -> Node:
        """What computes the elements of an equation, at its own points."""
        node = self.graph.nodes[edge.source]
        if edge != read_of(node) or node.domain.dims != self.state.domain.dims:
            raise NoFactor
        return node

    def is_diagonal(self, edge: Edge) -> bool:
        """Whether a divisor is the pivot in the element's column."""
        dims, column = self.state.domain.dims, ix.Sym(self.column)
        pivot = tuple(column if d == self.row else ix.Sym(d) for d in dims)
        return edge.source == self.upper and self.same(edge.entries, pivot)

    def are_rows(self, edges: tuple[Edge, ...]) -> bool:
        """Whether operands are a row of the lower factor and a column of the upper one."""
        before = ix.Slice(ix.ZERO, ix.Sym(self.before))
        names, dims = (self.lower, self.upper), self.state.domain.dims
        for pair in (edges, edges[::-1]):
            if names == tuple(e.source for e in pair) and all(
                self.is_range(dict(zip(dims, e.entries, strict=True)), along, before)
                for e, along in zip(pair, (self.column, self.row), strict=True)
            ):
                return True
        return False

    def is_range(self, at: dict[str, ix.Entry], along: str, before: ix.Slice) -> bool:
        """Whether a read is of what stands before an element along a dimension."""
        entry = at.pop(along)
        if not isinstance(entry, ix.Slice) or entry.step != 1:
            return False
        ends = self.same((entry.lo, entry.hi), (before.lo, before.hi))
        return ends and self.same(tuple(at.values()), tuple(map(ix.Sym, at)))
