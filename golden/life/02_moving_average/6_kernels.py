"""Kernels of 02_moving_average, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def linear_rows(row, first, count, reverse=False):
    """Rows that `row(k, ...)` makes of the one before, in which it is linear element by element.

    `first` and `count` rows after it; with `reverse` before it, the last one first. One after the
    other on a CPU, which takes less time; elsewhere as prefixes of a chain of linear maps, unless
    a prefix is not finite: infinity times 0 is no number, which a row need not have.
    """
    def in_turn():
        alone = len(first) == 1  # of several tensors XLA would copy those that are read back
        back, ahead = (1, 0) if reverse else (0, 1)
        take = lambda x, k: lax.dynamic_index_in_dim(x, k, 0, False, allow_negative_indices=False)

        def put(x, y, k):
            return lax.dynamic_update_index_in_dim(x, y, k, 0, allow_negative_indices=False)

        def step(n, buffers):
            k = count - 1 - n if reverse else n
            rows, before = buffers
            at = lax.convert_element_type(k, jnp.uint32)  # nobody asks whether that is negative
            new = row(at, *([take(rows[0], k + back)] if alone else before))
            made = tuple(put(x, y, k + ahead) for x, y in zip(rows, new))
            return made, () if alone else new

        rows = tuple(jnp.broadcast_to(x, (count + 1, *x.shape)) for x in first)
        return lax.fori_loop(0, count, step, (rows, () if alone else tuple(first)))[0]

    if not count:
        return tuple(x[None] for x in first)
    if jax.default_backend() == "cpu":
        return in_turn()

    def both(k):
        zeros = tuple(jnp.zeros_like(x) for x in first)
        added, slope = jax.linearize(lambda *before: row(k, *before), *zeros)
        units = [[jnp.full_like(x, i == j) for i, x in enumerate(first)] for j in range(len(first))]
        return tuple(slope(*unit) for unit in units), added

    def after(early, late):
        (a, b), (c, d) = early, late
        times = lambda x: tuple(sum(x[m] * c[m][i] for m in range(len(x))) for i in range(len(x)))
        return tuple(times(x) for x in a), tuple(x + y for x, y in zip(times(b), d))

    factors, added = lax.associative_scan(after, jax.vmap(both)(jnp.arange(count)), reverse=reverse)
    made = [
        sum((f[i] * x for f, x in zip(factors, first)), added[i]) for i in range(len(first))
    ]
    parts = ((y, x[None]) if reverse else (x[None], y) for x, y in zip(first, made))
    rows = tuple(jnp.concatenate(part) for part in parts)
    finite = [jnp.isfinite(x).all() for x in (*jax.tree.leaves(factors), *made)]
    once = lambda state: (jnp.bool_(False), in_turn())
    return lax.while_loop(lambda state: state[0], once, (~jnp.stack(finite).all(), rows))[1]


def total_scan(at, x, *, T):
    """02_moving_average.rt:12: average[t] = mean(x[max(0, t-width+1):t+1])
    02_moving_average.rt:15: smooth[0] = x[0]
    02_moving_average.rt:16: smooth[t] = 0.9 * smooth[t-1] + 0.1 * x[t]
    02_moving_average.rt:19: total = sum(x[0:t+1])
    """
    x_wide = lax.pad(x, jnp.float32(0.0), ((3, 0, 0),))
    average_windows = lax.reduce_window(x_wide, jnp.float32(0.0), lax.add, (4,), (1,), "VALID")
    def row(k, before):
        return (0.9 * before + 0.1 * x[k+1],)
    return average_windows, linear_rows(row, (x[0],), T-1)[0], lax.cumsum(x, axis=0)


def average(at, average_windows, *, T):
    """02_moving_average.rt:12: average[t] = mean(x[max(0, t-width+1):t+1])"""
    def point(t, average_windows_t):
        average = average_windows_t / jnp.int32(jnp.minimum(4, t+1)).astype(jnp.float32)
        return average
    return (jax.vmap(point)(jnp.arange(T, dtype=jnp.int32), average_windows),)


def block(at, x, *, T):
    """What stands between two tasks of the host: total_scan, average."""
    average_windows, smooth_rows, total_scan2 = total_scan((), x, T=T)
    (average2,) = average((), average_windows, T=T)
    return (smooth_rows, total_scan2, average2)
