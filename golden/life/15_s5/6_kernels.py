"""Kernels of 15_s5, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def linear_rows(row, first, count, reverse=False):
    """Rows that `row(k, ...)` makes of the one before, in which it is linear element by element.

    `first` and `count` rows after it; with `reverse` before it, the last one first. One after the
    other on a CPU, which takes less time; elsewhere as prefixes of a chain of linear maps.
    """
    if jax.default_backend() == "cpu":
        alone = len(first) == 1  # of several tensors XLA would copy those that are read back
        back, ahead = (1, 0) if reverse else (0, 1)
        take = lambda x, k: lax.dynamic_index_in_dim(x, k, 0, False, allow_negative_indices=False)

        def put(x, y, k):
            return lax.dynamic_update_index_in_dim(x, y, k, 0, allow_negative_indices=False)

        def step(n, found):
            k = count - 1 - n if reverse else n
            rows, before = found
            at = lax.convert_element_type(k, jnp.uint32)  # nobody asks whether that is negative
            new = row(at, *([take(rows[0], k + back)] if alone else before))
            made = tuple(put(x, y, k + ahead) for x, y in zip(rows, new))
            return made, () if alone else new

        rows = tuple(jnp.broadcast_to(x, (count + 1, *x.shape)) for x in first)
        return lax.fori_loop(0, count, step, (rows, () if alone else tuple(first)))[0]

    def both(k):
        zeros = tuple(jnp.zeros_like(x) for x in first)
        added, slope = jax.linearize(lambda *before: row(k, *before), *zeros)
        units = [[jnp.full_like(x, i == j) for i, x in enumerate(first)] for j in range(len(first))]
        return tuple(slope(*unit) for unit in units), added

    def after(early, late):
        (a, b), (c, d) = early, late
        times = lambda x: tuple(sum(x[m] * c[m][i] for m in range(len(x))) for i in range(len(x)))
        return tuple(times(x) for x in a), tuple(x + y for x, y in zip(times(b), d))

    factors, added = lax.associative_scan(after, jax.vmap(both)(jnp.arange(count)), reverse=reverse)
    made = [
        sum((f[i] * x for f, x in zip(factors, first)), added[i]) for i in range(len(first))
    ]
    parts = ((y, x[None]) if reverse else (x[None], y) for x, y in zip(first, made))
    return tuple(jnp.concatenate(part) for part in parts)


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
    cost_d_cost_index = jnp.int32(T)
    cost_d_cost_cast = cost_d_cost_index.astype(jnp.float32)
    cost_d_cost_mse_mean_div = jnp.float32(0.16666666666666666) / cost_d_cost_cast
    cost_d_cost_mse_power_mul2_mul = cost_d_cost_mse_mean_div * jnp.float32(2.0)
    return pole_exp, pole_re, keep_exp, keep_zoh_p_cexp_exp, keep_zoh_p_cexp_cos, keep_zoh_p_cexp_mul, keep_zoh_p_cexp_sin, keep_zoh_p_cexp_mul2, keep_zoh_sub, keep_zoh_cdiv_size2_add, hold_re, hold_im, cost_d_cost_mse_power_mul2_mul


def heard(
    at, u, norm_scale, norm_bias, layer_b_re, layer_b_im, hold_re, hold_im, layer_d,
    keep_zoh_p_cexp_mul, keep_zoh_p_cexp_mul2,
):
    """15_s5.rt:29: heard = nn.layer_norm(u, norm.scale, norm.bias)
    15_s5.rt:30: push = ssm.cmul(hold, {re: layer.b.re @ heard, im: layer.b.im @ heard})
    15_s5.rt:34: y = 2.0 * (layer.c.re @ x.re - layer.c.im @ x.im) + layer.d * heard
    15_s5.rt:46: stretch = {keep: keep + zeros_like(push), push: push}
    nn.rt:48: d = x - mean(x, axis = -1, keepdims = true)
    nn.rt:49: return d * rsqrt(mean(d * d, axis = -1, keepdims = true) + eps) * scale + bias
    ssm.rt:10: return {re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re}
    """
    def point(u):
        heard_layer_norm_d_mean = jnp.sum(u, axis=0, keepdims=True) / jnp.float32(6)
        heard_layer_norm_d_sub = u - heard_layer_norm_d_mean
        heard_layer_norm_mul = heard_layer_norm_d_sub * heard_layer_norm_d_sub
        heard_layer_norm_mean = jnp.sum(heard_layer_norm_mul, axis=0, keepdims=True) / jnp.float32(6)
        heard_layer_norm_add = heard_layer_norm_mean + jnp.float32(1e-05)
        heard_layer_norm_rsqrt = lax.rsqrt(heard_layer_norm_add)
        heard_layer_norm_mul2 = heard_layer_norm_d_sub * heard_layer_norm_rsqrt
        heard_layer_norm_mul3 = heard_layer_norm_mul2 * norm_scale
        heard = heard_layer_norm_mul3 + norm_bias
        push_matmul = jnp.matmul(heard, layer_b_re.T)
        push_matmul2 = jnp.matmul(heard, layer_b_im.T)
        push_cmul_mul = hold_re * push_matmul
        push_cmul_mul2 = hold_im * push_matmul2
        push_cmul_mul3 = hold_re * push_matmul2
        push_cmul_mul4 = hold_im * push_matmul
        push_re = push_cmul_mul - push_cmul_mul2
        push_im = push_cmul_mul3 + push_cmul_mul4
        y_answer_y_mul2 = layer_d * heard
        stretch_keep_re = keep_zoh_p_cexp_mul + jnp.float32(0.0)
        stretch_keep_im = keep_zoh_p_cexp_mul2 + jnp.float32(0.0)
        return (push_matmul, push_matmul2, push_re, push_im, y_answer_y_mul2, stretch_keep_re, stretch_keep_im)
    push_matmul_rows, push_matmul2_rows, push_re_rows, push_im_rows, y_answer_y_mul2_rows, stretch_keep_re_rows, stretch_keep_im_rows = jax.vmap(point)(u)
    return push_matmul_rows, push_matmul2_rows, push_re_rows, push_im_rows, y_answer_y_mul2_rows, stretch_keep_re_rows, stretch_keep_im_rows


def cost_scan_d_states_associative_scan_take4(
    at, push_re, push_im, keep_zoh_p_cexp_mul, keep_zoh_p_cexp_mul2, stretch_keep_re,
    stretch_keep_im, *, T,
):
    """15_s5.rt:39: x[0] = push[0]
    15_s5.rt:40: x[t] = ssm.cmul(keep, x[t-1]) + push[t]
    15_s5.rt:47: states = associative_scan(joined, stretch[t = 0:T], 0).push
    """
    push_re_0 = push_re[0]
    push_im_0 = push_im[0]
    def row(k, before_0, before_1):
        push_re_row = push_re[k+1]
        push_im_row = push_im[k+1]
        mul = keep_zoh_p_cexp_mul * before_0
        mul2 = keep_zoh_p_cexp_mul2 * before_1
        sub = mul - mul2
        add = sub + push_re_row
        mul3 = keep_zoh_p_cexp_mul * before_1
        mul4 = keep_zoh_p_cexp_mul2 * before_0
        add2 = mul3 + mul4
        add3 = add2 + push_im_row
        return (add, add3)
    made = linear_rows(row, (push_re_0, push_im_0), T-1)
    x_re_rows_0 = made[0]
    x_re_rows_1 = made[1]
    def combine(earlier_0, earlier_1, earlier_2, earlier_3, later_0, later_1, later_2, later_3):
        mul5 = later_0 * earlier_0
        mul6 = later_1 * earlier_1
        sub2 = mul5 - mul6
        mul7 = later_0 * earlier_1
        mul8 = later_1 * earlier_0
        add4 = mul7 + mul8
        mul9 = later_0 * earlier_2
        mul10 = later_1 * earlier_3
        sub3 = mul9 - mul10
        add5 = sub3 + later_2
        mul11 = later_0 * earlier_3
        mul12 = later_1 * earlier_2
        add6 = mul11 + mul12
        add7 = add6 + later_3
        return (sub2, add4, add5, add7)
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
    return x_re_rows_0, x_re_rows_1, states_associative_scan_2, states_associative_scan_3, cost_scan_d_states_associative_scan_take, cost_scan_d_states_associative_scan_take2, cost_scan_d_states_associative_scan_take3, cost_scan_d_states_associative_scan_take4, jnp.where(holds, jnp.where(holds2, jnp.where(holds3, jnp.where(holds4, jnp.int32(0), jnp.int32(4)), jnp.int32(3)), jnp.int32(2)), jnp.int32(1))


def y_scan(
    at, layer_c_re, layer_c_im, y_answer_y_mul2, u, target, cost_d_cost_mse_power_mul2_mul,
    x_re_rows, x_re_rows_out1, states_associative_scan_out2, states_associative_scan_out3,
):
    """15_s5.rt:34: y = 2.0 * (layer.c.re @ x.re - layer.c.im @ x.im) + layer.d * heard
    15_s5.rt:35: return u + gelu(y)
    15_s5.rt:39: x[0] = push[0]
    15_s5.rt:40: x[t] = ssm.cmul(keep, x[t-1]) + push[t]
    15_s5.rt:41: y = answer(x, heard, u)
    15_s5.rt:48: y_scan = answer({re: states.re[t], im: states.im[t]}, heard, u)
    15_s5.rt:50: cost = mean(loss.mse(y, target)[t = 0:T])
    15_s5.rt:51: cost_scan = mean(loss.mse(y_scan, target)[t = 0:T])
    loss.rt:6: return mean((x - target) ** 2)
    ssm.rt:62: return p, cdiv({re: p.re - 1.0, im: p.im}, a)
    """
    def point(x_re_rows_t, x_re_rows_out1_t, y_answer_y_mul2, u, states_associative_scan_out2_t, states_associative_scan_out3_t, target):
        y_answer_y_matmul = jnp.matmul(x_re_rows_t, layer_c_re.T)
        y_answer_y_matmul2 = jnp.matmul(x_re_rows_out1_t, layer_c_im.T)
        y_answer_y_sub = y_answer_y_matmul - y_answer_y_matmul2
        y_answer_y_mul = jnp.float32(2.0) * y_answer_y_sub
        y_answer_y_add = y_answer_y_mul + y_answer_y_mul2
        y_answer_gelu = jax.nn.gelu(y_answer_y_add, approximate=False)
        y = u + y_answer_gelu
        y_scan_answer_y_matmul = jnp.matmul(states_associative_scan_out2_t, layer_c_re.T)
        y_scan_answer_y_matmul2 = jnp.matmul(states_associative_scan_out3_t, layer_c_im.T)
        y_scan_answer_y_sub = y_scan_answer_y_matmul - y_scan_answer_y_matmul2
        y_scan_answer_y_mul = jnp.float32(2.0) * y_scan_answer_y_sub
        y_scan_answer_y_add = y_scan_answer_y_mul + y_answer_y_mul2
        y_scan_answer_gelu = jax.nn.gelu(y_scan_answer_y_add, approximate=False)
        y_scan = u + y_scan_answer_gelu
        cost_mse_sub = y - target
        cost_mse_power = cost_mse_sub * cost_mse_sub
        cost_mse_mean = jnp.sum(cost_mse_power, axis=0) / jnp.float32(6)
        cost_scan_mse_sub = y_scan - target
        cost_scan_mse_power = cost_scan_mse_sub * cost_scan_mse_sub
        cost_scan_mse_mean = jnp.sum(cost_scan_mse_power, axis=0) / jnp.float32(6)
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
        return (y, y_scan, cost_mse_mean, cost_scan_mse_mean, cost_d_y_answer_y_matmul_einsum2, cost_d_y_answer_y_matmul2_einsum2, cost_scan_d_y_scan_answer_y_matmul_einsum2, cost_scan_d_y_scan_answer_y_matmul2_einsum2)
    y_rows, y_scan_rows, cost_mse_mean_rows, cost_scan_mse_mean_rows, cost_d_y_answer_y_matmul_einsum2_rows, cost_d_y_answer_y_matmul2_einsum2_rows, cost_scan_d_y_scan_answer_y_matmul_einsum2_rows, cost_scan_d_y_scan_answer_y_matmul2_einsum2_rows = jax.vmap(point)(x_re_rows, x_re_rows_out1, y_answer_y_mul2, u, states_associative_scan_out2, states_associative_scan_out3, target)
    return y_rows, y_scan_rows, cost_mse_mean_rows, cost_scan_mse_mean_rows, cost_d_y_answer_y_matmul_einsum2_rows, cost_d_y_answer_y_matmul2_einsum2_rows, cost_scan_d_y_scan_answer_y_matmul_einsum2_rows, cost_scan_d_y_scan_answer_y_matmul2_einsum2_rows


def cost_scan(
    at, cost_mse_mean, cost_scan_mse_mean, cost_d_y_answer_y_matmul_einsum2,
    cost_d_y_answer_y_matmul2_einsum2, keep_zoh_p_cexp_mul, keep_zoh_p_cexp_mul2,
    cost_scan_d_states_associative_scan_take, cost_scan_d_states_associative_scan_take2,
    cost_scan_d_states_associative_scan_take3, cost_scan_d_states_associative_scan_take4,
    stretch_keep_re, stretch_keep_im, push_re, push_im, cost_scan_d_y_scan_answer_y_matmul_einsum2,
    cost_scan_d_y_scan_answer_y_matmul2_einsum2, *, T,
):
    """15_s5.rt:39: x[0] = push[0]
    15_s5.rt:40: x[t] = ssm.cmul(keep, x[t-1]) + push[t]
    15_s5.rt:46: stretch = {keep: keep + zeros_like(push), push: push}
    15_s5.rt:47: states = associative_scan(joined, stretch[t = 0:T], 0).push
    15_s5.rt:50: cost = mean(loss.mse(y, target)[t = 0:T])
    15_s5.rt:51: cost_scan = mean(loss.mse(y_scan, target)[t = 0:T])
    """
    cost = jnp.sum(cost_mse_mean, axis=0) / jnp.float32(T)
    cost_scan = jnp.sum(cost_scan_mse_mean, axis=0) / jnp.float32(T)
    cost_d_y_answer_y_matmul_einsum2_at = cost_d_y_answer_y_matmul_einsum2[T-1]
    cost_d_y_answer_y_matmul2_einsum2_at = cost_d_y_answer_y_matmul2_einsum2[T-1]
    def row(k, before_0, before_1):
        cost_d_y_answer_y_matmul_einsum2_row = cost_d_y_answer_y_matmul_einsum2[k]
        cost_d_y_answer_y_matmul2_einsum2_row = cost_d_y_answer_y_matmul2_einsum2[k]
        mul = before_0 * keep_zoh_p_cexp_mul
        add = cost_d_y_answer_y_matmul_einsum2_row + mul
        mul2 = before_1 * keep_zoh_p_cexp_mul2
        add2 = add + mul2
        neg = -before_0
        mul3 = neg * keep_zoh_p_cexp_mul2
        add3 = cost_d_y_answer_y_matmul2_einsum2_row + mul3
        mul4 = before_1 * keep_zoh_p_cexp_mul
        add4 = add3 + mul4
        return (add2, add4)
    made = linear_rows(row, (cost_d_y_answer_y_matmul_einsum2_at, cost_d_y_answer_y_matmul2_einsum2_at), T-1, reverse=True)
    cost_d_x_re_rows_0 = made[0]
    cost_d_x_re_rows_1 = made[1]
    cost_scan_d_states_associative_scan_arange_2 = jnp.arange(T, dtype=jnp.int32)
    cost_scan_d_states_associative_scan_eq = cost_scan_d_states_associative_scan_arange_2 == jnp.int32(0)
    stretch_full = jnp.full((4,), jnp.float32(0.0))
    cost_scan_d_states_associative_scan_full2 = jnp.full((T, 4), jnp.float32(0.0))
    def step(carry_0, carry_1, carry_2, carry_3, x_0, x_1, x_2, x_3, x_4, x_5, x_6, x_7, x_8, x_9, x_10, x_11, x_12):
        add5 = carry_0 + x_8
        add6 = carry_1 + x_9
        add7 = carry_2 + x_10
        add8 = carry_3 + x_11
        mul5 = x_4 * x_0
        mul6 = x_5 * x_1
        sub = mul5 - mul6
        mul7 = x_4 * x_1
        mul8 = x_5 * x_0
        add9 = mul7 + mul8
        mul9 = x_4 * x_2
        mul10 = x_5 * x_3
        sub2 = mul9 - mul10
        add10 = sub2 + x_6
        mul11 = x_4 * x_3
        mul12 = x_5 * x_2
        add11 = mul11 + mul12
        add12 = add11 + x_7
        mul13 = add8 * x_2
        mul14 = add8 * x_5
        mul15 = add8 * x_3
        mul16 = add8 * x_4
        neg2 = -add7
        mul17 = neg2 * x_3
        mul18 = neg2 * x_5
        mul19 = add7 * x_2
        mul20 = add7 * x_4
        mul21 = add6 * x_0
        mul22 = add6 * x_5
        mul23 = add6 * x_1
        mul24 = add6 * x_4
        neg3 = -add5
        mul25 = neg3 * x_1
        mul26 = neg3 * x_5
        mul27 = add5 * x_0
        mul28 = add5 * x_4
        add13 = mul22 + mul28
        full = jnp.full((4,), jnp.float32(0.0))
        cond = jnp.where(x_12, full, add13)
        add14 = mul15 + mul19
        add15 = add14 + mul23
        add16 = add15 + mul27
        cond2 = jnp.where(x_12, add5, add16)
        add17 = mul24 + mul26
        full2 = jnp.full((4,), jnp.float32(0.0))
        cond3 = jnp.where(x_12, full2, add17)
        add18 = mul13 + mul17
        add19 = add18 + mul21
        add20 = add19 + mul25
        cond4 = jnp.where(x_12, add6, add20)
        add21 = mul14 + mul20
        full3 = jnp.full((4,), jnp.float32(0.0))
        cond5 = jnp.where(x_12, full3, add21)
        cond6 = jnp.where(x_12, add7, add7)
        add22 = mul16 + mul18
        full4 = jnp.full((4,), jnp.float32(0.0))
        cond7 = jnp.where(x_12, full4, add22)
        cond8 = jnp.where(x_12, add8, add8)
        return ((cond, cond3, cond5, cond7), (cond2, cond4, cond6, cond8))
    folded = lax.scan(lambda c, x: step(*c, *x), (stretch_full, stretch_full, stretch_full, stretch_full), (cost_scan_d_states_associative_scan_take, cost_scan_d_states_associative_scan_take2, cost_scan_d_states_associative_scan_take3, cost_scan_d_states_associative_scan_take4, stretch_keep_re, stretch_keep_im, push_re, push_im, cost_scan_d_states_associative_scan_full2, cost_scan_d_states_associative_scan_full2, cost_scan_d_y_scan_answer_y_matmul_einsum2, cost_scan_d_y_scan_answer_y_matmul2_einsum2, cost_scan_d_states_associative_scan_eq), reverse=True)[1]
    cost_scan_d_states_associative_scan_fold_0 = folded[0]
    cost_scan_d_states_associative_scan_fold_1 = folded[1]
    cost_scan_d_states_associative_scan_fold_2 = folded[2]
    cost_scan_d_states_associative_scan_fold_3 = folded[3]
    return cost, cost_scan, cost_d_x_re_rows_0, cost_d_x_re_rows_1, cost_scan_d_states_associative_scan_fold_0, cost_scan_d_states_associative_scan_fold_1, cost_scan_d_states_associative_scan_fold_2, cost_scan_d_states_associative_scan_fold_3


def cost_d_x_cmul_mul4_mul(
    at, cost_d_x_re_rows, cost_d_x_re_rows_out1, x_re_rows, x_re_rows_out1, cost_d_push_re,
    cost_d_push_im, cost_d_x_cmul_mul_mul2, cost_d_x_cmul_mul2_mul2, cost_d_x_cmul_mul3_mul2,
    cost_d_x_cmul_mul4_mul2, *, T,
):
    """15_s5.rt:39: x[0] = push[0]
    15_s5.rt:40: x[t] = ssm.cmul(keep, x[t-1]) + push[t]
    ssm.rt:10: return {re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re}
    """
    def point(cost_d_x_re_rows_t, cost_d_x_re_rows_out1_t, x_re_rows_prev_t, x_re_rows_out1_prev_t):
        cost_d_x_cmul_sub_neg = -cost_d_x_re_rows_t
        cost_d_x_cmul_mul_mul = cost_d_x_re_rows_t * x_re_rows_prev_t
        cost_d_x_cmul_mul2_mul = cost_d_x_cmul_sub_neg * x_re_rows_out1_prev_t
        cost_d_x_cmul_mul3_mul = cost_d_x_re_rows_out1_t * x_re_rows_out1_prev_t
        cost_d_x_cmul_mul4_mul = cost_d_x_re_rows_out1_t * x_re_rows_prev_t
        return (cost_d_x_re_rows_t, cost_d_x_re_rows_out1_t, cost_d_x_cmul_mul_mul, cost_d_x_cmul_mul2_mul, cost_d_x_cmul_mul3_mul, cost_d_x_cmul_mul4_mul)
    cost_d_x_re_rows_t_rows, cost_d_x_re_rows_out1_t_rows, cost_d_x_cmul_mul_mul_rows, cost_d_x_cmul_mul2_mul_rows, cost_d_x_cmul_mul3_mul_rows, cost_d_x_cmul_mul4_mul_rows = jax.vmap(point)(cost_d_x_re_rows[1:T], cost_d_x_re_rows_out1[1:T], x_re_rows[:T-1], x_re_rows_out1[:T-1])
    cost_d_push_re2 = lax.dynamic_update_slice(cost_d_push_re, cost_d_x_re_rows_t_rows, (1, 0))
    cost_d_push_im2 = lax.dynamic_update_slice(cost_d_push_im, cost_d_x_re_rows_out1_t_rows, (1, 0))
    cost_d_x_cmul_mul_mul22 = lax.dynamic_update_slice(cost_d_x_cmul_mul_mul2, cost_d_x_cmul_mul_mul_rows, (1, 0))
    cost_d_x_cmul_mul2_mul22 = lax.dynamic_update_slice(cost_d_x_cmul_mul2_mul2, cost_d_x_cmul_mul2_mul_rows, (1, 0))
    cost_d_x_cmul_mul3_mul22 = lax.dynamic_update_slice(cost_d_x_cmul_mul3_mul2, cost_d_x_cmul_mul3_mul_rows, (1, 0))
    cost_d_x_cmul_mul4_mul22 = lax.dynamic_update_slice(cost_d_x_cmul_mul4_mul2, cost_d_x_cmul_mul4_mul_rows, (1, 0))
    return cost_d_push_re2, cost_d_push_im2, cost_d_x_cmul_mul_mul22, cost_d_x_cmul_mul2_mul22, cost_d_x_cmul_mul3_mul22, cost_d_x_cmul_mul4_mul22


def cost_scan_d_stretch_keep_im_getitem(
    at, cost_d_push_re, push_matmul, push_matmul2, cost_d_push_im,
    cost_scan_d_states_associative_scan_fold_out2, cost_scan_d_states_associative_scan_fold,
    cost_scan_d_states_associative_scan_fold_out3, cost_scan_d_states_associative_scan_fold_out1,
):
    """15_s5.rt:30: push = ssm.cmul(hold, {re: layer.b.re @ heard, im: layer.b.im @ heard})
    15_s5.rt:46: stretch = {keep: keep + zeros_like(push), push: push}
    ssm.rt:10: return {re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re}
    """
    def point(cost_d_push_re, push_matmul, push_matmul2, cost_d_push_im, cost_scan_d_states_associative_scan_fold_out2_t, cost_scan_d_states_associative_scan_fold_t, cost_scan_d_states_associative_scan_fold_out3_t, cost_scan_d_states_associative_scan_fold_out1_t):
        cost_d_push_re_neg = -cost_d_push_re
        cost_d_push_cmul_mul_mul = cost_d_push_re * push_matmul
        cost_d_push_cmul_mul2_mul = cost_d_push_re_neg * push_matmul2
        cost_d_push_cmul_mul3_mul = cost_d_push_im * push_matmul2
        cost_d_push_cmul_mul4_mul = cost_d_push_im * push_matmul
        cost_scan_d_push_re_neg = -cost_scan_d_states_associative_scan_fold_out2_t
        cost_scan_d_push_cmul_mul_mul = cost_scan_d_states_associative_scan_fold_out2_t * push_matmul
        cost_scan_d_push_cmul_mul3_mul = cost_scan_d_states_associative_scan_fold_out3_t * push_matmul2
        cost_scan_d_push_cmul_mul2_mul = cost_scan_d_push_re_neg * push_matmul2
        cost_scan_d_push_cmul_mul4_mul = cost_scan_d_states_associative_scan_fold_out3_t * push_matmul
        return (cost_d_push_cmul_mul_mul, cost_d_push_cmul_mul2_mul, cost_d_push_cmul_mul3_mul, cost_d_push_cmul_mul4_mul, cost_scan_d_states_associative_scan_fold_t, cost_scan_d_push_cmul_mul_mul, cost_scan_d_push_cmul_mul3_mul, cost_scan_d_push_cmul_mul2_mul, cost_scan_d_push_cmul_mul4_mul, cost_scan_d_states_associative_scan_fold_out1_t)
    cost_d_push_cmul_mul_mul_rows, cost_d_push_cmul_mul2_mul_rows, cost_d_push_cmul_mul3_mul_rows, cost_d_push_cmul_mul4_mul_rows, cost_scan_d_states_associative_scan_fold_t_rows, cost_scan_d_push_cmul_mul_mul_rows, cost_scan_d_push_cmul_mul3_mul_rows, cost_scan_d_push_cmul_mul2_mul_rows, cost_scan_d_push_cmul_mul4_mul_rows, cost_scan_d_states_associative_scan_fold_out1_t_rows = jax.vmap(point)(cost_d_push_re, push_matmul, push_matmul2, cost_d_push_im, cost_scan_d_states_associative_scan_fold_out2, cost_scan_d_states_associative_scan_fold, cost_scan_d_states_associative_scan_fold_out3, cost_scan_d_states_associative_scan_fold_out1)
    return cost_d_push_cmul_mul_mul_rows, cost_d_push_cmul_mul2_mul_rows, cost_d_push_cmul_mul3_mul_rows, cost_d_push_cmul_mul4_mul_rows, cost_scan_d_states_associative_scan_fold_t_rows, cost_scan_d_push_cmul_mul_mul_rows, cost_scan_d_push_cmul_mul3_mul_rows, cost_scan_d_push_cmul_mul2_mul_rows, cost_scan_d_push_cmul_mul4_mul_rows, cost_scan_d_states_associative_scan_fold_out1_t_rows


def cost_scan_d_pole_im_add4(
    at, cost_d_push_cmul_mul_mul, cost_d_push_cmul_mul3_mul, keep_zoh_cdiv_size2_add, hold_re,
    cost_d_push_cmul_mul2_mul, cost_d_push_cmul_mul4_mul, hold_im, cost_d_x_cmul_mul_mul,
    cost_d_x_cmul_mul3_mul, pole_re, layer_frequency, keep_zoh_p_cexp_exp, cost_d_x_cmul_mul2_mul,
    cost_d_x_cmul_mul4_mul, pole_exp, keep_zoh_p_cexp_mul2, keep_zoh_p_cexp_sin,
    keep_zoh_p_cexp_cos, keep_exp, keep_zoh_sub, cost_scan_d_stretch_keep_re_getitem,
    cost_scan_d_push_cmul_mul_mul, cost_scan_d_push_cmul_mul3_mul, cost_scan_d_push_cmul_mul2_mul,
    cost_scan_d_push_cmul_mul4_mul, cost_scan_d_stretch_keep_im_getitem, *, T,
):
    """15_s5.rt:27: pole = {re: -exp(layer.log_decay), im: layer.frequency}
    15_s5.rt:28: keep, hold = ssm.zoh(pole, exp(layer.log_step))
    ssm.rt:15: size2 = b.re * b.re + b.im * b.im
    ssm.rt:16: return {re: (a.re * b.re + a.im * b.im) / size2, im: (a.im * b.re - a.re * b.im) / size2}
    ssm.rt:21: return {re: exp(a.re) * cos(a.im), im: exp(a.re) * sin(a.im)}
    ssm.rt:61: p = cexp(step * a)
    ssm.rt:62: return p, cdiv({re: p.re - 1.0, im: p.im}, a)
    """
    cost_d_hold_re_sum = jnp.sum(cost_d_push_cmul_mul_mul, axis=0)
    cost_d_hold_re_sum2 = jnp.sum(cost_d_push_cmul_mul3_mul, axis=0)
    cost_d_hold_re_add = cost_d_hold_re_sum + cost_d_hold_re_sum2
    cost_d_hold_re_div = cost_d_hold_re_add / keep_zoh_cdiv_size2_add
    cost_d_hold_re_mul = cost_d_hold_re_div * hold_re
    cost_d_hold_re_neg = -cost_d_hold_re_mul
    cost_d_hold_im_sum = jnp.sum(cost_d_push_cmul_mul2_mul, axis=0)
    cost_d_hold_im_sum2 = jnp.sum(cost_d_push_cmul_mul4_mul, axis=0)
    cost_d_hold_im_add = cost_d_hold_im_sum + cost_d_hold_im_sum2
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
    cost_scan_d_keep_re_sum = jnp.sum(cost_scan_d_stretch_keep_re_getitem, axis=0)
    cost_scan_d_hold_re_sum = jnp.sum(cost_scan_d_push_cmul_mul_mul, axis=0)
    cost_scan_d_hold_re_sum2 = jnp.sum(cost_scan_d_push_cmul_mul3_mul, axis=0)
    cost_scan_d_hold_re_add = cost_scan_d_hold_re_sum + cost_scan_d_hold_re_sum2
    cost_scan_d_hold_re_div = cost_scan_d_hold_re_add / keep_zoh_cdiv_size2_add
    cost_scan_d_keep_zoh_cdiv_mul_mul = cost_scan_d_hold_re_div * pole_re
    cost_scan_d_hold_im_sum = jnp.sum(cost_scan_d_push_cmul_mul2_mul, axis=0)
    cost_scan_d_hold_im_sum2 = jnp.sum(cost_scan_d_push_cmul_mul4_mul, axis=0)
    cost_scan_d_hold_im_add = cost_scan_d_hold_im_sum + cost_scan_d_hold_im_sum2
    cost_scan_d_hold_im_div = cost_scan_d_hold_im_add / keep_zoh_cdiv_size2_add
    cost_scan_d_keep_zoh_sub_add_mul = cost_scan_d_hold_im_div * layer_frequency
    cost_scan_d_keep_zoh_sub_add = cost_scan_d_keep_zoh_cdiv_mul_mul - cost_scan_d_keep_zoh_sub_add_mul
    cost_scan_d_keep_zoh_p_cexp_mul_add = cost_scan_d_keep_re_sum + cost_scan_d_keep_zoh_sub_add
    cost_scan_d_keep_zoh_p_cexp_mul_mul2 = cost_scan_d_keep_zoh_p_cexp_mul_add * keep_zoh_p_cexp_exp
    cost_scan_d_keep_im_sum = jnp.sum(cost_scan_d_stretch_keep_im_getitem, axis=0)
    cost_scan_d_keep_zoh_cdiv_mul2_mul = cost_scan_d_hold_re_div * layer_frequency
    cost_scan_d_keep_zoh_p_cexp_mul2_add = cost_scan_d_keep_im_sum + cost_scan_d_keep_zoh_cdiv_mul2_mul
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
    return cost_d_pole_im_add4, cost_scan_d_pole_im_add4


def cost_d_x_im_at2(
    at, cost_d_x_re_rows, cost_d_x_re_rows_out1, cost_d_push_re, cost_d_push_im, *, T,
):
    """15_s5.rt:39: x[0] = push[0]
    15_s5.rt:40: x[t] = ssm.cmul(keep, x[t-1]) + push[t]
    """
    def point(t):
        cost_d_x_re_at2 = lax.index_in_dim(cost_d_x_re_rows, 0, 0, keepdims=False)
        cost_d_x_im_at2 = lax.index_in_dim(cost_d_x_re_rows_out1, 0, 0, keepdims=False)
        return (cost_d_x_re_at2, cost_d_x_im_at2)
    cost_d_x_re_at2_rows, cost_d_x_im_at2_rows = jax.vmap(point)(jnp.arange(min(1, T), dtype=jnp.int32))
    cost_d_push_re2 = lax.dynamic_update_slice(cost_d_push_re, cost_d_x_re_at2_rows, (0, 0))
    cost_d_push_im2 = lax.dynamic_update_slice(cost_d_push_im, cost_d_x_im_at2_rows, (0, 0))
    return cost_d_push_re2, cost_d_push_im2


def first_fault(fault, kernel, found, point):
    """What failed first: the kernel, its check, which of its points, the coordinates."""
    check, lane = (found[0], found[1]) if found.ndim else (found, jnp.int32(0))
    new = jnp.stack([jnp.int32(kernel), check, lane, *point])
    new = jnp.pad(new, (0, fault.size - new.size))
    return jnp.where(fault[1] != 0, fault, new)


def block(
    at, layer_log_decay, layer_log_step, layer_frequency, u, norm_scale, norm_bias, layer_b_re,
    layer_b_im, layer_d, layer_c_re, layer_c_im, target, *, T,
):
    """What stands between two tasks of the host: cost_d_cost_mse_power_mul2_mul, heard, cost_scan_d_states_associative_scan_take4, ..."""
    fault = jnp.zeros(3, jnp.int32)
    cost_d_push_re = jnp.zeros((T, 4), jnp.float32)
    cost_d_push_im = jnp.zeros((T, 4), jnp.float32)
    cost_d_x_cmul_mul_mul = jnp.zeros((T, 4), jnp.float32)
    cost_d_x_cmul_mul2_mul = jnp.zeros((T, 4), jnp.float32)
    cost_d_x_cmul_mul3_mul = jnp.zeros((T, 4), jnp.float32)
    cost_d_x_cmul_mul4_mul2 = jnp.zeros((T, 4), jnp.float32)
    (pole_exp, pole_re, keep_exp, keep_zoh_p_cexp_exp, keep_zoh_p_cexp_cos, keep_zoh_p_cexp_mul,
            keep_zoh_p_cexp_sin, keep_zoh_p_cexp_mul2, keep_zoh_sub, keep_zoh_cdiv_size2_add,
            hold_re, hold_im, cost_d_cost_mse_power_mul2_mul2) = cost_d_cost_mse_power_mul2_mul((),
            layer_log_decay, layer_log_step, layer_frequency, T=T)
    (push_matmul, push_matmul2, push_re, push_im, y_answer_y_mul2, stretch_keep_re,
            stretch_keep_im) = heard((), u, norm_scale, norm_bias, layer_b_re, layer_b_im, hold_re,
            hold_im, layer_d, keep_zoh_p_cexp_mul, keep_zoh_p_cexp_mul2)
    (x_re_rows, x_re_rows_out1, states_associative_scan_out2, states_associative_scan_out3,
            cost_scan_d_states_associative_scan_take, cost_scan_d_states_associative_scan_take2,
            cost_scan_d_states_associative_scan_take3, cost_scan_d_states_associative_scan_take42,
            found) = cost_scan_d_states_associative_scan_take4((), push_re, push_im,
            keep_zoh_p_cexp_mul, keep_zoh_p_cexp_mul2, stretch_keep_re, stretch_keep_im, T=T)
    fault = first_fault(fault, 2, found, ())
    (y, y_scan2, cost_mse_mean, cost_scan_mse_mean, cost_d_y_answer_y_matmul_einsum2,
            cost_d_y_answer_y_matmul2_einsum2, cost_scan_d_y_scan_answer_y_matmul_einsum2,
            cost_scan_d_y_scan_answer_y_matmul2_einsum2) = y_scan((), layer_c_re, layer_c_im,
            y_answer_y_mul2, u, target, cost_d_cost_mse_power_mul2_mul2, x_re_rows, x_re_rows_out1,
            states_associative_scan_out2, states_associative_scan_out3)
    (cost, cost_scan2, cost_d_x_re_rows, cost_d_x_re_rows_out1,
            cost_scan_d_states_associative_scan_fold,
            cost_scan_d_states_associative_scan_fold_out1,
            cost_scan_d_states_associative_scan_fold_out2,
            cost_scan_d_states_associative_scan_fold_out3) = cost_scan((), cost_mse_mean,
            cost_scan_mse_mean, cost_d_y_answer_y_matmul_einsum2,
            cost_d_y_answer_y_matmul2_einsum2, keep_zoh_p_cexp_mul, keep_zoh_p_cexp_mul2,
            cost_scan_d_states_associative_scan_take, cost_scan_d_states_associative_scan_take2,
            cost_scan_d_states_associative_scan_take3, cost_scan_d_states_associative_scan_take42,
            stretch_keep_re, stretch_keep_im, push_re, push_im,
            cost_scan_d_y_scan_answer_y_matmul_einsum2,
            cost_scan_d_y_scan_answer_y_matmul2_einsum2, T=T)
    if T >= 2:
        (cost_d_push_re, cost_d_push_im, cost_d_x_cmul_mul_mul, cost_d_x_cmul_mul2_mul,
                cost_d_x_cmul_mul3_mul, cost_d_x_cmul_mul4_mul2) = cost_d_x_cmul_mul4_mul((),
                cost_d_x_re_rows, cost_d_x_re_rows_out1, x_re_rows, x_re_rows_out1, cost_d_push_re,
                cost_d_push_im, cost_d_x_cmul_mul_mul, cost_d_x_cmul_mul2_mul,
                cost_d_x_cmul_mul3_mul, cost_d_x_cmul_mul4_mul2, T=T)
    (cost_d_push_re, cost_d_push_im) = cost_d_x_im_at2((), cost_d_x_re_rows, cost_d_x_re_rows_out1,
            cost_d_push_re, cost_d_push_im, T=T)
    (cost_d_push_cmul_mul_mul, cost_d_push_cmul_mul2_mul, cost_d_push_cmul_mul3_mul,
            cost_d_push_cmul_mul4_mul, cost_scan_d_stretch_keep_re_getitem,
            cost_scan_d_push_cmul_mul_mul, cost_scan_d_push_cmul_mul3_mul,
            cost_scan_d_push_cmul_mul2_mul, cost_scan_d_push_cmul_mul4_mul,
            cost_scan_d_stretch_keep_im_getitem2) = cost_scan_d_stretch_keep_im_getitem((),
            cost_d_push_re, push_matmul, push_matmul2, cost_d_push_im,
            cost_scan_d_states_associative_scan_fold_out2,
            cost_scan_d_states_associative_scan_fold,
            cost_scan_d_states_associative_scan_fold_out3,
            cost_scan_d_states_associative_scan_fold_out1)
    (cost_d_pole_im_add4, cost_scan_d_pole_im_add42) = cost_scan_d_pole_im_add4((),
            cost_d_push_cmul_mul_mul, cost_d_push_cmul_mul3_mul, keep_zoh_cdiv_size2_add, hold_re,
            cost_d_push_cmul_mul2_mul, cost_d_push_cmul_mul4_mul, hold_im, cost_d_x_cmul_mul_mul,
            cost_d_x_cmul_mul3_mul, pole_re, layer_frequency, keep_zoh_p_cexp_exp,
            cost_d_x_cmul_mul2_mul, cost_d_x_cmul_mul4_mul2, pole_exp, keep_zoh_p_cexp_mul2,
            keep_zoh_p_cexp_sin, keep_zoh_p_cexp_cos, keep_exp, keep_zoh_sub,
            cost_scan_d_stretch_keep_re_getitem, cost_scan_d_push_cmul_mul_mul,
            cost_scan_d_push_cmul_mul3_mul, cost_scan_d_push_cmul_mul2_mul,
            cost_scan_d_push_cmul_mul4_mul, cost_scan_d_stretch_keep_im_getitem2, T=T)
    return (y, y_scan2, cost, cost_scan2, cost_d_pole_im_add4, cost_scan_d_pole_im_add42, fault)
