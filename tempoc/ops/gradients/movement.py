"""Derivatives of operators that move elements: the cotangent moves back."""

from __future__ import annotations

from tempoc.ops.control.control import Ensure
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.shapes import axes_of, axis_of
from tempoc.ops.gradients.arithmetic import Derivatives, OperandTerms
from tempoc.ops.gradients.calculus import Calculus, Term
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.tensor.joining import Concat, Split, Stack
from tempoc.ops.tensor.movement import ExpandDims, Flip, Pad, Squeeze, Transpose
from tempoc.ops.tensor.reshape import Reshape
from tempoc.symbolic.expr import ZERO, Const, Expr, add


def ensure(
    op: Op, c: Calculus, args: OperandTerms, results: OperandTerms, cots: OperandTerms
) -> Derivatives:
    """The same promise the other way."""
    (x,) = args
    return (c.fit(c.op(Ensure(shape=x.shape), cots[0]), x),)


def transpose(
    op: Op, c: Calculus, args: OperandTerms, results: OperandTerms, cots: OperandTerms
) -> Derivatives:
    """The inverse permutation."""
    assert isinstance(op, Transpose)
    order = op.order(args[0].type.ndim)
    back = tuple(order.index(k) for k in range(len(order)))
    return (c.fit(c.op(Transpose(axes=back), cots[0]), args[0]),)


def expand_dims(
    op: Op, c: Calculus, args: OperandTerms, results: OperandTerms, cots: OperandTerms
) -> Derivatives:
    """Without the axis."""
    assert isinstance(op, ExpandDims)
    axis = axis_of(op.axis, results[0].type.ndim)
    return (c.fit(c.op(Squeeze(axes=(axis,)), cots[0]), args[0]),)


def squeeze(
    op: Op, c: Calculus, args: OperandTerms, results: OperandTerms, cots: OperandTerms
) -> Derivatives:
    """With the axes."""
    assert isinstance(op, Squeeze)
    return (c.fit(c.expand(cots[0], axes_of(op.axes, args[0].type.ndim)), args[0]),)


def broadcast_to(
    op: Op, c: Calculus, args: OperandTerms, results: OperandTerms, cots: OperandTerms
) -> Derivatives:
    """The sum over all copies."""
    return (c.fit(cots[0], args[0]),)


def pad(
    op: Op, c: Calculus, args: OperandTerms, results: OperandTerms, cots: OperandTerms
) -> Derivatives:
    """Without what was added."""
    assert isinstance(op, Pad)
    (x,) = args
    pairs = zip(op.widths, x.shape, strict=True)
    entries = tuple((low, extent, 1) for (low, _), extent in pairs)
    return (c.fit(c.op(SpatialIndex(entries=entries), cots[0]), x),)


def flip(
    op: Op, c: Calculus, args: OperandTerms, results: OperandTerms, cots: OperandTerms
) -> Derivatives:
    """Turned around again."""
    assert isinstance(op, Flip)
    return (c.fit(c.op(op, cots[0]), args[0]),)


def reshape(
    op: Op, c: Calculus, args: OperandTerms, results: OperandTerms, cots: OperandTerms
) -> Derivatives:
    """The elements in their order."""
    assert isinstance(op, Reshape)
    return (c.fit(c.op(Reshape(shape=args[0].shape), cots[0]), args[0]),)


def concat(
    op: Op, c: Calculus, args: OperandTerms, results: OperandTerms, cots: OperandTerms
) -> Derivatives:
    """To each operand its part."""
    assert isinstance(op, Concat)
    axis = axis_of(op.axis, args[0].type.ndim)
    cotangents: list[Term | None] = []
    start: Expr = ZERO
    for x in args:
        entries: list[tuple[Expr, Expr, int]] = [(ZERO, e, 1) for e in x.shape]
        entries[axis] = (start, x.shape[axis], 1)
        cotangents.append(c.fit(c.op(SpatialIndex(entries=tuple(entries)), cots[0]), x))
        start = add(start, x.shape[axis])
    return tuple(cotangents)


def stack(
    op: Op, c: Calculus, args: OperandTerms, results: OperandTerms, cots: OperandTerms
) -> Derivatives:
    """To each operand its part."""
    assert isinstance(op, Stack)
    axis = axis_of(op.axis, results[0].type.ndim)
    cotangents: list[Term | None] = []
    for k, x in enumerate(args):
        parts: list[Expr | tuple[Expr, Expr, int]] = [(ZERO, e, 1) for e in x.shape]
        parts.insert(axis, Const(k))
        cotangents.append(c.fit(c.op(SpatialIndex(entries=tuple(parts)), cots[0]), x))
    return tuple(cotangents)


def split(
    op: Op, c: Calculus, args: OperandTerms, results: OperandTerms, cots: OperandTerms
) -> Derivatives:
    """The parts side by side again."""
    assert isinstance(op, Split)
    return (c.fit(c.op(Concat(axis=op.axis), *cots), args[0]),)
