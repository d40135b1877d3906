"""What the equations of a factor read: elements of a matrix less a product of rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal as OneOf, NamedTuple

from tempoc.ops.control.control import Copy, Merge
from tempoc.ops.definition.operator import Op
from tempoc.ops.tensor.arithmetic import Add, Divide, Multiply, Power, Subtract
from tempoc.ops.tensor.contraction import MatMul
from tempoc.ops.tensor.elementwise import Negative
from tempoc.ops.tensor.reduction import Sum
from tempoc.ops.tensor.source import Literal
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.rewrite import compose_node, read_through
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain


class NoFactor(Exception):
    """A tensor whose equations are not those of a factor."""


class MatrixElement(NamedTuple):
    """An element of the matrix, read in the coordinates of the factor: a sum of signed terms."""

    terms: tuple[tuple[int, Edge], ...]
    domain: Domain


class Operation(NamedTuple):
    """What an operand is made of, in the coordinates of the factor."""

    edge: Edge
    op: Op
    operands: tuple[Edge, ...]


@dataclass(slots=True, kw_only=True)
class EquationWalk:
    """Looks at the equations of ``tables``; ``at`` is the domain of the one that it looks at.

    Sums go over what stands before an element along ``before``: its row or its column.
    """

    graph: Graph
    space: Space
    part: set[str]
    tables: tuple[str, ...]
    row: str
    column: str
    at: Domain
    before: str

    @abstractmethod
    def is_diagonal(self, edge: Edge) -> bool:
        """Whether a divisor is the pivot in the element's column."""

    @abstractmethod
    def are_rows(self, edges: Sequence[Edge]) -> bool:
        """Whether factors of a product are what stands before an element, and its pivots."""

    def is_where(self, comparison: OneOf["<", "<=", "==", ">"]) -> bool:
        """Whether an equation is only of such elements: on, below or above the diagonal."""
        condition = ix.compare(comparison, ix.Sym(self.row), ix.Sym(self.column))
        return self.space.implies(self.at, condition)

    def original(self, edge: Edge) -> Edge:
        """What an operand is a copy of."""
        while edge.source in self.part and edge.source not in self.tables:
            node = self.graph.nodes[edge.source]
            made = compose_node(node, edge, self.graph.universe)
            if made is None or not isinstance(node.op, Copy):
                break
            (edge,) = made[1]
        return edge

    def value(self, edge: Edge) -> Operation | None:
        """What makes an operand, copies apart; ``None`` if the equations do not."""
        edge = self.original(edge)
        if edge.source not in self.part:
            return None
        node = self.graph.nodes[edge.source]
        made = compose_node(node, edge, self.graph.universe) or self.of_range(node, edge)
        if made is None or isinstance(node.op, Merge):
            raise NoFactor
        return Operation(edge, *made)

    def of_range(self, node: Node, edge: Edge) -> tuple[Op, tuple[Edge, ...]] | None:
        """A product of numbers at a range of points, where some are the same at all of them."""
        sliced = [e for e in edge.entries if isinstance(e, ix.Slice)]
        if not isinstance(node.op, Multiply | Power) or node.types[0].shape or len(sliced) != 1:
            return None
        at = node.domain.at(edge.entries)
        reads = [
            read_through(node, at, read, self.graph.nodes[read.source], self.graph.universe)
            for read in node.inputs
        ]
        operands = tuple(read for read in reads if read is not None)
        return (node.op, operands) if len(operands) == len(reads) else None

    def is_number(self, edge: Edge, value: float) -> bool:
        """Whether an operand is this number."""
        node = self.graph.nodes[edge.source]
        while isinstance(node.op, Copy):
            node = self.graph.nodes[node.sources[0]]
        return isinstance(node.op, Literal) and node.op.value == value

    def quotient(self, edge: Edge) -> MatrixElement:
        """An equation of elements below the diagonal; raises ``NoFactor``."""
        value = self.value(edge)
        if value is not None and isinstance(value.op, Divide):
            dividend, divisor = value.operands
            if self.is_diagonal(self.original(divisor)):
                return self.element(dividend)
        elif value is not None and isinstance(value.op, Multiply):
            for dividend, inverse in (value.operands, value.operands[::-1]):
                if self.is_inverse(inverse):
                    return self.element(dividend)
        raise NoFactor

    def is_inverse(self, edge: Edge) -> bool:
        """Whether a factor is one divided by the pivot in the element's column."""
        if self.original(edge).source in self.tables:
            return False
        value = self.value(edge)
        if value is None or not isinstance(value.op, Divide):
            return False
        one, divisor = value.operands
        return self.is_number(one, 1) and self.is_diagonal(self.original(divisor))

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
        none_before = self.space.implies(self.at, ix.compare("==", ix.Sym(self.before), ix.ZERO))
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
            return self.are_rows([f for edge in value.operands for f in self.factors(edge)])
        if not isinstance(value.op, Sum) or value.op.axes not in (None, (0,)) or value.op.keepdims:
            return False
        return self.are_rows(self.factors(value.operands[0]))

    def factors(self, edge: Edge) -> list[Edge]:
        """The factors of a product of ranges; raises ``NoFactor`` for those of other kinds."""
        edge = self.original(edge)
        value = None if edge.source in self.tables else self.value(edge)
        if value is None:
            return [edge]
        if isinstance(value.op, Power) and self.is_number(value.operands[1], 2):
            return self.factors(value.operands[0]) * 2
        if not isinstance(value.op, Multiply):
            raise NoFactor
        return [f for operand in value.operands for f in self.factors(operand)]

    def is_range(self, edge: Edge, along: str, at: Mapping[str, ix.Expr]) -> bool:
        """Whether a read is of what stands before an element along a dimension.

        ``at`` has what it is to read along others, if that is not the element's own point.
        """
        entries = self.graph.nodes[edge.source].domain.at(edge.entries)
        columns = entries.pop(along)
        if not isinstance(columns, ix.Slice) or columns.step != 1:
            return False
        ends = self.same((columns.lo, columns.hi), (ix.ZERO, ix.Sym(self.before)))
        return ends and self.same(
            tuple(entries.values()), tuple(at.get(d, ix.Sym(d)) for d in entries)
        )

    def are_two_rows(self, edges: Sequence[Edge], table: str) -> bool:
        """Whether reads of a table are those of an element's row and of its diagonal's."""
        points = (ix.Sym(self.row), ix.Sym(self.column))
        return any(
            [edge.source for edge in edges] == [table, table]
            and all(
                self.is_range(edge, self.column, {self.row: row})
                for edge, row in zip(edges, rows, strict=True)
            )
            for rows in (points, points[::-1])
        )
