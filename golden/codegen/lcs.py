"""Kernels of lcs, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax.numpy as jnp
from jax import lax


def d_0(at, d):
    """case.sdg:10: %d.0 = literal{value=0, dtype=i32} : [i, j | i == 0 or j == 0] i32"""
    j = at[1]
    d = lax.dynamic_update_index_in_dim(d, jnp.int32(0), j, 0)
    return (d,)


def d_1_one(at):
    """case.sdg:11: %d.1.one = literal{value=1, dtype=i32} : [] i32"""
    return (jnp.int32(1),)


def d_1(at, x, y, d_prev, d_1_one, d):
    """case.sdg:12: %d.1.same = eq %x, %y : [i, j | i >= 1 and j >= 1] bool
    case.sdg:13: %d.1.diag = add %d[i-1, j-1], %d.1.one : [i, j | i >= 1 and j >= 1] i32
    case.sdg:14: %d.1.skip = maximum %d[i-1, j], %d[i, j-1] : [i, j | i >= 1 and j >= 1] i32
    case.sdg:15: %d.1 = where %d.1.same, %d.1.diag, %d.1.skip : [i, j | i >= 1 and j >= 1] i32
    """
    i, j = at[0], at[1]
    d_1 = jnp.where(x[i] == y[j], d_prev[j-1] + d_1_one, jnp.maximum(d_prev[j], d[j-1]))
    d = lax.dynamic_update_index_in_dim(d, d_1, j, 0)
    return (d,)
