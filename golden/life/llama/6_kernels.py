"""Kernels of model, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def all_finite(x):
    """Whether all elements are finite. If their sum overflows, they count as if they were not."""
    return jnp.isfinite(jnp.sum(x, dtype=jnp.promote_types(x.dtype, jnp.float32)))


def usually(right, usual, rare):
    """usual() if that is right, else rare().

    tempoc's runner has another one of this name for CPUs: rare() is traced when data need it.
    """
    return lax.cond(right, usual, rare)


def term_by_term(product, axes, *arrays):
    """A product as the sum of those of parts, which are one position of an axis of some arrays.

    Under jax.vmap each point may mask a part of an array that all of them have in common.
    """
    lengths = [x.shape[a] for x, a in zip(arrays, axes) if a is not None]
    if 0 in lengths:
        return product(*arrays)
    result = jax.eval_shape(product, *arrays)
    dtype = jnp.promote_types(result.dtype, jnp.float32)
    wide = lambda x: x if x.dtype != result.dtype else x.astype(dtype)

    def step(k, total):
        cut = lambda x, a: x if a is None else lax.dynamic_slice_in_dim(x, k, 1, a)
        return total + product(*(wide(cut(x, a)) for x, a in zip(arrays, axes)))

    total = lax.fori_loop(0, max(lengths), step, jnp.zeros(result.shape, dtype))
    return total.astype(result.dtype)


def matvec(matrix, vector, points):
    """matrix @ vector, which so many points compute together.

    Vectors of many points are rows of an array, which one product takes and gives as they lie. For
    few of them XLA for CPUs is faster if the matrix comes first. It may abort where a matrix with
    an axis of up to three elements is that of some of the points only.
    """
    if points == 1:
        return jnp.matmul(matrix, vector)
    if jax.default_backend() == "cpu" and points <= 16 and min(matrix.shape) > 3:
        return lax.optimization_barrier(jnp.matmul(matrix, vector))
    return jnp.matmul(vector, matrix.T)


def first_lane(codes):
    """The first code that is not 0, and its place among all elements; 0 if there is none.

    Maxima of long arrays take XLA for CPUs three loops to compile, this takes it one. tempoc's
    runner looks for this scope: on CPUs it is computed when a code is not 0.
    """
    def first(a, b):
        keep = lax.lt(a[1], b[1])
        return lax.select(keep, a[0], b[0]), lax.min(a[1], b[1])
    codes, number = lax.collapse(codes, 0), codes.dtype.type
    none, size = number(0), number(codes.size)
    lanes = lax.iota(codes.dtype, codes.size)
    lanes = lax.select(lax.eq(codes, none), lax.full_like(codes, size), lanes)
    with jax.named_scope("first_code"):
        return lax.reduce((codes, lanes), (none, size), first, (0,))


def wrong_value(value, fine):
    """0 if all values are fine, else the first that is not, as a number above 0.

    tempoc's runner looks for this scope: on CPUs the number is made of a value when one is wrong.
    """
    value = lax.convert_element_type(value, jnp.int32)
    number = value.dtype.type
    value = lax.clamp(number(-2**29), value, number(2**29))
    positive = lax.convert_element_type(lax.ge(value, number(0)), jnp.int32)
    code = lax.add(lax.mul(lax.abs(value), number(2)), positive)
    with jax.named_scope("wrong_code"):
        code = lax.select(fine, lax.full_like(code, 0), code)
    return first_lane(code)[0] if code.ndim else code


def updated(array, part, start, when=None):
    """The array with a part put in, if a condition holds; axes of length 1 are left out meanwhile.

    XLA for CPUs copies what a loop carries if an array that has such axes is updated, then read, or
    if all of it is selected.
    """
    both = zip(array.shape, part.shape)
    axes = tuple(k for k, sizes in enumerate(both) if sizes == (1, 1))
    rest = [s for k, s in enumerate(start) if k not in axes]
    array, part = lax.squeeze(array, axes), lax.squeeze(part, axes)
    if when is not None:
        old = lax.dynamic_slice(array, rest, part.shape, allow_negative_indices=False)
        part = jnp.where(when, part, old)
    new = lax.dynamic_update_slice(array, part, rest, allow_negative_indices=False)
    return lax.expand_dims(new, axes)


def tok_1(at, length, best_prev, prompt, tok):
    """model.rt:54: tok[b, t] = where(t < length, prompt[b, t], best[b, t-1]) when t < P"""
    t = at[0]
    def point(length, prompt_t_p, best_prev):
        tok_1 = jnp.where(jnp.int32(t) < length, prompt_t_p, best_prev)
        return tok_1
    tok2 = updated(tok, jax.vmap(point)(length, prompt[:, t], best_prev)[:, None], (0, t))
    return (tok2,)


def x_0_early(at, embed, prompt, tok, *, S, T):
    """model.rt:53: tok[b, t] = prompt[b, t] when t < S
    model.rt:62: x[b, t, 0] = embed[tok[b, t]]
    """
    def point(prompt_t_p):
        wrong = wrong_value(prompt_t_p, (prompt_t_p >= -49152) & (prompt_t_p < 49152))
        x_0_early = jnp.take(
            embed, jnp.where(prompt_t_p < 0, prompt_t_p + 49152, prompt_t_p), axis=0, mode="clip",
        )
        return (prompt_t_p, x_0_early, wrong)
    point = jax.vmap(point)
    prompt_t_p_rows, x_0_early_rows, fault = jax.vmap(point)(
        lax.dynamic_slice_in_dim(prompt, 0, min(S, T), axis=1)
    )
    tok2 = updated(tok, prompt_t_p_rows, (0, 0))
    return tok2, x_0_early_rows, jnp.stack(first_lane(fault))


def tok_2(at, best_prev, tok):
    """model.rt:55: tok[b, t] = best[b, t-1]"""
    t = at[0]
    tok2 = updated(tok, best_prev[:, None], (0, t))
    return (tok2,)


def v_early(at, x, attn_norm, wq, rope_cos, rope_sin, wk, wv, k_turned_rope_concat, v, *, B, S, T):
    """model.rt:66: q = turned(reshape(wq @ n, [heads, H]))
    model.rt:67: k = turned(reshape(wk @ n, [KV, H]))
    model.rt:68: v = reshape(wv @ n, [KV, H])
    model.rt:71: reshape(q, [KV, G, H]),
    nn.rt:43: return x * rsqrt(mean(x * x, axis = -1, keepdims = true) + eps) * scale
    nn.rt:80: low = split(x, 2, -1)[0]
    nn.rt:81: high = split(x, 2, -1)[1]
    nn.rt:82: return concat([low * cos(angle) - high * sin(angle), high * cos(angle) + low * sin(angle)], -1)
    """
    def point(x, rope_cos, rope_sin):
        rms_norm_mul2 = x * lax.rsqrt(jnp.sum(x * x, axis=0, keepdims=True) / 576 + 1e-05)
        rms_norm_mul3 = rms_norm_mul2 * attn_norm
        q_reshape = jnp.reshape(matvec(wq, rms_norm_mul3, B*min(S, T)), (9, 64))
        q_turned_rope_low_split_0 = lax.slice_in_dim(q_reshape, 0, 32, axis=1)
        q_turned_rope_low_split_1 = lax.slice_in_dim(q_reshape, 32, 64, axis=1)
        q_turned_rope_mul2 = q_turned_rope_low_split_1 * rope_sin
        q_turned_rope_sub = q_turned_rope_low_split_0 * rope_cos - q_turned_rope_mul2
        q_turned_rope_mul4 = q_turned_rope_low_split_0 * rope_sin
        q_turned_rope_add = q_turned_rope_low_split_1 * rope_cos + q_turned_rope_mul4
        q_turned_rope_concat = jnp.concatenate([q_turned_rope_sub, q_turned_rope_add], axis=1)
        k_reshape = jnp.reshape(matvec(wk, rms_norm_mul3, B*min(S, T)), (3, 64))
        k_turned_rope_low_split_0 = lax.slice_in_dim(k_reshape, 0, 32, axis=1)
        k_turned_rope_low_split_1 = lax.slice_in_dim(k_reshape, 32, 64, axis=1)
        k_turned_rope_mul2 = k_turned_rope_low_split_1 * rope_sin
        k_turned_rope_sub = k_turned_rope_low_split_0 * rope_cos - k_turned_rope_mul2
        k_turned_rope_mul4 = k_turned_rope_low_split_0 * rope_sin
        k_turned_rope_add = k_turned_rope_low_split_1 * rope_cos + k_turned_rope_mul4
        k_turned_rope_concat_early = jnp.concatenate([k_turned_rope_sub, k_turned_rope_add], axis=1)
        v_early = jnp.reshape(matvec(wv, rms_norm_mul3, B*min(S, T)), (3, 64))
        return (jnp.reshape(q_turned_rope_concat, (3, 3, 64)), k_turned_rope_concat_early, v_early)
    point = jax.vmap(point)
    (
        a_reshape_rows, k_turned_rope_concat_early_rows, v_early_rows,
    ) = jax.vmap(point, in_axes=(0, None, None))(x, rope_cos, rope_sin)
    k_turned_rope_concat2 = updated(
        k_turned_rope_concat, jnp.moveaxis(k_turned_rope_concat_early_rows, 1, 3), (0, 0, 0, 0),
    )
    v2 = updated(v, jnp.moveaxis(v_early_rows, 1, 2), (0, 0, 0, 0))
    return a_reshape_rows, k_turned_rope_concat2, v2


def v_late(at, x, attn_norm, wq, rope_cos, rope_sin, wk, wv, k_turned_rope_concat, v, *, B):
    """model.rt:66: q = turned(reshape(wq @ n, [heads, H]))
    model.rt:67: k = turned(reshape(wk @ n, [KV, H]))
    model.rt:68: v = reshape(wv @ n, [KV, H])
    model.rt:71: reshape(q, [KV, G, H]),
    nn.rt:43: return x * rsqrt(mean(x * x, axis = -1, keepdims = true) + eps) * scale
    nn.rt:80: low = split(x, 2, -1)[0]
    nn.rt:81: high = split(x, 2, -1)[1]
    nn.rt:82: return concat([low * cos(angle) - high * sin(angle), high * cos(angle) + low * sin(angle)], -1)
    """
    t = at[0]
    def point(x):
        rms_norm_mul2 = x * lax.rsqrt(jnp.sum(x * x, axis=0, keepdims=True) / 576 + 1e-05)
        rms_norm_mul3 = rms_norm_mul2 * attn_norm
        q_reshape = jnp.reshape(matvec(wq, rms_norm_mul3, B), (9, 64))
        q_turned_rope_low_split_0 = lax.slice_in_dim(q_reshape, 0, 32, axis=1)
        q_turned_rope_low_split_1 = lax.slice_in_dim(q_reshape, 32, 64, axis=1)
        q_turned_rope_mul2 = q_turned_rope_low_split_1 * rope_sin
        q_turned_rope_sub = q_turned_rope_low_split_0 * rope_cos - q_turned_rope_mul2
        q_turned_rope_mul4 = q_turned_rope_low_split_0 * rope_sin
        q_turned_rope_add = q_turned_rope_low_split_1 * rope_cos + q_turned_rope_mul4
        q_turned_rope_concat = jnp.concatenate([q_turned_rope_sub, q_turned_rope_add], axis=1)
        k_reshape = jnp.reshape(matvec(wk, rms_norm_mul3, B), (3, 64))
        k_turned_rope_low_split_0 = lax.slice_in_dim(k_reshape, 0, 32, axis=1)
        k_turned_rope_low_split_1 = lax.slice_in_dim(k_reshape, 32, 64, axis=1)
        k_turned_rope_mul2 = k_turned_rope_low_split_1 * rope_sin
        k_turned_rope_sub = k_turned_rope_low_split_0 * rope_cos - k_turned_rope_mul2
        k_turned_rope_mul4 = k_turned_rope_low_split_0 * rope_sin
        k_turned_rope_add = k_turned_rope_low_split_1 * rope_cos + k_turned_rope_mul4
        k_turned_rope_concat_late = jnp.concatenate([k_turned_rope_sub, k_turned_rope_add], axis=1)
        v_late = jnp.reshape(matvec(wv, rms_norm_mul3, B), (3, 64))
        return (jnp.reshape(q_turned_rope_concat, (3, 3, 64)), k_turned_rope_concat_late, v_late)
    a_reshape_rows, k_turned_rope_concat_late_rows, v_late_rows = jax.vmap(point)(x)
    k_turned_rope_concat2 = updated(
        k_turned_rope_concat, k_turned_rope_concat_late_rows[:, :, :, None], (0, 0, 0, t),
    )
    v2 = updated(v, v_late_rows[:, :, None], (0, 0, t, 0))
    return a_reshape_rows, k_turned_rope_concat2, v2


def q_turned_rope_speed_power(at):
    """nn.rt:78: speed = theta ** (-arange(size(x, -1) // 2) / (size(x, -1) // 2))"""
    speed_div = (-jnp.arange(32, dtype=jnp.int32)).astype(jnp.float32) / 32.0
    return (jnp.power(jnp.float32(100000.0), speed_div),)


def q_turned_rope_early(at, speed_power, *, S, T):
    """nn.rt:79: angle = position * (speed if stretch == 1.0 else stretched(speed, stretch, slow, fast, length))
    nn.rt:82: return concat([low * cos(angle) - high * sin(angle), high * cos(angle) + low * sin(angle)], -1)
    """
    def point(t):
        angle_mul = jnp.int32(t).astype(jnp.float32) * speed_power
        return (jnp.cos(angle_mul), jnp.sin(angle_mul))
    rope_cos_rows, rope_sin_rows = jax.vmap(point)(jnp.arange(min(S, T), dtype=jnp.int32))
    return rope_cos_rows, rope_sin_rows


def q_turned_rope_late(at, speed_power):
    """nn.rt:79: angle = position * (speed if stretch == 1.0 else stretched(speed, stretch, slow, fast, length))
    nn.rt:82: return concat([low * cos(angle) - high * sin(angle), high * cos(angle) + low * sin(angle)], -1)
    """
    t = at[0]
    angle_mul = jnp.int32(t).astype(jnp.float32) * speed_power
    return jnp.cos(angle_mul), jnp.sin(angle_mul)


def y_early(at, a_reshape, rope_concat, v, wo, x, mlp_norm, gate, up, down, *, B, S, T):
    """model.rt:76: z = x + wo @ reshape(a, [KV * G * H])
    model.rt:77: y = z + nn.swiglu(normed(z, mlp_norm), gate, up, down)
    nn.rt:8: e = exp(x - stop_gradient(max(x, axis = axis, keepdims = true)))
    nn.rt:9: return e / sum(e, axis = axis, keepdims = true)
    nn.rt:43: return x * rsqrt(mean(x * x, axis = -1, keepdims = true) + eps) * scale
    nn.rt:98: scores = einsum("kgd,skd->kgs", q, keys) / sqrt(f32(size(q, -1)))
    nn.rt:99: return einsum("kgs,skd->kgd", softmax(scores), values)
    nn.rt:137: return down @ (silu(gate @ x) * (up @ x))
    """
    def rows(finite):
        def point(t, a_reshape, rope_concat, v, x):
            rope_concat_slice = jnp.moveaxis(rope_concat[:, :, :min(S, T)], 2, 0)
            scores_div = jnp.einsum("kgd,skd->kgs", a_reshape, rope_concat_slice) * 0.125
            valid = jnp.arange(min(S, T), dtype=jnp.int32) < t+1
            scores_div_masked = jnp.where(valid, scores_div, -jnp.inf)
            e_exp = jnp.exp(scores_div_masked - jnp.max(scores_div_masked, axis=2, keepdims=True))
            softmax_div = e_exp / jnp.sum(e_exp, axis=2, keepdims=True)
            v_slice = jnp.moveaxis(v[:, :min(S, T)], 1, 0)
            valid2 = (jnp.arange(min(S, T), dtype=jnp.int32) < t+1)[:, None, None]
            grouped_attention_einsum = jnp.einsum(
                "kgs,skd->kgd", softmax_div, v_slice,
            ) if finite else term_by_term(
                lambda v_slice, softmax_div, valid2: jnp.einsum(
                    "kgs,skd->kgd", softmax_div, jnp.where(valid2, v_slice, 0.0),
                ), (0, 2, 0), v_slice, softmax_div, valid2,
            )
            z = x + matvec(wo, jnp.reshape(grouped_attention_einsum, (576,)), B*min(S, T))
            rms_norm_mul2 = z * lax.rsqrt(jnp.sum(z * z, axis=0, keepdims=True) / 576 + 1e-05)
            rms_norm_mul3 = rms_norm_mul2 * mlp_norm
            swiglu_matmul2 = matvec(up, rms_norm_mul3, B*min(S, T))
            swiglu_mul = jax.nn.silu(matvec(gate, rms_norm_mul3, B*min(S, T))) * swiglu_matmul2
            y = z + matvec(down, swiglu_mul, B*min(S, T))
            return (y, y)
        point = jax.vmap(point, in_axes=(0, 0, None, None, 0))
        return jax.vmap(point, in_axes=(None, 0, 0, 0, 0))(
            jnp.arange(min(S, T), dtype=jnp.int32), a_reshape, rope_concat, v, x,
        )
    y_rows, y_rows2 = usually(all_finite(v), lambda: rows(True), lambda: rows(False))
    return y_rows, y_rows2


def y_late(at, a_reshape, rope_concat, v, wo, x, mlp_norm, gate, up, down, *, B):
    """model.rt:76: z = x + wo @ reshape(a, [KV * G * H])
    model.rt:77: y = z + nn.swiglu(normed(z, mlp_norm), gate, up, down)
    nn.rt:8: e = exp(x - stop_gradient(max(x, axis = axis, keepdims = true)))
    nn.rt:9: return e / sum(e, axis = axis, keepdims = true)
    nn.rt:43: return x * rsqrt(mean(x * x, axis = -1, keepdims = true) + eps) * scale
    nn.rt:98: scores = einsum("kgd,skd->kgs", q, keys) / sqrt(f32(size(q, -1)))
    nn.rt:99: return einsum("kgs,skd->kgd", softmax(scores), values)
    nn.rt:137: return down @ (silu(gate @ x) * (up @ x))
    """
    t = at[0]
    T_room = rope_concat.shape[3]
    def point(a_reshape, rope_concat, v, x):
        scores_div = jnp.einsum("kgd,skd->kgs", a_reshape, jnp.moveaxis(rope_concat, 2, 0)) * 0.125
        valid = jnp.arange(T_room, dtype=jnp.int32) < t+1
        scores_div_masked = jnp.where(valid, scores_div, -jnp.inf)
        e_exp = jnp.exp(scores_div_masked - jnp.max(scores_div_masked, axis=2, keepdims=True))
        softmax_div = e_exp / jnp.sum(e_exp, axis=2, keepdims=True)
        grouped_attention_einsum = jnp.einsum("kgs,skd->kgd", softmax_div, jnp.moveaxis(v, 1, 0))
        z = x + matvec(wo, jnp.reshape(grouped_attention_einsum, (576,)), B)
        rms_norm_mul2 = z * lax.rsqrt(jnp.sum(z * z, axis=0, keepdims=True) / 576 + 1e-05)
        rms_norm_mul3 = rms_norm_mul2 * mlp_norm
        swiglu_mul = jax.nn.silu(matvec(gate, rms_norm_mul3, B)) * matvec(up, rms_norm_mul3, B)
        y = z + matvec(down, swiglu_mul, B)
        return (y, y)
    y_rows, y_rows2 = jax.vmap(point)(a_reshape, rope_concat, v, x)
    return y_rows, y_rows2


def x_0_late(at, embed, tok):
    """model.rt:62: x[b, t, 0] = embed[tok[b, t]]"""
    t = at[0]
    def point(tok_t):
        x_0_late = jnp.take(embed, jnp.where(tok_t < 0, tok_t + 49152, tok_t), axis=0, mode="clip")
        return (x_0_late, wrong_value(tok_t, (tok_t >= -49152) & (tok_t < 49152)))
    x_0_late_rows, fault = jax.vmap(point)(tok[:, t])
    return x_0_late_rows, jnp.stack(first_lane(fault))


def best_early(at, norm, embed, y, *, B):
    """model.rt:80: logits[b, t] = (embed if tied else head) @ normed(y[b, t, L-1], norm)
    model.rt:81: best[b, t] = argmax(logits[b, t])
    nn.rt:43: return x * rsqrt(mean(x * x, axis = -1, keepdims = true) + eps) * scale
    """
    t = at[0]
    def point(y_at_t_at):
        rms_norm_add = jnp.sum(y_at_t_at * y_at_t_at, axis=0, keepdims=True) / 576 + 1e-05
        logits = matvec(embed, y_at_t_at * lax.rsqrt(rms_norm_add) * norm, B)
        best_early = jnp.argmax(logits).astype(jnp.int32)
        return best_early
    return (jax.vmap(point)(y[:, t]),)


def best_late(at, y_at, norm, embed, *, B):
    """model.rt:80: logits[b, t] = (embed if tied else head) @ normed(y[b, t, L-1], norm)
    model.rt:81: best[b, t] = argmax(logits[b, t])
    nn.rt:43: return x * rsqrt(mean(x * x, axis = -1, keepdims = true) + eps) * scale
    """
    def point(y_at):
        rms_norm_mul2 = y_at * lax.rsqrt(jnp.sum(y_at * y_at, axis=0, keepdims=True) / 576 + 1e-05)
        logits = matvec(embed, rms_norm_mul2 * norm, B)
        best_late = jnp.argmax(logits).astype(jnp.int32)
        return best_late
    return (jax.vmap(point)(y_at),)


def first_fault(fault, kernel, code, point):
    """What failed first: the kernel, its check, which of its points, the coordinates."""
    check, lane = (code[0], code[1]) if code.ndim else (code, jnp.int32(0))
    rest = [0] * (fault.size - 3 - len(point))
    new = jnp.stack([jnp.int32(kernel), check, lane, *point, *rest])
    return jnp.where(fault[1] != 0, fault, new)


def block(at, tok, embed, prompt, *, S, T):
    """What stands between two tasks of the host: x_0_early, q_turned_rope_speed_power, q_turned_rope_early."""
    fault = jnp.zeros(3, jnp.int32)
    tok, x_early, code = x_0_early((), embed, prompt, tok, S=S, T=T)
    fault = first_fault(fault, 1, code, ())
    (q_turned_rope_speed_power2,) = q_turned_rope_speed_power(())
    (
        q_turned_rope_cos_early, q_turned_rope_sin_early,
    ) = q_turned_rope_early((), q_turned_rope_speed_power2, S=S, T=T)
    return (
        tok, x_early, q_turned_rope_speed_power2, q_turned_rope_cos_early, q_turned_rope_sin_early,
        fault,
    )


def block2(
    at, k_turned_rope_concat, v, x_early, attn_norm, wq, q_turned_rope_cos_early,
    q_turned_rope_sin_early, wk, wv, wo, mlp_norm, gate, up, down, *, B, S, T, L,
):
    """What stands between two tasks of the host: v_early, y_early."""
    l = at[0]
    a_reshape_early, k_turned_rope_concat, v = v_early(
        (l,), x_early, attn_norm, wq, q_turned_rope_cos_early, q_turned_rope_sin_early, wk, wv,
        k_turned_rope_concat, v, B=B, S=S, T=T,
    )
    y_early2, x_early_new = y_early(
        (l,), a_reshape_early, k_turned_rope_concat, v, wo, x_early, mlp_norm, gate, up, down, B=B,
        S=S, T=T,
    )
    x_early = jnp.where(l + 1 < L, x_early_new, x_early)
    return (k_turned_rope_concat, v, x_early, y_early2)


def block3(at, tok, length, best, prompt, q_turned_rope_speed_power2, embed):
    """What stands between two tasks of the host: tok_1, q_turned_rope_late, x_0_late."""
    t = at[0]
    fault = jnp.zeros(4, jnp.int32)
    (tok,) = tok_1((t,), length, best, prompt, tok)
    q_turned_rope_cos_late, q_turned_rope_sin_late = q_turned_rope_late(
        (t,), q_turned_rope_speed_power2,
    )
    x_late, code = x_0_late((t,), embed, tok)
    fault = first_fault(fault, 10, code, (t,))
    return (tok, q_turned_rope_cos_late, q_turned_rope_sin_late, x_late, fault)


def block4(
    at, k_turned_rope_concat, v, x_late, attn_norm, wq, q_turned_rope_cos_late,
    q_turned_rope_sin_late, wk, wv, wo, mlp_norm, gate, up, down, *, B, L,
):
    """What stands between two tasks of the host: v_late, y_late."""
    t = at[0]
    l = at[1]
    a_reshape_late, k_turned_rope_concat, v = v_late(
        (t, l), x_late, attn_norm, wq, q_turned_rope_cos_late, q_turned_rope_sin_late, wk, wv,
        k_turned_rope_concat, v, B=B,
    )
    y_late2, x_late_new = y_late(
        (t, l), a_reshape_late, k_turned_rope_concat, v, wo, x_late, mlp_norm, gate, up, down, B=B,
    )
    x_late = jnp.where(l + 1 < L, x_late_new, x_late)
    return (k_turned_rope_concat, v, x_late, y_late2)


def block5(at, tok, best, q_turned_rope_speed_power2, embed):
    """What stands between two tasks of the host: tok_2, q_turned_rope_late, x_0_late."""
    t = at[0]
    fault = jnp.zeros(4, jnp.int32)
    (tok,) = tok_2((t,), best, tok)
    q_turned_rope_cos_late, q_turned_rope_sin_late = q_turned_rope_late(
        (t,), q_turned_rope_speed_power2,
    )
    x_late, code = x_0_late((t,), embed, tok)
    fault = first_fault(fault, 10, code, (t,))
    return (tok, q_turned_rope_cos_late, q_turned_rope_sin_late, x_late, fault)


def block6(
    at, k_turned_rope_concat, v, x_late, attn_norm, wq, q_turned_rope_cos_late,
    q_turned_rope_sin_late, wk, wv, wo, mlp_norm, gate, up, down, *, B, L,
):
    """What stands between two tasks of the host: v_late, y_late."""
    t = at[0]
    l = at[1]
    a_reshape_late, k_turned_rope_concat, v = v_late(
        (t, l), x_late, attn_norm, wq, q_turned_rope_cos_late, q_turned_rope_sin_late, wk, wv,
        k_turned_rope_concat, v, B=B,
    )
    y_late2, x_late_new = y_late(
        (t, l), a_reshape_late, k_turned_rope_concat, v, wo, x_late, mlp_norm, gate, up, down, B=B,
    )
    x_late = jnp.where(l + 1 < L, x_late_new, x_late)
    return (k_turned_rope_concat, v, x_late, y_late2)
