"""Cholesky's factor of a lower triangle, with the rows that come before a pivot without a root."""

from __future__ import annotations

from tempoc.base.arrays import np
from tempoc.ops.definition.operator import Array
from tempoc.ops.linear.factor import FactorByEquations

CHOLESKY_ROWS = '''
def cholesky_rows(a):
    """Cholesky's factors of lower triangles; of those that have none, the rows before that shows.

    A library gives up then, and its result is no number anywhere: columns are made one by one.
    """
    n = a.shape[-1]
    row = jnp.arange(n)
    at = lambda x, k, axis: lax.dynamic_index_in_dim(x, k, axis, keepdims=False)

    def column(k, made):
        rest = at(a, k, -1) - jnp.einsum("...ij,...j->...i", made, at(made, k, -2))
        root = jnp.sqrt(lax.dynamic_slice_in_dim(rest, k, 1, -1))
        made_now = jnp.where(row == k, root, jnp.where(row > k, rest / root, 0.0))
        return lax.dynamic_update_index_in_dim(made, made_now, k, -1)

    once = lambda state: (jnp.bool_(False), lax.fori_loop(0, n, column, jnp.zeros_like(a)))
    factor = lax.linalg.cholesky(a, symmetrize_input=False)
    wrong = ~jnp.isfinite(jnp.diagonal(factor, axis1=-2, axis2=-1)).all()
    return lax.while_loop(lambda state: state[0], once, (wrong, factor))[1]
'''


class CholeskyRows(FactorByEquations):
    """The lower triangular ``l`` that these equations make, column by column::

        l[i, i] = sqrt(a[i, i] - sum(l[i, :i] ** 2))
        l[i, j] = (a[i, j] - l[i, :j] @ l[j, :j]) / l[j, j]     for j < i, and 0 for j > i

    The upper triangle of ``a`` is not looked at. Of a matrix that is not positive definite the
    rows before the first pivot without a root are those of a factor.
    """

    __slots__ = ()
    name = "cholesky_rows"

    def of_one(self, a: Array) -> Array:
        """Column by column."""
        made = np.zeros_like(a)
        for k in range(a.shape[-1]):
            rest = a[k:, k] - made[k:, :k] @ made[k, :k]
            root = np.sqrt(rest[0])
            made[k, k], made[k + 1 :, k] = root, rest[1:] / root
        return made
