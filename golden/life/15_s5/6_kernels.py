"""Kernels of 15_s5, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def cost_d_cost_mse_power_mul2_mul(at, layer_log_decay, layer_log_step, layer_frequency, *, T):
    """15_s5.rt:27: pole = {re: -exp(layer.log_decay), im: layer.frequency}
    15_s5.rt:28: keep, hold = ssm.zoh(pole, exp(layer.log_step))
    15_s5.rt:34: y = 2.0 * (layer.c.re @ x.re - layer.c.im @ x.im) + layer.d * heard
    15_s5.rt:50: cost = mean(loss.mse(y, target)[t = 0:T])
    15_s5.rt:51: cost_scan = mean(loss.mse(y_scan, target)[t = 0:T])
    loss.rt:6: return mean((x - target) ** 2)
    ssm.rt:15: size2 = b.re * b.re + b.im * b.im
    ssm.rt:16: return {re: (a.re * b.re + a.im * b.im) / size2, im: (a.im * b.re - a.re * b.im) / size2}
    ssm.rt:21: return {re: exp(a.re) * cos(a.im), im: exp(a.re) * sin(a.im)}
    ssm.rt:61: p = cexp(step * a)
    ssm.rt:62: return p, cdiv({re: p.re - 1.0, im: p.im}, a)
    """
    pole_exp = jnp.exp(layer_log_decay)
    pole_re = -pole_exp
    keep_exp = jnp.exp(layer_log_step)
    keep_zoh_p_mul = keep_exp * pole_re
    keep_zoh_p_mul2 = keep_exp * layer_frequency
    keep_zoh_p_cexp_exp = jnp.exp(keep_zoh_p_mul)
    keep_zoh_p_cexp_cos = jnp.cos(keep_zoh_p_mul2)
    keep_zoh_p_cexp_mul = keep_zoh_p_cexp_exp * keep_zoh_p_cexp_cos
    keep_zoh_p_cexp_sin = jnp.sin(keep_zoh_p_mul2)
    keep_zoh_p_cexp_mul2 = keep_zoh_p_cexp_exp * keep_zoh_p_cexp_sin
    keep_zoh_sub = keep_zoh_p_cexp_mul - jnp.float32(1.0)
    keep_zoh_cdiv_size2_mul = pole_exp * pole_exp
    keep_zoh_cdiv_size2_mul2 = layer_frequency * layer_frequency
    keep_zoh_cdiv_size2_add = keep_zoh_cdiv_size2_mul + keep_zoh_cdiv_size2_mul2
    keep_zoh_cdiv_mul2 = keep_zoh_p_cexp_mul2 * layer_frequency
    keep_zoh_cdiv_add_mul = keep_zoh_sub * pole_exp
    keep_zoh_cdiv_add = keep_zoh_cdiv_mul2 - keep_zoh_cdiv_add_mul
    keep_zoh_cdiv_mul3 = keep_zoh_p_cexp_mul2 * pole_re
    keep_zoh_cdiv_mul4 = keep_zoh_sub * layer_frequency
    keep_zoh_cdiv_sub = keep_zoh_cdiv_mul3 - keep_zoh_cdiv_mul4
    hold_re = keep_zoh_cdiv_add / keep_zoh_cdiv_size2_add
    hold_im = keep_zoh_cdiv_sub / keep_zoh_cdiv_size2_add
    cost_total_none = jnp.full((), jnp.float32(0.0))
    cost_scan_total_none = jnp.full((), jnp.float32(0.0))
    cost_d_cost_index = jnp.int32(T)
    cost_d_cost_cast = cost_d_cost_index.astype(jnp.float32)
    cost_d_cost_mse_mean_div = jnp.float32(0.16666666666666666) / cost_d_cost_cast
    cost_d_cost_mse_power_mul2_mul = cost_d_cost_mse_mean_div * jnp.float32(2.0)
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
    return pole_exp, pole_re, keep_exp, keep_zoh_p_cexp_exp, keep_zoh_p_cexp_cos, keep_zoh_p_cexp_mul, keep_zoh_p_cexp_sin, keep_zoh_p_cexp_mul2, keep_zoh_sub, keep_zoh_cdiv_size2_add, hold_re, hold_im, cost_total_none, cost_scan_total_none, cost_d_cost_mse_power_mul2_mul, cost_d_hold_re_sum_none, cost_d_hold_re_sum2_none, cost_d_hold_im_sum_none, cost_d_hold_im_sum2_none, cost_scan_d_keep_re_sum_none, cost_scan_d_keep_im_sum_none, cost_scan_d_hold_re_sum_none, cost_scan_d_hold_re_sum2_none, cost_scan_d_hold_im_sum_none, cost_scan_d_hold_im_sum2_none


def heard(
    at, u, norm_scale, norm_bias, layer_b_re, layer_b_im, hold_re, hold_im, layer_d,
    keep_zoh_p_cexp_mul, keep_zoh_p_cexp_mul2, push_re, push_im, stretch_keep_re, stretch_keep_im,
):
    """15_s5.rt:29: heard = nn.layer_norm(u, norm.scale, norm.bias)
    15_s5.rt:30: push = ssm.cmul(hold, {re: layer.b.re @ heard, im: layer.b.im @ heard})
    15_s5.rt:34: y = 2.0 * (layer.c.re @ x.re - layer.c.im @ x.im) + layer.d * heard
    15_s5.rt:46: stretch = {keep: keep + zeros_like(push), push: push}
    nn.rt:48: d = x - mean(x, axis = -1, keepdims = true)
    nn.rt:49: return d * rsqrt(mean(d * d, axis = -1, keepdims = true) + eps) * scale + bias
    ssm.rt:10: return {re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re}
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
    push_matmul = jnp.matmul(layer_b_re, heard)
    push_matmul2 = jnp.matmul(layer_b_im, heard)
    push_cmul_mul = hold_re * push_matmul
    push_cmul_mul2 = hold_im * push_matmul2
    push_cmul_mul3 = hold_re * push_matmul2
    push_cmul_mul4 = hold_im * push_matmul
    push_re_t = push_cmul_mul - push_cmul_mul2
    push_im_t = push_cmul_mul3 + push_cmul_mul4
    y_answer_y_mul2 = layer_d * heard
    stretch_keep_re_t = keep_zoh_p_cexp_mul + jnp.float32(0.0)
    stretch_keep_im_t = keep_zoh_p_cexp_mul2 + jnp.float32(0.0)
    push_re = lax.dynamic_update_index_in_dim(push_re, push_re_t, t, 0)
    push_im = lax.dynamic_update_index_in_dim(push_im, push_im_t, t, 0)
    stretch_keep_re = lax.dynamic_update_index_in_dim(stretch_keep_re, stretch_keep_re_t, t, 0)
    stretch_keep_im = lax.dynamic_update_index_in_dim(stretch_keep_im, stretch_keep_im_t, t, 0)
    return push_matmul, push_matmul2, push_re, push_im, y_answer_y_mul2, stretch_keep_re, stretch_keep_im


def x_im_1(at, keep_zoh_p_cexp_mul, x_re_prev, keep_zoh_p_cexp_mul2, x_im_prev, push_re, push_im):
    """15_s5.rt:40: x[t] = ssm.cmul(keep, x[t-1]) + push[t]
    ssm.rt:10: return {re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re}
    """
    t = at[0]
    x_cmul_mul = keep_zoh_p_cexp_mul * x_re_prev
    x_cmul_mul2 = keep_zoh_p_cexp_mul2 * x_im_prev
    x_cmul_sub = x_cmul_mul - x_cmul_mul2
    x_cmul_mul3 = keep_zoh_p_cexp_mul * x_im_prev
    x_cmul_mul4 = keep_zoh_p_cexp_mul2 * x_re_prev
    x_cmul_add = x_cmul_mul3 + x_cmul_mul4
    push_re_t = push_re[t]
    x_re_1 = x_cmul_sub + push_re_t
    push_im_t = push_im[t]
    x_im_1 = x_cmul_add + push_im_t
    return x_re_1, x_im_1


def cost_scan_d_states_associative_scan_take4(
    at, push_re, push_im, stretch_keep_re, stretch_keep_im, *, T,
):
    """15_s5.rt:39: x[0] = push[0]
    15_s5.rt:47: states = associative_scan(joined, stretch[t = 0:T], 0).push
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
    states_associative_scan_0 = scanned[0]
    states_associative_scan_1 = scanned[1]
    states_associative_scan_2 = scanned[2]
    states_associative_scan_3 = scanned[3]
    cost_scan_d_states_associative_scan_arange = jnp.arange(T, dtype=jnp.int32)
    cost_scan_d_states_associative_scan_sub = cost_scan_d_states_associative_scan_arange - jnp.int32(1)
    cost_scan_d_states_associative_scan_maximum = jnp.maximum(cost_scan_d_states_associative_scan_sub, jnp.int32(0))
    holds = jnp.all((cost_scan_d_states_associative_scan_maximum >= -T) & (cost_scan_d_states_associative_scan_maximum < T))
    cost_scan_d_states_associative_scan_take = jnp.take(states_associative_scan_0, jnp.where(cost_scan_d_states_associative_scan_maximum < 0, cost_scan_d_states_associative_scan_maximum + T, cost_scan_d_states_associative_scan_maximum), axis=0, mode="clip")
    holds2 = jnp.all((cost_scan_d_states_associative_scan_maximum >= -T) & (cost_scan_d_states_associative_scan_maximum < T))
    cost_scan_d_states_associative_scan_take2 = jnp.take(states_associative_scan_1, jnp.where(cost_scan_d_states_associative_scan_maximum < 0, cost_scan_d_states_associative_scan_maximum + T, cost_scan_d_states_associative_scan_maximum), axis=0, mode="clip")
    holds3 = jnp.all((cost_scan_d_states_associative_scan_maximum >= -T) & (cost_scan_d_states_associative_scan_maximum < T))
    cost_scan_d_states_associative_scan_take3 = jnp.take(states_associative_scan_2, jnp.where(cost_scan_d_states_associative_scan_maximum < 0, cost_scan_d_states_associative_scan_maximum + T, cost_scan_d_states_associative_scan_maximum), axis=0, mode="clip")
    holds4 = jnp.all((cost_scan_d_states_associative_scan_maximum >= -T) & (cost_scan_d_states_associative_scan_maximum < T))
    cost_scan_d_states_associative_scan_take4 = jnp.take(states_associative_scan_3, jnp.where(cost_scan_d_states_associative_scan_maximum < 0, cost_scan_d_states_associative_scan_maximum + T, cost_scan_d_states_associative_scan_maximum), axis=0, mode="clip")
    return push_re_0, push_im_0, states_associative_scan_2, states_associative_scan_3, cost_scan_d_states_associative_scan_take, cost_scan_d_states_associative_scan_take2, cost_scan_d_states_associative_scan_take3, cost_scan_d_states_associative_scan_take4, jnp.where(holds, jnp.where(holds2, jnp.where(holds3, jnp.where(holds4, jnp.int32(0), jnp.int32(4)), jnp.int32(3)), jnp.int32(2)), jnp.int32(1))


def y_scan(
    at, layer_c_re, x_re, layer_c_im, x_im, y_answer_y_mul2, u, states_associative_scan_out2,
    states_associative_scan_out3, target, cost_total_past, cost_scan_total_past,
    cost_d_cost_mse_power_mul2_mul, y, y_scan, cost_scan_d_y_scan_getitem_pad,
    cost_scan_d_y_scan_getitem2_pad, *, T,
):
    """15_s5.rt:34: y = 2.0 * (layer.c.re @ x.re - layer.c.im @ x.im) + layer.d * heard
    15_s5.rt:35: return u + gelu(y)
    15_s5.rt:41: y = answer(x, heard, u)
    15_s5.rt:48: y_scan = answer({re: states.re[t], im: states.im[t]}, heard, u)
    15_s5.rt:50: cost = mean(loss.mse(y, target)[t = 0:T])
    15_s5.rt:51: cost_scan = mean(loss.mse(y_scan, target)[t = 0:T])
    loss.rt:6: return mean((x - target) ** 2)
    ssm.rt:62: return p, cdiv({re: p.re - 1.0, im: p.im}, a)
    """
    t = at[0]
    y_answer_y_matmul = jnp.matmul(layer_c_re, x_re)
    y_answer_y_matmul2 = jnp.matmul(layer_c_im, x_im)
    y_answer_y_sub = y_answer_y_matmul - y_answer_y_matmul2
    y_answer_y_mul = jnp.float32(2.0) * y_answer_y_sub
    y_answer_y_add = y_answer_y_mul + y_answer_y_mul2
    y_answer_gelu = jax.nn.gelu(y_answer_y_add, approximate=False)
    u_t = u[t]
    y_t = u_t + y_answer_gelu
    y_scan_getitem = lax.dynamic_index_in_dim(states_associative_scan_out2, t, 0, keepdims=False)
    y_scan_getitem2 = lax.dynamic_index_in_dim(states_associative_scan_out3, t, 0, keepdims=False)
    y_scan_answer_y_matmul = jnp.matmul(layer_c_re, y_scan_getitem)
    y_scan_answer_y_matmul2 = jnp.matmul(layer_c_im, y_scan_getitem2)
    y_scan_answer_y_sub = y_scan_answer_y_matmul - y_scan_answer_y_matmul2
    y_scan_answer_y_mul = jnp.float32(2.0) * y_scan_answer_y_sub
    y_scan_answer_y_add = y_scan_answer_y_mul + y_answer_y_mul2
    y_scan_answer_gelu = jax.nn.gelu(y_scan_answer_y_add, approximate=False)
    y_scan_t = u_t + y_scan_answer_gelu
    target_t = target[t]
    cost_mse_sub = y_t - target_t
    cost_mse_power = cost_mse_sub * cost_mse_sub
    cost_mse_mean = jnp.sum(cost_mse_power, axis=0) / jnp.float32(6)
    cost_total_now = cost_total_past + cost_mse_mean
    cost_scan_mse_sub = y_scan_t - target_t
    cost_scan_mse_power = cost_scan_mse_sub * cost_scan_mse_sub
    cost_scan_mse_mean = jnp.sum(cost_scan_mse_power, axis=0) / jnp.float32(6)
    cost_scan_total_now = cost_scan_total_past + cost_scan_mse_mean
    cost_d_cost_mse_power_mul2 = cost_d_cost_mse_power_mul2_mul * cost_mse_sub
    cost_d_y_answer_gelu_mul = jnp.float32(0.7071067811865476) * y_answer_y_add
    cost_d_y_answer_gelu_erf = jax.scipy.special.erf(cost_d_y_answer_gelu_mul)
    cost_d_y_answer_gelu_add = jnp.float32(1.0) + cost_d_y_answer_gelu_erf
    cost_d_y_answer_gelu_mul2 = jnp.float32(0.5) * cost_d_y_answer_gelu_add
    cost_d_y_answer_gelu_mul3 = y_answer_y_add * y_answer_y_add
    cost_d_y_answer_gelu_mul4 = jnp.float32(-0.5) * cost_d_y_answer_gelu_mul3
    cost_d_y_answer_gelu_exp = jnp.exp(cost_d_y_answer_gelu_mul4)
    cost_d_y_answer_gelu_mul5 = jnp.float32(0.3989422804014327) * cost_d_y_answer_gelu_exp
    cost_d_y_answer_gelu_mul6 = y_answer_y_add * cost_d_y_answer_gelu_mul5
    cost_d_y_answer_gelu_add2 = cost_d_y_answer_gelu_mul2 + cost_d_y_answer_gelu_mul6
    cost_d_y_answer_gelu_mul7 = cost_d_cost_mse_power_mul2 * cost_d_y_answer_gelu_add2
    cost_d_y_answer_y_mul_mul2 = cost_d_y_answer_gelu_mul7 * jnp.float32(2.0)
    cost_d_y_answer_y_sub_neg = -cost_d_y_answer_y_mul_mul2
    cost_d_y_answer_y_matmul_einsum2 = jnp.matmul(cost_d_y_answer_y_mul_mul2, layer_c_re)
    cost_d_y_answer_y_matmul2_einsum2 = jnp.matmul(cost_d_y_answer_y_sub_neg, layer_c_im)
    cost_scan_d_cost_scan_mse_power_mul2 = cost_d_cost_mse_power_mul2_mul * cost_scan_mse_sub
    cost_scan_d_y_scan_answer_gelu_mul = jnp.float32(0.7071067811865476) * y_scan_answer_y_add
    cost_scan_d_y_scan_answer_gelu_erf = jax.scipy.special.erf(cost_scan_d_y_scan_answer_gelu_mul)
    cost_scan_d_y_scan_answer_gelu_add = jnp.float32(1.0) + cost_scan_d_y_scan_answer_gelu_erf
    cost_scan_d_y_scan_answer_gelu_mul2 = jnp.float32(0.5) * cost_scan_d_y_scan_answer_gelu_add
    cost_scan_d_y_scan_answer_gelu_mul3 = y_scan_answer_y_add * y_scan_answer_y_add
    cost_scan_d_y_scan_answer_gelu_mul4 = jnp.float32(-0.5) * cost_scan_d_y_scan_answer_gelu_mul3
    cost_scan_d_y_scan_answer_gelu_exp = jnp.exp(cost_scan_d_y_scan_answer_gelu_mul4)
    cost_scan_d_y_scan_answer_gelu_mul5 = jnp.float32(0.3989422804014327) * cost_scan_d_y_scan_answer_gelu_exp
    cost_scan_d_y_scan_answer_gelu_mul6 = y_scan_answer_y_add * cost_scan_d_y_scan_answer_gelu_mul5
    cost_scan_d_y_scan_answer_gelu_add2 = cost_scan_d_y_scan_answer_gelu_mul2 + cost_scan_d_y_scan_answer_gelu_mul6
    cost_scan_d_y_scan_answer_gelu_mul7 = cost_scan_d_cost_scan_mse_power_mul2 * cost_scan_d_y_scan_answer_gelu_add2
    cost_scan_d_y_scan_answer_y_mul_mul2 = cost_scan_d_y_scan_answer_gelu_mul7 * jnp.float32(2.0)
    cost_scan_d_y_scan_answer_y_sub_neg = -cost_scan_d_y_scan_answer_y_mul_mul2
    cost_scan_d_y_scan_answer_y_matmul_einsum2 = jnp.matmul(cost_scan_d_y_scan_answer_y_mul_mul2, layer_c_re)
    cost_scan_d_y_scan_answer_y_matmul2_einsum2 = jnp.matmul(cost_scan_d_y_scan_answer_y_sub_neg, layer_c_im)
    cost_scan_d_y_scan_getitem_expand_dims = jnp.expand_dims(cost_scan_d_y_scan_answer_y_matmul_einsum2, 0)
    place = jnp.arange(T, dtype=jnp.int32) - t
    cost_scan_d_y_scan_getitem_pad_t = jnp.where(((place >= 0) & (place < 1))[:, None], jnp.take(cost_scan_d_y_scan_getitem_expand_dims, place, axis=0, mode="clip"), jnp.float32(0.0))
    cost_scan_d_y_scan_getitem2_expand_dims = jnp.expand_dims(cost_scan_d_y_scan_answer_y_matmul2_einsum2, 0)
    place2 = jnp.arange(T, dtype=jnp.int32) - t
    cost_scan_d_y_scan_getitem2_pad_t = jnp.where(((place2 >= 0) & (place2 < 1))[:, None], jnp.take(cost_scan_d_y_scan_getitem2_expand_dims, place2, axis=0, mode="clip"), jnp.float32(0.0))
    y = lax.dynamic_update_index_in_dim(y, y_t, t, 0)
    y_scan = lax.dynamic_update_index_in_dim(y_scan, y_scan_t, t, 0)
    cost_scan_d_y_scan_getitem_pad = lax.dynamic_update_index_in_dim(cost_scan_d_y_scan_getitem_pad, cost_scan_d_y_scan_getitem_pad_t, t, 0)
    cost_scan_d_y_scan_getitem2_pad = lax.dynamic_update_index_in_dim(cost_scan_d_y_scan_getitem2_pad, cost_scan_d_y_scan_getitem2_pad_t, t, 0)
    return y, y_scan, cost_total_now, cost_total_now, cost_scan_total_now, cost_scan_total_now, cost_d_y_answer_y_matmul_einsum2, cost_d_y_answer_y_matmul_einsum2, cost_d_y_answer_y_matmul2_einsum2, cost_d_y_answer_y_matmul2_einsum2, cost_scan_d_y_scan_getitem_pad, cost_scan_d_y_scan_getitem2_pad


def cost_scan(
    at, cost_total_now_at, cost_scan_total_now_at, cost_d_hold_re_sum_now_0,
    cost_d_hold_re_sum2_now_0, keep_zoh_cdiv_size2_add, hold_re, cost_d_hold_im_sum_now_0,
    cost_d_hold_im_sum2_now_0, hold_im, cost_d_x_cmul_mul_mul, cost_d_x_cmul_mul3_mul, pole_re,
    layer_frequency, keep_zoh_p_cexp_exp, cost_d_x_cmul_mul2_mul, cost_d_x_cmul_mul4_mul, pole_exp,
    keep_zoh_p_cexp_mul2, keep_zoh_p_cexp_sin, keep_zoh_p_cexp_cos, keep_exp, keep_zoh_sub,
    cost_scan_d_y_scan_getitem_pad, cost_scan_d_y_scan_getitem2_pad,
    cost_scan_d_states_associative_scan_take, cost_scan_d_states_associative_scan_take2,
    cost_scan_d_states_associative_scan_take3, cost_scan_d_states_associative_scan_take4,
    stretch_keep_re, stretch_keep_im, push_re, push_im, *, T,
):
    """15_s5.rt:27: pole = {re: -exp(layer.log_decay), im: layer.frequency}
    15_s5.rt:28: keep, hold = ssm.zoh(pole, exp(layer.log_step))
    15_s5.rt:46: stretch = {keep: keep + zeros_like(push), push: push}
    15_s5.rt:47: states = associative_scan(joined, stretch[t = 0:T], 0).push
    15_s5.rt:50: cost = mean(loss.mse(y, target)[t = 0:T])
    15_s5.rt:51: cost_scan = mean(loss.mse(y_scan, target)[t = 0:T])
    ssm.rt:15: size2 = b.re * b.re + b.im * b.im
    ssm.rt:16: return {re: (a.re * b.re + a.im * b.im) / size2, im: (a.im * b.re - a.re * b.im) / size2}
    ssm.rt:21: return {re: exp(a.re) * cos(a.im), im: exp(a.re) * sin(a.im)}
    ssm.rt:61: p = cexp(step * a)
    ssm.rt:62: return p, cdiv({re: p.re - 1.0, im: p.im}, a)
    """
    cost_count = jnp.int32(T)
    cost_number = cost_count.astype(jnp.float32)
    cost = cost_total_now_at / cost_number
    cost_scan_count = jnp.int32(T)
    cost_scan_number = cost_scan_count.astype(jnp.float32)
    cost_scan = cost_scan_total_now_at / cost_scan_number
    cost_d_hold_re_add = cost_d_hold_re_sum_now_0 + cost_d_hold_re_sum2_now_0
    cost_d_hold_re_div = cost_d_hold_re_add / keep_zoh_cdiv_size2_add
    cost_d_hold_re_mul = cost_d_hold_re_div * hold_re
    cost_d_hold_re_neg = -cost_d_hold_re_mul
    cost_d_hold_im_add = cost_d_hold_im_sum_now_0 + cost_d_hold_im_sum2_now_0
    cost_d_hold_im_div = cost_d_hold_im_add / keep_zoh_cdiv_size2_add
    cost_d_hold_im_mul = cost_d_hold_im_div * hold_im
    cost_d_x_cmul_mul_mul_slice = cost_d_x_cmul_mul_mul[1:max(1, T)]
    cost_d_keep_re_sum = jnp.sum(cost_d_x_cmul_mul_mul_slice, axis=0)
    cost_d_x_cmul_mul3_mul_slice = cost_d_x_cmul_mul3_mul[1:max(1, T)]
    cost_d_keep_re_sum2 = jnp.sum(cost_d_x_cmul_mul3_mul_slice, axis=0)
    cost_d_keep_re_add = cost_d_keep_re_sum + cost_d_keep_re_sum2
    cost_d_keep_zoh_cdiv_mul_mul = cost_d_hold_re_div * pole_re
    cost_d_keep_zoh_sub_add_mul = cost_d_hold_im_div * layer_frequency
    cost_d_keep_zoh_sub_add = cost_d_keep_zoh_cdiv_mul_mul - cost_d_keep_zoh_sub_add_mul
    cost_d_keep_zoh_p_cexp_mul_add = cost_d_keep_re_add + cost_d_keep_zoh_sub_add
    cost_d_keep_zoh_p_cexp_mul_mul2 = cost_d_keep_zoh_p_cexp_mul_add * keep_zoh_p_cexp_exp
    cost_d_x_cmul_mul2_mul_slice = cost_d_x_cmul_mul2_mul[1:max(1, T)]
    cost_d_keep_im_sum = jnp.sum(cost_d_x_cmul_mul2_mul_slice, axis=0)
    cost_d_x_cmul_mul4_mul_slice = cost_d_x_cmul_mul4_mul[1:max(1, T)]
    cost_d_keep_im_sum2 = jnp.sum(cost_d_x_cmul_mul4_mul_slice, axis=0)
    cost_d_keep_im_add = cost_d_keep_im_sum + cost_d_keep_im_sum2
    cost_d_keep_zoh_cdiv_mul2_mul = cost_d_hold_re_div * layer_frequency
    cost_d_keep_zoh_p_cexp_mul2_add = cost_d_keep_im_add + cost_d_keep_zoh_cdiv_mul2_mul
    cost_d_keep_zoh_p_cexp_mul2_add2_mul = cost_d_hold_im_div * pole_exp
    cost_d_keep_zoh_p_cexp_mul2_add2 = cost_d_keep_zoh_p_cexp_mul2_add - cost_d_keep_zoh_p_cexp_mul2_add2_mul
    cost_d_keep_zoh_p_cexp_mul2_mul2 = cost_d_keep_zoh_p_cexp_mul2_add2 * keep_zoh_p_cexp_exp
    cost_d_keep_zoh_cdiv_mul2_mul2 = cost_d_hold_re_div * keep_zoh_p_cexp_mul2
    cost_d_keep_zoh_cdiv_size2_add_add = cost_d_hold_re_neg - cost_d_hold_im_mul
    cost_d_keep_zoh_cdiv_size2_mul2_mul = cost_d_keep_zoh_cdiv_size2_add_add * layer_frequency
    cost_d_keep_zoh_p_cexp_cos_mul = cost_d_keep_zoh_p_cexp_mul_mul2 * keep_zoh_p_cexp_sin
    cost_d_keep_zoh_p_cexp_sin_mul = cost_d_keep_zoh_p_cexp_mul2_mul2 * keep_zoh_p_cexp_cos
    cost_d_keep_zoh_p_mul2_add = cost_d_keep_zoh_p_cexp_sin_mul - cost_d_keep_zoh_p_cexp_cos_mul
    cost_d_keep_zoh_p_mul2_mul2 = cost_d_keep_zoh_p_mul2_add * keep_exp
    cost_d_pole_im_add = cost_d_keep_zoh_cdiv_mul2_mul2 + cost_d_keep_zoh_cdiv_size2_mul2_mul
    cost_d_pole_im_add2 = cost_d_pole_im_add + cost_d_keep_zoh_cdiv_size2_mul2_mul
    cost_d_pole_im_add3_mul = cost_d_hold_im_div * keep_zoh_sub
    cost_d_pole_im_add3 = cost_d_pole_im_add2 - cost_d_pole_im_add3_mul
    cost_d_pole_im_add4 = cost_d_pole_im_add3 + cost_d_keep_zoh_p_mul2_mul2
    cost_scan_d_states_associative_scan_arange_2 = jnp.arange(T, dtype=jnp.int32)
    cost_scan_d_states_associative_scan_eq = cost_scan_d_states_associative_scan_arange_2 == jnp.int32(0)
    stretch_full = jnp.full((4,), jnp.float32(0.0))
    cost_scan_d_states_associative_scan_full2 = jnp.full((T, 4), jnp.float32(0.0))
    cost_scan_d_states_re_sum = jnp.sum(cost_scan_d_y_scan_getitem_pad, axis=0)
    cost_scan_d_states_im_sum = jnp.sum(cost_scan_d_y_scan_getitem2_pad, axis=0)
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
    folded = lax.scan(lambda c, x: step(*c, *x), (stretch_full, stretch_full, stretch_full, stretch_full), (cost_scan_d_states_associative_scan_take, cost_scan_d_states_associative_scan_take2, cost_scan_d_states_associative_scan_take3, cost_scan_d_states_associative_scan_take4, stretch_keep_re, stretch_keep_im, push_re, push_im, cost_scan_d_states_associative_scan_full2, cost_scan_d_states_associative_scan_full2, cost_scan_d_states_re_sum, cost_scan_d_states_im_sum, cost_scan_d_states_associative_scan_eq), reverse=True)[1]
    cost_scan_d_states_associative_scan_fold_0 = folded[0]
    cost_scan_d_states_associative_scan_fold_1 = folded[1]
    cost_scan_d_states_associative_scan_fold_2 = folded[2]
    cost_scan_d_states_associative_scan_fold_3 = folded[3]
    return cost, cost_scan, cost_d_pole_im_add4, cost_scan_d_states_associative_scan_fold_0, cost_scan_d_states_associative_scan_fold_1, cost_scan_d_states_associative_scan_fold_2, cost_scan_d_states_associative_scan_fold_3


def cost_d_x_cmul_mul4_mul2(
    at, cost_d_x_re, cost_d_x_im, x_re_prev, keep_zoh_p_cexp_mul, x_im_prev, keep_zoh_p_cexp_mul2,
    cost_d_x_cmul_mul_mul, cost_d_x_cmul_mul2_mul, cost_d_x_cmul_mul3_mul, cost_d_x_cmul_mul4_mul,
):
    """15_s5.rt:30: push = ssm.cmul(hold, {re: layer.b.re @ heard, im: layer.b.im @ heard})
    15_s5.rt:40: x[t] = ssm.cmul(keep, x[t-1]) + push[t]
    ssm.rt:10: return {re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re}
    """
    t = at[0]
    cost_d_x_cmul_sub_neg = -cost_d_x_re
    cost_d_x_cmul_mul_mul_t = cost_d_x_re * x_re_prev
    cost_d_x_cmul_mul_mul2 = cost_d_x_re * keep_zoh_p_cexp_mul
    cost_d_x_cmul_mul2_mul_t = cost_d_x_cmul_sub_neg * x_im_prev
    cost_d_x_cmul_mul2_mul2 = cost_d_x_cmul_sub_neg * keep_zoh_p_cexp_mul2
    cost_d_x_cmul_mul3_mul_t = cost_d_x_im * x_im_prev
    cost_d_x_cmul_mul3_mul2 = cost_d_x_im * keep_zoh_p_cexp_mul
    cost_d_x_cmul_mul4_mul_t = cost_d_x_im * x_re_prev
    cost_d_x_cmul_mul4_mul2 = cost_d_x_im * keep_zoh_p_cexp_mul2
    cost_d_x_cmul_mul_mul = lax.dynamic_update_index_in_dim(cost_d_x_cmul_mul_mul, cost_d_x_cmul_mul_mul_t, t, 0)
    cost_d_x_cmul_mul2_mul = lax.dynamic_update_index_in_dim(cost_d_x_cmul_mul2_mul, cost_d_x_cmul_mul2_mul_t, t, 0)
    cost_d_x_cmul_mul3_mul = lax.dynamic_update_index_in_dim(cost_d_x_cmul_mul3_mul, cost_d_x_cmul_mul3_mul_t, t, 0)
    cost_d_x_cmul_mul4_mul = lax.dynamic_update_index_in_dim(cost_d_x_cmul_mul4_mul, cost_d_x_cmul_mul4_mul_t, t, 0)
    return cost_d_x_re, cost_d_x_im, cost_d_x_cmul_mul_mul, cost_d_x_cmul_mul_mul2, cost_d_x_cmul_mul2_mul, cost_d_x_cmul_mul2_mul2, cost_d_x_cmul_mul3_mul, cost_d_x_cmul_mul3_mul2, cost_d_x_cmul_mul4_mul, cost_d_x_cmul_mul4_mul2


def cost_d_hold_im_sum2_now(
    at, cost_d_push_re, push_matmul, push_matmul2, cost_d_push_im, cost_d_hold_re_sum_past,
    cost_d_hold_re_sum2_past, cost_d_hold_im_sum_past, cost_d_hold_im_sum2_past,
):
    """15_s5.rt:28: keep, hold = ssm.zoh(pole, exp(layer.log_step))
    ssm.rt:10: return {re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re}
    """
    cost_d_push_cmul_mul_mul = cost_d_push_re * push_matmul
    cost_d_push_cmul_mul2_mul_mul = cost_d_push_re * push_matmul2
    cost_d_push_cmul_mul2_mul = -cost_d_push_cmul_mul2_mul_mul
    cost_d_push_cmul_mul3_mul = cost_d_push_im * push_matmul2
    cost_d_push_cmul_mul4_mul = cost_d_push_im * push_matmul
    cost_d_hold_re_sum_now = cost_d_hold_re_sum_past + cost_d_push_cmul_mul_mul
    cost_d_hold_re_sum2_now = cost_d_hold_re_sum2_past + cost_d_push_cmul_mul3_mul
    cost_d_hold_im_sum_now = cost_d_hold_im_sum_past + cost_d_push_cmul_mul2_mul
    cost_d_hold_im_sum2_now = cost_d_hold_im_sum2_past + cost_d_push_cmul_mul4_mul
    return cost_d_hold_re_sum_now, cost_d_hold_re_sum_now, cost_d_hold_re_sum2_now, cost_d_hold_re_sum2_now, cost_d_hold_im_sum_now, cost_d_hold_im_sum_now, cost_d_hold_im_sum2_now, cost_d_hold_im_sum2_now


def cost_d_x_im_02_add2(
    at, cost_d_y_answer_y_matmul_einsum2, cost_d_x_cmul_mul_mul2_next, cost_d_x_cmul_mul4_mul2_next,
    cost_d_y_answer_y_matmul2_einsum2, cost_d_x_cmul_mul2_mul2_next, cost_d_x_cmul_mul3_mul2_next,
):
    """15_s5.rt:39: x[0] = push[0]
    15_s5.rt:40: x[t] = ssm.cmul(keep, x[t-1]) + push[t]
    """
    cost_d_x_re_02_add = cost_d_y_answer_y_matmul_einsum2 + cost_d_x_cmul_mul_mul2_next
    cost_d_x_re_02_add2 = cost_d_x_re_02_add + cost_d_x_cmul_mul4_mul2_next
    cost_d_x_im_02_add = cost_d_y_answer_y_matmul2_einsum2 + cost_d_x_cmul_mul2_mul2_next
    cost_d_x_im_02_add2 = cost_d_x_im_02_add + cost_d_x_cmul_mul3_mul2_next
    return cost_d_x_re_02_add2, cost_d_x_im_02_add2


def cost_d_push_im_0(at, cost_d_x_re_0, cost_d_x_im_0):
    """15_s5.rt:30: push = ssm.cmul(hold, {re: layer.b.re @ heard, im: layer.b.im @ heard})"""
    return cost_d_x_re_0, cost_d_x_im_0


def cost_scan_d_keep_im_sum_now(
    at, cost_scan_d_states_associative_scan_fold, cost_scan_d_keep_re_sum_past,
    cost_scan_d_states_associative_scan_fold_out2, push_matmul, cost_scan_d_hold_re_sum_past,
    cost_scan_d_states_associative_scan_fold_out3, push_matmul2, cost_scan_d_hold_re_sum2_past,
    cost_scan_d_hold_im_sum_past, cost_scan_d_hold_im_sum2_past,
    cost_scan_d_states_associative_scan_fold_out1, cost_scan_d_keep_im_sum_past,
):
    """15_s5.rt:28: keep, hold = ssm.zoh(pole, exp(layer.log_step))
    15_s5.rt:46: stretch = {keep: keep + zeros_like(push), push: push}
    ssm.rt:10: return {re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re}
    """
    t = at[0]
    cost_scan_d_stretch_keep_re_getitem = lax.dynamic_index_in_dim(cost_scan_d_states_associative_scan_fold, t, 0, keepdims=False)
    cost_scan_d_keep_re_sum_now = cost_scan_d_keep_re_sum_past + cost_scan_d_stretch_keep_re_getitem
    cost_scan_d_stretch_push_re_getitem = lax.dynamic_index_in_dim(cost_scan_d_states_associative_scan_fold_out2, t, 0, keepdims=False)
    cost_scan_d_push_cmul_mul_mul = cost_scan_d_stretch_push_re_getitem * push_matmul
    cost_scan_d_hold_re_sum_now = cost_scan_d_hold_re_sum_past + cost_scan_d_push_cmul_mul_mul
    cost_scan_d_stretch_push_im_getitem = lax.dynamic_index_in_dim(cost_scan_d_states_associative_scan_fold_out3, t, 0, keepdims=False)
    cost_scan_d_push_cmul_mul3_mul = cost_scan_d_stretch_push_im_getitem * push_matmul2
    cost_scan_d_hold_re_sum2_now = cost_scan_d_hold_re_sum2_past + cost_scan_d_push_cmul_mul3_mul
    cost_scan_d_push_cmul_mul2_mul_mul = cost_scan_d_stretch_push_re_getitem * push_matmul2
    cost_scan_d_push_cmul_mul2_mul = -cost_scan_d_push_cmul_mul2_mul_mul
    cost_scan_d_hold_im_sum_now = cost_scan_d_hold_im_sum_past + cost_scan_d_push_cmul_mul2_mul
    cost_scan_d_push_cmul_mul4_mul = cost_scan_d_stretch_push_im_getitem * push_matmul
    cost_scan_d_hold_im_sum2_now = cost_scan_d_hold_im_sum2_past + cost_scan_d_push_cmul_mul4_mul
    cost_scan_d_stretch_keep_im_getitem = lax.dynamic_index_in_dim(cost_scan_d_states_associative_scan_fold_out1, t, 0, keepdims=False)
    cost_scan_d_keep_im_sum_now = cost_scan_d_keep_im_sum_past + cost_scan_d_stretch_keep_im_getitem
    return cost_scan_d_keep_re_sum_now, cost_scan_d_keep_re_sum_now, cost_scan_d_hold_re_sum_now, cost_scan_d_hold_re_sum_now, cost_scan_d_hold_re_sum2_now, cost_scan_d_hold_re_sum2_now, cost_scan_d_hold_im_sum_now, cost_scan_d_hold_im_sum_now, cost_scan_d_hold_im_sum2_now, cost_scan_d_hold_im_sum2_now, cost_scan_d_keep_im_sum_now, cost_scan_d_keep_im_sum_now


def cost_scan_d_pole_im_add4(
    at, cost_scan_d_hold_re_sum_now_at, cost_scan_d_hold_re_sum2_now_at, keep_zoh_cdiv_size2_add,
    pole_re, cost_scan_d_hold_im_sum_now_at, cost_scan_d_hold_im_sum2_now_at, layer_frequency,
    cost_scan_d_keep_re_sum_now_at, keep_zoh_p_cexp_exp, cost_scan_d_keep_im_sum_now_at, pole_exp,
    keep_zoh_p_cexp_sin, keep_zoh_p_cexp_cos, hold_re, hold_im, keep_exp, keep_zoh_p_cexp_mul2,
    keep_zoh_sub,
):
    """15_s5.rt:27: pole = {re: -exp(layer.log_decay), im: layer.frequency}
    15_s5.rt:28: keep, hold = ssm.zoh(pole, exp(layer.log_step))
    ssm.rt:15: size2 = b.re * b.re + b.im * b.im
    ssm.rt:16: return {re: (a.re * b.re + a.im * b.im) / size2, im: (a.im * b.re - a.re * b.im) / size2}
    ssm.rt:21: return {re: exp(a.re) * cos(a.im), im: exp(a.re) * sin(a.im)}
    ssm.rt:61: p = cexp(step * a)
    ssm.rt:62: return p, cdiv({re: p.re - 1.0, im: p.im}, a)
    """
    cost_scan_d_hold_re_add = cost_scan_d_hold_re_sum_now_at + cost_scan_d_hold_re_sum2_now_at
    cost_scan_d_hold_re_div = cost_scan_d_hold_re_add / keep_zoh_cdiv_size2_add
    cost_scan_d_keep_zoh_cdiv_mul_mul = cost_scan_d_hold_re_div * pole_re
    cost_scan_d_hold_im_add = cost_scan_d_hold_im_sum_now_at + cost_scan_d_hold_im_sum2_now_at
    cost_scan_d_hold_im_div = cost_scan_d_hold_im_add / keep_zoh_cdiv_size2_add
    cost_scan_d_keep_zoh_sub_add_mul = cost_scan_d_hold_im_div * layer_frequency
    cost_scan_d_keep_zoh_sub_add = cost_scan_d_keep_zoh_cdiv_mul_mul - cost_scan_d_keep_zoh_sub_add_mul
    cost_scan_d_keep_zoh_p_cexp_mul_add = cost_scan_d_keep_re_sum_now_at + cost_scan_d_keep_zoh_sub_add
    cost_scan_d_keep_zoh_p_cexp_mul_mul2 = cost_scan_d_keep_zoh_p_cexp_mul_add * keep_zoh_p_cexp_exp
    cost_scan_d_keep_zoh_cdiv_mul2_mul = cost_scan_d_hold_re_div * layer_frequency
    cost_scan_d_keep_zoh_p_cexp_mul2_add = cost_scan_d_keep_im_sum_now_at + cost_scan_d_keep_zoh_cdiv_mul2_mul
    cost_scan_d_keep_zoh_p_cexp_mul2_add2_mul = cost_scan_d_hold_im_div * pole_exp
    cost_scan_d_keep_zoh_p_cexp_mul2_add2 = cost_scan_d_keep_zoh_p_cexp_mul2_add - cost_scan_d_keep_zoh_p_cexp_mul2_add2_mul
    cost_scan_d_keep_zoh_p_cexp_mul2_mul2 = cost_scan_d_keep_zoh_p_cexp_mul2_add2 * keep_zoh_p_cexp_exp
    cost_scan_d_keep_zoh_p_cexp_cos_mul = cost_scan_d_keep_zoh_p_cexp_mul_mul2 * keep_zoh_p_cexp_sin
    cost_scan_d_keep_zoh_p_cexp_sin_mul = cost_scan_d_keep_zoh_p_cexp_mul2_mul2 * keep_zoh_p_cexp_cos
    cost_scan_d_hold_re_mul = cost_scan_d_hold_re_div * hold_re
    cost_scan_d_hold_re_neg = -cost_scan_d_hold_re_mul
    cost_scan_d_hold_im_mul = cost_scan_d_hold_im_div * hold_im
    cost_scan_d_keep_zoh_p_mul2_add = cost_scan_d_keep_zoh_p_cexp_sin_mul - cost_scan_d_keep_zoh_p_cexp_cos_mul
    cost_scan_d_keep_zoh_p_mul2_mul2 = cost_scan_d_keep_zoh_p_mul2_add * keep_exp
    cost_scan_d_keep_zoh_cdiv_mul2_mul2 = cost_scan_d_hold_re_div * keep_zoh_p_cexp_mul2
    cost_scan_d_keep_zoh_cdiv_size2_add_add = cost_scan_d_hold_re_neg - cost_scan_d_hold_im_mul
    cost_scan_d_keep_zoh_cdiv_size2_mul2_mul = cost_scan_d_keep_zoh_cdiv_size2_add_add * layer_frequency
    cost_scan_d_pole_im_add = cost_scan_d_keep_zoh_p_mul2_mul2 + cost_scan_d_keep_zoh_cdiv_mul2_mul2
    cost_scan_d_pole_im_add2 = cost_scan_d_pole_im_add + cost_scan_d_keep_zoh_cdiv_size2_mul2_mul
    cost_scan_d_pole_im_add3 = cost_scan_d_pole_im_add2 + cost_scan_d_keep_zoh_cdiv_size2_mul2_mul
    cost_scan_d_pole_im_add4_mul = cost_scan_d_hold_im_div * keep_zoh_sub
    cost_scan_d_pole_im_add4 = cost_scan_d_pole_im_add3 - cost_scan_d_pole_im_add4_mul
    return (cost_scan_d_pole_im_add4,)
