"""Kernels of 07_causal_attention, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax.numpy as jnp
from jax import lax


def surprise(at, Wq, x, Wk, Wv, k, v, a, surprise, *, T):
    """07_causal_attention.rt:15: q = Wq @ x
    07_causal_attention.rt:16: k = Wk @ x
    07_causal_attention.rt:17: v = Wv @ x
    07_causal_attention.rt:19: score: f32[t+1] = (k[0:t+1] @ q[t]) / sqrt(D)
    07_causal_attention.rt:20: weight = nn.softmax(score)
    07_causal_attention.rt:21: a = weight @ v[0:t+1]
    07_causal_attention.rt:22: surprise = -log(max(weight))
    nn.rt:8: e = exp(x - max(x, axis = axis, keepdims = true))
    nn.rt:9: return e / sum(e, axis = axis, keepdims = true)
    """
    t = at[0]
    x_t = x[t]
    q = jnp.matmul(Wq, x_t)
    k_t = jnp.matmul(Wk, x_t)
    v_t = jnp.matmul(Wv, x_t)
    k = lax.dynamic_update_index_in_dim(k, k_t, t, 0)
    score_matmul = jnp.matmul(k, q)
    score = score_matmul / jnp.float32(2.8284271247461903)
    valid = jnp.arange(T, dtype=jnp.int32) < t+1
    score_masked = jnp.where(valid, score, jnp.float32(-jnp.inf))
    weight_softmax_e_max = jnp.max(score_masked, axis=0, keepdims=True)
    weight_softmax_e_sub = score - weight_softmax_e_max
    weight_softmax_e_exp = jnp.exp(weight_softmax_e_sub)
    weight_softmax_e_exp_masked = jnp.where(valid, weight_softmax_e_exp, jnp.float32(0.0))
    weight_softmax_sum = jnp.sum(weight_softmax_e_exp_masked, axis=0, keepdims=True)
    weight = weight_softmax_e_exp / weight_softmax_sum
    v = lax.dynamic_update_index_in_dim(v, v_t, t, 0)
    weight_masked = jnp.where(valid, weight, jnp.float32(0.0))
    a_t = jnp.matmul(weight_masked, v)
    weight_masked2 = jnp.where(valid, weight, jnp.float32(-jnp.inf))
    surprise_max = jnp.max(weight_masked2, axis=0)
    surprise_log = jnp.log(surprise_max)
    surprise_t = -surprise_log
    a = lax.dynamic_update_index_in_dim(a, a_t, t, 0)
    surprise = lax.dynamic_update_index_in_dim(surprise, surprise_t, t, 0)
    return k, v, a, surprise
