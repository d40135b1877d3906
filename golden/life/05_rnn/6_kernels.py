"""Kernels of 05_rnn, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def matvec(matrix, vector, points):
    """matrix @ vector, which so many points compute together.

    Vectors of many points are rows of an array, which one product takes and gives as they lie. For
    few of them XLA for CPUs is faster if the matrix comes first. It may abort where a matrix with
    an axis of up to three elements is that of some of the points only.
    """
    if points == 1:
        return jnp.matmul(matrix, vector)
    if jax.default_backend() == "cpu" and points <= 16 and min(matrix.shape) > 3:
        return lax.optimization_barrier(jnp.matmul(matrix, vector))
    return jnp.matmul(vector, matrix.T)


def h(at, W, x, bias, h_matmul2, U, *, T):
    """05_rnn.rt:15: h[0] = tanh(W @ x[0] + bias)
    05_rnn.rt:16: h[t] = tanh(W @ x[t] + U @ h[t-1] + bias)
    """
    h = jnp.tanh(jnp.matmul(W, x[0]) + bias)
    h_matmul2_slice = h_matmul2[1:max(1, T)]
    h_matmul2_slice2 = lax.pad(
        h_matmul2_slice, jnp.float32(0.0), ((0, max(1, T-1)-max(0, T-1), 0), (0, 0, 0)),
    )
    def step(k, rows):
        tanh = jnp.tanh(h_matmul2_slice2[k] + jnp.matmul(U, rows[k]) + bias)
        return lax.dynamic_update_index_in_dim(rows, tanh, k+1, 0)
    h_rows = lax.fori_loop(0, T-1, step, jnp.broadcast_to(h, (T, 16)))
    return h_rows, lax.dynamic_index_in_dim(h_rows, T-1, 0, keepdims=False)


def h_matmul2(at, W, x, h_matmul2_2, *, T):
    """05_rnn.rt:16: h[t] = tanh(W @ x[t] + U @ h[t-1] + bias)"""
    def point(x):
        return matvec(W, x, T-1)
    h_matmul2_2_2 = lax.dynamic_update_slice(h_matmul2_2, jax.vmap(point)(x[1:T]), (1, 0))
    return (h_matmul2_2_2,)


def block(at, W, x, bias, U, *, T):
    """What stands between two tasks of the host: h_matmul2, h."""
    h_matmul2_2 = jnp.zeros((T, 16), jnp.float32)
    if T >= 2:
        (h_matmul2_2,) = h_matmul2((), W, x, h_matmul2_2, T=T)
    h_rows, h_at = h((), W, x, bias, h_matmul2_2, U, T=T)
    return (h_rows, h_at)
