"""Kernels of model, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def updated(array, part, start):
    """The array with a part put in; axes of length 1 are left out meanwhile.

    XLA for CPUs copies what a loop carries if an array that has such axes is updated, then read.
    """
    both = zip(array.shape, part.shape)
    axes = tuple(k for k, sizes in enumerate(both) if sizes == (1, 1))
    rest = [s for k, s in enumerate(start) if k not in axes]
    array, part = lax.squeeze(array, axes), lax.squeeze(part, axes)
    return lax.expand_dims(lax.dynamic_update_slice(array, part, rest), axes)


def tok_1(at, length, prompt, best_prev, tok):
    """model.rt:45: tok[b, t] = where(t < length, prompt[b, t], best[b, t-1]) when t < P"""
    t = at[0]
    def point(length, prompt, best_prev):
        tok_index = jnp.int32(t)
        tok_lt = tok_index < length
        prompt_t = prompt[t]
        tok_1 = jnp.where(tok_lt, prompt_t, best_prev)
        return tok_1
    tok_1_rows = jax.vmap(point)(length, prompt, best_prev)
    tok2 = updated(tok, tok_1_rows[:, None], (0, t))
    return (tok2,)


def x_0_early(at, prompt, embed, tok, *, S, T):
    """model.rt:44: tok[b, t] = prompt[b, t] when t < S
    model.rt:49: x[b, t, 0] = embed[tok[b, t]]
    """
    def point(t, prompt):
        prompt_t = prompt[t]
        holds = (prompt_t >= -49152) & (prompt_t < 49152)
        x_0_early = jnp.take(embed, jnp.where(prompt_t < 0, prompt_t + 49152, prompt_t), axis=0, mode="clip")
        return (prompt_t, x_0_early, jnp.where(holds, jnp.int32(0), jnp.int32(1)))
    point = jax.vmap(point, in_axes=(0, None))
    prompt_t_rows, x_0_early_rows, fault = jax.vmap(point, in_axes=(None, 0))(jnp.arange(min(S, T), dtype=jnp.int32), prompt)
    tok2 = updated(tok, prompt_t_rows, (0, 0))
    faults = jnp.ravel(fault)
    first = jnp.argmax(faults != 0)
    return tok2, x_0_early_rows, jnp.stack([faults[first], first.astype(jnp.int32)])


def tok_2(at, best_prev, tok):
    """model.rt:46: tok[b, t] = best[b, t-1]"""
    t = at[0]
    tok2 = updated(tok, best_prev[:, None], (0, t))
    return (tok2,)


def v_early(at, x_early, attn_norm, wq, q_rope_cos_early, q_rope_sin_early, wk, wv, k, v):
    """model.rt:52: n = nn.rms_norm(x, attn_norm)
    model.rt:53: q = nn.rope(reshape(wq @ n, [KV * G, H]), t, theta)
    model.rt:54: k = nn.rope(reshape(wk @ n, [KV, H]), t, theta)
    model.rt:55: v = reshape(wv @ n, [KV, H])
    model.rt:57: reshape(q, [KV, G, H]),
    nn.rt:43: return x * rsqrt(mean(x * x, axis = -1, keepdims = true) + eps) * scale
    nn.rt:75: low = split(x, 2, -1)[0]
    nn.rt:76: high = split(x, 2, -1)[1]
    nn.rt:77: return concat([low * cos(angle) - high * sin(angle), high * cos(angle) + low * sin(angle)], -1)
    """
    def point(x_early, q_rope_cos_early, q_rope_sin_early):
        n_rms_norm_mul_early = x_early * x_early
        n_rms_norm_mean_early = jnp.sum(n_rms_norm_mul_early, axis=0, keepdims=True) / jnp.float32(576)
        n_rms_norm_add_early = n_rms_norm_mean_early + jnp.float32(1e-05)
        n_rms_norm_rsqrt_early = lax.rsqrt(n_rms_norm_add_early)
        n_rms_norm_mul2_early = x_early * n_rms_norm_rsqrt_early
        n_early = n_rms_norm_mul2_early * attn_norm
        q_matmul_early = jnp.matmul(n_early, wq.T)
        q_reshape_early = jnp.reshape(q_matmul_early, (9, 64))
        q_rope_low_split_early_0 = lax.slice_in_dim(q_reshape_early, 0, 32, axis=1)
        q_rope_low_split_early_1 = lax.slice_in_dim(q_reshape_early, 32, 64, axis=1)
        q_rope_mul_early = q_rope_low_split_early_0 * q_rope_cos_early
        q_rope_mul2_early = q_rope_low_split_early_1 * q_rope_sin_early
        q_rope_sub_early = q_rope_mul_early - q_rope_mul2_early
        q_rope_mul3_early = q_rope_low_split_early_1 * q_rope_cos_early
        q_rope_mul4_early = q_rope_low_split_early_0 * q_rope_sin_early
        q_rope_add_early = q_rope_mul3_early + q_rope_mul4_early
        q_early = jnp.concatenate([q_rope_sub_early, q_rope_add_early], axis=1)
        a_reshape_early = jnp.reshape(q_early, (3, 3, 64))
        k_matmul_early = jnp.matmul(n_early, wk.T)
        k_reshape_early = jnp.reshape(k_matmul_early, (3, 64))
        k_rope_low_split_early_0 = lax.slice_in_dim(k_reshape_early, 0, 32, axis=1)
        k_rope_low_split_early_1 = lax.slice_in_dim(k_reshape_early, 32, 64, axis=1)
        k_rope_mul_early = k_rope_low_split_early_0 * q_rope_cos_early
        k_rope_mul2_early = k_rope_low_split_early_1 * q_rope_sin_early
        k_rope_sub_early = k_rope_mul_early - k_rope_mul2_early
        k_rope_mul3_early = k_rope_low_split_early_1 * q_rope_cos_early
        k_rope_mul4_early = k_rope_low_split_early_0 * q_rope_sin_early
        k_rope_add_early = k_rope_mul3_early + k_rope_mul4_early
        k_early = jnp.concatenate([k_rope_sub_early, k_rope_add_early], axis=1)
        v_matmul_early = jnp.matmul(n_early, wv.T)
        v_early = jnp.reshape(v_matmul_early, (3, 64))
        return (a_reshape_early, k_early, v_early)
    point = jax.vmap(point)
    a_reshape_early_rows, k_early_rows, v_early_rows = jax.vmap(point, in_axes=(0, None, None))(x_early, q_rope_cos_early, q_rope_sin_early)
    k2 = updated(k, jnp.moveaxis(k_early_rows, 1, 2), (0, 0, 0, 0))
    v2 = updated(v, jnp.moveaxis(v_early_rows, 1, 2), (0, 0, 0, 0))
    return a_reshape_early_rows, k2, v2


def v_late(at, x_late, attn_norm, wq, q_rope_cos_late, q_rope_sin_late, wk, wv, k, v):
    """model.rt:52: n = nn.rms_norm(x, attn_norm)
    model.rt:53: q = nn.rope(reshape(wq @ n, [KV * G, H]), t, theta)
    model.rt:54: k = nn.rope(reshape(wk @ n, [KV, H]), t, theta)
    model.rt:55: v = reshape(wv @ n, [KV, H])
    model.rt:57: reshape(q, [KV, G, H]),
    nn.rt:43: return x * rsqrt(mean(x * x, axis = -1, keepdims = true) + eps) * scale
    nn.rt:75: low = split(x, 2, -1)[0]
    nn.rt:76: high = split(x, 2, -1)[1]
    nn.rt:77: return concat([low * cos(angle) - high * sin(angle), high * cos(angle) + low * sin(angle)], -1)
    """
    t = at[0]
    def point(x_late):
        n_rms_norm_mul_late = x_late * x_late
        n_rms_norm_mean_late = jnp.sum(n_rms_norm_mul_late, axis=0, keepdims=True) / jnp.float32(576)
        n_rms_norm_add_late = n_rms_norm_mean_late + jnp.float32(1e-05)
        n_rms_norm_rsqrt_late = lax.rsqrt(n_rms_norm_add_late)
        n_rms_norm_mul2_late = x_late * n_rms_norm_rsqrt_late
        n_late = n_rms_norm_mul2_late * attn_norm
        q_matmul_late = jnp.matmul(n_late, wq.T)
        q_reshape_late = jnp.reshape(q_matmul_late, (9, 64))
        q_rope_low_split_late_0 = lax.slice_in_dim(q_reshape_late, 0, 32, axis=1)
        q_rope_low_split_late_1 = lax.slice_in_dim(q_reshape_late, 32, 64, axis=1)
        q_rope_mul_late = q_rope_low_split_late_0 * q_rope_cos_late
        q_rope_mul2_late = q_rope_low_split_late_1 * q_rope_sin_late
        q_rope_sub_late = q_rope_mul_late - q_rope_mul2_late
        q_rope_mul3_late = q_rope_low_split_late_1 * q_rope_cos_late
        q_rope_mul4_late = q_rope_low_split_late_0 * q_rope_sin_late
        q_rope_add_late = q_rope_mul3_late + q_rope_mul4_late
        q_late = jnp.concatenate([q_rope_sub_late, q_rope_add_late], axis=1)
        a_reshape_late = jnp.reshape(q_late, (3, 3, 64))
        k_matmul_late = jnp.matmul(n_late, wk.T)
        k_reshape_late = jnp.reshape(k_matmul_late, (3, 64))
        k_rope_low_split_late_0 = lax.slice_in_dim(k_reshape_late, 0, 32, axis=1)
        k_rope_low_split_late_1 = lax.slice_in_dim(k_reshape_late, 32, 64, axis=1)
        k_rope_mul_late = k_rope_low_split_late_0 * q_rope_cos_late
        k_rope_mul2_late = k_rope_low_split_late_1 * q_rope_sin_late
        k_rope_sub_late = k_rope_mul_late - k_rope_mul2_late
        k_rope_mul3_late = k_rope_low_split_late_1 * q_rope_cos_late
        k_rope_mul4_late = k_rope_low_split_late_0 * q_rope_sin_late
        k_rope_add_late = k_rope_mul3_late + k_rope_mul4_late
        k_late = jnp.concatenate([k_rope_sub_late, k_rope_add_late], axis=1)
        v_matmul_late = jnp.matmul(n_late, wv.T)
        v_late = jnp.reshape(v_matmul_late, (3, 64))
        return (a_reshape_late, k_late, v_late)
    a_reshape_late_rows, k_late_rows, v_late_rows = jax.vmap(point)(x_late)
    k2 = updated(k, k_late_rows[:, :, None], (0, 0, t, 0))
    v2 = updated(v, v_late_rows[:, :, None], (0, 0, t, 0))
    return a_reshape_late_rows, k2, v2


def q_rope_angle_power(at):
    """nn.rt:74: angle = position * theta ** (-arange(size(x, -1) // 2) / (size(x, -1) // 2))"""
    q_rope_angle_arange = jnp.arange(32, dtype=jnp.int32)
    q_rope_angle_neg = -q_rope_angle_arange
    q_rope_angle_div = q_rope_angle_neg.astype(jnp.float32) / jnp.float32(32.0)
    q_rope_angle_power = jnp.power(jnp.float32(100000.0), q_rope_angle_div)
    return (q_rope_angle_power,)


def q_rope_sin_early(at, q_rope_angle_power, *, S, T):
    """nn.rt:74: angle = position * theta ** (-arange(size(x, -1) // 2) / (size(x, -1) // 2))
    nn.rt:77: return concat([low * cos(angle) - high * sin(angle), high * cos(angle) + low * sin(angle)], -1)
    """
    def point(t):
        q_rope_angle_index = jnp.int32(t)
        q_rope_angle_mul_early = q_rope_angle_index.astype(jnp.float32) * q_rope_angle_power
        q_rope_cos_early = jnp.cos(q_rope_angle_mul_early)
        q_rope_sin_early = jnp.sin(q_rope_angle_mul_early)
        return (q_rope_cos_early, q_rope_sin_early)
    q_rope_cos_early_rows, q_rope_sin_early_rows = jax.vmap(point)(jnp.arange(min(S, T), dtype=jnp.int32))
    return q_rope_cos_early_rows, q_rope_sin_early_rows


def q_rope_sin_late(at, q_rope_angle_power):
    """nn.rt:74: angle = position * theta ** (-arange(size(x, -1) // 2) / (size(x, -1) // 2))
    nn.rt:77: return concat([low * cos(angle) - high * sin(angle), high * cos(angle) + low * sin(angle)], -1)
    """
    t = at[0]
    q_rope_angle_index_2 = jnp.int32(t)
    q_rope_angle_mul_late = q_rope_angle_index_2.astype(jnp.float32) * q_rope_angle_power
    q_rope_cos_late = jnp.cos(q_rope_angle_mul_late)
    q_rope_sin_late = jnp.sin(q_rope_angle_mul_late)
    return q_rope_cos_late, q_rope_sin_late


def y_early(at, a_reshape_early, k, v, wo, x_early, mlp_norm, gate, up, down, *, S, T, L):
    """model.rt:56: a = nn.grouped_attention( reshape(q, [KV, G, H]), k[t = max(0, (t+1-window)*windowed):t+1], v[t = max(0, (t+1-window)*windowed):t+1], )
    model.rt:61: z = x + wo @ reshape(a, [KV * G * H])
    model.rt:62: y = z + nn.swiglu(nn.rms_norm(z, mlp_norm), gate, up, down)
    nn.rt:8: e = exp(x - stop_gradient(max(x, axis = axis, keepdims = true)))
    nn.rt:9: return e / sum(e, axis = axis, keepdims = true)
    nn.rt:43: return x * rsqrt(mean(x * x, axis = -1, keepdims = true) + eps) * scale
    nn.rt:87: scores = einsum('kgd,skd->kgs', q, keys) / sqrt(f32(size(q, -1)))
    nn.rt:126: return down @ (silu(gate @ x) * (up @ x))
    """
    l = at[0]
    v_finite = jnp.all(jnp.isfinite(v))
    def point(t, a_reshape_early, k, v, x_early):
        k_slice = jnp.moveaxis(k[:, :min(S, T)], 1, 0)
        a_grouped_attention_scores_einsum_early = jnp.einsum("kgd,skd->kgs", a_reshape_early, k_slice)
        a_grouped_attention_scores_div_early = a_grouped_attention_scores_einsum_early * jnp.float32(0.125)
        valid = jnp.arange(min(S, T), dtype=jnp.int32) < t+1
        a_grouped_attention_scores_div_early_masked = jnp.where(valid, a_grouped_attention_scores_div_early, jnp.float32(-jnp.inf))
        a_grouped_attention_softmax_e_max_early = jnp.max(a_grouped_attention_scores_div_early_masked, axis=2, keepdims=True)
        a_grouped_attention_softmax_e_sub_early = a_grouped_attention_scores_div_early - a_grouped_attention_softmax_e_max_early
        a_grouped_attention_softmax_e_exp_early = jnp.exp(a_grouped_attention_softmax_e_sub_early)
        a_grouped_attention_softmax_e_exp_early_masked = jnp.where(valid, a_grouped_attention_softmax_e_exp_early, jnp.float32(0.0))
        a_grouped_attention_softmax_sum_early = jnp.sum(a_grouped_attention_softmax_e_exp_early_masked, axis=2, keepdims=True)
        a_grouped_attention_softmax_div_early = a_grouped_attention_softmax_e_exp_early / a_grouped_attention_softmax_sum_early
        v_slice = jnp.moveaxis(v[:, :min(S, T)], 1, 0)
        a_grouped_attention_softmax_div_early_masked = jnp.where(valid, a_grouped_attention_softmax_div_early, jnp.float32(0.0))
        valid2 = (jnp.arange(min(S, T), dtype=jnp.int32) < t+1)[:, None, None]
        a_early = lax.cond(v_finite, lambda: jnp.einsum("kgs,skd->kgd", a_grouped_attention_softmax_div_early_masked, v_slice), lambda: jax.custom_batching.sequential_vmap(lambda a_grouped_attention_softmax_div_early_masked, v_slice, valid2: jnp.einsum("kgs,skd->kgd", a_grouped_attention_softmax_div_early_masked, jnp.where(valid2, v_slice, jnp.float32(0.0))))(a_grouped_attention_softmax_div_early_masked, v_slice, valid2))
        z_reshape_early = jnp.reshape(a_early, (576,))
        z_matmul_early = jnp.matmul(z_reshape_early, wo.T)
        z_early = x_early + z_matmul_early
        y_rms_norm_mul_early = z_early * z_early
        y_rms_norm_mean_early = jnp.sum(y_rms_norm_mul_early, axis=0, keepdims=True) / jnp.float32(576)
        y_rms_norm_add_early = y_rms_norm_mean_early + jnp.float32(1e-05)
        y_rms_norm_rsqrt_early = lax.rsqrt(y_rms_norm_add_early)
        y_rms_norm_mul2_early = z_early * y_rms_norm_rsqrt_early
        y_rms_norm_mul3_early = y_rms_norm_mul2_early * mlp_norm
        y_swiglu_matmul_early = jnp.matmul(y_rms_norm_mul3_early, gate.T)
        y_swiglu_silu_early = jax.nn.silu(y_swiglu_matmul_early)
        y_swiglu_matmul2_early = jnp.matmul(y_rms_norm_mul3_early, up.T)
        y_swiglu_mul_early = y_swiglu_silu_early * y_swiglu_matmul2_early
        y_swiglu_matmul3_early = jnp.matmul(y_swiglu_mul_early, down.T)
        y_early = z_early + y_swiglu_matmul3_early
        return (y_early, y_early)
    point = jax.vmap(point, in_axes=(0, 0, None, None, 0))
    y_early_rows, y_early_rows2 = jax.vmap(point, in_axes=(None, 0, 0, 0, 0))(jnp.arange(min(S, T), dtype=jnp.int32), a_reshape_early, k, v, x_early)
    x_early2 = jnp.where(l+1 < L, lax.dynamic_update_slice(x_early, y_early_rows2, (0, 0, 0)), x_early)
    return y_early_rows, x_early2


def y_late(at, a_reshape_late, k, v, wo, x_late, mlp_norm, gate, up, down, *, L):
    """model.rt:56: a = nn.grouped_attention( reshape(q, [KV, G, H]), k[t = max(0, (t+1-window)*windowed):t+1], v[t = max(0, (t+1-window)*windowed):t+1], )
    model.rt:61: z = x + wo @ reshape(a, [KV * G * H])
    model.rt:62: y = z + nn.swiglu(nn.rms_norm(z, mlp_norm), gate, up, down)
    nn.rt:8: e = exp(x - stop_gradient(max(x, axis = axis, keepdims = true)))
    nn.rt:9: return e / sum(e, axis = axis, keepdims = true)
    nn.rt:43: return x * rsqrt(mean(x * x, axis = -1, keepdims = true) + eps) * scale
    nn.rt:87: scores = einsum('kgd,skd->kgs', q, keys) / sqrt(f32(size(q, -1)))
    nn.rt:126: return down @ (silu(gate @ x) * (up @ x))
    """
    t, l = at[0], at[1]
    T_room = k.shape[2]
    def point(a_reshape_late, k, v, x_late):
        k_slice = jnp.moveaxis(k, 1, 0)
        a_grouped_attention_scores_einsum_late = jnp.einsum("kgd,skd->kgs", a_reshape_late, k_slice)
        a_grouped_attention_scores_div_late = a_grouped_attention_scores_einsum_late * jnp.float32(0.125)
        valid = jnp.arange(T_room, dtype=jnp.int32) < t+1
        a_grouped_attention_scores_div_late_masked = jnp.where(valid, a_grouped_attention_scores_div_late, jnp.float32(-jnp.inf))
        a_grouped_attention_softmax_e_max_late = jnp.max(a_grouped_attention_scores_div_late_masked, axis=2, keepdims=True)
        a_grouped_attention_softmax_e_sub_late = a_grouped_attention_scores_div_late - a_grouped_attention_softmax_e_max_late
        a_grouped_attention_softmax_e_exp_late = jnp.exp(a_grouped_attention_softmax_e_sub_late)
        a_grouped_attention_softmax_e_exp_late_masked = jnp.where(valid, a_grouped_attention_softmax_e_exp_late, jnp.float32(0.0))
        a_grouped_attention_softmax_sum_late = jnp.sum(a_grouped_attention_softmax_e_exp_late_masked, axis=2, keepdims=True)
        a_grouped_attention_softmax_div_late = a_grouped_attention_softmax_e_exp_late / a_grouped_attention_softmax_sum_late
        v_slice = jnp.moveaxis(v, 1, 0)
        a_grouped_attention_softmax_div_late_masked = jnp.where(valid, a_grouped_attention_softmax_div_late, jnp.float32(0.0))
        a_late = jnp.einsum("kgs,skd->kgd", a_grouped_attention_softmax_div_late_masked, v_slice)
        z_reshape_late = jnp.reshape(a_late, (576,))
        z_matmul_late = jnp.matmul(z_reshape_late, wo.T)
        z_late = x_late + z_matmul_late
        y_rms_norm_mul_late = z_late * z_late
        y_rms_norm_mean_late = jnp.sum(y_rms_norm_mul_late, axis=0, keepdims=True) / jnp.float32(576)
        y_rms_norm_add_late = y_rms_norm_mean_late + jnp.float32(1e-05)
        y_rms_norm_rsqrt_late = lax.rsqrt(y_rms_norm_add_late)
        y_rms_norm_mul2_late = z_late * y_rms_norm_rsqrt_late
        y_rms_norm_mul3_late = y_rms_norm_mul2_late * mlp_norm
        y_swiglu_matmul_late = jnp.matmul(y_rms_norm_mul3_late, gate.T)
        y_swiglu_silu_late = jax.nn.silu(y_swiglu_matmul_late)
        y_swiglu_matmul2_late = jnp.matmul(y_rms_norm_mul3_late, up.T)
        y_swiglu_mul_late = y_swiglu_silu_late * y_swiglu_matmul2_late
        y_swiglu_matmul3_late = jnp.matmul(y_swiglu_mul_late, down.T)
        y_late = z_late + y_swiglu_matmul3_late
        return (y_late, y_late)
    y_late_rows, y_late_rows2 = jax.vmap(point)(a_reshape_late, k, v, x_late)
    x_late2 = jnp.where(l+1 < L, lax.dynamic_update_slice(x_late, y_late_rows2, (0, 0)), x_late)
    return y_late_rows, x_late2


def x_0_late(at, embed, tok):
    """model.rt:49: x[b, t, 0] = embed[tok[b, t]]"""
    t = at[0]
    def point(tok):
        tok_t = tok[t]
        holds = (tok_t >= -49152) & (tok_t < 49152)
        x_0_late = jnp.take(embed, jnp.where(tok_t < 0, tok_t + 49152, tok_t), axis=0, mode="clip")
        return (x_0_late, jnp.where(holds, jnp.int32(0), jnp.int32(1)))
    x_0_late_rows, fault = jax.vmap(point)(tok)
    faults = jnp.ravel(fault)
    first = jnp.argmax(faults != 0)
    return x_0_late_rows, jnp.stack([faults[first], first.astype(jnp.int32)])


def best_early(at, y_early_at, norm, embed):
    """model.rt:65: logits[b, t] = embed @ nn.rms_norm(y[b, t, L-1], norm)
    model.rt:66: best[b, t] = argmax(logits[b, t])
    nn.rt:43: return x * rsqrt(mean(x * x, axis = -1, keepdims = true) + eps) * scale
    """
    t = at[0]
    def point(y_early_at):
        y_early_t = y_early_at[t]
        logits_rms_norm_mul_early = y_early_t * y_early_t
        logits_rms_norm_mean_early = jnp.sum(logits_rms_norm_mul_early, axis=0, keepdims=True) / jnp.float32(576)
        logits_rms_norm_add_early = logits_rms_norm_mean_early + jnp.float32(1e-05)
        logits_rms_norm_rsqrt_early = lax.rsqrt(logits_rms_norm_add_early)
        logits_rms_norm_mul2_early = y_early_t * logits_rms_norm_rsqrt_early
        logits_rms_norm_mul3_early = logits_rms_norm_mul2_early * norm
        logits_early = jnp.matmul(logits_rms_norm_mul3_early, embed.T)
        best_early = jnp.argmax(logits_early, axis=None).astype(jnp.int32)
        return best_early
    best_early_rows = jax.vmap(point)(y_early_at)
    return (best_early_rows,)


def best_late(at, y_late_at, norm, embed):
    """model.rt:65: logits[b, t] = embed @ nn.rms_norm(y[b, t, L-1], norm)
    model.rt:66: best[b, t] = argmax(logits[b, t])
    nn.rt:43: return x * rsqrt(mean(x * x, axis = -1, keepdims = true) + eps) * scale
    """
    def point(y_late_at):
        logits_rms_norm_mul_late = y_late_at * y_late_at
        logits_rms_norm_mean_late = jnp.sum(logits_rms_norm_mul_late, axis=0, keepdims=True) / jnp.float32(576)
        logits_rms_norm_add_late = logits_rms_norm_mean_late + jnp.float32(1e-05)
        logits_rms_norm_rsqrt_late = lax.rsqrt(logits_rms_norm_add_late)
        logits_rms_norm_mul2_late = y_late_at * logits_rms_norm_rsqrt_late
        logits_rms_norm_mul3_late = logits_rms_norm_mul2_late * norm
        logits_late = jnp.matmul(logits_rms_norm_mul3_late, embed.T)
        best_late = jnp.argmax(logits_late, axis=None).astype(jnp.int32)
        return best_late
    best_late_rows = jax.vmap(point)(y_late_at)
    return (best_late_rows,)


def first_fault(fault, kernel, found, point):
    """What failed first: the kernel, its check, which of its points, the coordinates."""
    check, lane = (found[0], found[1]) if found.ndim else (found, jnp.int32(0))
    new = jnp.stack([jnp.int32(kernel), check, lane, *point])
    new = jnp.pad(new, (0, fault.size - new.size))
    return jnp.where(fault[1] != 0, fault, new)


def block(at, prompt, embed, *, B, S, T):
    """What stands between two tasks of the host: x_0_early, q_rope_angle_power, q_rope_sin_early."""
    fault = jnp.zeros(3, jnp.int32)
    tok = jnp.zeros((B, T), jnp.int32)
    tok, x_early, found = x_0_early((), prompt, embed, tok, S=S, T=T)
    fault = first_fault(fault, 1, found, ())
    (q_rope_angle_power2,) = q_rope_angle_power(())
    q_rope_cos_early, q_rope_sin_early2 = q_rope_sin_early((), q_rope_angle_power2, S=S, T=T)
    return (tok, x_early, q_rope_angle_power2, q_rope_cos_early, q_rope_sin_early2, fault)


def block2(
    at, k, v, x_early, attn_norm, wq, q_rope_cos_early, q_rope_sin_early2, wk, wv, wo, mlp_norm,
    gate, up, down, *, S, T, L,
):
    """What stands between two tasks of the host: v_early, y_early."""
    l = at[0]
    (a_reshape_early, k, v) = v_early((l,), x_early, attn_norm, wq, q_rope_cos_early,
            q_rope_sin_early2, wk, wv, k, v)
    (y_early2, x_early) = y_early((l,), a_reshape_early, k, v, wo, x_early, mlp_norm, gate, up,
            down, S=S, T=T, L=L)
    return (k, v, x_early, y_early2)


def block3(at, tok, length, prompt, best, q_rope_angle_power2, embed):
    """What stands between two tasks of the host: tok_1, q_rope_sin_late, x_0_late."""
    t = at[0]
    fault = jnp.zeros(4, jnp.int32)
    (tok,) = tok_1((t,), length, prompt, best, tok)
    q_rope_cos_late, q_rope_sin_late2 = q_rope_sin_late((t,), q_rope_angle_power2)
    x_late, found = x_0_late((t,), embed, tok)
    fault = first_fault(fault, 10, found, (t,))
    return (tok, q_rope_cos_late, q_rope_sin_late2, x_late, fault)


def block4(
    at, k, v, x_late, attn_norm, wq, q_rope_cos_late, q_rope_sin_late2, wk, wv, wo, mlp_norm, gate,
    up, down, *, L,
):
    """What stands between two tasks of the host: v_late, y_late."""
    t = at[0]
    l = at[1]
    (a_reshape_late, k, v) = v_late((t, l), x_late, attn_norm, wq, q_rope_cos_late,
            q_rope_sin_late2, wk, wv, k, v)
    (y_late2, x_late) = y_late((t, l), a_reshape_late, k, v, wo, x_late, mlp_norm, gate, up, down,
            L=L)
    return (k, v, x_late, a_reshape_late, y_late2)


def block5(at, tok, best, q_rope_angle_power2, embed):
    """What stands between two tasks of the host: tok_2, q_rope_sin_late, x_0_late."""
    t = at[0]
    fault = jnp.zeros(4, jnp.int32)
    (tok,) = tok_2((t,), best, tok)
    q_rope_cos_late, q_rope_sin_late2 = q_rope_sin_late((t,), q_rope_angle_power2)
    x_late, found = x_0_late((t,), embed, tok)
    fault = first_fault(fault, 10, found, (t,))
    return (tok, q_rope_cos_late, q_rope_sin_late2, x_late, fault)


def block6(
    at, k, v, x_late, attn_norm, wq, q_rope_cos_late, q_rope_sin_late2, wk, wv, wo, mlp_norm, gate,
    up, down, *, L,
):
    """What stands between two tasks of the host: v_late, y_late."""
    t = at[0]
    l = at[1]
    (a_reshape_late, k, v) = v_late((t, l), x_late, attn_norm, wq, q_rope_cos_late,
            q_rope_sin_late2, wk, wv, k, v)
    (y_late2, x_late) = y_late((t, l), a_reshape_late, k, v, wo, x_late, mlp_norm, gate, up, down,
            L=L)
    return (k, v, x_late, a_reshape_late, y_late2)
