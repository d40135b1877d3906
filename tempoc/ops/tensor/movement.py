"""Moving elements around without looking at them: transposing, broadcasting, padding, flipping.

Where a ragged axis is padded or turned around, elements are addressed by their true positions:
the padded arrays do not lie where the valid ones would.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tempoc.base.arrays import np
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.axis_links import AxisPart, Link, Same, broadcast_links, untouched_links
from tempoc.ops.definition.dtype_text import Scalar, scalar
from tempoc.ops.definition.operator import (
    Array,
    EmittedValues,
    Emitter,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.shapes import (
    axes_of,
    axis_of,
    broadcast,
    is_one,
    require,
    same_shape,
    shape_text,
    without,
)
from tempoc.ops.definition.types import TensorType, Types
from tempoc.ops.tensor.source import concrete
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import show


@dataclass(frozen=True, slots=True, kw_only=True)
class Transpose(Op):
    """Axis ``k`` of the result is axis ``axes[k]`` of the operand; ``None`` reverses them."""

    axes: tuple[int, ...] | None = None

    name = "transpose"
    layout_agnostic = True
    moves = True

    def order(self, ndim: int) -> tuple[int, ...]:
        """The permutation. ``OperandError`` unless it is one."""
        if self.axes is None:
            return tuple(range(ndim))[::-1]
        order = tuple(axis_of(a, ndim) for a in self.axes)
        if sorted(order) != list(range(ndim)):
            raise OperandError(f"axes {list(self.axes)} do not name each of {ndim} axes once")
        return order

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The extents in another order."""
        require(args, 1, self.name)
        shape = tuple(args[0].shape[k] for k in self.order(args[0].ndim))
        return (replace(args[0], shape=shape),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As in NumPy."""
        return (np.transpose(args[0], self.axes),)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """Each axis in its new place."""
        for axis, source in enumerate(self.order(args[0].ndim)):
            yield Link((source,), (axis,))

    def at_position(self, link: Link, args: Types) -> Transpose:
        """The other axes in their order."""
        (own,) = link.operands
        assert own is not None
        others = (k for k in self.order(args[0].ndim) if k != own)
        return Transpose(axes=tuple(k - (k > own) for k in others))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Padding moves along."""
        v = pads.with_own_padding(args[0], out)
        return (f"jnp.transpose({v.text}, {self.order(v.type.ndim)})",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandDims(Op):
    """A new axis of extent 1, which is axis ``axis`` of the result."""

    axis: int

    name = "expand_dims"
    layout_agnostic = True
    moves = True

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """One extent more."""
        require(args, 1, self.name)
        shape = list(args[0].shape)
        shape.insert(axis_of(self.axis, len(shape) + 1), ix.ONE)
        return (replace(args[0], shape=tuple(shape)),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As in NumPy."""
        return (np.expand_dims(args[0], self.axis),)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """All axes but the new one."""
        new = axis_of(self.axis, results[0].ndim)
        for axis in range(args[0].ndim):
            yield Link((axis,), (axis + (axis >= new),))

    def at_position(self, link: Link, args: Types) -> ExpandDims:
        """The new axis has its place among the others."""
        new, (place,) = axis_of(self.axis, args[0].ndim + 1), link.results
        assert place is not None
        return ExpandDims(axis=new - (place < new))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Padding stays where it is."""
        axis = axis_of(self.axis, args[0].type.ndim + 1)
        return (f"jnp.expand_dims({pads.with_own_padding(args[0], out).text}, {axis})",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Squeeze(Op):
    """Without these axes, whose extents must be 1."""

    axes: tuple[int, ...]

    name = "squeeze"
    layout_agnostic = True
    moves = True

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The extents of the other axes."""
        require(args, 1, self.name)
        gone = axes_of(self.axes, args[0].ndim)
        for k in gone:
            if not is_one(args[0].shape[k], facts):
                raise OperandError(f"axis {k} has extent {show(args[0].shape[k])}, not 1")
        return (replace(args[0], shape=without(args[0].shape, gone)),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As in NumPy."""
        return (np.squeeze(args[0], self.axes),)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """The axes that are left."""
        removed = axes_of(self.axes, args[0].ndim)
        remaining = [axis for axis in range(args[0].ndim) if axis not in removed]
        for place, axis in enumerate(remaining):
            yield Link((axis,), (place,))

    def at_position(self, link: Link, args: Types) -> Squeeze:
        """Without the same axes."""
        (own,) = link.operands
        assert own is not None
        return Squeeze(axes=tuple(k - (own < k) for k in axes_of(self.axes, args[0].ndim)))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Axes of extent 1 may still be padded."""
        removed = axes_of(self.axes, args[0].type.ndim)
        shape = pads.padded(args[0].type.shape, out)
        v = out.align(args[0], tuple(ix.ONE if k in removed else e for k, e in enumerate(shape)))
        return (f"jnp.squeeze({v.text}, {removed})",)


@dataclass(frozen=True, slots=True, kw_only=True)
class BroadcastTo(Op):
    """The operand repeated along new axes and axes of extent 1."""

    shape: tuple[ix.Expr, ...]

    name = "broadcast_to"
    moves = True

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The shape asked for, which the operand must fit."""
        require(args, 1, self.name)
        fits = args[0].ndim <= len(self.shape)
        if not fits or not same_shape(
            broadcast([self.shape, args[0].shape], facts), self.shape, facts
        ):
            have, want = shape_text(args[0].shape), shape_text(self.shape)
            raise OperandError(f"shape {have} does not broadcast to {want}")
        return (replace(args[0], shape=self.shape),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As in NumPy."""
        return (np.broadcast_to(args[0], concrete(self.shape, at)),)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """As elementwise operators do; along a new axis the operand is repeated."""
        return broadcast_links(args, results, same)

    def narrowed(self, link: Link, part: AxisPart) -> BroadcastTo:
        """To a smaller shape."""
        return replace(self, shape=part.of_shape(self.shape, link))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """To the padded shape."""
        shape = pads.padded(self.shape, out)
        v = pads.aligned_to(args[0], shape, out)
        if v.padded == shape:
            return (v.text,)
        return (f"jnp.broadcast_to({v.text}, {pads.static_shape(shape, out)})",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pad(Op):
    """``value`` before and after each axis: ``widths`` has a pair of extents for each axis."""

    widths: tuple[tuple[ix.Expr, ix.Expr], ...]
    value: Scalar = 0

    name = "pad"

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The extents and both widths, added."""
        require(args, 1, self.name)
        if len(self.widths) != args[0].ndim:
            raise OperandError(
                f"pad has {len(self.widths)} pairs of widths for shape {shape_text(args[0].shape)}"
            )
        for width in (w for pair in self.widths for w in pair):
            if not facts.holds(ix.compare(">=", width, ix.ZERO)):
                raise OperandError(f"pad width {show(width)} can be negative")
        extents = zip(self.widths, args[0].shape, strict=True)
        shape = tuple(ix.add(low, e, high) for (low, high), e in extents)
        return (replace(args[0], shape=shape),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As in NumPy."""
        x = args[0]
        widths = [concrete(pair, at) for pair in self.widths]
        shape = [low + n + high for (low, high), n in zip(widths, x.shape, strict=True)]
        result = np.full(shape, self.value, x.dtype)
        place = tuple(slice(low, low + n) for (low, _), n in zip(widths, x.shape, strict=True))
        result[place] = x
        return (result,)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """The axes without padding."""
        padded_axes = [k for k, pair in enumerate(self.widths) if pair != (ix.ZERO, ix.ZERO)]
        return untouched_links(len(self.widths), padded_axes)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Axes at static places in one call; others are shifted, and all cleared around it."""
        (result,) = results
        v = pads.with_own_padding(args[0], out)
        filler = scalar(self.value, result.dtype)
        shape = pads.padded(result.shape, out)
        moving = [k for k, (low, _) in enumerate(self.widths) if out.pad(low) != low]
        v = pads.nonempty(v, moving, out)
        config: list[tuple[ix.Expr, ix.Expr]] = [(ix.ZERO, ix.ZERO) for _ in shape]
        for k in (k for k in range(v.type.ndim) if k not in moving):
            low = self.widths[k][0]
            config[k] = low, ix.sub(shape[k], ix.add(low, v.padded[k]))
        text = v.text
        if any(pair != (ix.ZERO, ix.ZERO) for pair in config):
            pairs = ", ".join(f"({out.static(a)}, {out.static(b)}, 0)" for a, b in config)
            text = f"lax.pad({text}, {filler}, ({pairs}{',' if v.type.ndim == 1 else ''}))"
        for k, (low, _) in enumerate(self.widths):
            if k in moving:
                first = pads.atom(out.index(low))
                steps = out.bind("place", f"{pads.axis_positions(result.shape[k], out)} - {first}")
                inside = f"({steps} >= 0) & ({steps} < {out.index(v.type.shape[k])})"
                text = pads.take_text(text, steps, k)
            elif v.is_ragged(k):
                end = out.index(ix.add(low, v.type.shape[k]))
                inside = f"{pads.axis_positions(result.shape[k], out)} < {end}"
            else:
                continue
            text = f"jnp.where({pads.along(f'({inside})', k, v.type.ndim)}, {text}, {filler})"
        return (text,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Widen(Op):
    """The first elements of an array of this shape, the others of which are unspecified.

    The compiler makes it where nobody reads the others. The reference fills them with what would be
    noticed. Kernels write zeros there, so that products need not mask columns of such rows.
    """

    shape: tuple[ix.Expr, ...]

    name = "widen"
    moves = True
    differentiable = False

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The shape, no extent of which is less than the operand's."""
        require(args, 1, self.name)
        pairs = zip(self.shape, args[0].shape, strict=False)
        fits = all(facts.holds(ix.compare(">=", wide, e)) for wide, e in pairs)
        if len(self.shape) != args[0].ndim or not fits:
            raise OperandError(
                f"{shape_text(args[0].shape)} is no part of {shape_text(self.shape)}"
            )
        return (replace(args[0], shape=self.shape, weak=False),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """Other elements are NaN, or the least number, or true."""
        x = args[0]
        kind = x.dtype.kind
        filler = np.iinfo(x.dtype).min if kind in "iu" else True if kind == "b" else np.nan
        result = np.full([concrete((e,), at)[0] for e in self.shape], filler, x.dtype)
        result[tuple(slice(0, n) for n in x.shape)] = x
        return (result,)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """What is there already, where the operand has that room, with zeros beyond its end."""
        v = pads.with_own_padding(args[0], out)
        axes = tuple(range(v.type.ndim)) if v.finite is not True else ()
        v = replace(v, text=out.masked(v, axes, scalar(0, v.type.dtype)))
        return (out.align(v, pads.padded(results[0].shape, out)).text,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip(Op):
    """The order of elements reversed along these axes; ``None`` means all."""

    axes: tuple[int, ...] | None = None

    name = "flip"
    moves = True

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The operand's type."""
        require(args, 1, self.name)
        axes_of(self.axes, args[0].ndim)
        return args

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As in NumPy."""
        return (np.flip(args[0], self.axes),)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """The axes in their old order."""
        return untouched_links(args[0].ndim, axes_of(self.axes, args[0].ndim))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """A ragged axis is read from its true end."""
        v = pads.with_own_padding(args[0], out)
        axes = axes_of(self.axes, v.type.ndim)
        plain = tuple(k for k in axes if not v.is_ragged(k))
        text = f"jnp.flip({v.text}, {plain})" if plain else v.text
        for k in axes:
            if v.is_ragged(k):
                last = out.index(v.type.shape[k] - 1)
                text = pads.take_text(
                    text, f"{last} - {pads.axis_positions(v.type.shape[k], out)}", k
                )
        return (text,)
