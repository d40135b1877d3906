"""One element of a temporal slice, chosen by data: ``x[t = j in lo:hi]``.

The operand, and so the dependence, is the whole slice, since any of its elements may be selected. A
kernel reads only the selected one (``Pick.place`` is its position).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tempoc.base.arrays import np
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.axis_links import Link, Same
from tempoc.ops.definition.operator import (
    Array,
    EmittedValue,
    EmittedValues,
    Emitter,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.shapes import axis_of, require, shape_text
from tempoc.ops.definition.types import DType, TensorType, Types
from tempoc.ops.indexing.indexing import require_integers
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import evaluate


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick(Op):
    """The element of the first operand that stands for index ``j``, the second.

    Along ``axis`` the first operand holds the elements ``lo``, ``lo + step``, ... below ``hi``.
    That ``j`` is one of these is a promise, checked when the program runs unless it is ``sure``.
    """

    lo: ix.Expr
    hi: ix.Expr
    step: int = 1
    axis: int = 0
    sure: bool = False

    name = "pick"
    picks = True

    @property
    def checks(self) -> bool:
        """Whether the index is data that may break the promise."""
        return not self.sure

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The first operand without the axis."""
        require(args, 2, self.name)
        x, j = args
        axis = axis_of(self.axis, x.ndim)
        require_integers(j, "`in`")
        if j.shape:
            raise OperandError(f"`in` takes one index, not the shape {shape_text(j.shape)}")
        return (TensorType(x.dtype, (*x.shape[:axis], *x.shape[axis + 1 :]), x.weak),)

    def within(self, args: tuple[TensorType, ...]) -> tuple[ix.Expr, ...]:
        """The axis has an element for each index that is promised."""
        n = args[0].shape[axis_of(self.axis, args[0].ndim)]
        return (ix.compare("<=", ix.sub(self.hi, self.lo), ix.mul(ix.Const(self.step), n)),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """Plain indexing. Raises ``OperandError`` for a broken promise."""
        x, j = args[0], int(args[1])
        lo, hi = evaluate(self.lo, at), evaluate(self.hi, at)
        if not lo <= j < hi or (j - lo) % self.step:
            raise OperandError(f"index {j} is not in {self.promised}, which is {lo}:{hi} here")
        return (np.take(x, (j - lo) // self.step, axis_of(self.axis, x.ndim)),)

    @property
    def promised(self) -> str:
        """The slice as text."""
        step = f":{self.step}" if self.step != 1 else ""
        return f"{show(self.lo)}:{show(self.hi)}{step}"

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """All axes but the one that is picked from."""
        own = axis_of(self.axis, args[0].ndim)
        for axis in range(args[0].ndim):
            if axis != own:
                yield Link((axis, None), (axis - (axis > own),))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """A row of the slice; the kernel's own reads do without the slice."""
        axis = axis_of(self.axis, args[0].type.ndim)
        x = pads.nonempty(pads.with_own_padding(args[0], out), (axis,), out)
        place = self.place(args[1], ix.ZERO, 1, out)
        return (f"lax.dynamic_index_in_dim({x.text}, {place}, {axis}, keepdims=False)",)

    def place(self, j: EmittedValue, first: ix.Expr, step: int, out: Emitter) -> str:
        """Where the element is, in what holds the slice's elements at ``first + k * step``.

        Checks the promise. The result is the name of an ``i32``, inside even if it is broken.
        """
        index = (pads.converted(j, DType.I32, out) if self.sure else pads.saturated(j, out)).text
        lo, hi = out.index(self.lo), out.index(self.hi)
        inside = f"({index} >= {pads.atom(lo)}) & ({index} < {pads.atom(hi)})"
        if self.step != 1:
            inside += f" & (({index} - {pads.atom(lo)}) % {self.step} == 0)"
        clamped = index
        if not self.sure:
            message = f"index {{value}} is not in {self.promised}, where it was promised to be"
            out.check(inside, message, index)
            last = out.index(self.hi - 1)
            clamped = f"jnp.maximum(jnp.minimum({index}, {last}), {lo})"
        if self.step == step:
            shift = out.index(ix.sub(first, self.lo))
            return out.bind("place", clamped if shift == "0" else f"{clamped} + {pads.atom(shift)}")
        turn = f"({clamped} - {pads.atom(lo)}) // {self.step}"
        scaled = turn if step == 1 else f"({turn}) * {step}"
        start = out.index(first)
        return out.bind("place", scaled if start == "0" else f"{scaled} + {pads.atom(start)}")


PICKED_ROW = '''\
def picked_row(x, place):
    """x[place]; what is mapped over an axis of x after the first takes rows of the whole array.

    JAX brings the mapped axis to the front, for which XLA copies the array: in loops, in each step.
    """
    call = jax.custom_batching.custom_vmap(lambda x, place: x[place])

    def mapped(size, every, x, place):
        if every[0] and every[1]:
            return jax.vmap(lambda x, place: x[place])(x, place), True
        if not every[0]:
            return picked_row(x, place), True
        return jnp.moveaxis(picked_row(jnp.moveaxis(x, 0, -1), place), -1, 0), True

    call.def_vmap(mapped)
    return call(x, place)
'''
"""Stands in front of kernels whose points pick rows, and have axes of these rows in common."""
