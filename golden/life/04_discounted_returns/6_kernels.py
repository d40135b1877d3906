"""Kernels of 04_discounted_returns, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax.numpy as jnp
from jax import lax


def lately_windows(at, reward, *, T):
    """04_discounted_returns.rt:15: ahead[t] = rl.discounted_sum(reward[t:T], gamma)
    04_discounted_returns.rt:16: back[T-1] = reward[T-1]
    04_discounted_returns.rt:17: back[t] = reward[t] + gamma * back[t+1]
    04_discounted_returns.rt:20: near[t] = rl.discounted_sum(reward[t:min(t+n, T)], gamma)
    04_discounted_returns.rt:25: lately[t] = sum(reward[max(0, t-n+1):t+1])
    rl.rt:10: weight = gamma ** arange(size(r, 0))
    """
    reward_at = reward[T-1]
    def step(k, rows):
        k2 = T-2 - k
        before = rows[k2+1]
        reward_row = reward[k2]
        mul = jnp.float32(0.95) * before
        add = reward_row + mul
        return lax.dynamic_update_index_in_dim(rows, add, k2, 0)
    ahead_run_rows = lax.fori_loop(0, T-1, step, jnp.broadcast_to(reward_at, (T,)))
    def step2(k3, rows2):
        k4 = T-2 - k3
        before2 = rows2[k4+1]
        reward_row2 = reward[k4]
        mul2 = jnp.float32(0.95) * before2
        add2 = reward_row2 + mul2
        return lax.dynamic_update_index_in_dim(rows2, add2, k4, 0)
    back_rows = lax.fori_loop(0, T-1, step2, jnp.broadcast_to(reward_at, (T,)))
    reward_wide = lax.pad(reward, jnp.float32(0.0), ((0, 4, 0),))
    sum_2 = lax.slice_in_dim(reward_wide, 0, -1, axis=0) + jnp.float32(0.95) * lax.slice_in_dim(reward_wide, 1, None, axis=0)
    factor_2 = jnp.float32(0.95) * jnp.float32(0.95)
    sum_4 = lax.slice_in_dim(sum_2, 0, -2, axis=0) + factor_2 * lax.slice_in_dim(sum_2, 2, None, axis=0)
    factor_4 = factor_2 * factor_2
    near_windows = lax.slice_in_dim(reward_wide, 0, T, axis=0) + jnp.float32(0.95) * lax.slice_in_dim(sum_4, 1, 1 + T, axis=0)
    reward_wide2 = lax.pad(reward, jnp.float32(0.0), ((4, 0, 0),))
    lately_windows = lax.reduce_window(reward_wide2, jnp.float32(0.0), lax.add, (5,), (1,), "VALID")
    return ahead_run_rows, back_rows, near_windows, lately_windows


def near(at, near_windows, n_step, *, T):
    """04_discounted_returns.rt:20: near[t] = rl.discounted_sum(reward[t:min(t+n, T)], gamma)"""
    t = at[0]
    near = lax.dynamic_index_in_dim(near_windows, t, 0, keepdims=False)
    n_step = jnp.where(t+5 >= T, lax.dynamic_update_index_in_dim(n_step, near, t, 0), n_step)
    return near, n_step


def n_step_0(at, value, near, n_step):
    """04_discounted_returns.rt:21: n_step[t] = near[t] + gamma ** n * value[t+n] when t + n < T"""
    t = at[0]
    value_next5 = value[t+5]
    n_step_mul = jnp.float32(0.7737809374999998) * value_next5
    n_step_0 = near + n_step_mul
    n_step = lax.dynamic_update_index_in_dim(n_step, n_step_0, t, 0)
    return (n_step,)


def loop_t(at, near2, n_step, near_windows, value, *, steps=None, T):
    """t from at[0] on, at[1] steps; the loop of near, n_step_0."""
    count = at[1] if steps is None else steps
    def step_t(i, carry):
        (near2, n_step) = carry
        t = at[0] + i
        near2, n_step = near((t,), near_windows, n_step, T=T)
        (n_step,) = n_step_0((t,), value, near2, n_step)
        return (near2, n_step)
    (near2, n_step) = lax.fori_loop(0, count, step_t, (near2, n_step))
    return (near2, n_step)


def loop_t2(at, near2, n_step, near_windows, *, steps=None, T):
    """t from at[0] on, at[1] steps; the loop of near."""
    count = at[1] if steps is None else steps
    def step_t(i, carry):
        (near2, n_step) = carry
        t = at[0] + i
        near2, n_step = near((t,), near_windows, n_step, T=T)
        return (near2, n_step)
    (near2, n_step) = lax.fori_loop(0, count, step_t, (near2, n_step))
    return (near2, n_step)


def block(at, reward, value, *, T):
    """What stands between two tasks of the host: lately_windows, near, n_step_0."""
    near2 = jnp.zeros((), jnp.float32)
    n_step = jnp.zeros((T,), jnp.float32)
    ahead_run_rows, back_rows, near_windows, lately_windows2 = lately_windows((), reward, T=T)
    def step_t(t, carry):
        (near2, n_step) = carry
        near2, n_step = near((t,), near_windows, n_step, T=T)
        (n_step,) = n_step_0((t,), value, near2, n_step)
        return (near2, n_step)
    (near2, n_step) = lax.fori_loop(0, T - 5, step_t, (near2, n_step))
    def step_t2(t, carry):
        (near2, n_step) = carry
        near2, n_step = near((t,), near_windows, n_step, T=T)
        return (near2, n_step)
    (near2, n_step) = lax.fori_loop(max(0, T - 5), T, step_t2, (near2, n_step))
    return (ahead_run_rows, back_rows, lately_windows2, n_step)
