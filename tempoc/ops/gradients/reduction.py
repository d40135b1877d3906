"""Derivatives of reductions and of scans."""

from __future__ import annotations

import functools
import math

from tempoc.ops.definition.shapes import axes_of, axis_of
from tempoc.ops.gradients.calculus import Calculus, Derivatives, Rules, Term, Terms
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.indexing.search import ArgMax, ArgMin
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary
from tempoc.ops.tensor.movement import Flip, Pad, Transpose
from tempoc.ops.tensor.reduction import (
    LogSumExp,
    Max,
    Mean,
    Min,
    Prod,
    Reduction,
    Sum,
    Var,
    has_element,
)
from tempoc.ops.tensor.scan import CumMax, CumMin, CumProd, CumSum, Scan
from tempoc.ops.tensor.source import Arange
from tempoc.symbolic import expr as ix

RULES = Rules()


def _axes(op: Reduction, x: Term) -> tuple[int, ...]:
    return axes_of(op.axes, x.type.ndim)


def _back(op: Reduction, c: Calculus, x: Term, y: Term) -> Term:
    """A result, or its cotangent, with the axes that the reduction took away (extent 1)."""
    return y if op.keepdims else c.expand(y, _axes(op, x))


@RULES.of(Sum)
def total(op: Sum, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """`sum`: to every element."""
    (x,) = args
    return (c.fit(c.spread(_back(op, c, x, cots[0]), x.shape), x),)


@RULES.of(Mean)
def mean(op: Mean, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """To every element its share."""
    (x,) = args
    (g,) = cots
    share = c.div(g, c.index(ix.product(x.shape[a] for a in _axes(op, x)), g.type.dtype))
    return (c.fit(c.spread(_back(op, c, x, share), x.shape), x),)


@RULES.of(Max, Min)
def extremum(op: Max, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """`max`, `min`: evenly to all elements that are the result, of which there is one for sure.

    An element that is computed once more need not be bit for bit what it was when the result was
    found (XLA does so where it fuses, and rounds as it likes). Then no element would be equal, and
    the count of those that are 0. The place that a search finds is always one.
    """
    (x,) = args
    (g,) = cots
    axes = _axes(op, x)
    if not axes:
        return (c.fit(g, x),)
    equal = c.op(binary.Equal(), x, _back(op, c, x, results[0]))
    chosen = c.op(binary.Or(), equal, _is_first_extreme(op, c, x, axes))
    count = c.sum(c.cast(chosen, g.type.dtype), axes, keepdims=True)
    return (c.fit(c.masked(chosen, c.div(_back(op, c, x, g), count)), x),)


def _is_first_extreme(op: Max, c: Calculus, x: Term, axes: tuple[int, ...]) -> Term:
    """Whether an element is the first extreme one, axis by axis."""
    search, reduce = (ArgMin, Min) if isinstance(op, Min) else (ArgMax, Max)
    met: list[Term] = []
    for k, axis in enumerate(axes):
        if k:
            x = c.op(reduce(axes=(axes[k - 1],), keepdims=True), x)
        places = c.expand(c.op(Arange(stop=x.shape[axis])), range(1, x.type.ndim - axis))
        met.append(c.op(binary.Equal(), places, c.op(search(axis=axis, keepdims=True), x)))
    return functools.reduce(lambda a, b: c.op(binary.And(), a, b), met)


@RULES.of(LogSumExp)
def logsumexp(op: LogSumExp, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """By softmax, measured from the result: the sum, which rounding keeps from 1, divides it away.

    The result is never far off: it is the rounded sum of the maximum, which is a number of the
    dtype, and of a logarithm, so off by less than that. And it is there, as the maximum is not.
    """
    (x,) = args
    term = c.op(unary.Exp(), c.sub(x, _back(op, c, x, results[0])))
    share = c.div(_back(op, c, x, cots[0]), c.sum(term, _axes(op, x), keepdims=True))
    return (c.fit(c.mul(share, term), x),)


@RULES.of(Var)
def variance(op: Var, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """Twice the distance from the mean, shared."""
    (x,) = args
    (g,) = cots
    axes = _axes(op, x)
    away = c.sub(x, c.op(Mean(axes=axes, keepdims=True), x))
    share = c.div(c.scale(g, 2.0), c.index(ix.product(x.shape[a] for a in axes), g.type.dtype))
    return (c.fit(c.mul(_back(op, c, x, share), away), x),)


@RULES.of(Prod)
def prod(op: Prod, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """Axis by axis, each element by the product of the others: right also for zeros."""
    (x,) = args
    steps = [x]
    for axis in _axes(op, x):
        steps.append(c.op(Prod(axes=(axis,), keepdims=True), steps[-1]))
    g = _back(op, c, x, cots[0])
    for before, axis in zip(reversed(steps[:-1]), reversed(_axes(op, x)), strict=True):
        g = c.mul(g, c.mul(others(c, before, axis), others(c, before, axis, reverse=True)))
    return (c.fit(g, x),)


def others(c: Calculus, x: Term, axis: int, *, reverse: bool = False) -> Term:
    """The product of all elements before (or, with `reverse`, after) each one."""
    scan = c.op(CumProd(axis=axis, reverse=reverse), x)
    widths = [(ix.ZERO, ix.ZERO)] * x.type.ndim
    widths[axis] = (ix.ZERO, ix.ONE) if reverse else (ix.ONE, ix.ZERO)
    wide = c.op(Pad(widths=tuple(widths), value=1.0), scan)
    start = ix.ONE if reverse else ix.ZERO
    entries = [(ix.ZERO, e, 1) for e in x.shape]
    entries[axis] = (start, x.shape[axis], 1)
    return c.op(SpatialIndex(entries=tuple(entries)), wide)


# ---------------------------------------------------------------- scans


@RULES.of(CumSum)
def cumsum(op: CumSum, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """The sum from the other end."""
    return (c.fit(c.op(CumSum(axis=op.axis, reverse=not op.reverse), cots[0]), args[0]),)


@RULES.of(CumProd)
def cumprod(op: CumProd, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """For each pair of places the product in between: quadratic, right also for zeros."""
    x, g = (_last(c, op, v) for v in (args[0], cots[0]))
    n, axis = x.shape[-1], x.type.ndim - 1
    row, column = _places(c, n)
    one = c.number(1.0, x.type.dtype)
    between = c.where(c.op(binary.Greater(), column, row), c.expand(x, [axis]), one)
    reach = c.op(CumProd(axis=axis + 1), between)
    weight = c.masked(c.op(binary.GreaterEqual(), column, row), c.mul(c.expand(g, [axis]), reach))
    cotangent = c.mul(others(c, x, axis), c.sum(weight, [axis + 1]))
    return (c.fit(_last(c, op, cotangent, back=True), args[0]),)


@RULES.of(CumMax, CumMin)
def cummax(op: Scan, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """Evenly to all elements so far that are the greatest: quadratic.

    Of these there is one for sure, see `extremum`, unless the axis is empty.
    """
    x, y, g = (_last(c, op, v) for v in (args[0], results[0], cots[0]))
    axis = x.type.ndim - 1
    row, column = _places(c, x.shape[-1])
    early = c.op(binary.LessEqual(), row, column)
    wide = c.expand(x, [axis + 1])
    search, never = (ArgMin, math.inf) if isinstance(op, CumMin) else (ArgMax, -math.inf)
    so_far = c.where(early, wide, c.number(never, x.type.dtype))
    if not has_element(x.shape[-1], c.build.facts):
        # A row that is chosen only where there is no other, as of nothing there is no first.
        widths = [(ix.ZERO, ix.ZERO)] * axis + [(ix.ZERO, ix.ONE), (ix.ZERO, ix.ZERO)]
        so_far = c.op(Pad(widths=tuple(widths), value=never), so_far)
    first = c.op(binary.Equal(), row, c.op(search(axis=axis, keepdims=True), so_far))
    equal = c.op(binary.And(), early, c.op(binary.Equal(), wide, c.expand(y, [axis])))
    chosen = c.op(binary.Or(), equal, first)
    count = c.sum(c.cast(chosen, g.type.dtype), [axis], keepdims=True)
    cotangent = c.sum(c.masked(chosen, c.div(c.expand(g, [axis]), count)), [axis + 1])
    return (c.fit(_last(c, op, cotangent, back=True), args[0]),)


def _places(c: Calculus, n: ix.Expr) -> tuple[Term, Term]:
    """Row and column numbers of a square, ready to broadcast."""
    places = c.op(Arange(stop=n))
    return c.expand(places, [1]), c.expand(places, [0])


def _last(c: Calculus, op: Scan, x: Term, *, back: bool = False) -> Term:
    """The scanned axis moved to the end, from the front to the back; with `back` undone."""
    ndim = x.type.ndim
    axis = axis_of(op.axis, ndim)
    order = [k for k in range(ndim) if k != axis] + [axis]
    if back:
        order = [order.index(k) for k in range(ndim)]
    if op.reverse:
        x = c.op(Flip(axes=(ndim - 1 if back else axis,)), x)
    return x if order == list(range(ndim)) else c.op(Transpose(axes=tuple(order)), x)
