"""Outer products summed by position: what weights that data choose have as their gradient."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tempoc.base.arrays import np
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
from tempoc.ops.definition.shapes import require, same_shape, shape_text
from tempoc.ops.definition.types import TensorType, Types
from tempoc.ops.indexing.indexing import checked, require_integers
from tempoc.ops.tensor.monoids import SUM
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate

SCATTER_PRODUCTS = f'''\
def scatter_products(x, y, idx, n):
    """The outer products of rows of x and of y, summed by their positions among n.

    For many rows, products of matrices for each position: both have zeros in rows that go
    elsewhere, since zero times what is not finite is NaN.
    """
    if len(x) < {MODEL.points_of_product} * n:
        products = x[:, :, None] * y[:, None, :]
        return jnp.zeros((n, *products.shape[1:]), x.dtype).at[idx].add(products, mode="drop")
    here = idx == jnp.arange(n, dtype=jnp.int32)[:, None]
    return jnp.matmul(jnp.where(here[:, None, :], x.T, 0), jnp.where(here[:, :, None], y, 0))
'''
"""Stands in front of kernels with ``scatter_products``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatterProducts(Op):
    """``scatter_add(einsum("zi,zk->zik", x, y), idx, 0)`` for passes, where ``n`` is small.

    Positions are known to be among ``n``, as those of ``ScatterAdd`` that are ``sure``.
    """

    n: ix.Expr

    name = "scatter_products"
    heavy = True
    differentiable = False
    monoid = SUM

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """A matrix for each position."""
        require(args, 3, self.name)
        x, y, idx = args
        require_integers(idx, self.name)
        fits = (x.ndim, y.ndim, idx.ndim) == (2, 2, 1)
        if not fits or not all(same_shape(a.shape[:1], idx.shape, facts) for a in (x, y)):
            shapes = ", ".join(shape_text(a.shape) for a in args)
            raise OperandError(f"{self.name} takes rows and a position of each, not {shapes}")
        if x.dtype is not y.dtype or not x.dtype.is_float:
            raise OperandError(f"{self.name} takes floats of one dtype")
        return (TensorType(x.dtype, (self.n, x.shape[1], y.shape[1]), x.weak and y.weak),)

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """A multiplication and an addition for each element of a product."""
        x, y, _ = args
        return ix.product((ix.Const(2), *x.shape, y.shape[1]))

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """One product after the other."""
        x, y, idx = args
        n = evaluate(self.n, at)
        result = np.zeros((n, x.shape[1], y.shape[1]), x.dtype)
        with np.errstate(all="ignore"):
            np.add.at(result, checked(idx, n, 0), x[:, :, None] * y[:, None, :])
        return (result,)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """The columns of each operand; the rows are summed."""
        yield Link((0, 0, 0), (None,))
        yield Link((1, None, None), (1,))
        yield Link((None, 1, None), (2,))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """A call of a helper; rows in padding are zeros."""
        (result,) = results
        x, y, idx = (pads.with_own_padding(v, out) for v in args)
        rows, zero = out.pad(idx.type.shape[0]), scalar(0, result.dtype)
        idx = out.align(idx, (rows,))
        x, y = (out.align(v, (rows, out.pad(v.type.shape[1]))) for v in (x, y))
        texts = [out.masked(v, (0,), zero) for v in (x, y)]
        n = out.static(out.pad(self.n))
        return (f"scatter_products({', '.join(texts)}, {idx.text}, {n})",)
