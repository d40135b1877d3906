"""Kernels of model, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def tok_1(at, length, prompt, best, tok):
    """model.rt:41: tok[b, t+1] = where(t + 1 < length, prompt[b, t+1], best[b, t]) when t + 1 < P"""
    t = at[0]
    def point(length, prompt, best):
        tok_index = jnp.int32(t+1)
        tok_lt = tok_index < length
        prompt_at = prompt[t+1]
        tok_1 = jnp.where(tok_lt, prompt_at, best)
        return tok_1
    tok_1_rows = jax.vmap(point)(length, prompt, best)
    tok2 = lax.dynamic_update_slice(tok, tok_1_rows[:, None], (0, t+1))
    return (tok2,)


def tok_0(at, prompt, tok):
    """model.rt:40: tok[b, 0] = prompt[b, 0]"""
    def point(prompt):
        prompt_0 = prompt[0]
        return prompt_0
    prompt_0_rows = jax.vmap(point)(prompt)
    tok2 = lax.dynamic_update_slice(tok, prompt_0_rows[:, None], (0, 0))
    return (tok2,)


def y(
    at, x, attn_norm, wq, q_rope_cos, q_rope_sin, wk, k, wv, v, wo, mlp_norm, gate, up, down, *, T,
    L,
):
    """model.rt:48: n = nn.rms_norm(x, attn_norm)
    model.rt:49: q = nn.rope(reshape(wq @ n, [KV * G, H]), t, theta)
    model.rt:50: k = nn.rope(reshape(wk @ n, [KV, H]), t, theta)
    model.rt:51: v = reshape(wv @ n, [KV, H])
    model.rt:52: a = nn.grouped_attention( reshape(q, [KV, G, H]), k[t = max(0, (t+1-window)*windowed):t+1], v[t = max(0, (t+1-window)*windowed):t+1], )
    model.rt:57: z = x + wo @ reshape(a, [KV * G * H])
    model.rt:58: y = z + nn.swiglu(nn.rms_norm(z, mlp_norm), gate, up, down)
    nn.rt:8: e = exp(x - max(x, axis = axis, keepdims = true))
    nn.rt:9: return e / sum(e, axis = axis, keepdims = true)
    nn.rt:43: return x * rsqrt(mean(x * x, axis = -1, keepdims = true) + eps) * scale
    nn.rt:75: low = split(x, 2, -1)[0]
    nn.rt:76: high = split(x, 2, -1)[1]
    nn.rt:77: return concat([low * cos(angle) - high * sin(angle), high * cos(angle) + low * sin(angle)], -1)
    nn.rt:87: scores = einsum('kgd,skd->kgs', q, keys) / sqrt(f32(size(q, -1)))
    nn.rt:126: return down @ (silu(gate @ x) * (up @ x))
    """
    t, l = at[0], at[1]
    def point(x, k, v):
        n_rms_norm_mul = x * x
        n_rms_norm_mean = jnp.sum(n_rms_norm_mul, axis=0, keepdims=True) / jnp.float32(576)
        n_rms_norm_add = n_rms_norm_mean + jnp.float32(1e-05)
        n_rms_norm_rsqrt = lax.rsqrt(n_rms_norm_add)
        n_rms_norm_mul2 = x * n_rms_norm_rsqrt
        n = n_rms_norm_mul2 * attn_norm
        q_matmul = jnp.matmul(wq, n)
        q_reshape = jnp.reshape(q_matmul, (9, 64))
        q_rope_low_split_0 = lax.slice_in_dim(q_reshape, 0, 32, axis=1)
        q_rope_low_split_1 = lax.slice_in_dim(q_reshape, 32, 64, axis=1)
        q_rope_mul = q_rope_low_split_0 * q_rope_cos
        q_rope_mul2 = q_rope_low_split_1 * q_rope_sin
        q_rope_sub = q_rope_mul - q_rope_mul2
        q_rope_mul3 = q_rope_low_split_1 * q_rope_cos
        q_rope_mul4 = q_rope_low_split_0 * q_rope_sin
        q_rope_add = q_rope_mul3 + q_rope_mul4
        q = jnp.concatenate([q_rope_sub, q_rope_add], axis=1)
        a_reshape = jnp.reshape(q, (3, 3, 64))
        k_matmul = jnp.matmul(wk, n)
        k_reshape = jnp.reshape(k_matmul, (3, 64))
        k_rope_low_split_0 = lax.slice_in_dim(k_reshape, 0, 32, axis=1)
        k_rope_low_split_1 = lax.slice_in_dim(k_reshape, 32, 64, axis=1)
        k_rope_mul = k_rope_low_split_0 * q_rope_cos
        k_rope_mul2 = k_rope_low_split_1 * q_rope_sin
        k_rope_sub = k_rope_mul - k_rope_mul2
        k_rope_mul3 = k_rope_low_split_1 * q_rope_cos
        k_rope_mul4 = k_rope_low_split_0 * q_rope_sin
        k_rope_add = k_rope_mul3 + k_rope_mul4
        k_t = jnp.concatenate([k_rope_sub, k_rope_add], axis=1)
        k = lax.dynamic_update_index_in_dim(k, k_t, t, 0)
        a_grouped_attention_scores_einsum = jnp.einsum("kgd,skd->kgs", a_reshape, k)
        a_grouped_attention_scores_div = a_grouped_attention_scores_einsum / jnp.float32(8.0)
        valid = jnp.arange(T, dtype=jnp.int32) < t+1
        a_grouped_attention_scores_div_masked = jnp.where(valid, a_grouped_attention_scores_div, jnp.float32(-jnp.inf))
        a_grouped_attention_softmax_e_max = jnp.max(a_grouped_attention_scores_div_masked, axis=2, keepdims=True)
        a_grouped_attention_softmax_e_sub = a_grouped_attention_scores_div - a_grouped_attention_softmax_e_max
        a_grouped_attention_softmax_e_exp = jnp.exp(a_grouped_attention_softmax_e_sub)
        a_grouped_attention_softmax_e_exp_masked = jnp.where(valid, a_grouped_attention_softmax_e_exp, jnp.float32(0.0))
        a_grouped_attention_softmax_sum = jnp.sum(a_grouped_attention_softmax_e_exp_masked, axis=2, keepdims=True)
        a_grouped_attention_softmax_div = a_grouped_attention_softmax_e_exp / a_grouped_attention_softmax_sum
        v_matmul = jnp.matmul(wv, n)
        v_t = jnp.reshape(v_matmul, (3, 64))
        v = lax.dynamic_update_index_in_dim(v, v_t, t, 0)
        a_grouped_attention_softmax_div_masked = jnp.where(valid, a_grouped_attention_softmax_div, jnp.float32(0.0))
        valid2 = (jnp.arange(T, dtype=jnp.int32) < t+1)[:, None, None]
        v_masked = jnp.where(valid2, v, jnp.float32(0.0))
        a = jnp.einsum("kgs,skd->kgd", a_grouped_attention_softmax_div_masked, v_masked)
        z_reshape = jnp.reshape(a, (576,))
        z_matmul = jnp.matmul(wo, z_reshape)
        z = x + z_matmul
        y_rms_norm_mul = z * z
        y_rms_norm_mean = jnp.sum(y_rms_norm_mul, axis=0, keepdims=True) / jnp.float32(576)
        y_rms_norm_add = y_rms_norm_mean + jnp.float32(1e-05)
        y_rms_norm_rsqrt = lax.rsqrt(y_rms_norm_add)
        y_rms_norm_mul2 = z * y_rms_norm_rsqrt
        y_rms_norm_mul3 = y_rms_norm_mul2 * mlp_norm
        y_swiglu_matmul = jnp.matmul(gate, y_rms_norm_mul3)
        y_swiglu_silu = jax.nn.silu(y_swiglu_matmul)
        y_swiglu_matmul2 = jnp.matmul(up, y_rms_norm_mul3)
        y_swiglu_mul = y_swiglu_silu * y_swiglu_matmul2
        y_swiglu_matmul3 = jnp.matmul(down, y_swiglu_mul)
        y = z + y_swiglu_matmul3
        return (k, v, y, y)
    k_rows, v_rows, y_rows, y_rows2 = jax.vmap(point)(x, k, v)
    x2 = jnp.where(l+1 < L, lax.dynamic_update_slice(x, y_rows2, (0, 0)), x)
    return k_rows, v_rows, y_rows, x2


def q_rope_sin(at, q_rope_angle_power):
    """nn.rt:74: angle = position * theta ** (-arange(size(x, -1) // 2) / (size(x, -1) // 2))
    nn.rt:77: return concat([low * cos(angle) - high * sin(angle), high * cos(angle) + low * sin(angle)], -1)
    """
    t = at[0]
    q_rope_angle_index = jnp.int32(t)
    q_rope_angle_mul = q_rope_angle_index.astype(jnp.float32) * q_rope_angle_power
    q_rope_cos = jnp.cos(q_rope_angle_mul)
    q_rope_sin = jnp.sin(q_rope_angle_mul)
    return q_rope_cos, q_rope_sin


def q_rope_angle_power(at):
    """nn.rt:74: angle = position * theta ** (-arange(size(x, -1) // 2) / (size(x, -1) // 2))"""
    q_rope_angle_arange = jnp.arange(32, dtype=jnp.int32)
    q_rope_angle_neg = -q_rope_angle_arange
    q_rope_angle_div = q_rope_angle_neg.astype(jnp.float32) / jnp.float32(32.0)
    q_rope_angle_power = jnp.power(jnp.float32(100000.0), q_rope_angle_div)
    return (q_rope_angle_power,)


def best(at, y_at, norm, embed, tok, *, P, T):
    """model.rt:61: logits[b, t] = embed @ nn.rms_norm(y[b, t, L-1], norm)
    model.rt:62: best[b, t] = argmax(logits[b, t])
    nn.rt:43: return x * rsqrt(mean(x * x, axis = -1, keepdims = true) + eps) * scale
    """
    t = at[0]
    def point(y_at):
        logits_rms_norm_mul = y_at * y_at
        logits_rms_norm_mean = jnp.sum(logits_rms_norm_mul, axis=0, keepdims=True) / jnp.float32(576)
        logits_rms_norm_add = logits_rms_norm_mean + jnp.float32(1e-05)
        logits_rms_norm_rsqrt = lax.rsqrt(logits_rms_norm_add)
        logits_rms_norm_mul2 = y_at * logits_rms_norm_rsqrt
        logits_rms_norm_mul3 = logits_rms_norm_mul2 * norm
        logits = jnp.matmul(embed, logits_rms_norm_mul3)
        best = jnp.argmax(logits, axis=None).astype(jnp.int32)
        return (best, best)
    best_rows, best_rows2 = jax.vmap(point)(y_at)
    tok2 = jnp.where((t+1 < T) & (t+1 >= P), lax.dynamic_update_slice(tok, best_rows2[:, None], (0, t+1)), tok)
    return best_rows, tok2


def x_0(at, embed, tok):
    """model.rt:45: x[b, t, 0] = embed[tok[b, t]]"""
    t = at[0]
    def point(tok):
        tok_t = tok[t]
        holds = (tok_t >= -49152) & (tok_t < 49152)
        x_0 = jnp.take(embed, jnp.where(tok_t < 0, tok_t + 49152, tok_t), axis=0, mode="clip")
        return (x_0, jnp.where(holds, jnp.int32(0), jnp.int32(1)))
    x_0_rows, fault = jax.vmap(point)(tok)
    faults = jnp.ravel(fault)
    first = jnp.argmax(faults != 0)
    return x_0_rows, jnp.stack([faults[first], first.astype(jnp.int32)])
