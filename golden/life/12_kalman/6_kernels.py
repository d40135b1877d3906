"""Kernels of 12_kalman, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


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


def transposed_matmul(x, y, summed=None):
    """x.T @ y: the outer products of rows, summed over the first axes, or over all but the last.

    XLA for CPUs is faster with many rows if narrow ones are laid out as columns first, and if the
    axes of a row are one. So are rows of a multiple of 32 elements while they
    fit into a cache, of which few lines take the elements of a column.
    """
    several = summed is not None
    first = tuple(range(summed if several else x.ndim - 1))
    rows, columns = x.shape[len(first) :], y.shape[len(first) :]
    a, b = (lax.collapse(lax.collapse(v, len(first)), 0, len(first)) for v in (x, y))
    width = min(a.shape[1], b.shape[1])
    strided = width % 32 == 0
    fits = strided and len(a) * width * x.dtype.itemsize <= 1048576
    narrow = several or width <= 16 or fits
    if jax.default_backend() != "cpu" or len(a) < 128 or not narrow:
        return jnp.tensordot(x, y, (first, first)) if several else jnp.matmul(a.T, b)
    if a.shape[1] <= b.shape[1]:
        product = jnp.matmul(lax.optimization_barrier(a.T), b)
    else:
        product = lax.optimization_barrier(jnp.matmul(lax.optimization_barrier(b.T), a)).T
    return product.reshape(*rows, *columns)


def R(at, log_force, log_error, valid, seen, *, T):
    """12_kalman.rt:29: one = eye(2)
    12_kalman.rt:30: none = zeros([2, 2])
    12_kalman.rt:31: F = concat([concat([one, dt * one], 1), concat([none, one], 1)], 0)
    12_kalman.rt:32: G = concat([0.5 * dt ** 2 * one, dt * one], 0)
    12_kalman.rt:33: Q = exp(log_force) * (G @ G.T)
    12_kalman.rt:34: H = concat([one, none], 1)
    12_kalman.rt:35: R = exp(log_error) * one
    12_kalman.rt:38: guess[0] = zeros([S])
    12_kalman.rt:39: guess_cov[0] = far * eye(S)
    12_kalman.rt:40: guess[t+1] = F @ now
    12_kalman.rt:41: guess_cov[t+1] = F @ now_cov @ F.T + Q
    12_kalman.rt:43: surprise = where(valid, seen - H @ guess, 0.0)
    12_kalman.rt:45: sure = where(valid, inverse(spread), 0.0)
    12_kalman.rt:47: keep = eye(S) - gain @ H
    12_kalman.rt:48: now = guess + gain @ surprise
    12_kalman.rt:52: later[T-1] = zeros([S])
    12_kalman.rt:60: score = where(valid, -0.5 * (surprise @ sure @ surprise + log(determinant(spread))) - log(tau), 0.0)
    """
    one = jnp.eye(2, 2, dtype=jnp.int32).astype(jnp.float32)
    F_mul = 0.5 * one
    none = jnp.zeros((2, 2), jnp.float32)
    F_concat2 = jnp.concatenate([none, one], axis=1)
    F = jnp.concatenate([jnp.concatenate([one, F_mul], axis=1), F_concat2], axis=0)
    G = jnp.concatenate([0.125 * one, F_mul], axis=0)
    Q_exp = jnp.exp(log_force)
    Q_matmul = jnp.einsum("ij,kj->ik", G, G)
    Q = Q_exp * Q_matmul
    H = jnp.concatenate([one, none], axis=1)
    R_exp = jnp.exp(log_error)
    R = R_exp * one
    guess = jnp.zeros((4,), jnp.float32)
    guess_cov_eye = jnp.eye(4, 4, dtype=jnp.int32).astype(jnp.float32)
    guess_cov = 25.0 * guess_cov_eye
    def step(k, rows_0, rows_1, before_0, before_1):
        valid_row = valid[k]
        add = jnp.einsum("ij,kj->ik", jnp.matmul(H, before_1), H) + R
        getitem = add[1, 1]
        getitem2 = add[0, 1]
        getitem3 = add[1, 0]
        getitem4 = add[0, 0]
        stack2 = jnp.stack([-getitem3, getitem4], axis=0)
        sub = getitem4 * getitem - getitem2 * getitem3
        div = jnp.stack([jnp.stack([getitem, -getitem2], axis=0), stack2], axis=0) / sub
        matmul2 = jnp.matmul(jnp.einsum("ij,kj->ik", before_1, H), jnp.where(valid_row, div, 0.0))
        matmul4 = jnp.matmul(matmul2, jnp.where(valid_row, seen[k] - jnp.matmul(H, before_0), 0.0))
        matmul5 = jnp.matmul(F, before_0 + matmul4)
        matmul8 = jnp.matmul(F, jnp.matmul(guess_cov_eye - jnp.matmul(matmul2, H), before_1))
        add3 = jnp.einsum("ij,kj->ik", matmul8, F) + Q
        return (
            lax.dynamic_update_index_in_dim(rows_0, matmul5, k+1, 0),
            lax.dynamic_update_index_in_dim(rows_1, add3, k+1, 0), matmul5, add3,
        )
    made = lax.fori_loop(
        0, T-1, lambda k, rows: step(k, *rows),
        (jnp.broadcast_to(guess, (T, 4)), jnp.broadcast_to(guess_cov, (T, 4, 4)), guess, guess_cov),
    )
    d_R_none = jnp.zeros((2, 2), jnp.float32)
    d_Q_none = jnp.zeros((4, 4), jnp.float32)
    return F, Q_exp, Q_matmul, H, R_exp, R, made[0], made[1], d_R_none, d_Q_none


def score(at, H, R, valid, seen, rows_out1, guess_rows, *, T):
    """12_kalman.rt:20: def determinant(a) = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    12_kalman.rt:24: rows = [stack([a[1, 1], -a[0, 1]]), stack([-a[1, 0], a[0, 0]])]
    12_kalman.rt:25: return stack(rows) / determinant(a)
    12_kalman.rt:38: guess[0] = zeros([S])
    12_kalman.rt:39: guess_cov[0] = far * eye(S)
    12_kalman.rt:40: guess[t+1] = F @ now
    12_kalman.rt:41: guess_cov[t+1] = F @ now_cov @ F.T + Q
    12_kalman.rt:43: surprise = where(valid, seen - H @ guess, 0.0)
    12_kalman.rt:44: spread = H @ guess_cov @ H.T + R
    12_kalman.rt:45: sure = where(valid, inverse(spread), 0.0)
    12_kalman.rt:46: gain = guess_cov @ H.T @ sure
    12_kalman.rt:47: keep = eye(S) - gain @ H
    12_kalman.rt:48: now = guess + gain @ surprise
    12_kalman.rt:49: now_cov = keep @ guess_cov
    12_kalman.rt:60: score = where(valid, -0.5 * (surprise @ sure @ surprise + log(determinant(spread))) - log(tau), 0.0)
    12_kalman.rt:61: likelihood = sum(score[0:T])
    """
    def point(rows_out1_t, valid, guess_rows_t, seen):
        gain_matmul = jnp.einsum("ij,kj->ik", rows_out1_t, H)
        spread = jnp.einsum("ij,kj->ik", jnp.matmul(H, rows_out1_t), H) + R
        rows_getitem = spread[1, 1]
        rows_getitem2 = spread[0, 1]
        rows_stack = jnp.stack([rows_getitem, -rows_getitem2], axis=0)
        rows_getitem3 = spread[1, 0]
        rows_getitem4 = spread[0, 0]
        rows_stack2 = jnp.stack([-rows_getitem3, rows_getitem4], axis=0)
        determinant_sub = rows_getitem4 * rows_getitem - rows_getitem2 * rows_getitem3
        inverse_div = jnp.stack([rows_stack, rows_stack2], axis=0) / determinant_sub
        sure = jnp.where(valid, inverse_div, 0.0)
        gain = jnp.matmul(gain_matmul, sure)
        surprise = jnp.where(valid, seen - matvec(H, guess_rows_t, T), 0.0)
        now = guess_rows_t + matvec(gain, surprise, T)
        keep = jnp.eye(4, 4, dtype=jnp.int32).astype(jnp.float32) - jnp.matmul(gain, H)
        now_cov = jnp.matmul(keep, rows_out1_t)
        score_matmul = jnp.matmul(surprise, sure)
        score_mul = -0.5 * (jnp.matmul(score_matmul, surprise) + jnp.log(determinant_sub))
        score = jnp.where(valid, score_mul - 1.8378770664093453, 0.0)
        d_score_add = jnp.where(valid, jnp.float32(1.0), jnp.float32(0.0)) * -0.5
        d_score_matmul = d_score_add * surprise
        d_log_div = d_score_add / determinant_sub
        d_matmul_einsum2 = jnp.einsum("j,k->kj", d_score_matmul, surprise)
        d_determinant_mul2 = -d_log_div
        d_surprise_add = d_score_add * score_matmul + matvec(sure, d_score_matmul, T)
        d_getitem_expand_dims2 = jnp.expand_dims(jnp.expand_dims(d_log_div * rows_getitem, 0), 1)
        d_getitem_pad = lax.pad(d_getitem_expand_dims2, jnp.float32(0.0), ((0, 1, 0), (0, 1, 0)))
        d_getitem2_expand_dims2 = jnp.expand_dims(jnp.expand_dims(d_log_div * rows_getitem4, 0), 1)
        d_getitem2_pad = lax.pad(d_getitem2_expand_dims2, jnp.float32(0.0), ((1, 0, 0), (1, 0, 0)))
        d_getitem3_expand_dims = jnp.expand_dims(d_determinant_mul2 * rows_getitem3, 0)
        d_getitem3_expand_dims2 = jnp.expand_dims(d_getitem3_expand_dims, 1)
        d_getitem3_pad = lax.pad(d_getitem3_expand_dims2, jnp.float32(0.0), ((0, 1, 0), (1, 0, 0)))
        d_getitem4_expand_dims = jnp.expand_dims(d_determinant_mul2 * rows_getitem2, 0)
        d_getitem4_expand_dims2 = jnp.expand_dims(d_getitem4_expand_dims, 1)
        d_getitem4_pad = lax.pad(d_getitem4_expand_dims2, jnp.float32(0.0), ((1, 0, 0), (0, 1, 0)))
        d_spread_add3 = d_getitem_pad + d_getitem2_pad + d_getitem3_pad + d_getitem4_pad
        return (
            rows_out1_t, gain_matmul, rows_getitem, rows_getitem2, rows_getitem3, rows_getitem4,
            determinant_sub, inverse_div, sure, gain, surprise, now, keep, now_cov, score,
            d_matmul_einsum2, d_surprise_add, d_spread_add3,
        )
    (
        rows_out1_t_rows, gain_matmul_rows, rows_getitem_rows, rows_getitem2_rows,
        rows_getitem3_rows, rows_getitem4_rows, determinant_sub_rows, inverse_div_rows, sure_rows,
        gain_rows, surprise_rows, now_rows, keep_rows, now_cov_rows, score_rows,
        d_matmul_einsum2_rows, d_surprise_add_rows, d_spread_add3_rows,
    ) = jax.vmap(point)(rows_out1, valid, guess_rows, seen)
    return (
        rows_out1_t_rows, gain_matmul_rows, rows_getitem_rows, rows_getitem2_rows,
        rows_getitem3_rows, rows_getitem4_rows, determinant_sub_rows, inverse_div_rows, sure_rows,
        gain_rows, surprise_rows, now_rows, keep_rows, now_cov_rows, score_rows,
        d_matmul_einsum2_rows, d_surprise_add_rows, d_spread_add3_rows,
    )


def later_cov_matmul4(at, H, sure, surprise, later_matmul3_2, later_cov_matmul4_2, *, T):
    """12_kalman.rt:54: later[t-1] = F.T @ (keep.T @ later + H.T @ sure @ surprise)
    12_kalman.rt:55: later_cov[t-1] = F.T @ (keep.T @ later_cov @ keep + H.T @ sure @ H) @ F
    """
    def point(sure, surprise):
        later_matmul2 = transposed_matmul(H, sure)
        return (matvec(later_matmul2, surprise, T-1), jnp.matmul(later_matmul2, H))
    later_matmul3_rows, later_cov_matmul4_rows = jax.vmap(point)(sure[1:T], surprise[1:T])
    later_matmul3_2_2 = lax.dynamic_update_slice(later_matmul3_2, later_matmul3_rows, (1, 0))
    later_cov_matmul4_2_2 = lax.dynamic_update_slice(
        later_cov_matmul4_2, later_cov_matmul4_rows, (1, 0, 0),
    )
    return later_matmul3_2_2, later_cov_matmul4_2_2


def likelihood(
    at, keep, later_matmul3, F, later_cov_matmul4, score, valid, d_surprise_add, gain, H, *, T,
):
    """12_kalman.rt:38: guess[0] = zeros([S])
    12_kalman.rt:43: surprise = where(valid, seen - H @ guess, 0.0)
    12_kalman.rt:45: sure = where(valid, inverse(spread), 0.0)
    12_kalman.rt:48: now = guess + gain @ surprise
    12_kalman.rt:49: now_cov = keep @ guess_cov
    12_kalman.rt:52: later[T-1] = zeros([S])
    12_kalman.rt:53: later_cov[T-1] = zeros([S, S])
    12_kalman.rt:54: later[t-1] = F.T @ (keep.T @ later + H.T @ sure @ surprise)
    12_kalman.rt:55: later_cov[t-1] = F.T @ (keep.T @ later_cov @ keep + H.T @ sure @ H) @ F
    12_kalman.rt:60: score = where(valid, -0.5 * (surprise @ sure @ surprise + log(determinant(spread))) - log(tau), 0.0)
    12_kalman.rt:61: likelihood = sum(score[0:T])
    """
    guess = jnp.zeros((4,), jnp.float32)
    later_matmul3_slice = later_matmul3[1:max(1, T)]
    later_matmul3_slice2 = lax.pad(
        later_matmul3_slice, jnp.float32(0.0), ((0, max(1, T-1)-max(0, T-1), 0), (0, 0, 0)),
    )
    def step(k, rows):
        k2 = T-2 - k
        matmul2 = jnp.matmul(jnp.matmul(rows[k2+1], keep[k2+1]) + later_matmul3_slice2[k2], F)
        return lax.dynamic_update_index_in_dim(rows, matmul2, k2, 0)
    later_rows = lax.fori_loop(0, T-1, step, jnp.broadcast_to(guess, (T, 4)))
    later_cov = jnp.zeros((4, 4), jnp.float32)
    later_cov_matmul4_slice = later_cov_matmul4[1:max(1, T)]
    later_cov_matmul4_slice2 = lax.pad(
        later_cov_matmul4_slice, jnp.float32(0.0),
        ((0, max(1, T-1)-max(0, T-1), 0), (0, 0, 0), (0, 0, 0)),
    )
    def step2(k3, rows2):
        k4 = T-2 - k3
        keep_row2 = keep[k4+1]
        matmul3 = jnp.matmul(transposed_matmul(keep_row2, rows2[k4+1]), keep_row2)
        matmul4 = jnp.matmul(transposed_matmul(F, matmul3 + later_cov_matmul4_slice2[k4]), F)
        return lax.dynamic_update_index_in_dim(rows2, matmul4, k4, 0)
    later_cov_rows = lax.fori_loop(0, T-1, step2, jnp.broadcast_to(later_cov, (T, 4, 4)))
    likelihood = jnp.sum(score, axis=0)
    def step3(k5, rows3):
        k6 = T-2 - k5
        before3 = rows3[k6+1]
        neg = -jnp.where(valid[k6+1], d_surprise_add[k6+1] + jnp.matmul(before3, gain[k6+1]), 0.0)
        matmul7 = jnp.matmul(jnp.matmul(neg, H) + before3, F)
        return lax.dynamic_update_index_in_dim(rows3, matmul7, k6, 0)
    d_now_rows = lax.fori_loop(0, T-1, step3, jnp.broadcast_to(guess, (T, 4)))
    return later_rows, later_cov_rows, likelihood, d_now_rows


def smooth_cov(at, now_cov, now, later_rows, later_cov_rows, *, T):
    """12_kalman.rt:52: later[T-1] = zeros([S])
    12_kalman.rt:53: later_cov[T-1] = zeros([S, S])
    12_kalman.rt:54: later[t-1] = F.T @ (keep.T @ later + H.T @ sure @ surprise)
    12_kalman.rt:55: later_cov[t-1] = F.T @ (keep.T @ later_cov @ keep + H.T @ sure @ H) @ F
    12_kalman.rt:56: smooth = now + now_cov @ later
    12_kalman.rt:57: smooth_cov = now_cov - now_cov @ later_cov @ now_cov
    """
    def point(later_rows_t, later_cov_rows_t, now_cov, now):
        smooth = now + matvec(now_cov, later_rows_t, T)
        smooth_cov = now_cov - jnp.matmul(jnp.matmul(now_cov, later_cov_rows_t), now_cov)
        return (smooth, smooth_cov)
    smooth_rows, smooth_cov_rows = jax.vmap(point)(later_rows, later_cov_rows, now_cov, now)
    return smooth_rows, smooth_cov_rows


def likelihood_d_guess_cov(
    at, d_now_rows, surprise, d_now_cov, guess_cov, H, gain_matmul, d_score_matmul_einsum2, valid,
    determinant_sub, inverse_div, rows_getitem, rows_getitem4, rows_getitem3, rows_getitem2,
    d_spread_add3, d_R_past, sure, keep,
):
    """12_kalman.rt:20: def determinant(a) = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    12_kalman.rt:24: rows = [stack([a[1, 1], -a[0, 1]]), stack([-a[1, 0], a[0, 0]])]
    12_kalman.rt:25: return stack(rows) / determinant(a)
    12_kalman.rt:35: R = exp(log_error) * one
    12_kalman.rt:39: guess_cov[0] = far * eye(S)
    12_kalman.rt:41: guess_cov[t+1] = F @ now_cov @ F.T + Q
    12_kalman.rt:43: surprise = where(valid, seen - H @ guess, 0.0)
    12_kalman.rt:44: spread = H @ guess_cov @ H.T + R
    12_kalman.rt:45: sure = where(valid, inverse(spread), 0.0)
    12_kalman.rt:46: gain = guess_cov @ H.T @ sure
    12_kalman.rt:47: keep = eye(S) - gain @ H
    12_kalman.rt:48: now = guess + gain @ surprise
    12_kalman.rt:49: now_cov = keep @ guess_cov
    12_kalman.rt:60: score = where(valid, -0.5 * (surprise @ sure @ surprise + log(determinant(spread))) - log(tau), 0.0)
    """
    t = at[0]
    d_now = lax.dynamic_index_in_dim(d_now_rows, t, 0, keepdims=False)
    d_keep_neg = -jnp.einsum("ij,kj->ik", d_now_cov, guess_cov[t])
    d_gain = jnp.einsum("i,k->ik", d_now, surprise[t]) + jnp.einsum("ij,kj->ik", d_keep_neg, H)
    d_sure = d_score_matmul_einsum2[t] + transposed_matmul(gain_matmul[t], d_gain)
    d_inverse_stack = jnp.where(valid[t], d_sure, 0.0) / determinant_sub[t]
    d_sum_sum = jnp.sum(d_inverse_stack * inverse_div[t], axis=(0, 1))
    d_div_sum = -d_sum_sum
    d_rows_getitem_expand_dims2 = jnp.expand_dims(jnp.expand_dims(d_inverse_stack[0, 0], 0), 1)
    d_rows_getitem_pad = lax.pad(
        d_rows_getitem_expand_dims2, jnp.float32(0.0), ((1, 0, 0), (1, 0, 0)),
    )
    d_rows_getitem4_expand_dims2 = jnp.expand_dims(jnp.expand_dims(d_inverse_stack[1, 1], 0), 1)
    d_rows_getitem4_pad = lax.pad(
        d_rows_getitem4_expand_dims2, jnp.float32(0.0), ((0, 1, 0), (0, 1, 0)),
    )
    d_spread_add5 = d_spread_add3[t] + d_rows_getitem_pad + d_rows_getitem4_pad
    d_determinant_getitem_expand_dims = jnp.expand_dims(d_div_sum * rows_getitem[t], 0)
    d_determinant_getitem_expand_dims2 = jnp.expand_dims(d_determinant_getitem_expand_dims, 1)
    d_determinant_getitem_pad = lax.pad(
        d_determinant_getitem_expand_dims2, jnp.float32(0.0), ((0, 1, 0), (0, 1, 0)),
    )
    d_determinant_getitem2_expand_dims = jnp.expand_dims(d_div_sum * rows_getitem4[t], 0)
    d_determinant_getitem2_expand_dims2 = jnp.expand_dims(d_determinant_getitem2_expand_dims, 1)
    d_determinant_getitem2_pad = lax.pad(
        d_determinant_getitem2_expand_dims2, jnp.float32(0.0), ((1, 0, 0), (1, 0, 0)),
    )
    d_spread_add7 = d_spread_add5 + d_determinant_getitem_pad + d_determinant_getitem2_pad
    d_determinant_getitem3_expand_dims = jnp.expand_dims(d_sum_sum * rows_getitem3[t], 0)
    d_determinant_getitem3_expand_dims2 = jnp.expand_dims(d_determinant_getitem3_expand_dims, 1)
    d_determinant_getitem3_pad = lax.pad(
        d_determinant_getitem3_expand_dims2, jnp.float32(0.0), ((0, 1, 0), (1, 0, 0)),
    )
    d_determinant_getitem4_expand_dims = jnp.expand_dims(d_sum_sum * rows_getitem2[t], 0)
    d_determinant_getitem4_expand_dims2 = jnp.expand_dims(d_determinant_getitem4_expand_dims, 1)
    d_determinant_getitem4_pad = lax.pad(
        d_determinant_getitem4_expand_dims2, jnp.float32(0.0), ((1, 0, 0), (0, 1, 0)),
    )
    d_spread_add9 = d_spread_add7 + d_determinant_getitem3_pad + d_determinant_getitem4_pad
    d_rows_getitem2_expand_dims2 = jnp.expand_dims(jnp.expand_dims(-d_inverse_stack[0, 1], 0), 1)
    d_rows_getitem2_pad = lax.pad(
        d_rows_getitem2_expand_dims2, jnp.float32(0.0), ((0, 1, 0), (1, 0, 0)),
    )
    d_rows_getitem3_expand_dims2 = jnp.expand_dims(jnp.expand_dims(-d_inverse_stack[1, 0], 0), 1)
    d_rows_getitem3_pad = lax.pad(
        d_rows_getitem3_expand_dims2, jnp.float32(0.0), ((1, 0, 0), (0, 1, 0)),
    )
    d_spread = d_spread_add9 + d_rows_getitem2_pad + d_rows_getitem3_pad
    d_R_now = d_R_past + d_spread
    d_gain_matmul_einsum = jnp.matmul(jnp.einsum("ij,kj->ik", d_gain, sure[t]), H)
    d_guess_cov_add = transposed_matmul(H, jnp.matmul(d_spread, H)) + d_gain_matmul_einsum
    return d_R_now, d_R_now, d_guess_cov_add + transposed_matmul(keep[t], d_now_cov)


def by_force(at, d_R_now_0, R_exp, d_Q_all, Q_matmul, Q_exp):
    """12_kalman.rt:29: one = eye(2)
    12_kalman.rt:33: Q = exp(log_force) * (G @ G.T)
    12_kalman.rt:35: R = exp(log_error) * one
    12_kalman.rt:62: by_force = grad(likelihood, log_force)
    12_kalman.rt:63: by_error = grad(likelihood, log_error)
    """
    one = jnp.eye(2, 2, dtype=jnp.int32).astype(jnp.float32)
    by_error = jnp.sum(d_R_now_0 * one, axis=(0, 1)) * R_exp
    by_force = jnp.sum(d_Q_all * Q_matmul, axis=(0, 1)) * Q_exp
    return by_error, by_force


def likelihood_d_now_cov_0(at, d_guess_cov_next, F):
    """12_kalman.rt:41: guess_cov[t+1] = F @ now_cov @ F.T + Q
    12_kalman.rt:49: now_cov = keep @ guess_cov
    """
    return (transposed_matmul(F, jnp.matmul(d_guess_cov_next, F)),)


def likelihood_d_Q_now(at, d_Q_past, d_guess_cov):
    """12_kalman.rt:33: Q = exp(log_force) * (G @ G.T)"""
    d_Q_now = d_Q_past + d_guess_cov
    return d_Q_now, d_Q_now


def likelihood_d_Q_total(at, d_Q_now_1):
    """12_kalman.rt:33: Q = exp(log_force) * (G @ G.T)"""
    return (d_Q_now_1,)


def likelihood_d_Q_total2(at):
    """12_kalman.rt:33: Q = exp(log_force) * (G @ G.T)"""
    return (jnp.zeros((4, 4), jnp.float32),)


def likelihood_d_now_cov_1(at):
    """12_kalman.rt:49: now_cov = keep @ guess_cov
    12_kalman.rt:53: later_cov[T-1] = zeros([S, S])
    """
    later_cov = jnp.zeros((4, 4), jnp.float32)
    return (later_cov,)


def loop_t(
    at, likelihood_d_now_cov, likelihood_d_R_now, likelihood_d_R_past, likelihood_d_guess_cov2,
    likelihood_d_Q_now2, likelihood_d_Q_past, F, likelihood_d_now_rows, surprise, guess_cov, H,
    gain_matmul, likelihood_d_score_matmul_einsum2, valid, sure_inverse_determinant_sub,
    sure_inverse_div, sure_inverse_rows_getitem, sure_inverse_rows_getitem4,
    sure_inverse_rows_getitem3, sure_inverse_rows_getitem2, likelihood_d_spread_add3, sure, keep, *,
    steps=None,
):
    """t from at[0] down, at[1] steps; the loop of likelihood_d_now_cov_0, likelihood_d_guess_cov, likelihood_d_Q_now."""
    count = at[1] if steps is None else steps
    def step_t(i, carry):
        (
            likelihood_d_now_cov, likelihood_d_R_now, likelihood_d_R_past, likelihood_d_guess_cov2,
            likelihood_d_Q_now2, likelihood_d_Q_past,
        ) = carry
        t = at[0] - i
        (likelihood_d_now_cov,) = likelihood_d_now_cov_0((t,), likelihood_d_guess_cov2, F)
        (
            likelihood_d_R_now, likelihood_d_R_past_new, likelihood_d_guess_cov2,
        ) = likelihood_d_guess_cov(
            (t,), likelihood_d_now_rows, surprise, likelihood_d_now_cov, guess_cov, H, gain_matmul,
            likelihood_d_score_matmul_einsum2, valid, sure_inverse_determinant_sub,
            sure_inverse_div, sure_inverse_rows_getitem, sure_inverse_rows_getitem4,
            sure_inverse_rows_getitem3, sure_inverse_rows_getitem2, likelihood_d_spread_add3,
            likelihood_d_R_past, sure, keep,
        )
        likelihood_d_R_past = jnp.where(t >= 1, likelihood_d_R_past_new, likelihood_d_R_past)
        (
            likelihood_d_Q_now2_new, likelihood_d_Q_past_new,
        ) = likelihood_d_Q_now((t,), likelihood_d_Q_past, likelihood_d_guess_cov2)
        likelihood_d_Q_now2 = jnp.where(t > 0, likelihood_d_Q_now2_new, likelihood_d_Q_now2)
        likelihood_d_Q_past = jnp.where(t - 1 >= 1, likelihood_d_Q_past_new, likelihood_d_Q_past)
        return (
            likelihood_d_now_cov, likelihood_d_R_now, likelihood_d_R_past, likelihood_d_guess_cov2,
            likelihood_d_Q_now2, likelihood_d_Q_past,
        )
    carry = (
        likelihood_d_now_cov, likelihood_d_R_now, likelihood_d_R_past, likelihood_d_guess_cov2,
        likelihood_d_Q_now2, likelihood_d_Q_past,
    )
    (
        likelihood_d_now_cov, likelihood_d_R_now, likelihood_d_R_past, likelihood_d_guess_cov2,
        likelihood_d_Q_now2, likelihood_d_Q_past,
    ) = lax.fori_loop(0, count, step_t, carry)
    return (
        likelihood_d_now_cov, likelihood_d_R_now, likelihood_d_R_past, likelihood_d_guess_cov2,
        likelihood_d_Q_now2, likelihood_d_Q_past,
    )


def block(at, log_force, log_error, valid, seen, *, T):
    """What stands between two tasks of the host: R, score, later_cov_matmul4, ..."""
    likelihood_d_Q_past = jnp.zeros((4, 4), jnp.float32)
    later_matmul3 = jnp.zeros((T, 4), jnp.float32)
    later_cov_matmul4_2 = jnp.zeros((T, 4, 4), jnp.float32)
    likelihood_d_R_now = jnp.zeros((2, 2), jnp.float32)
    likelihood_d_Q_all = jnp.zeros((4, 4), jnp.float32)
    (
        F, Q_exp, Q_matmul, H, R_exp, R2, guess_rows, guess_rows_out1, likelihood_d_R_past,
        likelihood_d_Q_past_new,
    ) = R((), log_force, log_error, valid, seen, T=T)
    if T - 1 >= 1:
        likelihood_d_Q_past = likelihood_d_Q_past_new
    (
        guess_cov, gain_matmul, sure_inverse_rows_getitem, sure_inverse_rows_getitem2,
        sure_inverse_rows_getitem3, sure_inverse_rows_getitem4, sure_inverse_determinant_sub,
        sure_inverse_div, sure, gain, surprise, now, keep, now_cov, score2,
        likelihood_d_score_matmul_einsum2, likelihood_d_surprise_add, likelihood_d_spread_add3,
    ) = score((), H, R2, valid, seen, guess_rows_out1, guess_rows, T=T)
    if T >= 2:
        later_matmul3, later_cov_matmul4_2 = later_cov_matmul4(
            (), H, sure, surprise, later_matmul3, later_cov_matmul4_2, T=T,
        )
    (
        later_rows, later_cov_rows, likelihood2, likelihood_d_now_rows,
    ) = likelihood(
        (), keep, later_matmul3, F, later_cov_matmul4_2, score2, valid, likelihood_d_surprise_add,
        gain, H, T=T,
    )
    smooth, smooth_cov2 = smooth_cov((), now_cov, now, later_rows, later_cov_rows, T=T)
    (likelihood_d_now_cov,) = likelihood_d_now_cov_1((jnp.int32(T - 1),))
    if T >= 2:
        (
            likelihood_d_R_now, likelihood_d_R_past_new, likelihood_d_guess_cov2,
        ) = likelihood_d_guess_cov(
            (jnp.int32(T - 1),), likelihood_d_now_rows, surprise, likelihood_d_now_cov, guess_cov,
            H, gain_matmul, likelihood_d_score_matmul_einsum2, valid, sure_inverse_determinant_sub,
            sure_inverse_div, sure_inverse_rows_getitem, sure_inverse_rows_getitem4,
            sure_inverse_rows_getitem3, sure_inverse_rows_getitem2, likelihood_d_spread_add3,
            likelihood_d_R_past, sure, keep,
        )
        if T - 1 >= 1:
            likelihood_d_R_past = likelihood_d_R_past_new
        (
            likelihood_d_Q_now2, likelihood_d_Q_past_new2,
        ) = likelihood_d_Q_now((jnp.int32(T - 1),), likelihood_d_Q_past, likelihood_d_guess_cov2)
        if T - 2 >= 1:
            likelihood_d_Q_past = likelihood_d_Q_past_new2
        def step_t(i, carry):
            (
                likelihood_d_now_cov, likelihood_d_R_now, likelihood_d_R_past,
                likelihood_d_guess_cov2, likelihood_d_Q_now2, likelihood_d_Q_past,
            ) = carry
            t = (T - 2) - i
            (likelihood_d_now_cov,) = likelihood_d_now_cov_0((t,), likelihood_d_guess_cov2, F)
            (
                likelihood_d_R_now, likelihood_d_R_past_new2, likelihood_d_guess_cov2,
            ) = likelihood_d_guess_cov(
                (t,), likelihood_d_now_rows, surprise, likelihood_d_now_cov, guess_cov, H,
                gain_matmul, likelihood_d_score_matmul_einsum2, valid, sure_inverse_determinant_sub,
                sure_inverse_div, sure_inverse_rows_getitem, sure_inverse_rows_getitem4,
                sure_inverse_rows_getitem3, sure_inverse_rows_getitem2, likelihood_d_spread_add3,
                likelihood_d_R_past, sure, keep,
            )
            likelihood_d_R_past = jnp.where(t >= 1, likelihood_d_R_past_new2, likelihood_d_R_past)
            (
                likelihood_d_Q_now2_new, likelihood_d_Q_past_new3,
            ) = likelihood_d_Q_now((t,), likelihood_d_Q_past, likelihood_d_guess_cov2)
            likelihood_d_Q_now2 = jnp.where(t > 0, likelihood_d_Q_now2_new, likelihood_d_Q_now2)
            likelihood_d_Q_past = jnp.where(
                t - 1 >= 1, likelihood_d_Q_past_new3, likelihood_d_Q_past,
            )
            return (
                likelihood_d_now_cov, likelihood_d_R_now, likelihood_d_R_past,
                likelihood_d_guess_cov2, likelihood_d_Q_now2, likelihood_d_Q_past,
            )
        carry = (
            likelihood_d_now_cov, likelihood_d_R_now, likelihood_d_R_past, likelihood_d_guess_cov2,
            likelihood_d_Q_now2, likelihood_d_Q_past,
        )
        (
            likelihood_d_now_cov, likelihood_d_R_now, likelihood_d_R_past, likelihood_d_guess_cov2,
            likelihood_d_Q_now2, likelihood_d_Q_past,
        ) = lax.fori_loop(0, T - 1, step_t, carry)
        (likelihood_d_Q_all,) = likelihood_d_Q_total((), likelihood_d_Q_now2)
    if T <= 1:
        (
            likelihood_d_R_now, _, likelihood_d_guess_cov2,
        ) = likelihood_d_guess_cov(
            (jnp.int32(0),), likelihood_d_now_rows, surprise, likelihood_d_now_cov, guess_cov, H,
            gain_matmul, likelihood_d_score_matmul_einsum2, valid, sure_inverse_determinant_sub,
            sure_inverse_div, sure_inverse_rows_getitem, sure_inverse_rows_getitem4,
            sure_inverse_rows_getitem3, sure_inverse_rows_getitem2, likelihood_d_spread_add3,
            likelihood_d_R_past, sure, keep,
        )
        (likelihood_d_Q_all,) = likelihood_d_Q_total2(())
    by_error, by_force2 = by_force(
        (), likelihood_d_R_now, R_exp, likelihood_d_Q_all, Q_matmul, Q_exp,
    )
    return (now, likelihood2, smooth, smooth_cov2, by_error, by_force2)
