"""Kernels of attention, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax.numpy as jnp
from jax import lax


def a(at, x, k, a, *, T, W):
    """case.sdg:8: %k = tanh %x : [t] f32[4]
    case.sdg:9: %s = matmul %k[max(0, t+1-W):t+1], %x : [t] f32[min(W, t+1)]
    case.sdg:10: %p.max = max %s : [t] f32
    case.sdg:11: %p.sub = sub %s, %p.max : [t] f32[min(W, t+1)]
    case.sdg:12: %p.exp = exp %p.sub : [t] f32[min(W, t+1)]
    case.sdg:13: %p.sum = sum %p.exp : [t] f32
    case.sdg:14: %p = div %p.exp, %p.sum : [t] f32[min(W, t+1)]
    case.sdg:15: %a = matmul %p, %k[max(0, t+1-W):t+1] : [t] f32[4]
    """
    t = at[0]
    x_t = x[t]
    k_t = jnp.tanh(x_t)
    k = lax.dynamic_update_index_in_dim(k, k_t, t % min(T, W), 0)
    s = jnp.matmul(k, x_t)
    valid = jnp.arange(min(T, W), dtype=jnp.int32) < jnp.minimum(W, t+1)
    s_masked = jnp.where(valid, s, jnp.float32(-jnp.inf))
    p_max = jnp.max(s_masked, axis=0)
    p_sub = s - p_max
    p_exp = jnp.exp(p_sub)
    p_exp_masked = jnp.where(valid, p_exp, jnp.float32(0.0))
    p_sum = jnp.sum(p_exp_masked, axis=0)
    p = p_exp / p_sum
    p_masked = jnp.where(valid, p, jnp.float32(0.0))
    a_t = jnp.matmul(p_masked, k)
    a = lax.dynamic_update_index_in_dim(a, a_t, t, 0)
    return k, a
