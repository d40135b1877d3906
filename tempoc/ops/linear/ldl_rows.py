"""Factors of a symmetric matrix without roots: a unit lower triangle, and a diagonal."""

from __future__ import annotations

from tempoc.base.arrays import np
from tempoc.ops.definition.operator import Array
from tempoc.ops.linear.factor import FactorByEquations

LDL_ROWS = '''
def ldl_rows(a):
    """The factors l d l^T of lower triangles, without the ones of l: below d, column by column."""
    n = a.shape[-1]
    row = jnp.arange(n)
    at = lambda x, k, axis: lax.dynamic_index_in_dim(x, k, axis, keepdims=False)

    def column(k, made):
        weighted = at(made, k, -2) * jnp.diagonal(made, axis1=-2, axis2=-1)
        rest = at(a, k, -1) - jnp.einsum("...ij,...j->...i", made, weighted)
        pivot = lax.dynamic_slice_in_dim(rest, k, 1, -1)
        made_now = jnp.where(row == k, pivot, jnp.where(row > k, rest / pivot, 0.0))
        return lax.dynamic_update_index_in_dim(made, made_now, k, -1)

    return lax.fori_loop(0, n, column, jnp.zeros_like(a))
'''


class LdlRows(FactorByEquations):
    """The matrix ``f`` that these equations make, whatever the pivots ``f[j, j]`` are::

    f[j, j] = a[j, j] - sum(f[j, :j] ** 2 * diagonal(f)[:j])
    f[i, j] = (a[i, j] - sum(f[i, :j] * f[j, :j] * diagonal(f)[:j])) / f[j, j]     for j < i

    It is 0 above the diagonal, and that triangle of ``a`` is not looked at.
    """

    __slots__ = ()
    name = "ldl_rows"
    library = ""

    def of_one(self, a: Array) -> Array:
        """Column by column."""
        f = np.zeros_like(a)
        for k in range(a.shape[-1]):
            rest = a[k:, k] - f[k:, :k] @ (f[k, :k] * np.diagonal(f)[:k])
            f[k, k], f[k + 1 :, k] = rest[0], rest[1:] / rest[0]
        return f
