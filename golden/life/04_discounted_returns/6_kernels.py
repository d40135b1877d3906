"""Kernels of 04_discounted_returns, written by tempoc: one function for each statement.

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


def lately_windows(at, reward, *, T):
    """04_discounted_returns.rt:15: ahead[t] = rl.discounted_sum(reward[t:T], gamma)
    04_discounted_returns.rt:16: back[T-1] = reward[T-1]
    04_discounted_returns.rt:17: back[t] = reward[t] + gamma * back[t+1]
    04_discounted_returns.rt:20: near[t] = rl.discounted_sum(reward[t:min(t+n, T)], gamma)
    04_discounted_returns.rt:25: lately[t] = sum(reward[max(0, t-n+1):t+1])
    rl.rt:10: weight = gamma ** arange(size(r, 0))
    """
    def row(k, before):
        return (reward[k] + 0.95 * before,)
    reward_wide = lax.pad(reward, jnp.float32(0.0), ((0, 4, 0),))
    sum_2 = lax.slice_in_dim(reward_wide, 0, -1, axis=0) + jnp.float32(0.95) * lax.slice_in_dim(
        reward_wide, 1, None, axis=0,
    )
    factor_2 = jnp.float32(0.95) * jnp.float32(0.95)
    sum_4 = lax.slice_in_dim(sum_2, 0, -2, axis=0) + factor_2 * lax.slice_in_dim(
        sum_2, 2, None, axis=0,
    )
    factor_4 = factor_2 * factor_2
    near_windows = lax.slice_in_dim(
        reward_wide, 0, T, axis=0,
    ) + jnp.float32(0.95) * lax.slice_in_dim(sum_4, 1, 1 + T, axis=0)
    reward_wide2 = lax.pad(reward, jnp.float32(0.0), ((4, 0, 0),))
    lately_windows = lax.reduce_window(reward_wide2, jnp.float32(0.0), lax.add, (5,), (1,), "VALID")
    return linear_rows(row, (reward[T-1],), T-1, reverse=True)[0], near_windows, lately_windows


def near_at(at, near_windows, n_step, *, T):
    """04_discounted_returns.rt:20: near[t] = rl.discounted_sum(reward[t:min(t+n, T)], gamma)"""
    n_step2 = lax.dynamic_update_slice(n_step, near_windows[max(0, T-5):T], (max(0, T-5),))
    return (n_step2,)


def n_step_0(at, value, near_windows, n_step, *, T):
    """04_discounted_returns.rt:20: near[t] = rl.discounted_sum(reward[t:min(t+n, T)], gamma)
    04_discounted_returns.rt:21: n_step[t] = near[t] + gamma ** n * value[t+n] when t + n < T
    """
    def point(value, near_windows_t):
        n_step_0 = near_windows_t + 0.7737809374999998 * value
        return n_step_0
    n_step_0_rows = jax.vmap(point)(value[5:T], near_windows[:T-5])
    n_step2 = lax.dynamic_update_slice(n_step, n_step_0_rows, (0,))
    return (n_step2,)


def block(at, reward, value, *, T):
    """What stands between two tasks of the host: lately_windows, near_at, n_step_0."""
    n_step = jnp.zeros((T,), jnp.float32)
    ahead_run_rows, near_windows, lately_windows2 = lately_windows((), reward, T=T)
    (n_step,) = near_at((), near_windows, n_step, T=T)
    if T >= 6:
        (n_step,) = n_step_0((), value, near_windows, n_step, T=T)
    return (ahead_run_rows, lately_windows2, n_step)
