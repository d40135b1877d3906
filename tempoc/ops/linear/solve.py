"""Linear systems ``a @ x = b``, with any matrix and with a triangular one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tempoc.base.arrays import np
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.axis_links import Link, Same, broadcast_axes
from tempoc.ops.definition.dtype_text import cast, scalar
from tempoc.ops.definition.operator import (
    Array,
    EmittedValues,
    Emitter,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.promotion import common, inexact, promote
from tempoc.ops.definition.shapes import broadcast, require, same, shape_text
from tempoc.ops.definition.types import DType, TensorType, Types
from tempoc.ops.linear.square import require_square, whole_matrix, wide
from tempoc.ops.tensor.contraction import require_numbers
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import show


class LinearSystem(Op):
    """The ``x`` for which ``a @ x`` is ``b``: ``a`` is ``[..., n, n]``, ``b`` ``[..., n, k]``.

    As in NumPy a ``b`` with one axis is a vector, and so is ``x`` then, and batches broadcast. A
    singular matrix gives infinities and NaN.
    """

    __slots__ = ()
    heavy = True
    promotes = True
    library = "cuSOLVER"

    @abstractmethod
    def solved(self, a: Array, b: Array) -> Array:
        """The solution of systems whose batches agree, with columns."""

    @abstractmethod
    def call(self, a: str, b: str) -> str:
        """The same in emitted code."""

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The shape of the right side, with all batch axes."""
        require(args, 2, self.name)
        require_square(args[0], self.name, facts)
        require_numbers(args[1:], self.name)
        a, b = (x.shape for x in args)
        rows = b[-2:-1] or b
        if not b or not same(a[-1], rows[0], facts):
            clash = f": {show(a[-1])} is not {show(rows[0])}" if b else ": a scalar has no rows"
            raise OperandError(f"shapes {shape_text(a)} and {shape_text(b)} are no system{clash}")
        dtype, weak = inexact(promote(args))
        batch = broadcast([a[:-2], b[:-2]], facts)
        return (TensorType(dtype, (*batch, *b[-2:]), weak),)

    def meeting(self, types: tuple[TensorType, ...]) -> DType | None:
        """Both operands are computed with in one dtype."""
        return inexact(promote(types))[0]

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """Batches are made to agree, a vector is a column."""
        a, b = (wide(x) for x in common(args))
        columns = b[:, None] if b.ndim == 1 else b
        batch = np.broadcast_shapes(a.shape[:-2], columns.shape[:-2])
        a = np.broadcast_to(a, (*batch, *a.shape[-2:]))
        columns = np.broadcast_to(columns, (*batch, *columns.shape[-2:]))
        with np.errstate(all="ignore"):
            x = self.solved(a, columns)
        return (x[..., 0] if b.ndim == 1 else x,)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """The batch of both, and the columns of the right side."""
        a, b = (x.shape for x in args)
        last = results[0].ndim - 1
        count = last if len(b) == 1 else last - 1
        batch = results[0].shape[:count]
        for axis in range(count):
            places = broadcast_axes([a[:-2], b[:-2]], batch, axis, same)
            if places is not None:
                yield Link(places, (axis,))
        if len(b) > 1:
            yield Link((None, len(b) - 1), (last,))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """With an identity in the padding of matrices, zeros in that of right sides."""
        (result,) = results
        wide = result.dtype.wide
        shape = pads.padded(result.shape, out)
        a = whole_matrix(args[0], result.dtype, out)
        b = pads.converted(pads.with_own_padding(args[1], out), wide, out)
        batch = shape[: len(shape) - min(b.type.ndim, 2)]
        rows = max(b.type.ndim - 2, 0)
        n = a.padded[-1]
        tail = b.padded[b.type.ndim - 1 :] if b.type.ndim > 1 else ()
        b = out.align(b, (*_batch(b.type.shape[:-2], batch), n, *tail))
        a = out.align(a, (*_batch(a.type.shape[:-2], batch), n, n))
        right = out.masked(b, (rows,), scalar(0, wide))
        if b.type.ndim == 1:
            right = f"{right}[:, None]"
        columns = tail or (ix.ONE,)
        left = _spread(a.text, a.padded[:-2], batch, (n, n), out)
        right = _spread(right, b.padded[:-2], batch, (n, *columns), out)
        call = cast(self.call(left, right), wide, result.dtype)
        return (f"{call}[..., 0]" if b.type.ndim == 1 else call,)


def _batch(own: tuple[ix.Expr, ...], batch: tuple[ix.Expr, ...]) -> tuple[ix.Expr, ...]:
    """The padded extents of an operand's batch axes in that of the result."""
    target = batch[len(batch) - len(own) :]
    return tuple(ix.ONE if e == ix.ONE else want for e, want in zip(own, target, strict=True))


def _spread(
    text: str, have: tuple[ix.Expr, ...], batch: tuple[ix.Expr, ...], matrix: tuple[ix.Expr, ...],
    out: Emitter,
) -> str:  # fmt: skip
    """Matrices repeated for the whole batch."""
    if have == batch:
        return text
    return f"jnp.broadcast_to({text}, {pads.static_shape((*batch, *matrix), out)})"


class Solve(LinearSystem):
    """``solve(a, b)``: by a factorization with pivots."""

    __slots__ = ()
    name = "solve"

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """Those of the factorization and of two triangular systems, less factors below 2."""
        n = args[0].shape[-1]
        columns = ix.product((ix.Const(2), n, *results[0].shape))
        return ix.add(ix.product((*args[0].shape, n)), columns)

    def solved(self, a: Array, b: Array) -> Array:
        """By LAPACK; NaN for a singular matrix."""
        x = np.empty(b.shape, b.dtype)
        for at in np.ndindex(a.shape[:-2]):
            try:
                x[at] = np.linalg.solve(a[at], b[at])
            except np.linalg.LinAlgError:
                x[at] = np.nan
        return x

    def call(self, a: str, b: str) -> str:
        """JAX's, where a singular matrix gives infinities as well as NaN."""
        return f"jnp.linalg.solve({a}, {b})"


@dataclass(frozen=True, slots=True, kw_only=True)
class TriangularSolve(LinearSystem):
    """``triangular_solve(a, b, lower)``: looks at one triangle of ``a`` alone.

    ``unit``: and takes its diagonal for ones, whatever stands there.
    """

    lower: bool = False
    unit: bool = False

    name = "triangular_solve"
    library = "cuBLAS"

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """A multiplication and an addition for half of the matrix and each column."""
        return ix.product((args[0].shape[-1], *results[0].shape))

    def solved(self, a: Array, b: Array) -> Array:
        """Row by row."""
        x = np.zeros(b.shape, b.dtype)
        n = a.shape[-1]
        for k in range(n) if self.lower else reversed(range(n)):
            known = slice(0, k) if self.lower else slice(k + 1, n)
            rest = b[..., k, :] - (a[..., k, None, known] @ x[..., known, :])[..., 0, :]
            x[..., k, :] = rest if self.unit else rest / a[..., k, k, None]
        return x

    def call(self, a: str, b: str) -> str:
        """JAX's."""
        unit = ", unit_diagonal=True" if self.unit else ""
        return f"lax.linalg.triangular_solve({a}, {b}, left_side=True, lower={self.lower}{unit})"
