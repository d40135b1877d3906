"""Kernels of 02_moving_average, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def total_scan(at, x, smooth_mul2, *, T):
    """02_moving_average.rt:12: average[t] = mean(x[max(0, t-width+1):t+1])
    02_moving_average.rt:15: smooth[0] = x[0]
    02_moving_average.rt:16: smooth[t] = 0.9 * smooth[t-1] + 0.1 * x[t]
    02_moving_average.rt:19: total = sum(x[0:t+1])
    """
    x_wide = lax.pad(x, jnp.float32(0.0), ((3, 0, 0),))
    average_windows = lax.reduce_window(x_wide, jnp.float32(0.0), lax.add, (4,), (1,), "VALID")
    x_0 = x[0]
    smooth_mul2_slice = smooth_mul2[1:max(1, T)]
    smooth_mul2_slice2 = lax.pad(smooth_mul2_slice, jnp.float32(0.0), ((0, max(1, T-1)-max(0, T-1), 0),))
    def step(k, rows):
        before = rows[k]
        smooth_mul2_slice2_row = smooth_mul2_slice2[k]
        mul = jnp.float32(0.9) * before
        add = mul + smooth_mul2_slice2_row
        return lax.dynamic_update_index_in_dim(rows, add, k+1, 0)
    smooth_rows = lax.fori_loop(0, T-1, step, jnp.broadcast_to(x_0, (T,)))
    total_scan = lax.cumsum(x, axis=0)
    return average_windows, smooth_rows, total_scan


def average(at, average_windows, *, T):
    """02_moving_average.rt:12: average[t] = mean(x[max(0, t-width+1):t+1])"""
    def point(t, average_windows_t):
        average_count = jnp.int32(jnp.minimum(4, t+1))
        average_number = average_count.astype(jnp.float32)
        average = average_windows_t / average_number
        return average
    average_rows = jax.vmap(point)(jnp.arange(T, dtype=jnp.int32), average_windows)
    return (average_rows,)


def smooth_mul2(at, x, smooth_mul22, *, T):
    """02_moving_average.rt:16: smooth[t] = 0.9 * smooth[t-1] + 0.1 * x[t]"""
    def point(x):
        smooth_mul2 = jnp.float32(0.1) * x
        return smooth_mul2
    smooth_mul2_rows = jax.vmap(point)(x[1:T])
    smooth_mul222 = lax.dynamic_update_slice(smooth_mul22, smooth_mul2_rows, (1,))
    return (smooth_mul222,)


def block(at, x, *, T):
    """What stands between two tasks of the host: smooth_mul2, total_scan, average."""
    smooth_mul22 = jnp.zeros((T,), jnp.float32)
    if T >= 2:
        (smooth_mul22,) = smooth_mul2((), x, smooth_mul22, T=T)
    average_windows, smooth_rows, total_scan2 = total_scan((), x, smooth_mul22, T=T)
    (average2,) = average((), average_windows, T=T)
    return (smooth_rows, total_scan2, average2)
