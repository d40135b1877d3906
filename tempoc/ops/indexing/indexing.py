"""Picking elements by position: by index expressions (proved in range) or by integer tensors.

An integer tensor is checked when the program runs: from ``-n`` to ``n - 1``, negative positions
count from the end, as in NumPy. A kernel gives the check to its emitter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from tempoc.base.arrays import np
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.axis_links import AxisPart, Link, Same, broadcast_axes, untouched_links
from tempoc.ops.definition.dtype_text import cast, numpy_dtype
from tempoc.ops.definition.operator import (
    Array,
    EmittedValue,
    EmittedValues,
    Emitter,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.shapes import Shape, axis_of, broadcast, require
from tempoc.ops.definition.types import DType, TensorType, Types
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import evaluate

IndexPart = ix.Expr | tuple[ix.Expr, ix.Expr, int] | Literal["tensor"]
"""What is taken of an axis: a point; ``(start, count, step)``; what the integer operand says."""


def require_integers(type: TensorType, name: str) -> None:
    """``OperandError`` unless the type can be an index."""
    if not type.dtype.is_int:
        raise OperandError(
            f"{name} takes integers as positions, not {type.dtype.value}",
            help="convert with i32(x)"
            if type.dtype.is_float
            else "`filter` gives the rows for which a mask holds, `nonzero` their positions",
        )


def checked(positions: Array, extent: int, axis: int) -> Array:
    """Positions counted from the front. ``OperandError`` if one is outside the axis."""
    positions = positions.astype(np.int64)
    wrong = positions[(positions < -extent) | (positions >= extent)]
    if wrong.size:
        raise OperandError(
            f"index {int(wrong.ravel()[0])} is out of range for axis {axis} of extent {extent}"
        )
    return np.where(positions < 0, positions + extent, positions)


FIRST_LANE = '''\
def first_lane(codes):
    """The first code that is not 0, and its place among all elements; 0 if there is none.

    Maxima of long arrays take XLA for CPUs three loops to compile, this takes it one. tempoc's
    runner looks for this scope: on CPUs it is computed when a code is not 0.
    """
    def first(a, b):
        keep = lax.lt(a[1], b[1])
        return lax.select(keep, a[0], b[0]), lax.min(a[1], b[1])
    codes, number = lax.collapse(codes, 0), codes.dtype.type
    none, size = number(0), number(codes.size)
    lanes = lax.iota(codes.dtype, codes.size)
    lanes = lax.select(lax.eq(codes, none), lax.full_like(codes, size), lanes)
    with jax.named_scope("first_code"):
        return lax.reduce((codes, lanes), (none, size), first, (0,))
'''
"""Stands in front of kernels that check something at several points, or several values. XLA for
CPUs reduces two operands element by element, and is faster at seeing whether any of one is not 0
(``runtime/rewriting/usual_branches.py``). 2026-11-28, CPU us on one core: 85 and 35 of 25600
elements, 350 and 90 of 200000. Of places alone, with a read of the code there, it is 55 and 175,
but they compile in 130 to 170 ms, not 70."""

WRONG_VALUE = '''\
def wrong_value(value, fine):
    """0 if all values are fine, else the first that is not, as a number above 0.

    tempoc's runner looks for this scope: on CPUs the number is made of a value when one is wrong.
    """
    value = lax.convert_element_type(value, jnp.int32)
    number = value.dtype.type
    value = lax.clamp(number(-2**29), value, number(2**29))
    positive = lax.convert_element_type(lax.ge(value, number(0)), jnp.int32)
    code = lax.add(lax.mul(lax.abs(value), number(2)), positive)
    with jax.named_scope("wrong_code"):
        code = lax.select(fine, lax.full_like(code, 0), code)
    return first_lane(code)[0] if code.ndim else code
'''
"""Stands in front of kernels that check an index. Of functions of ``lax``, as they are traced in
a third of the time of those of ``jax.numpy``, each of which is a function within the kernel."""

FIRST_WRONG = '''\
def first_wrong(*wrong):
    """0 if all are 0, else the first that is not, and its number, in one number."""
    count, fault = len(wrong), jnp.int32(0)
    for number in reversed(range(count)):
        code = jnp.minimum(wrong[number], (2**31 - 1) // count)
        fault = jnp.where(code == 0, fault, count * code - number)
    return fault
'''
"""Stands in front of kernels with several checks; ``runtime/messages/faults.py`` reads them."""


def guarded(idx: EmittedValue, extent: ix.Expr, axis: int, out: Emitter) -> str:
    """Positions counted from the front, with a check; values in their padding are not checked."""
    n = pads.atom(out.index(extent))
    place = pads.saturated(idx, out).text
    inside = f"({place} >= -{n}) & ({place} < {n})"
    ragged = [k for k in range(idx.type.ndim) if idx.is_ragged(k)]
    for k in ragged:
        inside = f"{inside} | ~{out.valid(idx, k)}"
    message = f"index {{value}} is out of range for axis {axis} of extent {show(extent)}"
    out.check(inside, message, place)
    return f"jnp.where({place} < 0, {place} + {n}, {place})"


def placed(idx: EmittedValue, extent: ix.Expr, axis: int, sure: bool, out: Emitter) -> str:
    """Positions counted from the front, checked unless they are known to be there."""
    return pads.converted(idx, DType.I32, out).text if sure else guarded(idx, extent, axis, out)


@dataclass(frozen=True, slots=True, kw_only=True)
class InRange(Op):
    """Positions on axis ``axis`` of extent ``n``, checked and counted from the front: ``i32``."""

    n: ix.Expr
    axis: int = 0

    name = "in_range"
    elementwise = True
    checks = True
    differentiable = False

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The shape of the positions."""
        require(args, 1, self.name)
        require_integers(args[0], "an index")
        return (TensorType(DType.I32, args[0].shape),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """``OperandError`` for a position outside."""
        return (checked(args[0], evaluate(self.n, at), self.axis).astype(np.int32),)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """With a check; padding is not checked."""
        return (guarded(args[0], self.n, self.axis, out),)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpatialIndex(Op):
    """``x[entries]``: one part for each axis; ``spatial_index`` makes them from what is written.

    Points drop their axis, slices keep it. With ``"tensor"`` the second operand gives positions,
    and its axes take the place of the axis; as in NumPy they come first if a slice stands between
    the tensor and a point. Positions that are ``sure`` are known to be there. Those of several
    axes, next to each other and of constant extents, count their elements in row-major order.
    """

    entries: tuple[IndexPart, ...]
    sure: bool = False

    name = "getitem"
    picks = True
    layout_agnostic = True

    @property
    def gathers(self) -> bool:
        """Whether there is a second operand."""
        return "tensor" in self.entries

    @property
    def searched_axes(self) -> slice:
        """The axes that the second operand gives positions of."""
        first = self.entries.index("tensor")
        return slice(first, first + self.entries.count("tensor"))

    def joint(self, shape: Shape) -> Shape:
        """The shape with one axis for those that the second operand gives positions of."""
        own = self.searched_axes
        return (*shape[: own.start], ix.product(shape[own]), *shape[own.stop :])

    def place(self) -> int:
        """How many slices come before the axes of the second operand."""
        special = [k for k, e in enumerate(self.entries) if not isinstance(e, tuple)]
        if special[-1] - special[0] + 1 != len(special):
            return 0
        return special[0]

    @property
    def checks(self) -> bool:
        """Whether positions are data that may be outside."""
        return self.gathers and not self.sure

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """Counts of slices, and the second operand's extents in their place."""
        require(args, 1 + self.gathers, self.name)
        if len(self.entries) != args[0].ndim:
            raise OperandError(f"{args[0].ndim} axes take as many entries, not {len(self.entries)}")
        shape = [e[1] for e in self.entries if isinstance(e, tuple)]
        if self.gathers:
            require_integers(args[1], "an index")
            shape[self.place() : self.place()] = args[1].shape
        return (TensorType(args[0].dtype, tuple(shape), args[0].weak),)

    def within(self, args: tuple[TensorType, ...]) -> tuple[ix.Expr, ...]:
        """Points and slices stay inside their axes; integer tensors are checked in the run."""
        axes = zip(self.entries, args[0].shape, strict=True)
        return tuple(_inside(e, n) for e, n in axes if e != "tensor" and e != (ix.ZERO, n, 1))

    def kept_inside(self, args: tuple[TensorType, ...]) -> SpatialIndex:
        """Points go from the first element to the last."""
        entries = tuple(
            ix.minimum(ix.maximum(e, ix.ZERO), ix.sub(n, ix.ONE)) if isinstance(e, ix.Expr) else e
            for e, n in zip(self.entries, args[0].shape, strict=True)
        )
        return replace(self, entries=entries)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As in NumPy."""
        keys: list[object] = []
        x, entries = args[0], self.entries
        if self.gathers:
            own = self.searched_axes
            count = int(np.prod(x.shape[own]))
            x = x.reshape((*x.shape[: own.start], count, *x.shape[own.stop :]))
            entries = (*entries[: own.start], "tensor", *entries[own.stop :])
        for axis, e in enumerate(entries):
            if isinstance(e, tuple):
                start, count = evaluate(e[0], at), evaluate(e[1], at)
                keys.append(start + e[2] * np.arange(count))
            elif isinstance(e, ix.Expr):
                keys.append(np.array([evaluate(e, at)]))
            else:
                keys.append(checked(args[1], x.shape[axis], axis).ravel())
        x = x[np.ix_(*keys)] if keys else x
        return (self.arranged(x, args[1].shape if self.gathers else ()),)

    def arranged(self, x: Array, picked: tuple[int, ...]) -> Array:
        """The array, with one axis for all searched ones, in the shape of the result."""
        more = self.entries.count("tensor") - 1
        after = self.searched_axes.start if self.gathers else len(self.entries)
        points = tuple(
            k - more * (k > after) for k, e in enumerate(self.entries) if isinstance(e, ix.Expr)
        )
        if not self.gathers:
            return np.squeeze(x, axis=points)
        axis = self.entries.index("tensor")
        axis -= sum(k < axis for k in points)
        x = np.moveaxis(np.squeeze(x, axis=points), axis, self.place())
        before, after = x.shape[: self.place()], x.shape[self.place() + 1 :]
        return x.reshape((*before, *picked, *after))

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """Axes taken whole, and those of the positions."""
        ranges = [(k, e) for k, e in enumerate(self.entries) if isinstance(e, tuple)]
        rank, place = (args[1].ndim, self.place()) if self.gathers else (0, 0)
        for number, (axis, (start, count, step)) in enumerate(ranges):
            if (start, step) == (ix.ZERO, 1) and same(count, args[0].shape[axis]):
                after = rank if self.gathers and number >= place else 0
                yield Link((axis, *(None,) * self.gathers), (number + after,))
        for axis in range(rank):
            yield Link((None, axis), (place + axis,))

    def narrowed(self, link: Link, part: AxisPart) -> SpatialIndex:
        """An axis taken whole is shorter."""
        axis = link.operands[0]
        if axis is None:
            return self
        entries = (*self.entries[:axis], (ix.ZERO, part.count, 1), *self.entries[axis + 1 :])
        return replace(self, entries=entries)

    def at_position(self, link: Link, args: Types) -> SpatialIndex | None:
        """Without an axis taken whole, or with one of the positions."""
        axis = link.operands[0]
        if axis is None:
            return self
        if self.gathers:
            return None
        return replace(self, entries=(*self.entries[:axis], *self.entries[axis + 1 :]))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Slices and points from the last axis to the first, the gather at the end."""
        x = pads.with_own_padding(args[0], out)
        x = pads.nonempty(x, (k for k in self.searched(x.type.shape) if k not in x.valid), out)
        text = x.text
        points = [e for e in self.entries if isinstance(e, ix.Expr)]
        is_one_subscript = len(points) > 1 and all(isinstance(e, ix.Const) for e in points)
        for axis in reversed(range(x.type.ndim)):
            e = self.entries[axis]
            if axis in x.valid:  # taken whole (emission/ragged_layout.py)
                continue
            if isinstance(e, tuple):
                text = _sliced(text, e, axis, x, out)
            elif isinstance(e, ix.Expr) and not is_one_subscript:
                static = isinstance(e, ix.Const)
                call = "lax.index_in_dim" if static else "lax.dynamic_index_in_dim"
                text = f"{call}({text}, {out.index(e)}, {axis}, keepdims=False)"
        if is_one_subscript:  # which JAX traces as fast; a single point is twice as fast as a call
            places = (out.index(e) if isinstance(e, ix.Expr) else ":" for e in self.entries)
            text = f"{pads.atom(text)}[{', '.join(places)}]"
        if self.gathers:
            text = self.gathered(text, args, results[0], out)
        return (text,)

    def searched(self, shape: Shape) -> list[int]:
        """The axes of which not the whole is taken; a point may be proved to be inside an axis
        that is empty, where no one looks at it."""
        full_axes = [(ix.ZERO, n, 1) for n in shape]
        parts = enumerate(zip(self.entries, full_axes, strict=True))
        return [k for k, (e, w) in parts if e != w]

    def gathered(self, text: str, args: EmittedValues, result: TensorType, out: Emitter) -> str:
        """The tensor's axis gathered, and its axes put where NumPy has them."""
        axis = self.entries.index("tensor")
        idx = pads.with_own_padding(args[1], out)
        joint = self.joint(args[0].type.shape)
        positions = placed(idx, joint[axis], axis, self.sure, out)
        now = axis - sum(isinstance(e, ix.Expr) for e in self.entries[:axis])
        searched = len(self.entries) - len(joint) + 1
        if searched > 1:
            text = f"lax.collapse({text}, {now}, {now + searched})"
        text = pads.take_text(text, positions, now)
        rank = idx.type.ndim
        if now == self.place() or not rank:
            return text
        order = [*range(now, now + rank), *range(now), *range(now + rank, result.ndim)]
        return f"jnp.transpose({text}, {tuple(order)})"


def _inside(part: ix.Expr | tuple[ix.Expr, ix.Expr, int], n: ix.Expr) -> ix.Expr:
    """The condition that a point or all elements of a slice, if it has any, are on an axis."""
    if isinstance(part, ix.Expr):
        return ix.conjunction(ix.compare("<=", ix.ZERO, part), ix.compare("<", part, n))
    start, count, step = part
    last = ix.add(start, ix.mul(ix.Const(step), ix.sub(count, ix.ONE)))
    low, high = (start, last) if step > 0 else (last, start)
    inside = ix.conjunction(ix.compare("<=", ix.ZERO, low), ix.compare("<", high, n))
    return ix.disjunction(ix.compare("<=", count, ix.ZERO), inside)


def _sliced(
    text: str, part: tuple[ix.Expr, ix.Expr, int], axis: int, x: EmittedValue, out: Emitter
) -> str:
    """A slice of an axis, by the cheapest means that reads the right elements."""
    start, count, step = part
    size = out.pad(count)
    if (start, size, step) == (ix.ZERO, x.padded[axis], 1):
        return text
    fixed = out.pad(start) == start
    if step == 1 and size == count:
        # The slice is proved to lie inside, so that a start known only now does not clamp.
        if fixed:
            a, b = out.static(start), out.static(start + count)
            return f"lax.slice_in_dim({text}, {a}, {b}, axis={axis})"
        return pads.window_text(text, out.index(start), count, axis, x.padded[axis], out)
    if step != 1 and size == count:
        return _strided(text, part, axis, x, out)
    if (start, step) == (ix.ZERO, 1) and out.fits(size, x.padded[axis]):
        return f"lax.slice_in_dim({text}, 0, {out.static(size)}, axis={axis})"
    scaled = (
        pads.axis_positions(count, out)
        if step == 1
        else f"{step} * {pads.axis_positions(count, out)}"
    )
    positions = scaled if start == ix.ZERO else f"{out.index(start)} + {scaled}"
    return pads.take_text(text, positions, axis)


def _strided(
    text: str, part: tuple[ix.Expr, ix.Expr, int], axis: int, x: EmittedValue, out: Emitter
) -> str:
    """Every few elements of an axis, which are proved to lie inside, forwards or backwards."""
    start, count, step = part
    before = ix.mul(ix.Const(abs(step)), ix.sub(count, ix.ONE))
    span = ix.maximum(ix.ZERO, ix.add(before, ix.ONE))
    # Of no elements the first would be one step after where they start.
    first = start if step > 0 else ix.minimum(ix.sub(start, before), ix.add(start, ix.ONE))
    if out.pad(first) != first:
        text = pads.window_text(text, out.index(first), span, axis, x.padded[axis], out)
        first = ix.ZERO
    a, b = out.static(first), out.static(ix.add(first, span))
    text = f"lax.slice_in_dim({text}, {a}, {b}, {abs(step)}, {axis})"
    return text if step > 0 else f"lax.rev({text}, ({axis},))"


@dataclass(frozen=True, slots=True, kw_only=True)
class Take(Op):
    """``take(x, idx, axis)``: the axes of ``idx`` in the place of an axis of ``x``.

    Positions that are ``sure`` are known to be there.
    """

    axis: int = 0
    sure: bool = False

    name = "take"
    picks = True

    @property
    def checks(self) -> bool:
        """Whether positions may be outside."""
        return not self.sure

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """As in NumPy."""
        require(args, 2, self.name)
        x, idx = args
        require_integers(idx, self.name)
        axis = axis_of(self.axis, x.ndim)
        shape = (*x.shape[:axis], *idx.shape, *x.shape[axis + 1 :])
        return (TensorType(x.dtype, shape, x.weak),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As in NumPy."""
        x, idx = args
        axis = axis_of(self.axis, x.ndim)
        return (np.take(x, checked(idx, x.shape[axis], axis), axis=axis),)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """All axes but the one that positions are along, and the axes of the positions."""
        x, positions = args
        own = axis_of(self.axis, x.ndim)
        for axis in range(x.ndim):
            if axis != own:
                yield Link((axis, None), (axis if axis < own else axis + positions.ndim - 1,))
        for axis in range(positions.ndim):
            yield Link((None, axis), (own + axis,))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """A checked gather."""
        x, idx = (pads.with_own_padding(v, out) for v in args)
        axis = axis_of(self.axis, x.type.ndim)
        x = pads.nonempty(x, (axis,), out)
        positions = placed(idx, x.type.shape[axis], axis, self.sure, out)
        return (pads.take_text(x.text, positions, axis),)


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeAlong(Op):
    """``take_along(x, idx, axis)``: NumPy's ``take_along_axis``; the other axes broadcast.

    Of positions that are ``sure`` it is known that they are none that is not there.
    """

    axis: int = -1
    sure: bool = False

    name = "take_along"
    picks = True
    layout_agnostic = True

    @property
    def checks(self) -> bool:
        """Whether positions are data that may be outside."""
        return not self.sure

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The broadcast shape with the extent of ``idx`` along the axis."""
        require(args, 2, self.name)
        x, idx = args
        require_integers(idx, self.name)
        if x.ndim != idx.ndim:
            raise OperandError(f"take_along takes as many axes twice, not {x.ndim} and {idx.ndim}")
        axis = axis_of(self.axis, x.ndim)
        others = [_one_at(s.shape, axis) for s in args]
        shape = list(broadcast(others, facts))
        shape[axis] = idx.shape[axis]
        return (TensorType(x.dtype, tuple(shape), x.weak),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As in NumPy."""
        x, idx = args
        axis = axis_of(self.axis, x.ndim)
        return (np.take_along_axis(x, checked(idx, x.shape[axis], axis), axis=axis),)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """Axes that broadcast; of the one that positions are along, the axis of the positions."""
        shape = results[0].shape
        own = axis_of(self.axis, len(shape))
        for axis in range(len(shape)):
            places = broadcast_axes([a.shape for a in args], shape, axis, same)
            if axis == own:
                yield Link((None, axis), (axis,))
            elif places is not None:
                yield Link(places, (axis,))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """A gather, checked unless positions are sure."""
        x, idx = args
        axis = axis_of(self.axis, x.type.ndim)
        shape = pads.padded(results[0].shape, out)
        idx = pads.aligned_to(idx, shape, out)
        own = out.pad(x.type.shape[axis])
        x = pads.aligned_to(x, tuple(own if k == axis else e for k, e in enumerate(shape)), out)
        x = pads.nonempty(x, (axis,), out)
        positions = placed(idx, x.type.shape[axis], axis, self.sure, out)
        return (f'jnp.take_along_axis({x.text}, {positions}, axis={axis}, mode="clip")',)


def _one_at(shape: Shape, axis: int) -> Shape:
    return tuple(ix.ONE if k == axis else e for k, e in enumerate(shape))


@dataclass(frozen=True, slots=True, kw_only=True)
class OneHot(Op):
    """A new last axis of extent ``n``: 1 at the position, else 0; zeros for positions outside."""

    n: ix.Expr
    dtype: DType = DType.F32

    name = "one_hot"
    differentiable = False

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """One axis more."""
        require(args, 1, self.name)
        require_integers(args[0], self.name)
        return (TensorType(self.dtype, (*args[0].shape, self.n)),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """A comparison."""
        hot = args[0][..., None] == np.arange(evaluate(self.n, at))
        return (hot.astype(numpy_dtype(self.dtype)),)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """All axes of the positions."""
        return untouched_links(args[0].ndim, ())

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """A comparison."""
        x = pads.with_own_padding(args[0], out)
        have = f"{x.text}[..., None]" if x.type.ndim else x.text
        hot = f"{have} == {pads.axis_positions(self.n, out)}"
        return (cast(f"({hot})", DType.BOOL, self.dtype),)
