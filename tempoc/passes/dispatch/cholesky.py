"""Which equations factor a matrix as Cholesky does: the elements that they read of it.

    %L.0 = sqrt %L.a                                     : [i, j | i == j]
    %L.1 = div %L.b, %L[j, j]                            : [i, j | i > j]
    %L   = merge %L.0 when i == j, %L.1 when i > j, ..   : [i, j]

where ``%L.a`` is an element of the matrix less ``sum(L[i, 0:i] ** 2)``, and ``%L.b`` one less
``L[i, 0:j] @ L[j, 0:j]``. The sum may be left out where it is empty, as equations of the first
column do; a tensor of its own may have the roots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal as OneOf, NamedTuple

from tempoc.ops.control.control import Copy, Merge
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import DType
from tempoc.ops.tensor.arithmetic import Add, Divide, Multiply, Power, Subtract
from tempoc.ops.tensor.contraction import MatMul
from tempoc.ops.tensor.elementwise import Negative, Sqrt
from tempoc.ops.tensor.reduction import Sum
from tempoc.ops.tensor.source import Literal
from tempoc.passes.dispatch.matrix_elements import MatrixElement, NoFactor
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.rewrite import compose_node
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, substitute_entry


class Operation(NamedTuple):
    """What an operand is made of, in the coordinates of the factor."""

    edge: Edge
    op: Op
    operands: tuple[Edge, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CholeskyEquations:
    """The equations of a factor with rows and columns along two dimensions, ``elements`` by branch.

    ``roots`` are reads of tensors of the diagonal, in the coordinates of the factor.
    """

    state: Node
    row: str
    column: str
    elements: tuple[MatrixElement, ...]
    roots: tuple[Edge, ...]

    @property
    def batch(self) -> tuple[str, ...]:
        """All other dimensions."""
        return tuple(d for d in self.state.domain.dims if d not in (self.row, self.column))


def recognize(graph: Graph, space: Space, part: tuple[str, ...], state: Node) -> CholeskyEquations:
    """The equations of a merge in a cycle; raises ``NoFactor``."""
    if state.types[0].shape or state.types[0].dtype not in (DType.F32, DType.F64):
        raise NoFactor
    for row in state.domain.dims:
        for column in state.domain.dims:
            if row != column and _is_square(graph, space, state.domain, row, column):
                walk = EquationWalk(
                    graph=graph,
                    space=space,
                    part={*part},
                    state=state,
                    row=row,
                    column=column,
                    at=state.domain,
                )
                try:
                    return walk.equations()
                except NoFactor:
                    continue
    raise NoFactor


def _is_square(graph: Graph, space: Space, domain: Domain, row: str, column: str) -> bool:
    """Whether a tensor has all elements of the lower triangle of a square matrix."""
    rows, columns = (ix.Sym(graph.universe.dim(d).bound) for d in (row, column))
    if not space.equal(rows, columns, Domain(())):
        return False
    others = space.project(domain, tuple(d for d in domain.dims if d not in (row, column)))
    lower = ix.conjunction(others.where, ix.compare(">=", ix.Sym(row), ix.Sym(column)))
    return space.contains(domain, Domain(domain.dims, lower))


@dataclass(slots=True, kw_only=True)
class EquationWalk:
    """Looks at the equations of a tensor; ``at`` is the domain of the one that it looks at."""

    graph: Graph
    space: Space
    part: set[str]
    state: Node
    row: str
    column: str
    at: Domain
    roots: list[Edge] = field(default_factory=list)

    def equations(self) -> CholeskyEquations:
        """All equations; the roots first, as quotients may be divided by them."""
        below: list[tuple[Edge, Domain]] = []
        elements: list[MatrixElement] = []
        for edge in self.state.inputs:
            self.at = self.space.restrict(self.state.domain, edge.guard)
            edge = replace(edge, guard=ix.TRUE)
            if self.is_where("=="):
                elements.append(self.root(edge))
            elif self.is_where(">"):
                below.append((edge, self.at))
            elif not self.is_where("<") or not self.is_zero(edge):
                raise NoFactor
        for edge, self.at in below:
            elements.append(self.quotient(edge))
        return CholeskyEquations(
            state=self.state, row=self.row, column=self.column, elements=tuple(elements),
            roots=tuple(dict.fromkeys(self.roots)),
        )  # fmt: skip

    def is_where(self, comparison: OneOf["<", "==", ">"]) -> bool:
        """Whether an equation is only of elements on, below or above the diagonal."""
        condition = ix.compare(comparison, ix.Sym(self.row), ix.Sym(self.column))
        return self.space.implies(self.at, condition)

    def value(self, edge: Edge) -> Operation | None:
        """What makes an operand, copies apart; ``None`` if the equations do not."""
        while edge.source in self.part:
            node = self.graph.nodes[edge.source]
            made = compose_node(node, edge, self.graph.universe)
            if made is None or isinstance(node.op, Merge):
                raise NoFactor
            if not isinstance(node.op, Copy):
                return Operation(edge, *made)
            (edge,) = made[1]
        return None

    def is_zero(self, edge: Edge) -> bool:
        """Whether an equation is the number 0."""
        node = self.graph.nodes[edge.source]
        while isinstance(node.op, Copy):
            node = self.graph.nodes[node.sources[0]]
        return isinstance(node.op, Literal) and node.op.value == 0

    def root(self, edge: Edge) -> MatrixElement:
        """An equation of the diagonal; raises ``NoFactor``."""
        value = self.value(edge)
        if value is None:  # there is nothing before it in its row
            value = self.first(edge)
        if not isinstance(value.op, Sqrt):
            raise NoFactor
        self.roots.append(value.edge)
        return self.element(value.operands[0])

    def first(self, edge: Edge) -> Operation:
        """The equation of an element before which there is none, which reads no others."""
        if not self.space.implies(self.at, ix.compare("==", ix.Sym(self.column), ix.ZERO)):
            raise NoFactor
        node = self.graph.nodes[edge.source]
        made = compose_node(node, edge, self.graph.universe)
        if made is not None and isinstance(node.op, Copy):
            return self.first(made[1][0])
        if made is None:
            raise NoFactor
        return Operation(edge, *made)

    def quotient(self, edge: Edge) -> MatrixElement:
        """An equation of elements below the diagonal; raises ``NoFactor``."""
        value = self.value(edge)
        if value is None or not isinstance(value.op, Divide):
            raise NoFactor
        dividend, divisor = value.operands
        if not self.is_diagonal(divisor):
            raise NoFactor
        return self.element(dividend)

    def is_diagonal(self, edge: Edge) -> bool:
        """Whether a divisor is the root in the element's column."""
        dims, column = self.state.domain.dims, ix.Sym(self.column)
        if edge.source == self.state.name:
            own = tuple(column if d == self.row else ix.Sym(d) for d in dims)
            return self.same(edge.entries, own)
        for root in self.roots:
            above = tuple(substitute_entry(e, {self.row: column}) for e in root.entries)
            if root.source == edge.source and self.same(edge.entries, above):
                return True
        return False

    def same(self, entries: Sequence[ix.Entry], others: Sequence[ix.Entry]) -> bool:
        """Whether points are the same wherever the equation is used."""
        return all(
            not isinstance(a, ix.Slice)
            and not isinstance(b, ix.Slice)
            and self.space.equal(a, b, self.at)
            for a, b in zip(entries, others, strict=True)
        )

    def element(self, edge: Edge) -> MatrixElement:
        """What is left of a dividend, or under a root, without the product of rows."""
        terms, products = self.terms(edge, 1)
        none_before = self.space.implies(self.at, ix.compare("==", ix.Sym(self.column), ix.ZERO))
        if products != [-1] and not (none_before and not products):
            raise NoFactor
        if not terms:
            raise NoFactor
        return MatrixElement(tuple(terms), self.at)

    def terms(self, edge: Edge, sign: int) -> tuple[list[tuple[int, Edge]], list[int]]:
        """The terms of a sum that are no product of rows, and the signs of those that are."""
        value = self.value(edge)
        if value is None:
            return [(sign, edge)], []
        match value.op:
            case Add() | Subtract():
                left = self.terms(value.operands[0], sign)
                right = self.terms(value.operands[1], sign if isinstance(value.op, Add) else -sign)
                return left[0] + right[0], left[1] + right[1]
            case Negative():
                return self.terms(value.operands[0], -sign)
        if not self.is_product(value):
            raise NoFactor
        return [], [sign]

    def is_product(self, value: Operation) -> bool:
        """Whether a value is the product of what stands before an element, and its diagonal's."""
        if isinstance(value.op, MatMul):
            return self.are_rows(value.operands)
        if not isinstance(value.op, Sum) or value.op.axes not in (None, (0,)) or value.op.keepdims:
            return False
        inner = self.value(value.operands[0])
        if inner is None:
            return False
        if isinstance(inner.op, Power) and self.is_two(inner.operands[1]):
            return self.are_rows((inner.operands[0], inner.operands[0]))
        return isinstance(inner.op, Multiply) and self.are_rows(inner.operands)

    def is_two(self, edge: Edge) -> bool:
        """Whether an operand is the number 2."""
        node = self.graph.nodes[edge.source]
        return isinstance(node.op, Literal) and node.op.value == 2

    def are_rows(self, edges: tuple[Edge, ...]) -> bool:
        """Whether operands are the rows of an element and of its diagonal's, up to its column."""
        dims = self.state.domain.dims
        before = ix.Slice(ix.ZERO, ix.Sym(self.column))
        rows = []
        for edge in edges:
            if edge.source != self.state.name:
                return False
            entries = dict(zip(dims, edge.entries, strict=True))
            row, columns = entries.pop(self.row), entries.pop(self.column)
            if isinstance(row, ix.Slice) or not isinstance(columns, ix.Slice):
                return False
            if columns.step != 1 or not self.same((columns.lo, columns.hi), (before.lo, before.hi)):
                return False
            if not self.same(tuple(entries.values()), tuple(map(ix.Sym, entries))):
                return False
            rows.append(row)
        own, other = ix.Sym(self.row), ix.Sym(self.column)
        return self.same(tuple(rows), (own, other)) or self.same(tuple(rows), (other, own))
