"""Rules for elementwise functions that hold up to rounding.

None of them makes a result infinite or NaN that was not, as long as no number is so great or so
small that the product of a few leaves the range of the dtype. Some do the opposite: a logarithm
of an exponential stays finite where the exponential does not. ``f16``, whose range is narrow, is
left alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tempoc.ops.definition.dtype_text import Scalar
from tempoc.ops.definition.shapes import axis_of, same_shape
from tempoc.ops.definition.types import DType
from tempoc.ops.indexing.indexing import IndexPart, SpatialIndex, TakeAlong
from tempoc.ops.tensor import arithmetic as two
from tempoc.ops.tensor import elementwise as one
from tempoc.ops.tensor.source import Literal
from tempoc.passes.simplify.rules.pattern import Match, Producer, Rewrite, RewriteRule, fewer
from tempoc.sdg.graph.graph import Edge
from tempoc.symbolic.expr import ONE, ZERO

WIDE = (DType.BF16, DType.F32, DType.F64)
"""Dtypes with a wide range of exponents."""

Find = Callable[[Match], Rewrite | None]


def wide(find: Find) -> Find:
    """Restrict a rule to nodes of a wide-range dtype, all of whose operands have it."""

    def restricted(v: Match) -> Rewrite | None:
        dtype = v.result.dtype
        fits = dtype in WIDE and all(d is dtype for d in v.dtypes)
        return find(v) if fits else None

    return restricted


def _power(v: Match) -> Rewrite | None:
    exponent, (x, _) = v.number(1), v.node.inputs
    if isinstance(exponent, bool) or not same_shape(v.operand(0).shape, v.result.shape, v.facts):
        return None
    if v.operand(0).dtype is not v.result.dtype:
        return None
    if exponent == 2:
        return Rewrite(edges=(x, x), op=two.Multiply())
    if exponent == 3:
        return Rewrite(edges=(v.make(two.Multiply(), x, x), x), op=two.Multiply())
    if exponent == -1 and v.result.dtype.is_float:
        return Rewrite(edges=(v.literal(1.0), x), op=two.Divide())
    return None


def _inverse_root(v: Match) -> Rewrite | None:
    root = v.inner(1, one.Sqrt, alone=True)
    if root is None or v.number(0) != 1:
        return None
    return Rewrite(edges=root.edges, op=one.Rsqrt())


def _sigmoid(v: Match) -> Rewrite | None:
    """``1 / (1 + exp(-x))``."""
    denominator = v.inner(1, two.Add, alone=True) if v.number(0) == 1 else None
    for edge, other in (
        zip(denominator.edges, denominator.edges[::-1], strict=True) if denominator else ()
    ):
        exponential = v.behind(edge, one.Exp)
        negated = v.behind(exponential.edges[0], one.Negative) if exponential else None
        if negated is not None and constant(v, other) == 1:
            return Rewrite(edges=negated.edges, op=one.Sigmoid())
    return None


def _silu(v: Match) -> Rewrite | None:
    for slot in (0, 1):
        inner = v.inner(slot, one.Sigmoid, alone=True)
        if inner is not None and inner.edges[0] == v.node.inputs[1 - slot]:
            return Rewrite(edges=inner.edges, op=one.Silu())
    return None


def constant(v: Match, edge: Edge) -> Scalar | None:
    """The value of a read that is a literal."""
    op = v.nodes[edge.source].op
    return op.value if isinstance(op, Literal) else None


def _constant_factors(v: Match) -> Rewrite | None:
    """Multiplications with and divisions by constants in a row become one."""
    for slot in (0,) if isinstance(v.op, two.Divide) else (0, 1):
        by = constant(v, v.node.inputs[1 - slot])
        inner = v.inner(slot, two.Multiply, two.Divide, alone=True)
        if by is None or inner is None:
            continue
        factor = by if isinstance(v.op, two.Multiply) else _inverted(by)
        for k in (0, 1):
            first = constant(v, inner.edges[k])
            known = first is not None and factor is not None
            product = _scaled(inner, k, first or 0, factor or 0) if known else None
            if product is None:
                continue
            if k == 0 and isinstance(inner.op, two.Divide):
                return Rewrite(edges=(v.literal(product), inner.edges[1]), op=two.Divide())
            return Rewrite(edges=(inner.edges[1 - k], v.literal(product)), op=two.Multiply())
    return None


def _scaled(inner: Producer, k: int, first: Scalar, factor: float) -> float | None:
    if isinstance(inner.op, two.Divide) and k == 1:
        inverse = _inverted(first)
        return None if inverse is None else _within_range(inverse * factor)
    return _within_range(first * factor)


def _inverted(x: float) -> float | None:
    return None if x == 0 else 1 / x


def _within_range(x: float) -> float | None:
    """The number, if it is far from overflow and underflow in ``f32``."""
    return x if math.isfinite(x) and 1e-30 < abs(x) < 1e30 else None


def _negated_number(v: Match) -> Rewrite | None:
    inner = v.inner(0, two.Multiply, two.Divide, alone=True)
    if inner is None:
        return None
    for k in (0, 1):
        number = constant(v, inner.edges[k])
        if number is None or isinstance(number, bool) or v.type_of(inner.edges[k]).weak:
            continue
        minus = v.literal(-number)
        edges = (minus, inner.edges[1]) if k == 0 else (inner.edges[0], minus)
        return Rewrite(edges=edges, op=inner.op)
    return None


def _scalar_factors(v: Match) -> Rewrite | None:
    """Two scalar factors of an array are multiplied first."""
    for slot in (0, 1):
        outer = v.node.inputs[1 - slot]
        inner = v.inner(slot, two.Multiply, alone=True)
        if inner is None or v.operand(1 - slot).shape or not v.result.shape or not inner.aligned:
            continue
        for k in (0, 1):
            if not v.type_of(inner.edges[k]).shape and v.type_of(inner.edges[1 - k]).shape:
                scalar = v.make(two.Multiply(), outer, inner.edges[k])
                return Rewrite(edges=(scalar, inner.edges[1 - k]), op=two.Multiply())
    return None


def _exponents(v: Match) -> Rewrite | None:
    """Products and quotients of exponentials."""
    a, b = v.inner(0, one.Exp, alone=True), v.inner(1, one.Exp, alone=True)
    if isinstance(v.op, two.Divide) and b is not None and v.number(0) == 1:
        return Rewrite(edges=(v.make(one.Negative(), *b.edges),), op=one.Exp())
    if a is None or b is None or any(t.shape != v.result.shape for t in v.operands):
        return None
    op = two.Add() if isinstance(v.op, two.Multiply) else two.Subtract()
    return Rewrite(edges=(v.make(op, a.edges[0], b.edges[0]),), op=one.Exp())


def _log_of_exp(v: Match) -> Rewrite | None:
    inner = v.inner(0, one.Exp)
    return None if inner is None else v.same_as(inner.edges[0])


def _log_of_quotient(v: Match) -> Rewrite | None:
    """``log(exp(x) / s)``: the logarithm of a softmax."""
    inner = v.inner(0, two.Divide, two.Multiply)
    if inner is None:
        return None
    for k in (0,) if isinstance(inner.op, two.Divide) else (0, 1):
        exponential = v.behind(inner.edges[k], one.Exp)
        if exponential is not None:
            log = v.make(one.Log(), inner.edges[1 - k])
            op = two.Subtract() if isinstance(inner.op, two.Divide) else two.Add()
            return Rewrite(edges=(exponential.edges[0], log), op=op)
    return None


_ELEMENTWISE = (two.Add, two.Subtract, two.Multiply, two.Divide)


def _part_of_product(v: Match) -> Rewrite | None:
    """A slice or element of an elementwise operation: of its operands, which may broadcast."""
    assert isinstance(v.op, SpatialIndex)
    inner = v.inner(0, *_ELEMENTWISE, alone=True)
    if inner is None or not inner.aligned or (v.op.gathers and v.operand(1).shape):
        return None
    if all(isinstance(e, tuple) for e in v.op.entries):
        return None
    edges = [_part_of(v, edge, v.op.entries) for edge in inner.edges]
    return Rewrite(edges=tuple(edges), op=inner.op)


def _part_of(v: Match, edge: Edge, entries: tuple[IndexPart, ...]) -> Edge:
    """The same part of an operand, which may broadcast."""
    shape = v.type_of(edge).shape
    if not shape:
        return edge
    own: list[IndexPart] = []
    for extent, entry in zip(shape, entries[len(entries) - len(shape) :], strict=True):
        if extent == ONE:
            own.append((ZERO, ONE, 1) if isinstance(entry, tuple) else ZERO)
        else:
            own.append(entry)
    op = SpatialIndex(entries=tuple(own))
    return v.make(op, edge, *(v.node.inputs[1:] if op.gathers else ()))


def _pick_of_product(v: Match) -> Rewrite | None:
    """Elements taken along an axis of an elementwise operation: taken from its operands."""
    assert isinstance(v.op, TakeAlong)
    inner = v.inner(0, *_ELEMENTWISE, alone=True)
    if inner is None or not inner.aligned or not fewer(v.result.shape, v.operand(0).shape):
        return None
    ndim = v.result.ndim
    axis = axis_of(v.op.axis, ndim)
    edges = []
    for edge in inner.edges:
        shape = v.type_of(edge).shape
        shape = (ONE,) * (ndim - len(shape)) + shape
        if shape == v.operand(0).shape:
            edges.append(v.make(v.op, edge, v.node.inputs[1]))
        elif shape[axis] == ONE:
            edges.append(edge)
        else:
            return None
    return Rewrite(edges=tuple(edges), op=inner.op)


_PRODUCTS = (two.Multiply, two.Divide)
ROUNDED: tuple[RewriteRule, ...] = (
    RewriteRule(name="x ** 2 = x * x", ops=(two.Power,), find=_power, exact=False),
    RewriteRule(
        name="1 / sqrt(x) = rsqrt(x)", ops=(two.Divide,), find=wide(_inverse_root), exact=False
    ),
    RewriteRule(
        name="1 / (1 + exp(-x)) = sigmoid(x)", ops=(two.Divide,), find=wide(_sigmoid), exact=False
    ),
    RewriteRule(
        name="x * sigmoid(x) = silu(x)", ops=(two.Multiply,), find=wide(_silu), exact=False
    ),
    RewriteRule(
        name="(x * 2) * 3 = x * 6", ops=_PRODUCTS, find=wide(_constant_factors), exact=False
    ),
    RewriteRule(
        name="-(x * 2) = x * -2", ops=(one.Negative,), find=wide(_negated_number), exact=False
    ),
    RewriteRule(
        name="a * (b * x) = (a * b) * x for scalars a and b",
        ops=(two.Multiply,),
        find=wide(_scalar_factors),
        exact=False,
    ),
    RewriteRule(
        name="exp(a) * exp(b) = exp(a + b)", ops=_PRODUCTS, find=wide(_exponents), exact=False
    ),
    RewriteRule(name="log(exp(x)) = x", ops=(one.Log,), find=wide(_log_of_exp), exact=False),
    RewriteRule(
        name="log(exp(x) / s) = x - log(s)",
        ops=(one.Log,),
        find=wide(_log_of_quotient),
        exact=False,
    ),
    RewriteRule(name="a part of a product", ops=(SpatialIndex,), find=_part_of_product),
    RewriteRule(name="elements picked of a product", ops=(TakeAlong,), find=_pick_of_product),
)
