"""Kernels of 02_moving_average, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def total(at, x, *, T):
    """02_moving_average.rt:12: average[t] = mean(x[max(0, t-width+1):t+1])
    02_moving_average.rt:19: total = sum(x[0:t+1])
    """
    def point(t):
        x_slice = lax.dynamic_slice_in_dim(x, jnp.maximum(0, t-3), min(4, T), axis=0)
        valid = jnp.arange(min(4, T), dtype=jnp.int32) < jnp.minimum(4, t+1)
        x_slice_masked = jnp.where(valid, x_slice, jnp.float32(0.0))
        average = jnp.sum(x_slice_masked, axis=0) / jnp.float32(jnp.minimum(4, t+1))
        valid2 = jnp.arange(T, dtype=jnp.int32) < t+1
        x_masked = jnp.where(valid2, x, jnp.float32(0.0))
        total = jnp.sum(x_masked, axis=0)
        return (average, total)
    average_rows, total_rows = jax.vmap(point)(jnp.arange(T, dtype=jnp.int32))
    return average_rows, total_rows


def smooth_1(at, smooth, x):
    """02_moving_average.rt:16: smooth[t] = 0.9 * smooth[t-1] + 0.1 * x[t]"""
    t = at[0]
    smooth_prev = smooth[t-1]
    smooth_mul = jnp.float32(0.9) * smooth_prev
    x_t = x[t]
    smooth_mul2 = jnp.float32(0.1) * x_t
    smooth_1 = smooth_mul + smooth_mul2
    smooth = lax.dynamic_update_index_in_dim(smooth, smooth_1, t, 0)
    return (smooth,)


def smooth_0(at, x, smooth):
    """02_moving_average.rt:15: smooth[0] = x[0]"""
    x_0 = x[0]
    smooth = lax.dynamic_update_index_in_dim(smooth, x_0, 0, 0)
    return (smooth,)
