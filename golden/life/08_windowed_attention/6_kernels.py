"""Kernels of 08_windowed_attention, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax.numpy as jnp
from jax import lax


def sparse(at, k, q, v, near, sparse, *, T):
    """08_windowed_attention.rt:17: near = nn.attention(q, k[t = max(0, t-window+1):t+1], v[t = max(0, t-window+1):t+1])
    08_windowed_attention.rt:20: sparse = nn.attention(q, k[t = t%2:t+1:2], v[t = t%2:t+1:2])
    nn.rt:8: e = exp(x - max(x, axis = axis, keepdims = true))
    nn.rt:9: return e / sum(e, axis = axis, keepdims = true)
    nn.rt:82: return softmax((keys @ q) / sqrt(f32(size(q, -1)))) @ values
    """
    b, t = at[0], at[1]
    k_slice = k[b]
    k_slice2 = lax.dynamic_slice_in_dim(k_slice, jnp.maximum(0, t-3), min(4, T), axis=0)
    q_b_t = q[b, t]
    near_attention_matmul = jnp.matmul(k_slice2, q_b_t)
    near_attention_div = near_attention_matmul / jnp.float32(2.8284270763397217)
    valid = jnp.arange(min(4, T), dtype=jnp.int32) < jnp.minimum(4, t+1)
    near_attention_div_masked = jnp.where(valid, near_attention_div, jnp.float32(-jnp.inf))
    near_attention_softmax_e_max = jnp.max(near_attention_div_masked, axis=0, keepdims=True)
    near_attention_softmax_e_sub = near_attention_div - near_attention_softmax_e_max
    near_attention_softmax_e_exp = jnp.exp(near_attention_softmax_e_sub)
    near_attention_softmax_e_exp_masked = jnp.where(valid, near_attention_softmax_e_exp, jnp.float32(0.0))
    near_attention_softmax_sum = jnp.sum(near_attention_softmax_e_exp_masked, axis=0, keepdims=True)
    near_attention_softmax_div = near_attention_softmax_e_exp / near_attention_softmax_sum
    v_slice = v[b]
    v_slice2 = lax.dynamic_slice_in_dim(v_slice, jnp.maximum(0, t-3), min(4, T), axis=0)
    near_attention_softmax_div_masked = jnp.where(valid, near_attention_softmax_div, jnp.float32(0.0))
    valid2 = (jnp.arange(min(4, T), dtype=jnp.int32) < jnp.minimum(4, t+1))[:, None]
    v_slice2_masked = jnp.where(valid2, v_slice2, jnp.float32(0.0))
    near_b_t = jnp.matmul(near_attention_softmax_div_masked, v_slice2_masked)
    k_slice3 = k[b]
    k_slice4 = jnp.take(k_slice3, t%2 + 2 * jnp.arange((T+1)//2, dtype=jnp.int32), axis=0, mode="clip")
    sparse_attention_matmul = jnp.matmul(k_slice4, q_b_t)
    sparse_attention_div = sparse_attention_matmul / jnp.float32(2.8284270763397217)
    valid3 = jnp.arange((T+1)//2, dtype=jnp.int32) < (t-t%2)//2+1
    sparse_attention_div_masked = jnp.where(valid3, sparse_attention_div, jnp.float32(-jnp.inf))
    sparse_attention_softmax_e_max = jnp.max(sparse_attention_div_masked, axis=0, keepdims=True)
    sparse_attention_softmax_e_sub = sparse_attention_div - sparse_attention_softmax_e_max
    sparse_attention_softmax_e_exp = jnp.exp(sparse_attention_softmax_e_sub)
    sparse_attention_softmax_e_exp_masked = jnp.where(valid3, sparse_attention_softmax_e_exp, jnp.float32(0.0))
    sparse_attention_softmax_sum = jnp.sum(sparse_attention_softmax_e_exp_masked, axis=0, keepdims=True)
    sparse_attention_softmax_div = sparse_attention_softmax_e_exp / sparse_attention_softmax_sum
    v_slice3 = v[b]
    v_slice4 = jnp.take(v_slice3, t%2 + 2 * jnp.arange((T+1)//2, dtype=jnp.int32), axis=0, mode="clip")
    sparse_attention_softmax_div_masked = jnp.where(valid3, sparse_attention_softmax_div, jnp.float32(0.0))
    valid4 = (jnp.arange((T+1)//2, dtype=jnp.int32) < (t-t%2)//2+1)[:, None]
    v_slice4_masked = jnp.where(valid4, v_slice4, jnp.float32(0.0))
    sparse_b_t = jnp.matmul(sparse_attention_softmax_div_masked, v_slice4_masked)
    near = lax.dynamic_update_slice(near, near_b_t[None, None], (b, t, 0))
    sparse = lax.dynamic_update_slice(sparse, sparse_b_t[None, None], (b, t, 0))
    return near, sparse
