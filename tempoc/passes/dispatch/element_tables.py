"""Tables that have the factors of a matrix, as elements of the result of one operator."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tempoc.ops.control.control import Copy, Merge, Select
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.tensor.arithmetic import Add, Multiply, Power, Subtract
from tempoc.ops.tensor.elementwise import Negative
from tempoc.ops.tensor.movement import Transpose
from tempoc.ops.tensor.source import IndexValue, Literal
from tempoc.passes.dispatch.derivative import Pivots, is_derivative_kept
from tempoc.passes.dispatch.equation_walk import MatrixElement, NoFactor
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.rewrite import replace_nodes
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain


class TableElements(NamedTuple):
    """Elements of a factor: what computes them, what of the matrix they read, and which they are.

    ``row`` and ``column`` are their places at a point of the node.
    """

    node: Node
    read: MatrixElement
    row: ix.Expr
    column: ix.Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorTables:
    """Equations of factors: the nodes that have elements of ``op``, each with what it reads.

    ``names`` are the tensors, ``row`` and ``column`` dimensions; ``batch`` is the domain of others.
    A tensor with one of the two has elements of the diagonal. ``pivots`` reads those that divide.
    ``is_symmetric``: there are no equations of elements above the diagonal.
    """

    op: Op
    names: tuple[str, ...]
    row: str
    column: str
    batch: Domain
    elements: tuple[TableElements, ...]
    pivots: Edge
    is_symmetric: bool = False

    def is_differentiable(self, graph: Graph, space: Space, part: tuple[str, ...]) -> bool:
        """Whether all gradients through these equations are those of the operator."""
        whole = Domain(self.elements[0].read.domain.dims, self.batch.where)
        pivots = Pivots.of_square(graph, whole, (self.row, self.column), (self.pivots,))
        return is_derivative_kept(graph, space, part, pivots)

    def applied(self, graph: Graph, space: Space, part: tuple[str, ...]) -> Graph:
        """The graph with elements of one operator in place of those nodes that are in the cycle.

        Raises ``NoFactor``.
        """
        factor, made = self.replaced(
            graph, space, [e for e in self.elements if e.node.name in part]
        )
        graph = _read_elements(replace_nodes(graph, made), space, self)
        selected: dict[str, tuple[Node, ...]] = {}
        for table in (graph.nodes[name] for name in self.names):
            numbers = _numbers_beside(graph, table, {e.node.name for e in self.elements})
            if numbers:
                builder = NodeBuilder(graph=graph, space=space, node=replace(table, vector=()))
                last = builder.put("element", self.point(table), (read_of(factor),))
                for guard, made_by in numbers:  # it may be defined at fewer points
                    number = builder.put("number", made_by.op, (), Domain(()), made_by.types)
                    when = builder.put("when", IndexValue(expr=guard))
                    last = builder.put("which", Select(), (when, number, last))
                selected[table.name] = builder.finish(last) or (table,)
        return replace_nodes(graph, selected)

    def point(self, node: Node) -> SpatialIndex:
        """What takes an element at a node's point."""
        own = [d for d in (self.row, self.column) if d in node.domain.dims]
        return SpatialIndex(entries=(ix.Sym(own[0]), ix.Sym(own[-1])))

    def replaced(
        self, graph: Graph, space: Space, elements: Sequence[TableElements]
    ) -> tuple[Node, Mapping[str, tuple[Node, ...]]]:
        """The operator, and what replaces the nodes of some elements. Raises ``NoFactor``."""
        first = elements[0].node
        builder = NodeBuilder(graph=graph, space=space, node=replace(first, vector=()))
        type_ = first.types[0]
        branches = [
            (put_element(builder, e.read, type_), e.read.domain.where) for e in self.elements
        ]
        if self.is_symmetric:
            matrix = Domain(branches[0][0].domain.dims, self.batch.where)
            branches.append(put_zeros_above(builder, matrix, self.row, self.column, type_))
        rows = put_rows(builder, branches, self.row, self.column, self.batch, type_)
        factor = builder.put("factor", self.op, (rows,), self.batch)
        made: dict[str, tuple[Node, ...]] = {}
        for node, _, *point in elements:
            if made:
                own, nodes = replace(node, vector=()), {factor.name: factor}
                builder = NodeBuilder(graph=graph, space=space, node=own, nodes=nodes)
            at = SpatialIndex(entries=(*point,))
            whole = builder.finish(builder.put("element", at, (read_of(factor),), node.domain))
            if whole is None:
                raise NoFactor
            made[node.name] = whole[1:] if made else whole
        return factor, made


def _read_elements(graph: Graph, space: Space, equations: FactorTables) -> Graph:
    """The graph in which reads of nothing but elements of one equation are reads of that one."""
    nodes: dict[str, Node] = {}
    for name, reader in graph.nodes.items():
        inputs = list(reader.inputs)
        for slot, edge in enumerate(inputs):
            if edge.source in equations.names and name not in equations.names:
                at = space.restrict(reader.domain, edge.guard)
                branches = graph.nodes[edge.source].sources
                for node, element, *_ in equations.elements:
                    if node.name not in branches or node.domain.dims != element.domain.dims:
                        continue  # of the other table, which may have as much there
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


def summed_tables(graph: Graph, part: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The tensors of a cycle of which ranges are read; then what products of points in ranges are
    products of, if there are such."""
    read = dict.fromkeys(
        e.source
        for name in part
        for e in graph.nodes[name].inputs
        if e.source in part and any(isinstance(x, ix.Slice) for x in e.entries)
    )
    beneath: dict[str, None] = {}
    visited: set[str] = set()
    worklist = [*read]
    while worklist:
        node = graph.nodes[worklist.pop()]
        if not isinstance(node.op, Multiply | Power):
            beneath[node.name] = None
        elif node.name not in visited:
            visited.add(node.name)
            worklist += [source for source in node.sources if source in part]
    return [tuple(read)] if beneath == read else [tuple(read), tuple(beneath)]


def has_numbers(table: Node) -> bool:
    """Whether each point has one number."""
    (type_,) = table.types
    return not type_.shape and type_.dtype in (DType.F32, DType.F64)


def own_nodes(
    graph: Graph, table: Node, batch: Domain
) -> Iterator[tuple[Edge, Node | None, tuple[ix.Expr, ...]]]:
    """The branches of a table: their reads, what computes their elements, and where these are.

    That is the point of the table in the coordinates of the node, ``None`` for one that computes
    points of other branches too, or is not computed for each point of ``batch``.
    """
    here = tuple(map(ix.Sym, table.domain.dims))
    if not isinstance(table.op, Merge):
        yield read_of(table), table, here
        return
    for edge, target in zip(table.inputs, table.op.targets, strict=True):
        node = graph.nodes[edge.source]
        is_own = edge.entries == read_of(node).entries and {*batch.dims} <= {*node.domain.dims}
        yield edge, node if is_own else None, target


def put_element(builder: NodeBuilder, element: MatrixElement, type_: TensorType) -> Node:
    """The elements of one equation. Raises ``NoFactor`` if they have another type."""
    (sign, total), *others = element.terms
    node = builder.put("part", Copy(), (total,), element.domain)
    if sign < 0:
        node = builder.put("part", Negative(), (node,), element.domain)
    for sign, term in others:
        op = Add() if sign > 0 else Subtract()
        node = builder.put("part", op, (node, term), element.domain)
    if replace(node.types[0], weak=False) != replace(type_, weak=False):
        raise NoFactor
    return node


def put_zeros_above(
    builder: NodeBuilder, whole: Domain, row: str, column: str, type_: TensorType
) -> tuple[Node, ix.Expr]:
    """The branch of elements above the diagonal, which are not looked at."""
    guard = ix.compare(">", ix.Sym(column), ix.Sym(row))
    above = Domain(whole.dims, ix.conjunction(whole.where, guard))
    zero = builder.put("zero", Literal(value=0.0, dtype=type_.dtype), (), Domain(()))
    return builder.put("above", Copy(), (zero,), above), guard


def put_rows(
    builder: NodeBuilder, branches: list[tuple[Node, ix.Expr]], row: str, column: str,
    domain: Domain, type_: TensorType,
) -> Edge | Node:  # fmt: skip
    """The matrix of elements by branch, at each point of ``domain`` as an array of all its rows."""
    dims = branches[0][0].domain.dims
    edges = [replace(read_of(node), guard=guard) for node, guard in branches]
    op = Merge(targets=tuple(tuple(map(ix.Sym, dims)) for _ in edges))
    matrix = builder.put("matrix", op, edges, Domain(dims, domain.where), (type_,))
    every = tuple(
        ix.Slice(ix.ZERO, ix.Sym(builder.graph.universe.dim(d).bound))
        if d in (row, column)
        else ix.Sym(d)
        for d in dims
    )
    rows = replace(read_of(matrix), entries=every)
    if dims.index(column) < dims.index(row):
        return builder.put("rows", Transpose(), (rows,), domain)
    return rows
