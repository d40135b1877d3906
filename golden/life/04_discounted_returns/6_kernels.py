"""Kernels of 04_discounted_returns, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def lately(at, reward, *, T):
    """04_discounted_returns.rt:15: ahead[t] = rl.discounted_sum(reward[t:T], gamma)
    04_discounted_returns.rt:25: lately[t] = sum(reward[max(0, t-n+1):t+1])
    rl.rt:10: weight = gamma ** arange(size(r, 0))
    rl.rt:14: return sum(r * weight, axis = 0)
    """
    def point(t):
        ahead_discounted_sum_weight_arange = jnp.arange(T, dtype=jnp.int32)
        ahead_discounted_sum_weight_power = jnp.power(jnp.float32(0.95), ahead_discounted_sum_weight_arange.astype(jnp.float32))
        reward_slice = jnp.take(reward, t + jnp.arange(T, dtype=jnp.int32), axis=0, mode="clip")
        ahead_discounted_sum_mul = reward_slice * ahead_discounted_sum_weight_power
        valid = jnp.arange(T, dtype=jnp.int32) < T-t
        ahead_discounted_sum_mul_masked = jnp.where(valid, ahead_discounted_sum_mul, jnp.float32(0.0))
        ahead = jnp.sum(ahead_discounted_sum_mul_masked, axis=0)
        reward_slice2 = lax.dynamic_slice_in_dim(reward, jnp.maximum(0, t-4), min(5, T), axis=0)
        valid2 = jnp.arange(min(5, T), dtype=jnp.int32) < jnp.minimum(5, t+1)
        reward_slice2_masked = jnp.where(valid2, reward_slice2, jnp.float32(0.0))
        lately = jnp.sum(reward_slice2_masked, axis=0)
        return (ahead, lately)
    ahead_rows, lately_rows = jax.vmap(point)(jnp.arange(T, dtype=jnp.int32))
    return ahead_rows, lately_rows


def back_1(at, back, reward):
    """04_discounted_returns.rt:17: back[t] = reward[t] + gamma * back[t+1]"""
    t = at[0]
    back_next = back[t+1]
    back_mul = jnp.float32(0.95) * back_next
    reward_t = reward[t]
    back_1 = reward_t + back_mul
    back = lax.dynamic_update_index_in_dim(back, back_1, t, 0)
    return (back,)


def back_0(at, reward, back, *, T):
    """04_discounted_returns.rt:16: back[T-1] = reward[T-1]"""
    reward_at = reward[T-1]
    back = lax.dynamic_update_index_in_dim(back, reward_at, T-1, 0)
    return (back,)


def near(at, reward, n_step, *, T):
    """04_discounted_returns.rt:20: near[t] = rl.discounted_sum(reward[t:min(t+n, T)], gamma)
    rl.rt:10: weight = gamma ** arange(size(r, 0))
    rl.rt:14: return sum(r * weight, axis = 0)
    """
    t = at[0]
    near_discounted_sum_weight_arange = jnp.arange(min(5, T), dtype=jnp.int32)
    near_discounted_sum_weight_power = jnp.power(jnp.float32(0.95), near_discounted_sum_weight_arange.astype(jnp.float32))
    reward_slice = jnp.take(reward, t + jnp.arange(min(5, T), dtype=jnp.int32), axis=0, mode="clip")
    near_discounted_sum_mul = reward_slice * near_discounted_sum_weight_power
    valid = jnp.arange(min(5, T), dtype=jnp.int32) < jnp.minimum(5, T-t)
    near_discounted_sum_mul_masked = jnp.where(valid, near_discounted_sum_mul, jnp.float32(0.0))
    near = jnp.sum(near_discounted_sum_mul_masked, axis=0)
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
