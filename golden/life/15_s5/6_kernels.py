"""Kernels of 15_s5, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def size_now(at, log_damping, log_step, pitch, *, T):
    """15_s5.rt:24: def times(x, y) = {re: x.re * y.re - x.im * y.im, im: x.re * y.im + x.im * y.re}
    15_s5.rt:27: damping = exp(log_damping)
    15_s5.rt:28: step = exp(log_step)
    15_s5.rt:29: size_now = exp(-damping * step)
    15_s5.rt:30: keep = {re: size_now * cos(pitch * step), im: size_now * sin(pitch * step)}
    15_s5.rt:31: inverse = {re: -damping / (damping ** 2 + pitch ** 2), im: -pitch / (damping ** 2 + pitch ** 2)}
    15_s5.rt:32: hold = times(inverse, {re: keep.re - 1.0, im: keep.im})
    15_s5.rt:51: cost = mean(loss.mse(y, target)[t = 0:T])
    15_s5.rt:52: cost_scan = mean(loss.mse(y_scan, target)[t = 0:T])
    loss.rt:6: return mean((x - target) ** 2)
    """
    damping = jnp.exp(log_damping)
    step = jnp.exp(log_step)
    size_now_neg = -damping
    size_now_mul = size_now_neg * step
    size_now = jnp.exp(size_now_mul)
    keep_mul = pitch * step
    keep_cos = jnp.cos(keep_mul)
    keep_sin = jnp.sin(keep_mul)
    keep_re = size_now * keep_cos
    keep_im = size_now * keep_sin
    inverse_power = jnp.power(damping, jnp.float32(2.0))
    inverse_power2 = jnp.power(pitch, jnp.float32(2.0))
    inverse_add = inverse_power + inverse_power2
    inverse_neg2 = -pitch
    inverse_re = size_now_neg / inverse_add
    inverse_im = inverse_neg2 / inverse_add
    hold_sub = keep_re - jnp.float32(1.0)
    hold_times_mul = inverse_re * hold_sub
    hold_times_mul2 = inverse_im * keep_im
    hold_times_mul3 = inverse_re * keep_im
    hold_times_mul4 = inverse_im * hold_sub
    hold_re = hold_times_mul - hold_times_mul2
    hold_im = hold_times_mul3 + hold_times_mul4
    cost_total_none = jnp.full((), jnp.float32(0.0))
    cost_scan_total_none = jnp.full((), jnp.float32(0.0))
    cost_d_cost_index = jnp.int32(T)
    cost_d_cost_cast = cost_d_cost_index.astype(jnp.float32)
    cost_d_cost_div = jnp.float32(1.0) / cost_d_cost_cast
    cost_d_hold_re_sum_none = jnp.full((4,), jnp.float32(0.0))
    cost_d_hold_re_sum2_none = jnp.full((4,), jnp.float32(0.0))
    cost_d_hold_im_sum_none = jnp.full((4,), jnp.float32(0.0))
    cost_d_hold_im_sum2_none = jnp.full((4,), jnp.float32(0.0))
    cost_scan_d_keep_re_sum_none = jnp.full((4,), jnp.float32(0.0))
    cost_scan_d_keep_im_sum_none = jnp.full((4,), jnp.float32(0.0))
    cost_scan_d_hold_re_sum_none = jnp.full((4,), jnp.float32(0.0))
    cost_scan_d_hold_re_sum2_none = jnp.full((4,), jnp.float32(0.0))
    cost_scan_d_hold_im_sum_none = jnp.full((4,), jnp.float32(0.0))
    cost_scan_d_hold_im_sum2_none = jnp.full((4,), jnp.float32(0.0))
    return step, size_now, keep_cos, keep_sin, keep_re, keep_im, inverse_add, inverse_re, inverse_im, hold_sub, hold_re, hold_im, cost_total_none, cost_scan_total_none, cost_d_cost_div, cost_d_hold_re_sum_none, cost_d_hold_re_sum2_none, cost_d_hold_im_sum_none, cost_d_hold_im_sum2_none, cost_scan_d_keep_re_sum_none, cost_scan_d_keep_im_sum_none, cost_scan_d_hold_re_sum_none, cost_scan_d_hold_re_sum2_none, cost_scan_d_hold_im_sum_none, cost_scan_d_hold_im_sum2_none


def heard(
    at, u, norm_scale, norm_bias, b_re, b_im, hold_re, hold_im, skip, keep_re, keep_im, push_re,
    push_im, stretch_keep_re, stretch_keep_im,
):
    """15_s5.rt:24: def times(x, y) = {re: x.re * y.re - x.im * y.im, im: x.re * y.im + x.im * y.re}
    15_s5.rt:34: heard = nn.layer_norm(u, norm.scale, norm.bias)
    15_s5.rt:35: push = times(hold, {re: b.re @ heard, im: b.im @ heard})
    15_s5.rt:37: def answer(x, heard, u) = u + gelu(2.0 * (c.re @ x.re - c.im @ x.im) + skip * heard)
    15_s5.rt:47: stretch = {keep: keep + zeros_like(push), push: push}
    15_s5.rt:48: all = associative_scan(joined, stretch[t = 0:T], 0).push
    nn.rt:48: d = x - mean(x, axis = -1, keepdims = true)
    nn.rt:49: return d * rsqrt(mean(d * d, axis = -1, keepdims = true) + eps) * scale + bias
    """
    t = at[0]
    u_t = u[t]
    heard_layer_norm_d_mean = jnp.sum(u_t, axis=0, keepdims=True) / jnp.float32(6)
    heard_layer_norm_d_sub = u_t - heard_layer_norm_d_mean
    heard_layer_norm_mul = heard_layer_norm_d_sub * heard_layer_norm_d_sub
    heard_layer_norm_mean = jnp.sum(heard_layer_norm_mul, axis=0, keepdims=True) / jnp.float32(6)
    heard_layer_norm_add = heard_layer_norm_mean + jnp.float32(1e-05)
    heard_layer_norm_rsqrt = lax.rsqrt(heard_layer_norm_add)
    heard_layer_norm_mul2 = heard_layer_norm_d_sub * heard_layer_norm_rsqrt
    heard_layer_norm_mul3 = heard_layer_norm_mul2 * norm_scale
    heard = heard_layer_norm_mul3 + norm_bias
    push_matmul = jnp.matmul(b_re, heard)
    push_matmul2 = jnp.matmul(b_im, heard)
    push_times_mul = hold_re * push_matmul
    push_times_mul2 = hold_im * push_matmul2
    push_times_mul3 = hold_re * push_matmul2
    push_times_mul4 = hold_im * push_matmul
    push_re_t = push_times_mul - push_times_mul2
    push_im_t = push_times_mul3 + push_times_mul4
    y_answer_mul2 = skip * heard
    stretch_full = jnp.full((4,), jnp.float32(0.0))
    stretch_keep_re_t = keep_re + stretch_full
    stretch_keep_im_t = keep_im + stretch_full
    push_re = lax.dynamic_update_index_in_dim(push_re, push_re_t, t, 0)
    push_im = lax.dynamic_update_index_in_dim(push_im, push_im_t, t, 0)
    stretch_keep_re = lax.dynamic_update_index_in_dim(stretch_keep_re, stretch_keep_re_t, t, 0)
    stretch_keep_im = lax.dynamic_update_index_in_dim(stretch_keep_im, stretch_keep_im_t, t, 0)
    return push_matmul, push_matmul2, push_re, push_im, y_answer_mul2, stretch_keep_re, stretch_keep_im


def x_im_1(at, keep_re, x_re_prev, keep_im, x_im_prev, push_re, push_im):
    """15_s5.rt:24: def times(x, y) = {re: x.re * y.re - x.im * y.im, im: x.re * y.im + x.im * y.re}
    15_s5.rt:41: x[t] = times(keep, x[t-1]) + push[t]
    """
    t = at[0]
    x_times_mul = keep_re * x_re_prev
    x_times_mul2 = keep_im * x_im_prev
    x_times_sub = x_times_mul - x_times_mul2
    x_times_mul3 = keep_re * x_im_prev
    x_times_mul4 = keep_im * x_re_prev
    x_times_add = x_times_mul3 + x_times_mul4
    push_re_t = push_re[t]
    x_re_1 = x_times_sub + push_re_t
    push_im_t = push_im[t]
    x_im_1 = x_times_add + push_im_t
    return x_re_1, x_im_1


def cost_scan_d_all_associative_scan_take4(
    at, push_re, push_im, stretch_keep_re, stretch_keep_im, *, T,
):
    """15_s5.rt:40: x[0] = push[0]
    15_s5.rt:48: all = associative_scan(joined, stretch[t = 0:T], 0).push
    """
    push_re_0 = push_re[0]
    push_im_0 = push_im[0]
    def combine(earlier_0, earlier_1, earlier_2, earlier_3, later_0, later_1, later_2, later_3):
        mul = later_0 * earlier_0
        mul2 = later_1 * earlier_1
        sub = mul - mul2
        mul3 = later_0 * earlier_1
        mul4 = later_1 * earlier_0
        add = mul3 + mul4
        mul5 = later_0 * earlier_2
        mul6 = later_1 * earlier_3
        sub2 = mul5 - mul6
        add2 = sub2 + later_2
        mul7 = later_0 * earlier_3
        mul8 = later_1 * earlier_2
        add3 = mul7 + mul8
        add4 = add3 + later_3
        return (sub, add, add2, add4)
    scanned = lax.associative_scan(jax.vmap(lambda a, b: combine(*a, *b)), (stretch_keep_re, stretch_keep_im, push_re, push_im))
    all_associative_scan_0 = scanned[0]
    all_associative_scan_1 = scanned[1]
    all_associative_scan_2 = scanned[2]
    all_associative_scan_3 = scanned[3]
    cost_scan_d_all_associative_scan_arange = jnp.arange(T, dtype=jnp.int32)
    cost_scan_d_all_associative_scan_sub = cost_scan_d_all_associative_scan_arange - jnp.int32(1)
    cost_scan_d_all_associative_scan_maximum = jnp.maximum(cost_scan_d_all_associative_scan_sub, jnp.int32(0))
    holds = jnp.all((cost_scan_d_all_associative_scan_maximum >= -T) & (cost_scan_d_all_associative_scan_maximum < T))
    cost_scan_d_all_associative_scan_take = jnp.take(all_associative_scan_0, jnp.where(cost_scan_d_all_associative_scan_maximum < 0, cost_scan_d_all_associative_scan_maximum + T, cost_scan_d_all_associative_scan_maximum), axis=0, mode="clip")
    holds2 = jnp.all((cost_scan_d_all_associative_scan_maximum >= -T) & (cost_scan_d_all_associative_scan_maximum < T))
    cost_scan_d_all_associative_scan_take2 = jnp.take(all_associative_scan_1, jnp.where(cost_scan_d_all_associative_scan_maximum < 0, cost_scan_d_all_associative_scan_maximum + T, cost_scan_d_all_associative_scan_maximum), axis=0, mode="clip")
    holds3 = jnp.all((cost_scan_d_all_associative_scan_maximum >= -T) & (cost_scan_d_all_associative_scan_maximum < T))
    cost_scan_d_all_associative_scan_take3 = jnp.take(all_associative_scan_2, jnp.where(cost_scan_d_all_associative_scan_maximum < 0, cost_scan_d_all_associative_scan_maximum + T, cost_scan_d_all_associative_scan_maximum), axis=0, mode="clip")
    holds4 = jnp.all((cost_scan_d_all_associative_scan_maximum >= -T) & (cost_scan_d_all_associative_scan_maximum < T))
    cost_scan_d_all_associative_scan_take4 = jnp.take(all_associative_scan_3, jnp.where(cost_scan_d_all_associative_scan_maximum < 0, cost_scan_d_all_associative_scan_maximum + T, cost_scan_d_all_associative_scan_maximum), axis=0, mode="clip")
    return push_re_0, push_im_0, all_associative_scan_2, all_associative_scan_3, cost_scan_d_all_associative_scan_take, cost_scan_d_all_associative_scan_take2, cost_scan_d_all_associative_scan_take3, cost_scan_d_all_associative_scan_take4, jnp.where(holds, jnp.where(holds2, jnp.where(holds3, jnp.where(holds4, jnp.int32(0), jnp.int32(4)), jnp.int32(3)), jnp.int32(2)), jnp.int32(1))


def y_scan(
    at, c_re, x_re, c_im, x_im, y_answer_mul2, u, all_associative_scan_out2,
    all_associative_scan_out3, target, cost_total_past, cost_scan_total_past, cost_d_cost_div, y,
    y_scan, cost_scan_d_y_scan_getitem_pad, cost_scan_d_y_scan_getitem2_pad, *, T,
):
    """15_s5.rt:31: inverse = {re: -damping / (damping ** 2 + pitch ** 2), im: -pitch / (damping ** 2 + pitch ** 2)}
    15_s5.rt:32: hold = times(inverse, {re: keep.re - 1.0, im: keep.im})
    15_s5.rt:37: def answer(x, heard, u) = u + gelu(2.0 * (c.re @ x.re - c.im @ x.im) + skip * heard)
    15_s5.rt:42: y = answer(x, heard, u)
    15_s5.rt:49: y_scan = answer({re: all.re[t], im: all.im[t]}, heard, u)
    15_s5.rt:51: cost = mean(loss.mse(y, target)[t = 0:T])
    15_s5.rt:52: cost_scan = mean(loss.mse(y_scan, target)[t = 0:T])
    loss.rt:6: return mean((x - target) ** 2)
    """
    t = at[0]
    y_answer_matmul = jnp.matmul(c_re, x_re)
    y_answer_matmul2 = jnp.matmul(c_im, x_im)
    y_answer_sub = y_answer_matmul - y_answer_matmul2
    y_answer_mul = jnp.float32(2.0) * y_answer_sub
    y_answer_add = y_answer_mul + y_answer_mul2
    y_answer_gelu = jax.nn.gelu(y_answer_add, approximate=False)
    u_t = u[t]
    y_t = u_t + y_answer_gelu
    y_scan_getitem = lax.dynamic_index_in_dim(all_associative_scan_out2, t, 0, keepdims=False)
    y_scan_getitem2 = lax.dynamic_index_in_dim(all_associative_scan_out3, t, 0, keepdims=False)
    y_scan_answer_matmul = jnp.matmul(c_re, y_scan_getitem)
    y_scan_answer_matmul2 = jnp.matmul(c_im, y_scan_getitem2)
    y_scan_answer_sub = y_scan_answer_matmul - y_scan_answer_matmul2
    y_scan_answer_mul = jnp.float32(2.0) * y_scan_answer_sub
    y_scan_answer_add = y_scan_answer_mul + y_answer_mul2
    y_scan_answer_gelu = jax.nn.gelu(y_scan_answer_add, approximate=False)
    y_scan_t = u_t + y_scan_answer_gelu
    target_t = target[t]
    cost_mse_sub = y_t - target_t
    cost_mse_power = jnp.power(cost_mse_sub, jnp.float32(2.0))
    cost_mse_mean = jnp.sum(cost_mse_power, axis=0) / jnp.float32(6)
    cost_total_now = cost_total_past + cost_mse_mean
    cost_scan_mse_sub = y_scan_t - target_t
    cost_scan_mse_power = jnp.power(cost_scan_mse_sub, jnp.float32(2.0))
    cost_scan_mse_mean = jnp.sum(cost_scan_mse_power, axis=0) / jnp.float32(6)
    cost_scan_total_now = cost_scan_total_past + cost_scan_mse_mean
    cost_d_cost_mse_mean_div = cost_d_cost_div / jnp.float32(6.0)
    cost_d_cost_mse_mean_expand_dims = jnp.expand_dims(cost_d_cost_mse_mean_div, 0)
    cost_d_cost_mse_mean_broadcast_to = jnp.broadcast_to(cost_d_cost_mse_mean_expand_dims, (6,))
    cost_d_cost_mse_power_mul = jnp.float32(2.0) * cost_mse_sub
    cost_d_cost_mse_power_mul2 = cost_d_cost_mse_mean_broadcast_to * cost_d_cost_mse_power_mul
    cost_d_y_answer_gelu_mul = jnp.float32(0.7071067811865476) * y_answer_add
    cost_d_y_answer_gelu_erf = jax.scipy.special.erf(cost_d_y_answer_gelu_mul)
    cost_d_y_answer_gelu_add = jnp.float32(1.0) + cost_d_y_answer_gelu_erf
    cost_d_y_answer_gelu_mul2 = jnp.float32(0.5) * cost_d_y_answer_gelu_add
    cost_d_y_answer_gelu_mul3 = y_answer_add * y_answer_add
    cost_d_y_answer_gelu_mul4 = jnp.float32(-0.5) * cost_d_y_answer_gelu_mul3
    cost_d_y_answer_gelu_exp = jnp.exp(cost_d_y_answer_gelu_mul4)
    cost_d_y_answer_gelu_mul5 = jnp.float32(0.3989422804014327) * cost_d_y_answer_gelu_exp
    cost_d_y_answer_gelu_mul6 = y_answer_add * cost_d_y_answer_gelu_mul5
    cost_d_y_answer_gelu_add2 = cost_d_y_answer_gelu_mul2 + cost_d_y_answer_gelu_mul6
    cost_d_y_answer_gelu_mul7 = cost_d_cost_mse_power_mul2 * cost_d_y_answer_gelu_add2
    cost_d_y_answer_mul_mul2 = cost_d_y_answer_gelu_mul7 * jnp.float32(2.0)
    cost_d_y_answer_sub_neg = -cost_d_y_answer_mul_mul2
    cost_d_y_answer_matmul_einsum2 = jnp.einsum("i,ik->k", cost_d_y_answer_mul_mul2, c_re)
    cost_d_y_answer_matmul2_einsum2 = jnp.einsum("i,ik->k", cost_d_y_answer_sub_neg, c_im)
    cost_scan_d_cost_scan_mse_power_mul = jnp.float32(2.0) * cost_scan_mse_sub
    cost_scan_d_cost_scan_mse_power_mul2 = cost_d_cost_mse_mean_broadcast_to * cost_scan_d_cost_scan_mse_power_mul
    cost_scan_d_y_scan_answer_gelu_mul = jnp.float32(0.7071067811865476) * y_scan_answer_add
    cost_scan_d_y_scan_answer_gelu_erf = jax.scipy.special.erf(cost_scan_d_y_scan_answer_gelu_mul)
    cost_scan_d_y_scan_answer_gelu_add = jnp.float32(1.0) + cost_scan_d_y_scan_answer_gelu_erf
    cost_scan_d_y_scan_answer_gelu_mul2 = jnp.float32(0.5) * cost_scan_d_y_scan_answer_gelu_add
    cost_scan_d_y_scan_answer_gelu_mul3 = y_scan_answer_add * y_scan_answer_add
    cost_scan_d_y_scan_answer_gelu_mul4 = jnp.float32(-0.5) * cost_scan_d_y_scan_answer_gelu_mul3
    cost_scan_d_y_scan_answer_gelu_exp = jnp.exp(cost_scan_d_y_scan_answer_gelu_mul4)
    cost_scan_d_y_scan_answer_gelu_mul5 = jnp.float32(0.3989422804014327) * cost_scan_d_y_scan_answer_gelu_exp
    cost_scan_d_y_scan_answer_gelu_mul6 = y_scan_answer_add * cost_scan_d_y_scan_answer_gelu_mul5
    cost_scan_d_y_scan_answer_gelu_add2 = cost_scan_d_y_scan_answer_gelu_mul2 + cost_scan_d_y_scan_answer_gelu_mul6
    cost_scan_d_y_scan_answer_gelu_mul7 = cost_scan_d_cost_scan_mse_power_mul2 * cost_scan_d_y_scan_answer_gelu_add2
    cost_scan_d_y_scan_answer_mul_mul2 = cost_scan_d_y_scan_answer_gelu_mul7 * jnp.float32(2.0)
    cost_scan_d_y_scan_answer_sub_neg = -cost_scan_d_y_scan_answer_mul_mul2
    cost_scan_d_y_scan_answer_matmul_einsum2 = jnp.einsum("i,ik->k", cost_scan_d_y_scan_answer_mul_mul2, c_re)
    cost_scan_d_y_scan_answer_matmul2_einsum2 = jnp.einsum("i,ik->k", cost_scan_d_y_scan_answer_sub_neg, c_im)
    cost_scan_d_y_scan_getitem_expand_dims = jnp.expand_dims(cost_scan_d_y_scan_answer_matmul_einsum2, 0)
    place = jnp.arange(T, dtype=jnp.int32) - t
    cost_scan_d_y_scan_getitem_pad_t = jnp.where(((place >= 0) & (place < 1))[:, None], jnp.take(cost_scan_d_y_scan_getitem_expand_dims, place, axis=0, mode="clip"), jnp.float32(0.0))
    cost_scan_d_y_scan_getitem2_expand_dims = jnp.expand_dims(cost_scan_d_y_scan_answer_matmul2_einsum2, 0)
    place2 = jnp.arange(T, dtype=jnp.int32) - t
    cost_scan_d_y_scan_getitem2_pad_t = jnp.where(((place2 >= 0) & (place2 < 1))[:, None], jnp.take(cost_scan_d_y_scan_getitem2_expand_dims, place2, axis=0, mode="clip"), jnp.float32(0.0))
    y = lax.dynamic_update_index_in_dim(y, y_t, t, 0)
    y_scan = lax.dynamic_update_index_in_dim(y_scan, y_scan_t, t, 0)
    cost_scan_d_y_scan_getitem_pad = lax.dynamic_update_index_in_dim(cost_scan_d_y_scan_getitem_pad, cost_scan_d_y_scan_getitem_pad_t, t, 0)
    cost_scan_d_y_scan_getitem2_pad = lax.dynamic_update_index_in_dim(cost_scan_d_y_scan_getitem2_pad, cost_scan_d_y_scan_getitem2_pad_t, t, 0)
    return y, y_scan, cost_total_now, cost_total_now, cost_scan_total_now, cost_scan_total_now, cost_d_y_answer_matmul_einsum2, cost_d_y_answer_matmul_einsum2, cost_d_y_answer_matmul2_einsum2, cost_d_y_answer_matmul2_einsum2, cost_scan_d_y_scan_getitem_pad, cost_scan_d_y_scan_getitem2_pad


def cost_scan(
    at, cost_total_now_at, cost_scan_total_now_at, cost_d_hold_re_sum_now_0,
    cost_d_hold_re_sum2_now_0, cost_d_x_times_mul_mul, cost_d_x_times_mul3_mul, inverse_re,
    cost_d_hold_im_sum_now_0, cost_d_hold_im_sum2_now_0, inverse_im, size_now,
    cost_d_x_times_mul2_mul, cost_d_x_times_mul4_mul, hold_sub, keep_im, keep_sin, keep_cos,
    inverse_add, step, pitch, cost_scan_d_hold_re_sum_now_at, cost_scan_d_hold_re_sum2_now_at,
    cost_scan_d_hold_im_sum_now_at, cost_scan_d_hold_im_sum2_now_at, cost_scan_d_keep_re_sum_now_at,
    cost_scan_d_keep_im_sum_now_at, *, T,
):
    """15_s5.rt:18: param pitch: f32[P]
    15_s5.rt:24: def times(x, y) = {re: x.re * y.re - x.im * y.im, im: x.re * y.im + x.im * y.re}
    15_s5.rt:30: keep = {re: size_now * cos(pitch * step), im: size_now * sin(pitch * step)}
    15_s5.rt:31: inverse = {re: -damping / (damping ** 2 + pitch ** 2), im: -pitch / (damping ** 2 + pitch ** 2)}
    15_s5.rt:32: hold = times(inverse, {re: keep.re - 1.0, im: keep.im})
    15_s5.rt:37: def answer(x, heard, u) = u + gelu(2.0 * (c.re @ x.re - c.im @ x.im) + skip * heard)
    15_s5.rt:51: cost = mean(loss.mse(y, target)[t = 0:T])
    15_s5.rt:52: cost_scan = mean(loss.mse(y_scan, target)[t = 0:T])
    loss.rt:6: return mean((x - target) ** 2)
    """
    cost_count = jnp.int32(T)
    cost_number = cost_count.astype(jnp.float32)
    cost = cost_total_now_at / cost_number
    cost_scan_count = jnp.int32(T)
    cost_scan_number = cost_scan_count.astype(jnp.float32)
    cost_scan = cost_scan_total_now_at / cost_scan_number
    cost_d_hold_re_add = cost_d_hold_re_sum_now_0 + cost_d_hold_re_sum2_now_0
    cost_d_hold_re_neg = -cost_d_hold_re_add
    cost_d_x_times_mul_mul_slice = cost_d_x_times_mul_mul[1:max(1, T)]
    cost_d_keep_re_sum = jnp.sum(cost_d_x_times_mul_mul_slice, axis=0)
    cost_d_x_times_mul3_mul_slice = cost_d_x_times_mul3_mul[1:max(1, T)]
    cost_d_keep_re_sum2 = jnp.sum(cost_d_x_times_mul3_mul_slice, axis=0)
    cost_d_keep_re_add = cost_d_keep_re_sum + cost_d_keep_re_sum2
    cost_d_hold_times_mul_mul2 = cost_d_hold_re_add * inverse_re
    cost_d_hold_im_add = cost_d_hold_im_sum_now_0 + cost_d_hold_im_sum2_now_0
    cost_d_hold_times_mul4_mul2 = cost_d_hold_im_add * inverse_im
    cost_d_hold_sub_add = cost_d_hold_times_mul_mul2 + cost_d_hold_times_mul4_mul2
    cost_d_keep_re_add2 = cost_d_keep_re_add + cost_d_hold_sub_add
    cost_d_keep_re_mul2 = cost_d_keep_re_add2 * size_now
    cost_d_x_times_mul2_mul_slice = cost_d_x_times_mul2_mul[1:max(1, T)]
    cost_d_keep_im_sum = jnp.sum(cost_d_x_times_mul2_mul_slice, axis=0)
    cost_d_x_times_mul4_mul_slice = cost_d_x_times_mul4_mul[1:max(1, T)]
    cost_d_keep_im_sum2 = jnp.sum(cost_d_x_times_mul4_mul_slice, axis=0)
    cost_d_keep_im_add = cost_d_keep_im_sum + cost_d_keep_im_sum2
    cost_d_hold_times_mul2_mul2 = cost_d_hold_re_neg * inverse_im
    cost_d_keep_im_add2 = cost_d_keep_im_add + cost_d_hold_times_mul2_mul2
    cost_d_hold_times_mul3_mul2 = cost_d_hold_im_add * inverse_re
    cost_d_keep_im_add3 = cost_d_keep_im_add2 + cost_d_hold_times_mul3_mul2
    cost_d_keep_im_mul2 = cost_d_keep_im_add3 * size_now
    cost_d_hold_times_mul_mul = cost_d_hold_re_add * hold_sub
    cost_d_hold_times_mul2_mul = cost_d_hold_re_neg * keep_im
    cost_d_hold_times_mul3_mul = cost_d_hold_im_add * keep_im
    cost_d_hold_times_mul4_mul = cost_d_hold_im_add * hold_sub
    cost_d_keep_cos_mul = cost_d_keep_re_mul2 * keep_sin
    cost_d_keep_cos_neg = -cost_d_keep_cos_mul
    cost_d_keep_sin_mul = cost_d_keep_im_mul2 * keep_cos
    cost_d_inverse_re_add = cost_d_hold_times_mul_mul + cost_d_hold_times_mul3_mul
    cost_d_inverse_re_div = cost_d_inverse_re_add / inverse_add
    cost_d_inverse_re_mul = cost_d_inverse_re_div * inverse_re
    cost_d_inverse_re_neg = -cost_d_inverse_re_mul
    cost_d_inverse_im_add = cost_d_hold_times_mul2_mul + cost_d_hold_times_mul4_mul
    cost_d_inverse_im_div = cost_d_inverse_im_add / inverse_add
    cost_d_inverse_im_mul = cost_d_inverse_im_div * inverse_im
    cost_d_inverse_im_neg = -cost_d_inverse_im_mul
    cost_d_keep_mul_mul = cost_d_keep_cos_neg * step
    cost_d_keep_mul2_mul = cost_d_keep_sin_mul * step
    cost_d_inverse_neg2_neg = -cost_d_inverse_im_div
    cost_d_inverse_power2_mul = jnp.float32(2.0) * pitch
    cost_d_inverse_power2_mul2 = cost_d_inverse_re_neg * cost_d_inverse_power2_mul
    cost_d_inverse_power4_mul = cost_d_inverse_im_neg * cost_d_inverse_power2_mul
    cost_d_pitch_add = cost_d_keep_mul_mul + cost_d_keep_mul2_mul
    cost_d_pitch_add2 = cost_d_pitch_add + cost_d_inverse_neg2_neg
    cost_d_pitch_add3 = cost_d_pitch_add2 + cost_d_inverse_power2_mul2
    cost_d_pitch_add4 = cost_d_pitch_add3 + cost_d_inverse_power4_mul
    cost_scan_d_hold_re_add = cost_scan_d_hold_re_sum_now_at + cost_scan_d_hold_re_sum2_now_at
    cost_scan_d_hold_times_mul_mul2 = cost_scan_d_hold_re_add * inverse_re
    cost_scan_d_hold_im_add = cost_scan_d_hold_im_sum_now_at + cost_scan_d_hold_im_sum2_now_at
    cost_scan_d_hold_times_mul4_mul2 = cost_scan_d_hold_im_add * inverse_im
    cost_scan_d_hold_sub_add = cost_scan_d_hold_times_mul_mul2 + cost_scan_d_hold_times_mul4_mul2
    cost_scan_d_keep_re_add = cost_scan_d_keep_re_sum_now_at + cost_scan_d_hold_sub_add
    cost_scan_d_keep_re_mul2 = cost_scan_d_keep_re_add * size_now
    cost_scan_d_hold_re_neg = -cost_scan_d_hold_re_add
    cost_scan_d_hold_times_mul2_mul2 = cost_scan_d_hold_re_neg * inverse_im
    cost_scan_d_keep_im_add = cost_scan_d_keep_im_sum_now_at + cost_scan_d_hold_times_mul2_mul2
    cost_scan_d_hold_times_mul3_mul2 = cost_scan_d_hold_im_add * inverse_re
    cost_scan_d_keep_im_add2 = cost_scan_d_keep_im_add + cost_scan_d_hold_times_mul3_mul2
    cost_scan_d_keep_im_mul2 = cost_scan_d_keep_im_add2 * size_now
    cost_scan_d_keep_cos_mul = cost_scan_d_keep_re_mul2 * keep_sin
    cost_scan_d_keep_cos_neg = -cost_scan_d_keep_cos_mul
    cost_scan_d_keep_sin_mul = cost_scan_d_keep_im_mul2 * keep_cos
    cost_scan_d_keep_mul_mul = cost_scan_d_keep_cos_neg * step
    cost_scan_d_keep_mul2_mul = cost_scan_d_keep_sin_mul * step
    cost_scan_d_hold_times_mul_mul = cost_scan_d_hold_re_add * hold_sub
    cost_scan_d_hold_times_mul2_mul = cost_scan_d_hold_re_neg * keep_im
    cost_scan_d_hold_times_mul3_mul = cost_scan_d_hold_im_add * keep_im
    cost_scan_d_hold_times_mul4_mul = cost_scan_d_hold_im_add * hold_sub
    cost_scan_d_inverse_re_add = cost_scan_d_hold_times_mul_mul + cost_scan_d_hold_times_mul3_mul
    cost_scan_d_inverse_re_div = cost_scan_d_inverse_re_add / inverse_add
    cost_scan_d_inverse_re_mul = cost_scan_d_inverse_re_div * inverse_re
    cost_scan_d_inverse_re_neg = -cost_scan_d_inverse_re_mul
    cost_scan_d_inverse_im_add = cost_scan_d_hold_times_mul2_mul + cost_scan_d_hold_times_mul4_mul
    cost_scan_d_inverse_im_div = cost_scan_d_inverse_im_add / inverse_add
    cost_scan_d_inverse_im_mul = cost_scan_d_inverse_im_div * inverse_im
    cost_scan_d_inverse_im_neg = -cost_scan_d_inverse_im_mul
    cost_scan_d_inverse_neg2_neg = -cost_scan_d_inverse_im_div
    cost_scan_d_inverse_power2_mul2 = cost_scan_d_inverse_re_neg * cost_d_inverse_power2_mul
    cost_scan_d_inverse_power4_mul = cost_scan_d_inverse_im_neg * cost_d_inverse_power2_mul
    cost_scan_d_pitch_add = cost_scan_d_keep_mul_mul + cost_scan_d_keep_mul2_mul
    cost_scan_d_pitch_add2 = cost_scan_d_pitch_add + cost_scan_d_inverse_neg2_neg
    cost_scan_d_pitch_add3 = cost_scan_d_pitch_add2 + cost_scan_d_inverse_power2_mul2
    cost_scan_d_pitch_add4 = cost_scan_d_pitch_add3 + cost_scan_d_inverse_power4_mul
    return cost, cost_scan, cost_d_pitch_add4, cost_scan_d_pitch_add4


def cost_d_x_times_mul4_mul2(
    at, cost_d_x_re, cost_d_x_im, x_re_prev, keep_re, x_im_prev, keep_im, cost_d_x_times_mul_mul,
    cost_d_x_times_mul2_mul, cost_d_x_times_mul3_mul, cost_d_x_times_mul4_mul,
):
    """15_s5.rt:24: def times(x, y) = {re: x.re * y.re - x.im * y.im, im: x.re * y.im + x.im * y.re}
    15_s5.rt:35: push = times(hold, {re: b.re @ heard, im: b.im @ heard})
    15_s5.rt:41: x[t] = times(keep, x[t-1]) + push[t]
    """
    t = at[0]
    cost_d_x_times_sub_neg = -cost_d_x_re
    cost_d_x_times_mul_mul_t = cost_d_x_re * x_re_prev
    cost_d_x_times_mul_mul2 = cost_d_x_re * keep_re
    cost_d_x_times_mul2_mul_t = cost_d_x_times_sub_neg * x_im_prev
    cost_d_x_times_mul2_mul2 = cost_d_x_times_sub_neg * keep_im
    cost_d_x_times_mul3_mul_t = cost_d_x_im * x_im_prev
    cost_d_x_times_mul3_mul2 = cost_d_x_im * keep_re
    cost_d_x_times_mul4_mul_t = cost_d_x_im * x_re_prev
    cost_d_x_times_mul4_mul2 = cost_d_x_im * keep_im
    cost_d_x_times_mul_mul = lax.dynamic_update_index_in_dim(cost_d_x_times_mul_mul, cost_d_x_times_mul_mul_t, t, 0)
    cost_d_x_times_mul2_mul = lax.dynamic_update_index_in_dim(cost_d_x_times_mul2_mul, cost_d_x_times_mul2_mul_t, t, 0)
    cost_d_x_times_mul3_mul = lax.dynamic_update_index_in_dim(cost_d_x_times_mul3_mul, cost_d_x_times_mul3_mul_t, t, 0)
    cost_d_x_times_mul4_mul = lax.dynamic_update_index_in_dim(cost_d_x_times_mul4_mul, cost_d_x_times_mul4_mul_t, t, 0)
    return cost_d_x_re, cost_d_x_im, cost_d_x_times_mul_mul, cost_d_x_times_mul_mul2, cost_d_x_times_mul2_mul, cost_d_x_times_mul2_mul2, cost_d_x_times_mul3_mul, cost_d_x_times_mul3_mul2, cost_d_x_times_mul4_mul, cost_d_x_times_mul4_mul2


def cost_d_hold_im_sum2_now(
    at, cost_d_push_re, push_matmul, push_matmul2, cost_d_push_im, cost_d_hold_re_sum_past,
    cost_d_hold_re_sum2_past, cost_d_hold_im_sum_past, cost_d_hold_im_sum2_past,
):
    """15_s5.rt:24: def times(x, y) = {re: x.re * y.re - x.im * y.im, im: x.re * y.im + x.im * y.re}
    15_s5.rt:32: hold = times(inverse, {re: keep.re - 1.0, im: keep.im})
    15_s5.rt:35: push = times(hold, {re: b.re @ heard, im: b.im @ heard})
    """
    cost_d_push_re_neg = -cost_d_push_re
    cost_d_push_times_mul_mul = cost_d_push_re * push_matmul
    cost_d_push_times_mul2_mul = cost_d_push_re_neg * push_matmul2
    cost_d_push_times_mul3_mul = cost_d_push_im * push_matmul2
    cost_d_push_times_mul4_mul = cost_d_push_im * push_matmul
    cost_d_hold_re_sum_now = cost_d_hold_re_sum_past + cost_d_push_times_mul_mul
    cost_d_hold_re_sum2_now = cost_d_hold_re_sum2_past + cost_d_push_times_mul3_mul
    cost_d_hold_im_sum_now = cost_d_hold_im_sum_past + cost_d_push_times_mul2_mul
    cost_d_hold_im_sum2_now = cost_d_hold_im_sum2_past + cost_d_push_times_mul4_mul
    return cost_d_hold_re_sum_now, cost_d_hold_re_sum_now, cost_d_hold_re_sum2_now, cost_d_hold_re_sum2_now, cost_d_hold_im_sum_now, cost_d_hold_im_sum_now, cost_d_hold_im_sum2_now, cost_d_hold_im_sum2_now


def cost_d_x_im_02_add2(
    at, cost_d_y_answer_matmul_einsum2, cost_d_x_times_mul_mul2_next, cost_d_x_times_mul4_mul2_next,
    cost_d_y_answer_matmul2_einsum2, cost_d_x_times_mul2_mul2_next, cost_d_x_times_mul3_mul2_next,
):
    """15_s5.rt:40: x[0] = push[0]
    15_s5.rt:41: x[t] = times(keep, x[t-1]) + push[t]
    """
    cost_d_x_re_02_add = cost_d_y_answer_matmul_einsum2 + cost_d_x_times_mul_mul2_next
    cost_d_x_re_02_add2 = cost_d_x_re_02_add + cost_d_x_times_mul4_mul2_next
    cost_d_x_im_02_add = cost_d_y_answer_matmul2_einsum2 + cost_d_x_times_mul2_mul2_next
    cost_d_x_im_02_add2 = cost_d_x_im_02_add + cost_d_x_times_mul3_mul2_next
    return cost_d_x_re_02_add2, cost_d_x_im_02_add2


def cost_d_push_im_0(at, cost_d_x_re_0, cost_d_x_im_0):
    """15_s5.rt:35: push = times(hold, {re: b.re @ heard, im: b.im @ heard})"""
    return cost_d_x_re_0, cost_d_x_im_0


def cost_scan_d_all_associative_scan_fold(
    at, cost_scan_d_y_scan_getitem_pad, cost_scan_d_y_scan_getitem2_pad,
    cost_scan_d_all_associative_scan_take, cost_scan_d_all_associative_scan_take2,
    cost_scan_d_all_associative_scan_take3, cost_scan_d_all_associative_scan_take4, stretch_keep_re,
    stretch_keep_im, push_re, push_im, *, T,
):
    """15_s5.rt:47: stretch = {keep: keep + zeros_like(push), push: push}
    15_s5.rt:48: all = associative_scan(joined, stretch[t = 0:T], 0).push
    """
    cost_scan_d_all_associative_scan_arange_2 = jnp.arange(T, dtype=jnp.int32)
    cost_scan_d_all_associative_scan_eq = cost_scan_d_all_associative_scan_arange_2 == jnp.int32(0)
    stretch_full_2 = jnp.full((4,), jnp.float32(0.0))
    cost_scan_d_all_associative_scan_full2 = jnp.full((T, 4), jnp.float32(0.0))
    cost_scan_d_all_re_sum = jnp.sum(cost_scan_d_y_scan_getitem_pad, axis=0)
    cost_scan_d_all_im_sum = jnp.sum(cost_scan_d_y_scan_getitem2_pad, axis=0)
    def step(carry_0, carry_1, carry_2, carry_3, x_0, x_1, x_2, x_3, x_4, x_5, x_6, x_7, x_8, x_9, x_10, x_11, x_12):
        add = carry_0 + x_8
        add2 = carry_1 + x_9
        add3 = carry_2 + x_10
        add4 = carry_3 + x_11
        mul = x_4 * x_0
        mul2 = x_5 * x_1
        sub = mul - mul2
        mul3 = x_4 * x_1
        mul4 = x_5 * x_0
        add5 = mul3 + mul4
        mul5 = x_4 * x_2
        mul6 = x_5 * x_3
        sub2 = mul5 - mul6
        add6 = sub2 + x_6
        mul7 = x_4 * x_3
        mul8 = x_5 * x_2
        add7 = mul7 + mul8
        add8 = add7 + x_7
        mul9 = add4 * x_2
        mul10 = add4 * x_5
        mul11 = add4 * x_3
        mul12 = add4 * x_4
        neg = -add3
        mul13 = neg * x_3
        mul14 = neg * x_5
        mul15 = add3 * x_2
        mul16 = add3 * x_4
        mul17 = add2 * x_0
        mul18 = add2 * x_5
        mul19 = add2 * x_1
        mul20 = add2 * x_4
        neg2 = -add
        mul21 = neg2 * x_1
        mul22 = neg2 * x_5
        mul23 = add * x_0
        mul24 = add * x_4
        add9 = mul18 + mul24
        full = jnp.full((4,), jnp.float32(0.0))
        cond = jnp.where(x_12, full, add9)
        add10 = mul11 + mul15
        add11 = add10 + mul19
        add12 = add11 + mul23
        cond2 = jnp.where(x_12, add, add12)
        add13 = mul20 + mul22
        full2 = jnp.full((4,), jnp.float32(0.0))
        cond3 = jnp.where(x_12, full2, add13)
        add14 = mul9 + mul13
        add15 = add14 + mul17
        add16 = add15 + mul21
        cond4 = jnp.where(x_12, add2, add16)
        add17 = mul10 + mul16
        full3 = jnp.full((4,), jnp.float32(0.0))
        cond5 = jnp.where(x_12, full3, add17)
        cond6 = jnp.where(x_12, add3, add3)
        add18 = mul12 + mul14
        full4 = jnp.full((4,), jnp.float32(0.0))
        cond7 = jnp.where(x_12, full4, add18)
        cond8 = jnp.where(x_12, add4, add4)
        return ((cond, cond3, cond5, cond7), (cond2, cond4, cond6, cond8))
    folded = lax.scan(lambda c, x: step(*c, *x), (stretch_full_2, stretch_full_2, stretch_full_2, stretch_full_2), (cost_scan_d_all_associative_scan_take, cost_scan_d_all_associative_scan_take2, cost_scan_d_all_associative_scan_take3, cost_scan_d_all_associative_scan_take4, stretch_keep_re, stretch_keep_im, push_re, push_im, cost_scan_d_all_associative_scan_full2, cost_scan_d_all_associative_scan_full2, cost_scan_d_all_re_sum, cost_scan_d_all_im_sum, cost_scan_d_all_associative_scan_eq), reverse=True)[1]
    cost_scan_d_all_associative_scan_fold_0 = folded[0]
    cost_scan_d_all_associative_scan_fold_1 = folded[1]
    cost_scan_d_all_associative_scan_fold_2 = folded[2]
    cost_scan_d_all_associative_scan_fold_3 = folded[3]
    return cost_scan_d_all_associative_scan_fold_0, cost_scan_d_all_associative_scan_fold_1, cost_scan_d_all_associative_scan_fold_2, cost_scan_d_all_associative_scan_fold_3


def cost_scan_d_keep_im_sum_now(
    at, cost_scan_d_all_associative_scan_fold, cost_scan_d_keep_re_sum_past,
    cost_scan_d_all_associative_scan_fold_out2, push_matmul, cost_scan_d_hold_re_sum_past,
    cost_scan_d_all_associative_scan_fold_out3, push_matmul2, cost_scan_d_hold_re_sum2_past,
    cost_scan_d_hold_im_sum_past, cost_scan_d_hold_im_sum2_past,
    cost_scan_d_all_associative_scan_fold_out1, cost_scan_d_keep_im_sum_past,
):
    """15_s5.rt:24: def times(x, y) = {re: x.re * y.re - x.im * y.im, im: x.re * y.im + x.im * y.re}
    15_s5.rt:30: keep = {re: size_now * cos(pitch * step), im: size_now * sin(pitch * step)}
    15_s5.rt:32: hold = times(inverse, {re: keep.re - 1.0, im: keep.im})
    15_s5.rt:35: push = times(hold, {re: b.re @ heard, im: b.im @ heard})
    15_s5.rt:47: stretch = {keep: keep + zeros_like(push), push: push}
    """
    t = at[0]
    cost_scan_d_stretch_keep_re_getitem = lax.dynamic_index_in_dim(cost_scan_d_all_associative_scan_fold, t, 0, keepdims=False)
    cost_scan_d_keep_re_sum_now = cost_scan_d_keep_re_sum_past + cost_scan_d_stretch_keep_re_getitem
    cost_scan_d_stretch_push_re_getitem = lax.dynamic_index_in_dim(cost_scan_d_all_associative_scan_fold_out2, t, 0, keepdims=False)
    cost_scan_d_push_times_mul_mul = cost_scan_d_stretch_push_re_getitem * push_matmul
    cost_scan_d_hold_re_sum_now = cost_scan_d_hold_re_sum_past + cost_scan_d_push_times_mul_mul
    cost_scan_d_stretch_push_im_getitem = lax.dynamic_index_in_dim(cost_scan_d_all_associative_scan_fold_out3, t, 0, keepdims=False)
    cost_scan_d_push_times_mul3_mul = cost_scan_d_stretch_push_im_getitem * push_matmul2
    cost_scan_d_hold_re_sum2_now = cost_scan_d_hold_re_sum2_past + cost_scan_d_push_times_mul3_mul
    cost_scan_d_push_re_neg = -cost_scan_d_stretch_push_re_getitem
    cost_scan_d_push_times_mul2_mul = cost_scan_d_push_re_neg * push_matmul2
    cost_scan_d_hold_im_sum_now = cost_scan_d_hold_im_sum_past + cost_scan_d_push_times_mul2_mul
    cost_scan_d_push_times_mul4_mul = cost_scan_d_stretch_push_im_getitem * push_matmul
    cost_scan_d_hold_im_sum2_now = cost_scan_d_hold_im_sum2_past + cost_scan_d_push_times_mul4_mul
    cost_scan_d_stretch_keep_im_getitem = lax.dynamic_index_in_dim(cost_scan_d_all_associative_scan_fold_out1, t, 0, keepdims=False)
    cost_scan_d_keep_im_sum_now = cost_scan_d_keep_im_sum_past + cost_scan_d_stretch_keep_im_getitem
    return cost_scan_d_keep_re_sum_now, cost_scan_d_keep_re_sum_now, cost_scan_d_hold_re_sum_now, cost_scan_d_hold_re_sum_now, cost_scan_d_hold_re_sum2_now, cost_scan_d_hold_re_sum2_now, cost_scan_d_hold_im_sum_now, cost_scan_d_hold_im_sum_now, cost_scan_d_hold_im_sum2_now, cost_scan_d_hold_im_sum2_now, cost_scan_d_keep_im_sum_now, cost_scan_d_keep_im_sum_now
