"""Factors of a matrix without an exchange of rows, both in one matrix."""

from __future__ import annotations

from tempoc.base.arrays import np
from tempoc.ops.definition.operator import Array
from tempoc.ops.linear.factor import FactorByEquations

LU_ROWS = '''
def lu_rows(a):
    """The factors of matrices, no rows exchanged: the lower one, without its ones, below the upper.

    In each step a row of the upper factor is made, then a column of the lower one (Crout).
    """
    n = a.shape[-1]
    row = jnp.arange(n)
    at = lambda x, k, axis: lax.dynamic_index_in_dim(x, k, axis, keepdims=False)

    def step(k, factors):
        lower, upper = factors
        left = jnp.where(row < k, at(lower, k, -2), 0.0)
        pivots = at(a, k, -2) - jnp.einsum("...k,...kj->...j", left, upper)
        upper = lax.dynamic_update_index_in_dim(upper, jnp.where(row >= k, pivots, 0.0), k, -2)
        above = jnp.where(row < k, at(upper, k, -1), 0.0)
        rest = at(a, k, -1) - jnp.einsum("...ik,...k->...i", lower, above)
        below = rest / lax.dynamic_slice_in_dim(pivots, k, 1, -1)
        lower = lax.dynamic_update_index_in_dim(lower, jnp.where(row > k, below, 0.0), k, -1)
        return lower, upper

    lower, upper = lax.fori_loop(0, n, step, (jnp.zeros_like(a), jnp.zeros_like(a)))
    return jnp.where(row[:, None] > row, lower, upper)
'''


class LuRows(FactorByEquations):
    """The matrix ``f`` that these equations make, whatever the pivots ``f[j, j]`` are::

    f[i, j] = a[i, j] - f[i, :i] @ f[:i, j]                 for j >= i
    f[i, j] = (a[i, j] - f[i, :j] @ f[:j, j]) / f[j, j]     for j < i
    """

    __slots__ = ()
    name = "lu_rows"
    library = ""

    def of_one(self, a: Array) -> Array:
        """A row, then a column."""
        f = np.array(a)
        for k in range(a.shape[-1]):
            f[k, k:] -= f[k, :k] @ f[:k, k:]
            f[k + 1 :, k] = (f[k + 1 :, k] - f[k + 1 :, :k] @ f[:k, k]) / f[k, k]
        return f
