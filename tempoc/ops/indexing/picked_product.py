"""A product of one of few matrices, which data choose, and a vector."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tempoc.base.cost_model import MODEL
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.axis_links import Link, Same
from tempoc.ops.definition.dtype_text import scalar
from tempoc.ops.definition.operator import (
    Array,
    EmittedValues,
    Emitter,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.shapes import require
from tempoc.ops.definition.types import TensorType, Types
from tempoc.ops.indexing.pick import Pick
from tempoc.ops.tensor.contraction import MatMul
from tempoc.symbolic import expr as ix

PICKED_PRODUCT = f'''\
def picked_product(matrices, place, vector, points, turned):
    """matrices[place] @ vector, or vector @ matrices[place] if `turned`, at so many points.

    A copy of a matrix for each of many points takes longer to write and read than products with
    all matrices, of which one is taken.
    """
    if points < {MODEL.points_of_product} * len(matrices):
        matrix = matrices[place]
        return jnp.matmul(vector, matrix if turned else matrix.T)
    letters = "zik,i->zk" if turned else "zik,k->zi"
    return jnp.einsum(letters, matrices, vector)[place]
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class PickedProduct(Op):
    """``pick(x, j) @ v``, or ``v @ pick(x, j)`` if ``turned``, for passes: ``j`` is in ``lo:hi``.

    ``x`` is a temporal slice of matrices without padding.
    """

    lo: ix.Expr
    hi: ix.Expr
    turned: bool = False

    name = "picked_product"
    heavy = contraction = overflows = True
    checks = True
    differentiable = False

    @property
    def _pick(self) -> Pick:
        return Pick(lo=self.lo, hi=self.hi)

    def _product(self, matrix: TensorType, vector: TensorType) -> tuple[TensorType, ...]:
        return (vector, matrix) if self.turned else (matrix, vector)

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The type of the product."""
        require(args, 3, self.name)
        (matrix,) = self._pick.infer(args[:2], facts)
        if matrix.ndim != 2 or args[2].ndim != 1 or matrix.dtype is not args[2].dtype:
            raise OperandError(f"{self.name} takes matrices and a vector of one dtype")
        return MatMul().infer(self._product(matrix, args[2]), facts)

    def within(self, args: tuple[TensorType, ...]) -> tuple[ix.Expr, ...]:
        """There is a matrix for each index that is promised."""
        return self._pick.within(args)

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """Two for each element of a matrix."""
        return ix.product((ix.Const(2), *args[0].shape[1:]))

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """``OperandError`` for a broken promise."""
        (matrix,) = self._pick.evaluate(args[:2], at)
        return MatMul().evaluate((args[2], matrix) if self.turned else (matrix, args[2]), at)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """The axis of the matrices that is not summed; the other one and that of the vector."""
        yield Link((1 + self.turned, None, None), (0,))
        yield Link((2 - self.turned, None, 0), (None,))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """A call of a helper. Rows that are ragged are masked."""
        own, summed = 1 + self.turned, 2 - self.turned
        x, j, v = args
        x, v = (pads.with_own_padding(a, out) for a in (x, v))
        x = pads.nonempty(x, (0,), out)
        place = self._pick.place(j, ix.ZERO, 1, out)
        depth = out.pad(v.type.shape[0])
        padded = [*x.padded]
        padded[own], padded[summed] = out.pad(results[0].shape[0]), depth
        x, v = out.align(x, tuple(padded)), out.align(v, (depth,))
        zero, points = scalar(0, results[0].dtype), out.static(out.points)
        texts = out.masked(x, (summed,), zero), place, out.masked(v, (0,), zero)
        return (f"picked_product({', '.join(texts)}, {points}, {self.turned})",)
