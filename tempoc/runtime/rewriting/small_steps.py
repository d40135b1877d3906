"""Operators that stop XLA from compiling a loop as one function, in steps of one row or element.

Scatters write one row after the other, products of matrices are sums of products: for both XLA
would call a function of a library.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax
from jax.extend.core import JaxprEqn

from tempoc.runtime.rewriting.rewriter import JaxprRewriter, size

PRODUCT = "dot_general"
UPDATES = frozenset(("dynamic_update_slice", "scatter", "scatter-add"))
"""Operators that change a part of their first operand."""
SCATTERS = UPDATES - {"dynamic_update_slice"}


class SmallSteps(JaxprRewriter):
    """Computes scatters of several rows and products of matrices in small steps."""

    def takes(self, eqn: JaxprEqn) -> bool:
        """Whether an operator is such a scatter or product."""
        several = eqn.primitive.name in SCATTERS and eqn.invars[1].aval.ndim > 1
        return several or (eqn.primitive.name == PRODUCT and 1 not in rows_beside(eqn))

    def computed(self, eqn: JaxprEqn, given: Sequence[Any]) -> Sequence[Any]:
        """The updated array, or the product."""
        if eqn.primitive.name == PRODUCT:
            return (_as_sum(eqn, *given),)
        return (_row_by_row(eqn, *given),)


def _row_by_row(eqn: JaxprEqn, x: Any, places: Any, rows: Any) -> Any:
    """The array after a scatter, one row after the other."""
    dims = eqn.params["dimension_numbers"]
    batch = dims.operand_batching_dims
    lanes = [k for k in range(rows.ndim) if k not in dims.update_window_dims]
    count = math.prod(places.shape[:-1])
    rows = jnp.moveaxis(rows, lanes, range(len(lanes)))
    rows = rows.reshape(count, *rows.shape[len(lanes) :])
    shape = *places.shape[:-1], 1
    own = (lax.broadcasted_iota(places.dtype, shape, k) for k in dims.scatter_indices_batching_dims)
    places = jnp.concatenate([*own, places], -1).reshape(count, -1)
    how = eqn.params | {
        "dimension_numbers": lax.ScatterDimensionNumbers(
            update_window_dims=(*range(rows.ndim - 1),),
            inserted_window_dims=(*sorted((*dims.inserted_window_dims, *batch)),),
            scatter_dims_to_operand_dims=(*batch, *dims.scatter_dims_to_operand_dims),
        )
    }

    def step(k: Any, x: Any) -> Any:
        return eqn.primitive.bind(x, places[k], rows[k], **how)

    return lax.fori_loop(0, count, step, x)


def rows_beside(product: JaxprEqn) -> list[int]:
    """How many elements each operand has beside those summed over, and those in common."""
    summed, batched = product.params["dimension_numbers"]
    return [
        math.prod(n for k, n in enumerate(v.aval.shape) if k not in (*gone, *same))
        for v, gone, same in zip(product.invars, summed, batched, strict=True)
    ]


def multiplied_bytes(eqn: JaxprEqn) -> int:
    """How many bytes the products take that a product of matrices is a sum of; 0 of others."""
    if eqn.primitive.name != PRODUCT or 1 in rows_beside(eqn):
        return 0
    (own, _), _ = eqn.params["dimension_numbers"]
    each = int(math.prod(eqn.invars[0].aval.shape[k] for k in own))
    return each * sum(map(size, eqn.outvars))


def _as_sum(product: JaxprEqn, a: Any, b: Any) -> Any:
    """The product of two arrays, of each two elements one after the other."""
    (own, its), (same, likewise) = product.params["dimension_numbers"]
    shape = product.outvars[0].aval.shape
    batch, rows = shape[: len(same)], [k for k in range(a.ndim) if k not in (*own, *same)]
    columns = [k for k in range(b.ndim) if k not in (*its, *likewise)]
    (m, n), each = rows_beside(product), math.prod(a.shape[k] for k in own)
    a = jnp.transpose(a, (*same, *rows, *own)).reshape(*batch, m, 1, each)
    b = jnp.transpose(b, (*likewise, *columns, *its)).reshape(*batch, 1, n, each)
    return jnp.sum(a * b, axis=-1).reshape(shape)
