"""Rows about reductions: of reductions, of what is alike, of what is scaled."""

from __future__ import annotations

from tempoc.ops import arithmetic as two
from tempoc.ops import elementwise as one
from tempoc.ops.opdef import Op
from tempoc.ops.reduction import All, Any, Max, Mean, Min, Prod, Reduction, Sum
from tempoc.ops.shapes import axes_of
from tempoc.ops.source import IndexValue
from tempoc.passes.rules_layout import reduced_one, unspread
from tempoc.passes.rules_rounded import wide
from tempoc.passes.view import Found, Row, View
from tempoc.sdg.graph import Edge
from tempoc.symbolic.expr import ONE, product

_ASSOCIATIVE: tuple[type[Op], ...] = (Sum, Prod, Max, Min, Any, All)


def _reduced_twice(v: View) -> Found | None:
    """A reduction of a reduction is one over the axes of both."""
    assert isinstance(v.op, Reduction)
    if type(v.op) not in (*_ASSOCIATIVE, Mean):
        return None
    inner = v.inner(0, type(v.op), alone=True)
    if inner is None or type(inner.op) is not type(v.op) or not inner.here:
        return None
    assert isinstance(inner.op, Reduction)
    (edge,) = inner.edges
    first = v.type_of(edge)
    if first.dtype is not v.result.dtype:
        return None
    mine = axes_of(inner.op.axes, first.ndim)
    last = axes_of(v.op.axes, v.operand(0).ndim)
    if inner.op.keepdims:
        if not v.op.keepdims and not {*mine} <= {*last}:
            return None
        axes = tuple(sorted({*mine, *last}))
    elif v.op.keepdims:
        return None
    else:
        left = [k for k in range(first.ndim) if k not in mine]
        axes = tuple(sorted((*mine, *(left[k] for k in last))))
    return Found(edges=(edge,), op=type(v.op)(axes=axes, keepdims=v.op.keepdims))


def _exactly_twice(v: View) -> Found | None:
    exact = not v.result.dtype.is_float or isinstance(v.op, Max)
    return _reduced_twice(v) if exact else None


def _sum_of_alike(v: View) -> Found | None:
    """The sum or mean over axes along which all elements are alike."""
    assert isinstance(v.op, Reduction)
    if type(v.op) not in (Sum, Mean):
        return None
    small = unspread(v)
    if small is None:
        return None
    if isinstance(v.op, Mean):
        return Found(edges=(small,), op=v.op)
    pairs = zip(v.operand(0).shape, v.type_of(small).shape, strict=True)
    count = product(e for e, now in pairs if now == ONE != e)
    number = v.make(one.Cast(dtype=v.result.dtype), v.make(IndexValue(expr=count)))
    return Found(edges=(number, v.make(v.op, small)), op=two.Multiply())


def _sum_of_one(v: View) -> Found | None:
    if v.operand(0).dtype is not v.result.dtype:
        return None
    return reduced_one(v)


def _sum_of_scaled(v: View) -> Found | None:
    """The sum or mean of what is multiplied with or divided by the same along the axes."""
    assert isinstance(v.op, Reduction)
    if type(v.op) not in (Sum, Mean):
        return None
    inner = v.inner(0, two.Multiply, two.Divide, one.Negative, alone=True)
    if inner is None or not inner.here:
        return None
    if isinstance(inner.op, one.Negative):
        return Found(edges=(v.make(v.op, *inner.edges),), op=inner.op)
    for k in (1,) if isinstance(inner.op, two.Divide) else (1, 0):
        if _is_free(v, inner.edges[k], inner.edges[1 - k]):
            total = v.make(v.op, inner.edges[1 - k])
            return Found(edges=(total, inner.edges[k]), op=inner.op)
    return None


def _is_free(v: View, scale: Edge, other: Edge) -> bool:
    """Whether a factor is the same along all axes that are reduced, and the other one is whole."""
    assert isinstance(v.op, Reduction)
    ndim = v.operand(0).ndim
    axes = axes_of(v.op.axes, ndim)
    own = v.type_of(scale)
    if not axes or v.type_of(other).shape != v.operand(0).shape or own.dtype is not v.result.dtype:
        return False
    if v.op.keepdims:
        aligned = (ONE,) * (ndim - own.ndim) + own.shape
        return all(aligned[a] == ONE for a in axes)
    return own.ndim == 0 or max(axes) < ndim - own.ndim


_FLOATING = (Sum, Mean)
SUMS: tuple[Row, ...] = (
    Row(name="a reduction of a reduction", ops=_ASSOCIATIVE, find=_exactly_twice),
    Row(name="a sum of sums", ops=(Sum, Mean), find=wide(_reduced_twice), exact=False),
    Row(name="a sum of numbers alike", ops=_FLOATING, find=wide(_sum_of_alike), exact=False),
    Row(name="a sum of one number", ops=_FLOATING, find=_sum_of_one, exact=False),
    Row(
        name="sum(c * x) = c * sum(x)", ops=_FLOATING, find=wide(_sum_of_scaled), exact=False
    ),
)
