"""Derivatives of operators that move elements: the cotangent moves back."""

from __future__ import annotations

from tempoc.ops.control.control import Ensure
from tempoc.ops.definition.shapes import axes_of, axis_of
from tempoc.ops.gradients.calculus import Calculus, Derivatives, Rules, Term, Terms
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.tensor.joining import Concat, Split, Stack
from tempoc.ops.tensor.movement import BroadcastTo, ExpandDims, Flip, Pad, Squeeze, Transpose
from tempoc.ops.tensor.reshape import Reshape
from tempoc.symbolic import expr as ix

RULES = Rules()


@RULES.of(Ensure)
def ensure(op: Ensure, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """The same promise the other way."""
    (x,) = args
    return (c.fit(c.op(Ensure(shape=x.shape), cots[0]), x),)


@RULES.of(Transpose)
def transpose(op: Transpose, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """The inverse permutation."""
    order = op.order(args[0].type.ndim)
    back = tuple(order.index(k) for k in range(len(order)))
    return (c.fit(c.op(Transpose(axes=back), cots[0]), args[0]),)


@RULES.of(ExpandDims)
def expand_dims(
    op: ExpandDims, c: Calculus, args: Terms, results: Terms, cots: Terms
) -> Derivatives:
    """Without the axis."""
    axis = axis_of(op.axis, results[0].type.ndim)
    return (c.fit(c.op(Squeeze(axes=(axis,)), cots[0]), args[0]),)


@RULES.of(Squeeze)
def squeeze(op: Squeeze, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """With the axes."""
    return (c.fit(c.expand(cots[0], axes_of(op.axes, args[0].type.ndim)), args[0]),)


@RULES.of(BroadcastTo)
def broadcast_to(
    op: BroadcastTo, c: Calculus, args: Terms, results: Terms, cots: Terms
) -> Derivatives:
    """The sum over all copies."""
    return (c.fit(cots[0], args[0]),)


@RULES.of(Pad)
def pad(op: Pad, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """Without what was added."""
    (x,) = args
    pairs = zip(op.widths, x.shape, strict=True)
    entries = tuple((low, extent, 1) for (low, _), extent in pairs)
    return (c.fit(c.op(SpatialIndex(entries=entries), cots[0]), x),)


@RULES.of(Flip)
def flip(op: Flip, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """Turned around again."""
    return (c.fit(c.op(op, cots[0]), args[0]),)


@RULES.of(Reshape)
def reshape(op: Reshape, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """The elements in their order."""
    return (c.fit(c.op(Reshape(shape=args[0].shape), cots[0]), args[0]),)


@RULES.of(Concat)
def concat(op: Concat, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """To each operand its part."""
    axis = axis_of(op.axis, args[0].type.ndim)
    cotangents: list[Term | None] = []
    start: ix.Expr = ix.ZERO
    for x in args:
        entries: list[tuple[ix.Expr, ix.Expr, int]] = [(ix.ZERO, e, 1) for e in x.shape]
        entries[axis] = (start, x.shape[axis], 1)
        cotangents.append(c.fit(c.op(SpatialIndex(entries=tuple(entries)), cots[0]), x))
        start = ix.add(start, x.shape[axis])
    return tuple(cotangents)


@RULES.of(Stack)
def stack(op: Stack, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """To each operand its part."""
    axis = axis_of(op.axis, results[0].type.ndim)
    cotangents: list[Term | None] = []
    for k, x in enumerate(args):
        parts: list[ix.Expr | tuple[ix.Expr, ix.Expr, int]] = [(ix.ZERO, e, 1) for e in x.shape]
        parts.insert(axis, ix.Const(k))
        cotangents.append(c.fit(c.op(SpatialIndex(entries=tuple(parts)), cots[0]), x))
    return tuple(cotangents)


@RULES.of(Split)
def split(op: Split, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """The parts side by side again."""
    return (c.fit(c.op(Concat(axis=op.axis), *cots), args[0]),)
