"""Moving values without computing: branches, copies, selections, checks at run time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tempoc.base.arrays import np
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.dtype_text import cast, paired
from tempoc.ops.definition.operator import (
    Array,
    EmittedValues,
    Emitter,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.promotion import common, promote
from tempoc.ops.definition.shapes import broadcast, require, same_shape, shape_text, type_text
from tempoc.ops.definition.types import DType, TensorType, Types
from tempoc.ops.tensor.source import concrete
from tempoc.symbolic import expr as ix


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge(Op):
    """A tensor with several equations: at each point the operand whose guard holds.

    ``targets[k]`` says which point operand ``k`` becomes: an expression for each dimension of the
    merge, in the coordinates of the operand's node (``h[t+1] = ...`` gives ``(t+1,)``).
    """

    targets: tuple[tuple[ix.Expr, ...], ...]

    name = "merge"
    computed = False

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The promoted dtype; shapes agree, except that a weak scalar fits every shape."""
        require(args, len(self.targets), self.name)
        shaped = [a for a in args if a.shape or not a.weak] or list(args)
        for a in shaped[1:]:
            if not same_shape(shaped[0].shape, a.shape, facts):
                raise OperandError(
                    f"equations of one tensor give {type_text(shaped[0])} and {type_text(a)}"
                )
        dtype, weak = promote(args)
        return (TensorType(dtype, shaped[0].shape, weak),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """Never called: only one operand exists at a point, and it is the value."""
        raise TypeError("merge has no value of its own")

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Never called: a merge is a tensor with several writers."""
        raise TypeError("merge is not computed by a kernel")


class IdentityOp(Op):
    """An operator whose result is its operand."""

    __slots__ = ()
    moves = True
    elementwise = keeps_nan = True

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The operand's type."""
        require(args, 1, self.name)
        return args

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """The operand."""
        return args

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """The operand, with the padding that its extents now have."""
        aligned = out.align(args[0], pads.padded(results[0].shape, out))
        return (cast(aligned.text, args[0].type.dtype, results[0].dtype),)


class Copy(IdentityOp):
    """The operand."""

    __slots__ = ()
    name = "copy"


class StopGradient(IdentityOp):
    """The operand, as a constant for `grad`; becomes a copy when all gradients are there.

    Until then it is no copy, which passes before differentiation look through.
    """

    __slots__ = ()
    name = "stop_gradient"
    differentiable = False


class After(Op):
    """The first operand, but not before all others are there; passes make it to delay work.

    In the kernel it is a copy. That its kernel is called after those that make the other operands
    keeps the order, so no function on the device may hold both.
    """

    __slots__ = ()
    name = "after"

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The type of the first operand."""
        if len(args) < 2:
            raise OperandError("after wants a value and what it waits for")
        return args[:1]

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """The first operand."""
        return args[:1]

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """The first operand, with the padding that its extents now have."""
        return Copy().emit(args[:1], results, out)


class WithChecks(Op):
    """The first operand; the others are computed only for what they check."""

    __slots__ = ()
    name = "with_checks"

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The type of the first operand."""
        if len(args) < 2:
            raise OperandError("with_checks wants a value and what is checked")
        return args[:1]

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """The first operand."""
        return args[:1]

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """The first operand, with the padding that its extents now have."""
        return Copy().emit(args[:1], results, out)


class Select(Op):
    """``where(c, a, b)``: ``a`` where the ``bool`` tensor holds, else ``b``; all broadcast."""

    __slots__ = ()
    name = "where"
    elementwise = True

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """Broadcast shape; the promoted dtype of ``a`` and ``b``."""
        require(args, 3, self.name)
        if args[0].dtype is not DType.BOOL:
            raise OperandError(
                f"where takes a bool condition, not {args[0].dtype.value}",
                help="compare first, as in x != 0",
            )
        dtype, weak = promote(args[1:])
        return (TensorType(dtype, broadcast([a.shape for a in args], facts), weak),)

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """One for each element."""
        return ix.product(results[0].shape)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As in NumPy."""
        condition, *choices = args
        a, b = common(tuple(choices))
        return (np.where(condition, a, b),)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """As in NumPy."""
        shape = pads.padded(results[0].shape, out)
        c, a, b = (pads.aligned_to(v, shape, out) for v in args)
        x, y = (cast(v.text, v.type.dtype, results[0].dtype) for v in (a, b))
        return (f"jnp.where({', '.join((c.text, *paired(x, y)))})",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ensure(Op):
    """The operand; that its extents are these is checked at run time (``e as f32[m]``)."""

    shape: tuple[ix.Expr, ...]

    name = "ensure"
    checks = True

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The operand's dtype and the extents promised."""
        require(args, 1, self.name)
        if args[0].ndim != len(self.shape):
            raise OperandError(
                f"shape {shape_text(args[0].shape)} cannot be {shape_text(self.shape)}: "
                f"{args[0].ndim} is not {len(self.shape)} axes"
            )
        return (TensorType(args[0].dtype, self.shape, args[0].weak),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """The operand. Raises ``OperandError`` where an extent is another."""
        expected = concrete(self.shape, at)
        if args[0].shape != expected:
            raise OperandError(f"shape {list(args[0].shape)} is not {list(expected)}")
        return args

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """The operand with other padding, and a check."""
        have = args[0].type.shape
        holds = ix.conjunction(
            *(ix.compare("==", a, b) for a, b in zip(have, self.shape, strict=True))
        )
        message = f"shape {shape_text(have)} is not {shape_text(self.shape)}"
        out.check(out.index(holds), message)
        return (out.align(args[0], pads.padded(self.shape, out)).text,)
