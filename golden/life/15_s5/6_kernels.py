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
    other on a CPU, which takes less time; elsewhere as prefixes of a chain of linear maps, unless
    a prefix is not finite: infinity times 0 is no number, which a row need not have.
    """
    def in_turn():
        alone = len(first) == 1  # of several tensors XLA would copy those that are read back
        back, ahead = (1, 0) if reverse else (0, 1)
        take = lambda x, k: lax.dynamic_index_in_dim(x, k, 0, False, allow_negative_indices=False)

        def put(x, y, k):
            return lax.dynamic_update_index_in_dim(x, y, k, 0, allow_negative_indices=False)

        def step(n, buffers):
            k = count - 1 - n if reverse else n
            rows, before = buffers
            at = lax.convert_element_type(k, jnp.uint32)  # nobody asks whether that is negative
            new = row(at, *([take(rows[0], k + back)] if alone else before))
            made = tuple(put(x, y, k + ahead) for x, y in zip(rows, new))
            return made, () if alone else new

        rows = tuple(jnp.broadcast_to(x, (count + 1, *x.shape)) for x in first)
        return lax.fori_loop(0, count, step, (rows, () if alone else tuple(first)))[0]

    if not count:
        return tuple(x[None] for x in first)
    if jax.default_backend() == "cpu":
        return in_turn()

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
    rows = tuple(jnp.concatenate(part) for part in parts)
    finite = [jnp.isfinite(x).all() for x in (*jax.tree.leaves(factors), *made)]
    once = lambda state: (jnp.bool_(False), in_turn())
    return lax.while_loop(lambda state: state[0], once, (~jnp.stack(finite).all(), rows))[1]


def folded_pairs(combine, step, start, elements):
    """The derivative of a scan with `combine`: `step` at all elements, from the last to the first.

    One after the other on a CPU, which takes less time; elsewhere that of each pair which the scan
    combines, unless a result is not finite: infinity times 0 is no number.
    """
    def in_turn():
        return lax.scan(lambda c, x: step(*c, *x), start, elements, reverse=True)[1]

    if jax.default_backend() == "cpu":
        return in_turn()

    def back(pair, cotangents):
        passed, own = step(*start, *pair, *cotangents, jnp.bool_(False))
        return tuple(y.astype(x.dtype) for x, y in zip(pair, (*passed, *own)))

    n = len(start)
    both = jax.custom_vjp(combine)
    both.defvjp(lambda *xs: (combine(*xs), xs), back)
    scan = lambda *xs: lax.associative_scan(jax.vmap(lambda a, b: both(*a, *b)), xs)
    made = jax.vjp(scan, *elements[n : 2 * n])[1](tuple(elements[2 * n : 3 * n]))
    finite = jnp.stack([jnp.isfinite(x).all() for x in made]).all()
    once = lambda state: (jnp.bool_(False), in_turn())
    return lax.while_loop(lambda state: state[0], once, (~finite, made))[1]


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


def cost_d_y_mul(at, layer_log_decay, layer_log_step, layer_frequency, *, T):
    """15_s5.rt:27: pole = {re: -exp(layer.log_decay), im: layer.frequency}
    15_s5.rt:28: keep, hold = ssm.zoh(pole, exp(layer.log_step))
    15_s5.rt:34: y = 2.0 * (layer.c.re @ x.re - layer.c.im @ x.im) + layer.d * heard
    15_s5.rt:41: y = answer(x, heard, u)
    15_s5.rt:48: y_scan = answer({re: states.re[t], im: states.im[t]}, heard, u)
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
    p_mul2 = keep_exp * layer_frequency
    cexp_exp = jnp.exp(keep_exp * pole_re)
    cexp_cos = jnp.cos(p_mul2)
    cexp_mul = cexp_exp * cexp_cos
    cexp_sin = jnp.sin(p_mul2)
    cexp_mul2 = cexp_exp * cexp_sin
    zoh_sub = cexp_mul - 1.0
    size2_add = pole_exp * pole_exp + layer_frequency * layer_frequency
    hold_re = (cexp_mul2 * layer_frequency - zoh_sub * pole_exp) / size2_add
    hold_im = (cexp_mul2 * pole_re - zoh_sub * layer_frequency) / size2_add
    d_y_mul = 0.16666666666666666 / jnp.int32(T).astype(jnp.float32) * 2.0
    return (
        pole_exp, pole_re, keep_exp, cexp_exp, cexp_cos, cexp_mul, cexp_sin, cexp_mul2, zoh_sub,
        size2_add, hold_re, hold_im, d_y_mul,
    )


def heard(
    at, u, norm_scale, norm_bias, b_re, b_im, hold_re, hold_im, layer_d, cexp_mul, cexp_mul2, *, T,
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
        d_sub = u - jnp.sum(u, axis=0, keepdims=True) / 6
        layer_norm_rsqrt = lax.rsqrt(jnp.sum(d_sub * d_sub, axis=0, keepdims=True) / 6 + 1e-05)
        heard = d_sub * layer_norm_rsqrt * norm_scale + norm_bias
        push_matmul = matvec(b_re, heard, T)
        push_matmul2 = matvec(b_im, heard, T)
        push_re = hold_re * push_matmul - hold_im * push_matmul2
        push_im = hold_re * push_matmul2 + hold_im * push_matmul
        keep_re = cexp_mul + 0.0
        keep_im = cexp_mul2 + 0.0
        return (push_matmul, push_matmul2, push_re, push_im, layer_d * heard, keep_re, keep_im)
    (
        push_matmul_rows, push_matmul2_rows, push_re_rows, push_im_rows, y_mul2_rows, keep_re_rows,
        keep_im_rows,
    ) = jax.vmap(point)(u)
    return (
        push_matmul_rows, push_matmul2_rows, push_re_rows, push_im_rows, y_mul2_rows, keep_re_rows,
        keep_im_rows,
    )


def cost_scan_d_states_associative_scan_take4(
    at, push_re, push_im, cexp_mul, cexp_mul2, keep_re, keep_im, *, T,
):
    """15_s5.rt:39: x[0] = push[0]
    15_s5.rt:40: x[t] = ssm.cmul(keep, x[t-1]) + push[t]
    15_s5.rt:47: states = associative_scan(joined, stretch[t = 0:T], 0).push
    """
    def row(k, before_0, before_1):
        add3 = cexp_mul * before_1 + cexp_mul2 * before_0 + push_im[k+1]
        return (cexp_mul * before_0 - cexp_mul2 * before_1 + push_re[k+1], add3)
    made = linear_rows(row, (push_re[0], push_im[0]), T-1)
    re_rows_0 = made[0]
    re_rows_1 = made[1]
    def combine(earlier_0, earlier_1, earlier_2, earlier_3, later_0, later_1, later_2, later_3):
        add4 = later_0 * earlier_1 + later_1 * earlier_0
        add5 = later_0 * earlier_2 - later_1 * earlier_3 + later_2
        add7 = later_0 * earlier_3 + later_1 * earlier_2 + later_3
        return (later_0 * earlier_0 - later_1 * earlier_1, add4, add5, add7)
    scanned = lax.associative_scan(
        jax.vmap(lambda a, b: combine(*a, *b)), (keep_re, keep_im, push_re, push_im),
    )
    states_associative_scan_2 = scanned[2]
    states_associative_scan_3 = scanned[3]
    d_associative_scan_maximum = jnp.maximum(jnp.arange(T, dtype=jnp.int32) - 1, 0)
    d_associative_scan_take = jnp.take(scanned[0], d_associative_scan_maximum, axis=0, mode="clip")
    d_associative_scan_take2 = jnp.take(scanned[1], d_associative_scan_maximum, axis=0, mode="clip")
    d_associative_scan_take3 = jnp.take(
        states_associative_scan_2, d_associative_scan_maximum, axis=0, mode="clip",
    )
    d_associative_scan_take4 = jnp.take(
        states_associative_scan_3, d_associative_scan_maximum, axis=0, mode="clip",
    )
    return (
        re_rows_0, re_rows_1, states_associative_scan_2, states_associative_scan_3,
        d_associative_scan_take, d_associative_scan_take2, d_associative_scan_take3,
        d_associative_scan_take4,
    )


def y_scan(
    at, c_re, c_im, y_mul2, u, target, d_y_mul, re_rows, rows_out1, associative_scan_out2,
    associative_scan_out3, *, T,
):
    """15_s5.rt:34: y = 2.0 * (layer.c.re @ x.re - layer.c.im @ x.im) + layer.d * heard
    15_s5.rt:35: return u + gelu(y)
    15_s5.rt:39: x[0] = push[0]
    15_s5.rt:40: x[t] = ssm.cmul(keep, x[t-1]) + push[t]
    15_s5.rt:41: y = answer(x, heard, u)
    15_s5.rt:48: y_scan = answer({re: states.re[t], im: states.im[t]}, heard, u)
    loss.rt:6: return mean((x - target) ** 2)
    """
    def point(
        re_rows_t, rows_out1_t, y_mul2, u, associative_scan_out2_t, associative_scan_out3_t, target,
    ):
        y_answer_y_add = 2.0 * (matvec(c_re, re_rows_t, T) - matvec(c_im, rows_out1_t, T)) + y_mul2
        y = u + jax.nn.gelu(y_answer_y_add, approximate=False)
        y_scan_answer_y_matmul2 = matvec(c_im, associative_scan_out3_t, T)
        y_scan_answer_y_sub = matvec(c_re, associative_scan_out2_t, T) - y_scan_answer_y_matmul2
        y_scan_answer_y_add = 2.0 * y_scan_answer_y_sub + y_mul2
        y_scan = u + jax.nn.gelu(y_scan_answer_y_add, approximate=False)
        cost_mse_sub = y - target
        cost_mse_mean = jnp.sum(cost_mse_sub * cost_mse_sub, axis=0) / 6
        cost_scan_mse_sub = y_scan - target
        cost_scan_mse_mean = jnp.sum(cost_scan_mse_sub * cost_scan_mse_sub, axis=0) / 6
        d_y_answer_gelu_mul2 = 0.5 * jax.scipy.special.erfc(-0.7071067811865476 * y_answer_y_add)
        d_y_answer_gelu_exp = jnp.exp(-0.5 * (y_answer_y_add * y_answer_y_add))
        d_y_answer_gelu_mul6 = y_answer_y_add * (0.3989422804014327 * d_y_answer_gelu_exp)
        d_y_answer_gelu_add = d_y_answer_gelu_mul2 + d_y_answer_gelu_mul6
        d_y_answer_y_sub = d_y_mul * cost_mse_sub * d_y_answer_gelu_add * 2.0
        d_matmul_einsum2 = jnp.matmul(d_y_answer_y_sub, c_re)
        d_matmul2_einsum2 = jnp.matmul(-d_y_answer_y_sub, c_im)
        d_y_scan_answer_gelu_mul = -0.7071067811865476 * y_scan_answer_y_add
        d_y_scan_answer_gelu_mul2 = 0.5 * jax.scipy.special.erfc(d_y_scan_answer_gelu_mul)
        d_y_scan_answer_gelu_exp = jnp.exp(-0.5 * (y_scan_answer_y_add * y_scan_answer_y_add))
        d_y_scan_answer_gelu_mul5 = 0.3989422804014327 * d_y_scan_answer_gelu_exp
        d_y_scan_answer_gelu_mul6 = y_scan_answer_y_add * d_y_scan_answer_gelu_mul5
        d_y_scan_answer_gelu_add = d_y_scan_answer_gelu_mul2 + d_y_scan_answer_gelu_mul6
        d_y_scan_answer_y_sub = d_y_mul * cost_scan_mse_sub * d_y_scan_answer_gelu_add * 2.0
        d_y_scan_getitem = jnp.matmul(d_y_scan_answer_y_sub, c_re)
        d_y_scan_getitem2 = jnp.matmul(-d_y_scan_answer_y_sub, c_im)
        return (
            y, y_scan, cost_mse_mean, cost_scan_mse_mean, d_matmul_einsum2, d_matmul2_einsum2,
            d_y_scan_getitem, d_y_scan_getitem2,
        )
    (
        y_rows, y_scan_rows, cost_mse_mean_rows, cost_scan_mse_mean_rows, d_matmul_einsum2_rows,
        d_matmul2_einsum2_rows, d_y_scan_getitem_rows, d_y_scan_getitem2_rows,
    ) = jax.vmap(point)(
        re_rows, rows_out1, y_mul2, u, associative_scan_out2, associative_scan_out3, target,
    )
    return (
        y_rows, y_scan_rows, cost_mse_mean_rows, cost_scan_mse_mean_rows, d_matmul_einsum2_rows,
        d_matmul2_einsum2_rows, d_y_scan_getitem_rows, d_y_scan_getitem2_rows,
    )


def cost_scan(
    at, cost_mse_mean, cost_scan_mse_mean, d_matmul_einsum2, d_matmul2_einsum2, cexp_mul, cexp_mul2,
    d_associative_scan_take, d_associative_scan_take2, d_associative_scan_take3,
    d_associative_scan_take4, keep_re, keep_im, push_re, push_im, d_y_scan_getitem,
    d_y_scan_getitem2, *, T,
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
    def row(k, before_0, before_1):
        add4 = d_matmul2_einsum2[k] + -before_0 * cexp_mul2 + before_1 * cexp_mul
        return (d_matmul_einsum2[k] + before_0 * cexp_mul + before_1 * cexp_mul2, add4)
    made = linear_rows(row, (d_matmul_einsum2[T-1], d_matmul2_einsum2[T-1]), T-1, reverse=True)
    d_re_rows_0 = made[0]
    d_re_rows_1 = made[1]
    d_associative_scan_eq = jnp.arange(T, dtype=jnp.int32) == 0
    stretch_full = jnp.zeros((4,), jnp.float32)
    d_states_associative_scan = jnp.zeros((T, 4), jnp.float32)
    def step(
        carry_0, carry_1, carry_2, carry_3, x_0, x_1, x_2, x_3, x_4, x_5, x_6, x_7, x_8, x_9, x_10,
        x_11, x_12,
    ):
        add5 = carry_0 + x_8
        add6 = carry_1 + x_9
        add7 = carry_2 + x_10
        add8 = carry_3 + x_11
        sub = x_4 * x_0 - x_5 * x_1
        add9 = x_4 * x_1 + x_5 * x_0
        add10 = x_4 * x_2 - x_5 * x_3 + x_6
        add12 = x_4 * x_3 + x_5 * x_2 + x_7
        neg2 = -add7
        neg3 = -add5
        cond = jnp.where(x_12, jnp.zeros((4,), jnp.float32), add6 * x_5 + add5 * x_4)
        cond2 = jnp.where(x_12, add5, add8 * x_3 + add7 * x_2 + add6 * x_1 + add5 * x_0)
        cond3 = jnp.where(x_12, jnp.zeros((4,), jnp.float32), add6 * x_4 + neg3 * x_5)
        cond4 = jnp.where(x_12, add6, add8 * x_2 + neg2 * x_3 + add6 * x_0 + neg3 * x_1)
        cond5 = jnp.where(x_12, jnp.zeros((4,), jnp.float32), add8 * x_5 + add7 * x_4)
        cond7 = jnp.where(x_12, jnp.zeros((4,), jnp.float32), add8 * x_4 + neg2 * x_5)
        cond8 = jnp.where(x_12, add8, add8)
        return ((cond, cond3, cond5, cond7), (cond2, cond4, jnp.where(x_12, add7, add7), cond8))
    def combine(earlier_0, earlier_1, earlier_2, earlier_3, later_0, later_1, later_2, later_3):
        add23 = later_0 * earlier_1 + later_1 * earlier_0
        add24 = later_0 * earlier_2 - later_1 * earlier_3 + later_2
        add26 = later_0 * earlier_3 + later_1 * earlier_2 + later_3
        return (later_0 * earlier_0 - later_1 * earlier_1, add23, add24, add26)
    folded = folded_pairs(
        combine, step, (stretch_full, stretch_full, stretch_full, stretch_full),
        (
            d_associative_scan_take, d_associative_scan_take2, d_associative_scan_take3,
            d_associative_scan_take4, keep_re, keep_im, push_re, push_im, d_states_associative_scan,
            d_states_associative_scan, d_y_scan_getitem, d_y_scan_getitem2, d_associative_scan_eq,
        ),
    )
    d_associative_scan_fold_0 = folded[0]
    d_associative_scan_fold_1 = folded[1]
    d_associative_scan_fold_2 = folded[2]
    d_associative_scan_fold_3 = folded[3]
    return (
        cost, cost_scan, d_re_rows_0, d_re_rows_1, d_associative_scan_fold_0,
        d_associative_scan_fold_1, d_associative_scan_fold_2, d_associative_scan_fold_3,
    )


def cost_d_x(
    at, d_re_rows, d_rows_out1, re_rows, rows_out1, d_push_re, d_push_im, d_mul_mul2, d_mul2_mul2,
    d_mul3_mul2, d_mul4_mul2, *, T,
):
    """15_s5.rt:39: x[0] = push[0]
    15_s5.rt:40: x[t] = ssm.cmul(keep, x[t-1]) + push[t]
    ssm.rt:10: return {re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re}
    """
    def point(d_re_rows_t, d_rows_out1_t, re_rows_prev_t, rows_out1_prev_t):
        d_mul_mul = d_re_rows_t * re_rows_prev_t
        d_mul2_mul = -d_re_rows_t * rows_out1_prev_t
        d_mul3_mul = d_rows_out1_t * rows_out1_prev_t
        d_mul4_mul = d_rows_out1_t * re_rows_prev_t
        return (d_re_rows_t, d_rows_out1_t, d_mul_mul, d_mul2_mul, d_mul3_mul, d_mul4_mul)
    (
        d_re_rows_t_rows, d_rows_out1_t_rows, d_mul_mul_rows, d_mul2_mul_rows, d_mul3_mul_rows,
        d_mul4_mul_rows,
    ) = jax.vmap(point)(d_re_rows[1:T], d_rows_out1[1:T], re_rows[:T-1], rows_out1[:T-1])
    d_push_re2 = lax.dynamic_update_slice(d_push_re, d_re_rows_t_rows, (1, 0))
    d_push_im2 = lax.dynamic_update_slice(d_push_im, d_rows_out1_t_rows, (1, 0))
    d_mul_mul2_2 = lax.dynamic_update_slice(d_mul_mul2, d_mul_mul_rows, (1, 0))
    d_mul2_mul2_2 = lax.dynamic_update_slice(d_mul2_mul2, d_mul2_mul_rows, (1, 0))
    d_mul3_mul2_2 = lax.dynamic_update_slice(d_mul3_mul2, d_mul3_mul_rows, (1, 0))
    d_mul4_mul2_2 = lax.dynamic_update_slice(d_mul4_mul2, d_mul4_mul_rows, (1, 0))
    return d_push_re2, d_push_im2, d_mul_mul2_2, d_mul2_mul2_2, d_mul3_mul2_2, d_mul4_mul2_2


def cost_scan_d_stretch_keep_im(
    at, cost_d_push_re, push_matmul, push_matmul2, cost_d_push_im, d_fold_out2,
    d_associative_scan_fold, d_fold_out3, d_fold_out1,
):
    """15_s5.rt:30: push = ssm.cmul(hold, {re: layer.b.re @ heard, im: layer.b.im @ heard})
    15_s5.rt:46: stretch = {keep: keep + zeros_like(push), push: push}
    ssm.rt:10: return {re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re}
    """
    def point(
        cost_d_push_re, push_matmul, push_matmul2, cost_d_push_im, d_fold_out2_t,
        d_associative_scan_fold_t, d_fold_out3_t, d_fold_out1_t,
    ):
        cost_d_push_cmul_mul_mul = cost_d_push_re * push_matmul
        cost_d_push_cmul_mul2_mul = -cost_d_push_re * push_matmul2
        cost_d_push_cmul_mul3_mul = cost_d_push_im * push_matmul2
        cost_d_push_cmul_mul4_mul = cost_d_push_im * push_matmul
        cost_scan_d_push_cmul_mul_mul = d_fold_out2_t * push_matmul
        cost_scan_d_push_cmul_mul3_mul = d_fold_out3_t * push_matmul2
        cost_scan_d_push_cmul_mul2_mul = -d_fold_out2_t * push_matmul2
        cost_scan_d_push_cmul_mul4_mul = d_fold_out3_t * push_matmul
        return (
            cost_d_push_cmul_mul_mul, cost_d_push_cmul_mul2_mul, cost_d_push_cmul_mul3_mul,
            cost_d_push_cmul_mul4_mul, d_associative_scan_fold_t, cost_scan_d_push_cmul_mul_mul,
            cost_scan_d_push_cmul_mul3_mul, cost_scan_d_push_cmul_mul2_mul,
            cost_scan_d_push_cmul_mul4_mul, d_fold_out1_t,
        )
    (
        cost_d_push_cmul_mul_mul_rows, cost_d_push_cmul_mul2_mul_rows,
        cost_d_push_cmul_mul3_mul_rows, cost_d_push_cmul_mul4_mul_rows,
        d_associative_scan_fold_t_rows, cost_scan_d_push_cmul_mul_mul_rows,
        cost_scan_d_push_cmul_mul3_mul_rows, cost_scan_d_push_cmul_mul2_mul_rows,
        cost_scan_d_push_cmul_mul4_mul_rows, d_fold_out1_t_rows,
    ) = jax.vmap(point)(
        cost_d_push_re, push_matmul, push_matmul2, cost_d_push_im, d_fold_out2,
        d_associative_scan_fold, d_fold_out3, d_fold_out1,
    )
    return (
        cost_d_push_cmul_mul_mul_rows, cost_d_push_cmul_mul2_mul_rows,
        cost_d_push_cmul_mul3_mul_rows, cost_d_push_cmul_mul4_mul_rows,
        d_associative_scan_fold_t_rows, cost_scan_d_push_cmul_mul_mul_rows,
        cost_scan_d_push_cmul_mul3_mul_rows, cost_scan_d_push_cmul_mul2_mul_rows,
        cost_scan_d_push_cmul_mul4_mul_rows, d_fold_out1_t_rows,
    )


def slope_scan(
    at, cost_d_push_cmul_mul_mul, cost_d_push_cmul_mul3_mul, size2_add, hold_re,
    cost_d_push_cmul_mul2_mul, cost_d_push_cmul_mul4_mul, hold_im, d_x_cmul_mul_mul,
    d_x_cmul_mul3_mul, pole_re, layer_frequency, cexp_exp, d_x_cmul_mul2_mul, d_x_cmul_mul4_mul,
    pole_exp, cexp_mul2, cexp_sin, cexp_cos, keep_exp, zoh_sub, d_stretch_keep_re,
    cost_scan_d_push_cmul_mul_mul, cost_scan_d_push_cmul_mul3_mul, cost_scan_d_push_cmul_mul2_mul,
    cost_scan_d_push_cmul_mul4_mul, d_stretch_keep_im, *, T,
):
    """15_s5.rt:27: pole = {re: -exp(layer.log_decay), im: layer.frequency}
    15_s5.rt:28: keep, hold = ssm.zoh(pole, exp(layer.log_step))
    15_s5.rt:52: slope = grad(cost, layer.frequency)
    15_s5.rt:53: slope_scan = grad(cost_scan, layer.frequency)
    ssm.rt:15: size2 = b.re * b.re + b.im * b.im
    ssm.rt:16: return {re: (a.re * b.re + a.im * b.im) / size2, im: (a.im * b.re - a.re * b.im) / size2}
    ssm.rt:21: return {re: exp(a.re) * cos(a.im), im: exp(a.re) * sin(a.im)}
    ssm.rt:61: p = cexp(step * a)
    ssm.rt:62: return p, cdiv({re: p.re - 1.0, im: p.im}, a)
    """
    cost_d_hold_re_sum2 = jnp.sum(cost_d_push_cmul_mul3_mul, axis=0)
    cost_d_hold_re = jnp.sum(cost_d_push_cmul_mul_mul, axis=0) + cost_d_hold_re_sum2
    cost_d_hold_re_div = cost_d_hold_re / size2_add
    cost_d_hold_im_sum2 = jnp.sum(cost_d_push_cmul_mul4_mul, axis=0)
    cost_d_hold_im = jnp.sum(cost_d_push_cmul_mul2_mul, axis=0) + cost_d_hold_im_sum2
    cost_d_hold_im_div = cost_d_hold_im / size2_add
    d_keep_re_sum2 = jnp.sum(d_x_cmul_mul3_mul[1:max(1, T)], axis=0)
    cost_d_keep_re = jnp.sum(d_x_cmul_mul_mul[1:max(1, T)], axis=0) + d_keep_re_sum2
    cost_d_keep_zoh_sub = cost_d_hold_re_div * pole_re - cost_d_hold_im_div * layer_frequency
    d_keep_im_sum2 = jnp.sum(d_x_cmul_mul4_mul[1:max(1, T)], axis=0)
    cost_d_keep_im = jnp.sum(d_x_cmul_mul2_mul[1:max(1, T)], axis=0) + d_keep_im_sum2
    cost_d_keep_zoh_p_cexp_mul2_add = cost_d_keep_im + cost_d_hold_re_div * layer_frequency
    cost_d_keep_zoh_p_cexp_mul2 = cost_d_keep_zoh_p_cexp_mul2_add - cost_d_hold_im_div * pole_exp
    cost_d_keep_zoh_cdiv_size2_add = -(cost_d_hold_re_div * hold_re) - cost_d_hold_im_div * hold_im
    cost_d_keep_zoh_cdiv_size2_mul2_mul = cost_d_keep_zoh_cdiv_size2_add * layer_frequency
    cost_d_keep_zoh_p_cexp_cos_mul = (cost_d_keep_re + cost_d_keep_zoh_sub) * cexp_exp * cexp_sin
    cost_d_keep_zoh_p_cexp_sin_mul = cost_d_keep_zoh_p_cexp_mul2 * cexp_exp * cexp_cos
    cost_d_keep_zoh_p_mul2 = cost_d_keep_zoh_p_cexp_sin_mul - cost_d_keep_zoh_p_cexp_cos_mul
    cost_d_pole_im_add = cost_d_hold_re_div * cexp_mul2 + cost_d_keep_zoh_cdiv_size2_mul2_mul
    d_add3_mul = cost_d_hold_im_div * zoh_sub
    cost_d_pole_im_add3 = cost_d_pole_im_add + cost_d_keep_zoh_cdiv_size2_mul2_mul - d_add3_mul
    slope = cost_d_pole_im_add3 + cost_d_keep_zoh_p_mul2 * keep_exp
    cost_scan_d_hold_re_sum2 = jnp.sum(cost_scan_d_push_cmul_mul3_mul, axis=0)
    cost_scan_d_hold_re = jnp.sum(cost_scan_d_push_cmul_mul_mul, axis=0) + cost_scan_d_hold_re_sum2
    cost_scan_d_hold_re_div = cost_scan_d_hold_re / size2_add
    cost_scan_d_hold_im_sum2 = jnp.sum(cost_scan_d_push_cmul_mul4_mul, axis=0)
    cost_scan_d_hold_im = jnp.sum(cost_scan_d_push_cmul_mul2_mul, axis=0) + cost_scan_d_hold_im_sum2
    cost_scan_d_hold_im_div = cost_scan_d_hold_im / size2_add
    cost_scan_d_keep_zoh_sub_mul = cost_scan_d_hold_im_div * layer_frequency
    cost_scan_d_keep_zoh_sub = cost_scan_d_hold_re_div * pole_re - cost_scan_d_keep_zoh_sub_mul
    cost_scan_d_keep_zoh_p_cexp_mul = jnp.sum(d_stretch_keep_re, axis=0) + cost_scan_d_keep_zoh_sub
    cost_scan_d_keep_im = jnp.sum(d_stretch_keep_im, axis=0)
    cost_scan_d_keep_zoh_cdiv_mul2_mul = cost_scan_d_hold_re_div * layer_frequency
    cost_scan_d_keep_zoh_p_cexp_mul2_add = cost_scan_d_keep_im + cost_scan_d_keep_zoh_cdiv_mul2_mul
    cost_scan_d_keep_zoh_p_cexp_mul2_mul = cost_scan_d_hold_im_div * pole_exp
    cost_scan_d_keep_zoh_p_cexp_mul2 = cost_scan_d_keep_zoh_p_cexp_mul2_add - cost_scan_d_keep_zoh_p_cexp_mul2_mul
    cost_scan_d_keep_zoh_p_cexp_cos_mul = cost_scan_d_keep_zoh_p_cexp_mul * cexp_exp * cexp_sin
    cost_scan_d_keep_zoh_p_cexp_sin_mul = cost_scan_d_keep_zoh_p_cexp_mul2 * cexp_exp * cexp_cos
    cost_scan_d_hold_re_neg = -(cost_scan_d_hold_re_div * hold_re)
    cost_scan_d_hold_im_mul = cost_scan_d_hold_im_div * hold_im
    cost_scan_d_keep_zoh_p_mul2 = cost_scan_d_keep_zoh_p_cexp_sin_mul - cost_scan_d_keep_zoh_p_cexp_cos_mul
    cost_scan_d_keep_zoh_p_mul2_mul2 = cost_scan_d_keep_zoh_p_mul2 * keep_exp
    cost_scan_d_keep_zoh_cdiv_size2_add = cost_scan_d_hold_re_neg - cost_scan_d_hold_im_mul
    cost_scan_d_keep_zoh_cdiv_size2_mul2_mul = cost_scan_d_keep_zoh_cdiv_size2_add * layer_frequency
    cost_scan_d_pole_im_add = cost_scan_d_keep_zoh_p_mul2_mul2 + cost_scan_d_hold_re_div * cexp_mul2
    cost_scan_d_pole_im_add2 = cost_scan_d_pole_im_add + cost_scan_d_keep_zoh_cdiv_size2_mul2_mul
    cost_scan_d_pole_im_add3 = cost_scan_d_pole_im_add2 + cost_scan_d_keep_zoh_cdiv_size2_mul2_mul
    slope_scan = cost_scan_d_pole_im_add3 - cost_scan_d_hold_im_div * zoh_sub
    return slope, slope_scan


def cost_d_x_at2(at, d_re_rows, d_rows_out1, d_push_re, d_push_im, *, T):
    """15_s5.rt:39: x[0] = push[0]
    15_s5.rt:40: x[t] = ssm.cmul(keep, x[t-1]) + push[t]
    """
    def point(t):
        d_im_at2 = lax.index_in_dim(d_rows_out1, 0, 0, keepdims=False)
        return (lax.index_in_dim(d_re_rows, 0, 0, keepdims=False), d_im_at2)
    d_re_at2_rows, d_im_at2_rows = jax.vmap(point)(jnp.arange(min(1, T), dtype=jnp.int32))
    d_push_re2 = lax.dynamic_update_slice(d_push_re, d_re_at2_rows, (0, 0))
    d_push_im2 = lax.dynamic_update_slice(d_push_im, d_im_at2_rows, (0, 0))
    return d_push_re2, d_push_im2


def block(
    at, layer_log_decay, layer_log_step, layer_frequency, u, norm_scale, norm_bias, layer_b_re,
    layer_b_im, layer_d, layer_c_re, layer_c_im, target, *, T,
):
    """What stands between two tasks of the host: cost_d_y_mul, heard, cost_scan_d_states_associative_scan_take4, ..."""
    cost_d_push_re = jnp.zeros((T, 4), jnp.float32)
    cost_d_push_im = jnp.zeros((T, 4), jnp.float32)
    cost_d_x_cmul_mul_mul = jnp.zeros((T, 4), jnp.float32)
    cost_d_x_cmul_mul2_mul = jnp.zeros((T, 4), jnp.float32)
    cost_d_x_cmul_mul3_mul = jnp.zeros((T, 4), jnp.float32)
    cost_d_x_cmul_mul4_mul = jnp.zeros((T, 4), jnp.float32)
    (
        pole_exp, pole_re, keep_exp, keep_zoh_p_cexp_exp, keep_zoh_p_cexp_cos, keep_zoh_p_cexp_mul,
        keep_zoh_p_cexp_sin, keep_zoh_p_cexp_mul2, keep_zoh_sub, keep_zoh_cdiv_size2_add, hold_re,
        hold_im, cost_d_y_mul2,
    ) = cost_d_y_mul((), layer_log_decay, layer_log_step, layer_frequency, T=T)
    (
        push_matmul, push_matmul2, push_re, push_im, y_answer_y_mul2, stretch_keep_re,
        stretch_keep_im,
    ) = heard(
        (), u, norm_scale, norm_bias, layer_b_re, layer_b_im, hold_re, hold_im, layer_d,
        keep_zoh_p_cexp_mul, keep_zoh_p_cexp_mul2, T=T,
    )
    (
        x_re_rows, x_re_rows_out1, states_associative_scan_out2, states_associative_scan_out3,
        cost_scan_d_states_associative_scan_take, cost_scan_d_states_associative_scan_take2,
        cost_scan_d_states_associative_scan_take3, cost_scan_d_states_associative_scan_take4_2,
    ) = cost_scan_d_states_associative_scan_take4(
        (), push_re, push_im, keep_zoh_p_cexp_mul, keep_zoh_p_cexp_mul2, stretch_keep_re,
        stretch_keep_im, T=T,
    )
    (
        y, y_scan2, cost_mse_mean, cost_scan_mse_mean, cost_d_y_answer_y_matmul_einsum2,
        cost_d_y_answer_y_matmul2_einsum2, cost_scan_d_y_scan_getitem, cost_scan_d_y_scan_getitem2,
    ) = y_scan(
        (), layer_c_re, layer_c_im, y_answer_y_mul2, u, target, cost_d_y_mul2, x_re_rows,
        x_re_rows_out1, states_associative_scan_out2, states_associative_scan_out3, T=T,
    )
    (
        cost, cost_scan2, cost_d_x_re_rows, cost_d_x_re_rows_out1,
        cost_scan_d_states_associative_scan_fold, cost_scan_d_states_associative_scan_fold_out1,
        cost_scan_d_states_associative_scan_fold_out2,
        cost_scan_d_states_associative_scan_fold_out3,
    ) = cost_scan(
        (), cost_mse_mean, cost_scan_mse_mean, cost_d_y_answer_y_matmul_einsum2,
        cost_d_y_answer_y_matmul2_einsum2, keep_zoh_p_cexp_mul, keep_zoh_p_cexp_mul2,
        cost_scan_d_states_associative_scan_take, cost_scan_d_states_associative_scan_take2,
        cost_scan_d_states_associative_scan_take3, cost_scan_d_states_associative_scan_take4_2,
        stretch_keep_re, stretch_keep_im, push_re, push_im, cost_scan_d_y_scan_getitem,
        cost_scan_d_y_scan_getitem2, T=T,
    )
    if T >= 2:
        (
            cost_d_push_re, cost_d_push_im, cost_d_x_cmul_mul_mul, cost_d_x_cmul_mul2_mul,
            cost_d_x_cmul_mul3_mul, cost_d_x_cmul_mul4_mul,
        ) = cost_d_x(
            (), cost_d_x_re_rows, cost_d_x_re_rows_out1, x_re_rows, x_re_rows_out1, cost_d_push_re,
            cost_d_push_im, cost_d_x_cmul_mul_mul, cost_d_x_cmul_mul2_mul, cost_d_x_cmul_mul3_mul,
            cost_d_x_cmul_mul4_mul, T=T,
        )
    cost_d_push_re, cost_d_push_im = cost_d_x_at2(
        (), cost_d_x_re_rows, cost_d_x_re_rows_out1, cost_d_push_re, cost_d_push_im, T=T,
    )
    (
        cost_d_push_cmul_mul_mul, cost_d_push_cmul_mul2_mul, cost_d_push_cmul_mul3_mul,
        cost_d_push_cmul_mul4_mul, cost_scan_d_stretch_keep_re, cost_scan_d_push_cmul_mul_mul,
        cost_scan_d_push_cmul_mul3_mul, cost_scan_d_push_cmul_mul2_mul,
        cost_scan_d_push_cmul_mul4_mul, cost_scan_d_stretch_keep_im2,
    ) = cost_scan_d_stretch_keep_im(
        (), cost_d_push_re, push_matmul, push_matmul2, cost_d_push_im,
        cost_scan_d_states_associative_scan_fold_out2, cost_scan_d_states_associative_scan_fold,
        cost_scan_d_states_associative_scan_fold_out3,
        cost_scan_d_states_associative_scan_fold_out1,
    )
    slope, slope_scan2 = slope_scan(
        (), cost_d_push_cmul_mul_mul, cost_d_push_cmul_mul3_mul, keep_zoh_cdiv_size2_add, hold_re,
        cost_d_push_cmul_mul2_mul, cost_d_push_cmul_mul4_mul, hold_im, cost_d_x_cmul_mul_mul,
        cost_d_x_cmul_mul3_mul, pole_re, layer_frequency, keep_zoh_p_cexp_exp,
        cost_d_x_cmul_mul2_mul, cost_d_x_cmul_mul4_mul, pole_exp, keep_zoh_p_cexp_mul2,
        keep_zoh_p_cexp_sin, keep_zoh_p_cexp_cos, keep_exp, keep_zoh_sub,
        cost_scan_d_stretch_keep_re, cost_scan_d_push_cmul_mul_mul, cost_scan_d_push_cmul_mul3_mul,
        cost_scan_d_push_cmul_mul2_mul, cost_scan_d_push_cmul_mul4_mul,
        cost_scan_d_stretch_keep_im2, T=T,
    )
    return (y, y_scan2, cost, cost_scan2, slope, slope_scan2)
