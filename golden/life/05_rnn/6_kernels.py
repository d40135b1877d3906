"""Kernels of 05_rnn, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def h_0(at, W, x, bias, h):
    """05_rnn.rt:15: h[0] = tanh(W @ x[0] + bias)"""
    x_0 = x[0]
    h_matmul = jnp.matmul(W, x_0)
    h_add = h_matmul + bias
    h_0 = jnp.tanh(h_add)
    h = lax.dynamic_update_index_in_dim(h, h_0, 0, 0)
    return (h,)


def h_matmul2(at, W, x, h_matmul22, *, T):
    """05_rnn.rt:16: h[t] = tanh(W @ x[t] + U @ h[t-1] + bias)"""
    def point(x):
        h_matmul2 = jnp.matmul(W, x)
        return h_matmul2
    h_matmul2_rows = jax.vmap(point)(x[1:T])
    h_matmul222 = lax.dynamic_update_slice(h_matmul22, h_matmul2_rows, (1, 0))
    return (h_matmul222,)


def h_1(at, U, h, h_matmul2, bias):
    """05_rnn.rt:16: h[t] = tanh(W @ x[t] + U @ h[t-1] + bias)"""
    t = at[0]
    h_prev = h[t-1]
    h_matmul3 = jnp.matmul(U, h_prev)
    h_matmul2_t = h_matmul2[t]
    h_add2 = h_matmul2_t + h_matmul3
    h_add3 = h_add2 + bias
    h_1 = jnp.tanh(h_add3)
    h = lax.dynamic_update_index_in_dim(h, h_1, t, 0)
    return (h,)
