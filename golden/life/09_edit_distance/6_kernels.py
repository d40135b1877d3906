"""Kernels of 09_edit_distance, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def d_2(at, left, right, d):
    """09_edit_distance.rt:17: d[i, j] = minimum( d[i-1, j-1] + where(left[i-1] == right[j-1], 0, 1), minimum(d[i-1, j], d[i, j-1]) + 1, )"""
    i, j = at[0], at[1]
    d_add = d[i-1, j-1] + jnp.where(left[i-1] == right[j-1], jnp.int32(0), jnp.int32(1))
    d_2 = jnp.minimum(d_add, jnp.minimum(d[i-1, j], d[i, j-1]) + 1)
    d = lax.dynamic_update_slice(d, d_2[None, None], (i, j))
    return (d,)


def d_0(at, d, *, I):
    """09_edit_distance.rt:15: d[i, 0] = i"""
    def point(i):
        d_0 = jnp.int32(i)
        return d_0
    d_0_rows = jax.vmap(point)(jnp.arange(I, dtype=jnp.int32))
    d2 = lax.dynamic_update_slice(d, d_0_rows[:, None], (0, 0))
    return (d2,)


def d_1(at, d, *, N, J):
    """09_edit_distance.rt:16: d[0, j] = j"""
    def point(j):
        d_1 = jnp.int32(j)
        return d_1
    d_1_rows = jax.vmap(point)(jnp.arange(1, min(N+1, J), dtype=jnp.int32))
    d2 = lax.dynamic_update_slice(d, d_1_rows[None, :], (0, 1))
    return (d2,)


def loop_i(at, d, left, right, *, steps=None, N):
    """i from at[0] on, at[1] steps; the loop of d_2."""
    count = at[1] if steps is None else steps
    def step_i(i2, carry):
        (d,) = carry
        i = at[0] + i2
        def step_j(j, carry):
            (d,) = carry
            (d,) = d_2((i, j), left, right, d)
            return (d,)
        (d,) = lax.fori_loop(1, N + 1, step_j, (d,))
        return (d,)
    (d,) = lax.fori_loop(0, count, step_i, (d,))
    return (d,)


def block(at, left, right, *, M, N, I, J):
    """What stands between two tasks of the host: d_0, d_1, d_2."""
    d = jnp.zeros((I, J), jnp.int32)
    (d,) = d_0((), d, I=I)
    (d,) = d_1((), d, N=N, J=J)
    def step_i(i, carry):
        (d,) = carry
        def step_j(j, carry):
            (d,) = carry
            (d,) = d_2((i, j), left, right, d)
            return (d,)
        (d,) = lax.fori_loop(1, N + 1, step_j, (d,))
        return (d,)
    (d,) = lax.fori_loop(1, M + 1, step_i, (d,))
    return (d,)
