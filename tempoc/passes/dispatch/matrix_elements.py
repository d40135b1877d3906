"""Elements of a matrix that equations of its factors read."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from tempoc.ops.control.control import Copy, Merge
from tempoc.ops.definition.types import TensorType
from tempoc.ops.tensor.arithmetic import Add, Subtract
from tempoc.ops.tensor.elementwise import Negative
from tempoc.ops.tensor.movement import Transpose
from tempoc.ops.tensor.source import Literal
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.graph import Edge, Node
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain


class NoFactor(Exception):
    """A tensor whose equations are not those of a factor."""


class MatrixElement(NamedTuple):
    """An element of the matrix, read in the coordinates of the factor: a sum of signed terms."""

    terms: tuple[tuple[int, Edge], ...]
    domain: Domain


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
