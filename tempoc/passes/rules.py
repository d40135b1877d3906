"""Algebraic identities as rows of a table: a name, the operators it looks at, what it finds.

An identity is in the table only if it holds for every value of its dtype. So there is no
``x * 0 = 0`` for floats (NaN, infinities, -0.0), no ``x + 0.0 = x`` (-0.0 + 0.0 is 0.0; ``x - 0.0``
and ``x + -0.0`` are fine), no ``x - x = 0`` and no ``x / x = 1``. Nothing is reassociated.

A finding is the access of an older value that the node repeats, or an operator to use instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tempoc.ops import arithmetic as two
from tempoc.ops import elementwise as one
from tempoc.ops.control import Copy, Select
from tempoc.ops.movement import BroadcastTo, ExpandDims, Squeeze, Transpose
from tempoc.ops.opdef import Op
from tempoc.ops.reshape import Reshape
from tempoc.ops.source import Full, Literal
from tempoc.ops.types import DType, TensorType
from tempoc.sdg.graph import Edge, Graph, Node
from tempoc.sdg.query import operand_type
from tempoc.sdg.rewrite import compose
from tempoc.symbolic.expr import Slice

COPY = Copy()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What to use in place of a node: this operator on this access (a copy by default)."""

    edges: tuple[Edge, ...]
    op: Op = COPY


@dataclass(frozen=True, slots=True)
class View:
    """A node and what its operands are."""

    graph: Graph
    node: Node

    @property
    def op(self) -> Op:
        """The node's operator."""
        return self.node.op

    @property
    def result(self) -> TensorType:
        """The type of its first result."""
        return self.node.types[0]

    def operand(self, slot: int) -> TensorType:
        """The type of an operand, after the access."""
        return operand_type(self.graph, self.node.inputs[slot])

    def number(self, slot: int) -> bool | int | float | None:
        """The number that an operand holds everywhere, if it is such a constant."""
        op = self.graph.nodes[self.node.inputs[slot].source].op
        return op.value if isinstance(op, Literal | Full) else None

    def same(self, slot: int) -> Found | None:
        """The node is its operand, if that has the node's type."""
        fits = self.operand(slot) == self.result
        return Found(edges=(self.node.inputs[slot],)) if fits else None

    def inner(self, kind: type[Op], *, whole: bool = False) -> tuple[Node, Edge] | None:
        """The node that makes operand 0 if it is of a kind, and its own operand seen from here.

        ``whole``: only where the operand is read at a point, so that axes are the inner node's.
        """
        edge = self.node.inputs[0]
        inner = self.graph.nodes[edge.source]
        if not isinstance(inner.op, kind):
            return None
        if whole and any(isinstance(e, Slice) for e in edge.entries):
            return None
        entries = compose(
            edge.entries, inner.domain.dims, inner.inputs[0].entries, self.graph.universe
        )
        if entries is None:
            return None
        return inner, replace(inner.inputs[0], entries=entries, span=edge.span)

    def original(self, found: tuple[Node, Edge] | None) -> Found | None:
        """The node is the operand of the inner node, if that has the node's type."""
        if found is None or operand_type(self.graph, found[1]) != self.result:
            return None
        return Found(edges=(found[1],))


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One identity; ``find`` is asked for nodes of these operators."""

    name: str
    ops: tuple[type[Op], ...]
    find: Callable[[View], Found | None]


def _is(value: bool | int | float | None, number: int) -> bool:
    """Whether a constant is this number, -0.0 not being 0."""
    return value is not None and value == number and math.copysign(1, value) >= 0


def _add_zero(v: View) -> Found | None:
    for slot in (0, 1):
        number = v.number(1 - slot)
        exact = number == 0 and (not v.result.dtype.is_float or not _is(number, 0))
        if exact and (found := v.same(slot)):
            return found
    return None


def _mul_one(v: View) -> Found | None:
    return next((f for k in (0, 1) if _is(v.number(1 - k), 1) and (f := v.same(k))), None)


def _mul_zero(v: View) -> Found | None:
    if v.result.dtype.is_float or not (_is(v.number(0), 0) or _is(v.number(1), 0)):
        return None
    if v.result.weak:
        return None
    return Found(edges=(), op=Full(shape=v.result.shape, value=0, dtype=v.result.dtype))


def _right(number: int) -> Callable[[View], Found | None]:
    return lambda v: v.same(0) if _is(v.number(1), number) else None


def _twice(v: View) -> Found | None:
    return v.original(v.inner(type(v.op)))


def _alike(first: int) -> Callable[[View], Found | None]:
    """Two equal operands give that operand."""

    def find(v: View) -> Found | None:
        a, b = v.node.inputs[first], v.node.inputs[first + 1]
        return v.same(first) if a == b else None

    return find


def _decided(v: View) -> Found | None:
    condition = v.number(0)
    return None if condition is None else v.same(1 if condition else 2)


def _unchanged(v: View) -> Found | None:
    return v.same(0)


LOSSLESS: Mapping[DType, tuple[DType, ...]] = {
    DType.BOOL: (DType.I32, DType.I64, DType.U32, DType.BF16, DType.F16, DType.F32, DType.F64),
    DType.I32: (DType.I64, DType.F64),
    DType.U32: (DType.I64, DType.F64),
    DType.BF16: (DType.F32, DType.F64),
    DType.F16: (DType.F32, DType.F64),
    DType.F32: (DType.F64,),
}
"""Conversions that keep every value apart, so that a conversion after them may skip them."""


def _cast_cast(v: View) -> Found | None:
    found = v.inner(one.Cast)
    if found is None:
        return None
    inner, edge = found
    have, middle = operand_type(v.graph, edge).dtype, inner.types[0].dtype
    if middle is not have and middle not in LOSSLESS.get(have, ()):
        return None
    return v.original(found) or Found(edges=(edge,), op=v.op)


def _transpose_same(v: View) -> Found | None:
    assert isinstance(v.op, Transpose)
    order = v.op.order(v.result.ndim)
    return v.same(0) if order == tuple(range(v.result.ndim)) else None


def _transpose_twice(v: View) -> Found | None:
    found = v.inner(Transpose, whole=True)
    if found is None:
        return None
    inner, edge = found
    assert isinstance(v.op, Transpose) and isinstance(inner.op, Transpose)
    outer, first = v.op.order(v.result.ndim), inner.op.order(v.result.ndim)
    return Found(edges=(edge,), op=Transpose(axes=tuple(first[k] for k in outer)))


def _reshape_twice(v: View) -> Found | None:
    found = v.inner(Reshape, whole=True)
    if found is None:
        return None
    return v.original(found) or Found(edges=(found[1],), op=v.op)


def _squeeze_expanded(v: View) -> Found | None:
    found = v.inner(ExpandDims, whole=True)
    if found is None:
        return None
    assert isinstance(v.op, Squeeze) and isinstance(found[0].op, ExpandDims)
    ndim = found[0].types[0].ndim
    same = [a % ndim for a in v.op.axes] == [found[0].op.axis % ndim]
    return v.original(found) if same else None


ROWS: tuple[Row, ...] = (
    Row(name="x + 0 = x", ops=(two.Add,), find=_add_zero),
    Row(name="x - 0 = x", ops=(two.Subtract,), find=_right(0)),
    Row(name="x * 1 = x", ops=(two.Multiply,), find=_mul_one),
    Row(name="x / 1 = x", ops=(two.Divide,), find=_right(1)),
    Row(name="x ** 1 = x", ops=(two.Power,), find=_right(1)),
    Row(name="whole x * 0 = 0", ops=(two.Multiply,), find=_mul_zero),
    Row(name="-(-x) = x", ops=(one.Negative,), find=_twice),
    Row(name="not not x = x", ops=(one.Not,), find=_twice),
    Row(name="f(x, x) = x", ops=(two.Minimum, two.Maximum, two.And, two.Or), find=_alike(0)),
    Row(name="where(c, x, x) = x", ops=(Select,), find=_alike(1)),
    Row(name="where(true, x, y) = x", ops=(Select,), find=_decided),
    Row(name="a cast to its own dtype", ops=(one.Cast,), find=_unchanged),
    Row(name="a cast of a lossless cast", ops=(one.Cast,), find=_cast_cast),
    Row(name="a transpose that keeps the order", ops=(Transpose,), find=_transpose_same),
    Row(name="a transpose of a transpose", ops=(Transpose,), find=_transpose_twice),
    Row(name="a shape that is there already", ops=(Reshape, BroadcastTo), find=_unchanged),
    Row(name="a reshape of a reshape", ops=(Reshape,), find=_reshape_twice),
    Row(name="a squeeze of a new axis", ops=(Squeeze,), find=_squeeze_expanded),
)
