"""Joining tensors along an axis, and cutting one into equal parts.

A ragged operand ends before its padding does, so the next one is written over that padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tempoc.base.arrays import np
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.axis_links import Link, Same, untouched_links
from tempoc.ops.definition.operator import (
    Array,
    EmittedValue,
    EmittedValues,
    Emitter,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.promotion import common, promote
from tempoc.ops.definition.shapes import axis_of, require, same_shape, shape_text, without
from tempoc.ops.definition.types import TensorType, Types
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import show


@dataclass(frozen=True, slots=True, kw_only=True)
class Concat(Op):
    """One after the other along an axis; the other extents must agree."""

    axis: int = 0

    name = "concat"
    promotes = True
    moves = True

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The sum of the extents along the axis."""
        if not args:
            raise OperandError("concat of nothing has no type")
        axis = axis_of(self.axis, args[0].ndim)
        other_extents = without(args[0].shape, (axis,))
        for a in args[1:]:
            same = a.ndim == args[0].ndim
            if not same or not same_shape(without(a.shape, (axis,)), other_extents, facts):
                shapes = " and ".join(shape_text(x.shape) for x in (args[0], a))
                raise OperandError(f"shapes {shapes} do not concatenate along axis {axis}")
        shape = list(args[0].shape)
        shape[axis] = ix.add(*(a.shape[axis] for a in args))
        dtype, weak = promote(args)
        return (TensorType(dtype, tuple(shape), weak),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As in NumPy."""
        return (np.concatenate(common(args), axis=self.axis),)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """All axes but the one that is joined."""
        own = axis_of(self.axis, results[0].ndim)
        for axis, extent in enumerate(results[0].shape):
            if axis != own and all(same(a.shape[axis], extent) for a in args):
                yield Link((axis,) * len(args), (axis,))

    def at_position(self, link: Link, args: Types) -> Concat:
        """Along the same axis."""
        own, (place,) = axis_of(self.axis, args[0].ndim), link.results
        assert place is not None
        return Concat(axis=own - (place < own))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Each operand is written over the padding of those before it.

        The array written to has room for all padded operands, so that no write can be moved.
        """
        (result,) = results
        axis = axis_of(self.axis, result.ndim)
        shape = pads.padded(result.shape, out)
        parts = []
        for v in args:
            goal = tuple(out.pad(v.type.shape[k]) if k == axis else e for k, e in enumerate(shape))
            parts.append(pads.converted(out.align(v, goal), result.dtype, out))
        padded = tuple(
            ix.add(*(p.padded[axis] for p in parts)) if k == axis else e
            for k, e in enumerate(shape)
        )
        if any(p.is_ragged(axis) for p in parts[:-1]):
            text, start = out.align(parts[0], padded).text, parts[0].type.shape[axis]
            for p in parts[1:]:
                call = (
                    f"lax.dynamic_update_slice_in_dim({text}, {p.text}, {out.index(start)}, {axis})"
                )
                text, start = out.bind("joined", call), ix.add(start, p.type.shape[axis])
        else:
            text = f"jnp.concatenate([{', '.join(p.text for p in parts)}], axis={axis})"
            text = text if padded == shape else out.bind("joined", text)
        return (out.align(EmittedValue(text, result, padded), shape).text,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack(Op):
    """Side by side along a new axis, axis ``axis`` of the result; the shapes must agree."""

    axis: int = 0

    name = "stack"
    promotes = True
    moves = True

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """One extent more: the number of operands."""
        if not args:
            raise OperandError("stack of nothing has no type")
        for a in args[1:]:
            if not same_shape(a.shape, args[0].shape, facts):
                shapes = " and ".join(shape_text(x.shape) for x in (args[0], a))
                raise OperandError(f"shapes {shapes} do not stack")
        shape = list(args[0].shape)
        shape.insert(axis_of(self.axis, len(shape) + 1), ix.Const(len(args)))
        dtype, weak = promote(args)
        return (TensorType(dtype, tuple(shape), weak),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As in NumPy."""
        return (np.stack(common(args), axis=self.axis),)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """All axes but the new one."""
        new = axis_of(self.axis, results[0].ndim)
        for axis, extent in enumerate(args[0].shape):
            if all(same(a.shape[axis], extent) for a in args):
                yield Link((axis,) * len(args), (axis + (axis >= new),))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Padding stays where it is."""
        (result,) = results
        axis = axis_of(self.axis, result.ndim)
        shape = without(pads.padded(result.shape, out), (axis,))
        parts = [pads.converted(out.align(v, shape), result.dtype, out).text for v in args]
        return (f"jnp.stack([{', '.join(parts)}], axis={axis})",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Split(Op):
    """As many equal parts along an axis as ``sections`` says: that many results."""

    sections: int
    axis: int = 0

    name = "split"
    moves = True

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The extent divided, which must leave no rest."""
        require(args, 1, self.name)
        axis = axis_of(self.axis, args[0].ndim)
        extent = args[0].shape[axis]
        if self.sections < 1:
            raise OperandError(f"split makes at least 1 part, not {self.sections}")
        if not facts.holds(ix.compare("==", ix.mod(extent, self.sections), ix.ZERO)):
            raise OperandError(
                f"extent {show(extent)} of axis {axis} does not split into "
                f"{self.sections} equal parts"
            )
        shape = list(args[0].shape)
        shape[axis] = ix.floordiv(extent, self.sections)
        return (replace(args[0], shape=tuple(shape)),) * self.sections

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As in NumPy."""
        return tuple(np.split(args[0], self.sections, axis=self.axis))

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """All axes but the one that is cut."""
        own = axis_of(self.axis, args[0].ndim)
        return untouched_links(args[0].ndim, (own,), self.sections)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Static slices, or gathers where the parts have no static place."""
        v = pads.with_own_padding(args[0], out)
        axis = axis_of(self.axis, v.type.ndim)
        part = results[0].shape[axis]
        if not v.is_ragged(axis):
            places = [
                (out.static(part * k), out.static(part * (k + 1))) for k in range(self.sections)
            ]
            return tuple(f"lax.slice_in_dim({v.text}, {a}, {b}, axis={axis})" for a, b in places)
        steps = pads.axis_positions(part, out)
        starts = [steps, *(f"{out.index(part * k)} + {steps}" for k in range(1, self.sections))]
        return tuple(pads.take_text(v.text, start, axis) for start in starts)
