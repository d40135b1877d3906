"""Kernels of 12_kalman, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax.numpy as jnp
from jax import lax


def R(at, log_force, log_error):
    """12_kalman.rt:29: one = eye(2)
    12_kalman.rt:30: none = zeros([2, 2])
    12_kalman.rt:31: F = concat([concat([one, dt * one], 1), concat([none, one], 1)], 0)
    12_kalman.rt:32: G = concat([0.5 * dt ** 2 * one, dt * one], 0)
    12_kalman.rt:33: Q = exp(log_force) * (G @ G.T)
    12_kalman.rt:34: H = concat([one, none], 1)
    12_kalman.rt:35: R = exp(log_error) * one
    12_kalman.rt:38: guess[0] = zeros([S])
    12_kalman.rt:39: guess_cov[0] = far * eye(S)
    12_kalman.rt:47: keep = eye(S) - gain @ H
    12_kalman.rt:48: now = guess + gain @ surprise
    12_kalman.rt:49: now_cov = keep @ guess_cov
    12_kalman.rt:52: later[T-1] = zeros([S])
    12_kalman.rt:53: later_cov[T-1] = zeros([S, S])
    12_kalman.rt:61: likelihood = sum(score[0:T])
    """
    one = jnp.eye(2, 2, dtype=jnp.float32)
    F_mul = jnp.float32(0.5) * one
    F_concat = jnp.concatenate([one, F_mul], axis=1)
    none = jnp.full((2, 2), jnp.float32(0.0))
    F_concat2 = jnp.concatenate([none, one], axis=1)
    F = jnp.concatenate([F_concat, F_concat2], axis=0)
    G_mul = jnp.float32(0.125) * one
    G = jnp.concatenate([G_mul, F_mul], axis=0)
    Q_exp = jnp.exp(log_force)
    Q_matmul = jnp.einsum("ij,kj->ik", G, G)
    Q = Q_exp * Q_matmul
    H = jnp.concatenate([one, none], axis=1)
    R_exp = jnp.exp(log_error)
    R = R_exp * one
    guess_0 = jnp.full((4,), jnp.float32(0.0))
    guess_cov_eye_2 = jnp.eye(4, 4, dtype=jnp.float32)
    guess_cov_0 = jnp.float32(25.0) * guess_cov_eye_2
    later_cov_0 = jnp.full((4, 4), jnp.float32(0.0))
    likelihood_none = jnp.full((), jnp.float32(0.0))
    likelihood_d_R_sum2_none = jnp.full((2, 2), jnp.float32(0.0))
    return F, Q_exp, Q_matmul, Q, H, R_exp, R, guess_0, guess_0, guess_cov_0, later_cov_0, likelihood_none, likelihood_d_R_sum2_none


def now_cov(
    at, guess_cov, H, R, valid, guess, seen, likelihood_past, sure_inverse_rows_getitem,
    sure_inverse_rows_getitem2, sure_inverse_rows_getitem3, sure_inverse_rows_getitem4,
    sure_inverse_determinant_sub, now,
):
    """12_kalman.rt:20: def determinant(a) = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    12_kalman.rt:24: rows = [stack([a[1, 1], -a[0, 1]]), stack([-a[1, 0], a[0, 0]])]
    12_kalman.rt:25: return stack(rows) / determinant(a)
    12_kalman.rt:39: guess_cov[0] = far * eye(S)
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
    t = at[0]
    gain_matmul = jnp.einsum("ij,kj->ik", guess_cov, H)
    spread_matmul = jnp.matmul(H, guess_cov)
    spread_matmul2 = jnp.einsum("ij,kj->ik", spread_matmul, H)
    spread = spread_matmul2 + R
    sure_inverse_rows_getitem_t = lax.index_in_dim(lax.index_in_dim(spread, 1, 1, keepdims=False), 1, 0, keepdims=False)
    sure_inverse_rows_getitem2_t = lax.index_in_dim(lax.index_in_dim(spread, 1, 1, keepdims=False), 0, 0, keepdims=False)
    sure_inverse_rows_neg = -sure_inverse_rows_getitem2_t
    sure_inverse_rows_stack = jnp.stack([sure_inverse_rows_getitem_t, sure_inverse_rows_neg], axis=0)
    sure_inverse_rows_getitem3_t = lax.index_in_dim(lax.index_in_dim(spread, 0, 1, keepdims=False), 1, 0, keepdims=False)
    sure_inverse_rows_neg2 = -sure_inverse_rows_getitem3_t
    sure_inverse_rows_getitem4_t = lax.index_in_dim(lax.index_in_dim(spread, 0, 1, keepdims=False), 0, 0, keepdims=False)
    sure_inverse_rows_stack2 = jnp.stack([sure_inverse_rows_neg2, sure_inverse_rows_getitem4_t], axis=0)
    sure_inverse_stack = jnp.stack([sure_inverse_rows_stack, sure_inverse_rows_stack2], axis=0)
    sure_inverse_determinant_mul = sure_inverse_rows_getitem4_t * sure_inverse_rows_getitem_t
    sure_inverse_determinant_mul2 = sure_inverse_rows_getitem2_t * sure_inverse_rows_getitem3_t
    sure_inverse_determinant_sub_t = sure_inverse_determinant_mul - sure_inverse_determinant_mul2
    sure_inverse_div = sure_inverse_stack / sure_inverse_determinant_sub_t
    valid_t = valid[t]
    sure = jnp.where(valid_t, sure_inverse_div, jnp.float32(0.0))
    gain = jnp.matmul(gain_matmul, sure)
    surprise_matmul = jnp.matmul(H, guess)
    seen_t = seen[t]
    surprise_sub = seen_t - surprise_matmul
    surprise = jnp.where(valid_t, surprise_sub, jnp.float32(0.0))
    now_matmul = jnp.matmul(gain, surprise)
    now_t = guess + now_matmul
    keep_matmul = jnp.matmul(gain, H)
    guess_cov_eye = jnp.eye(4, 4, dtype=jnp.float32)
    keep = guess_cov_eye - keep_matmul
    now_cov = jnp.matmul(keep, guess_cov)
    score_matmul = jnp.matmul(surprise, sure)
    score_matmul2 = jnp.matmul(score_matmul, surprise)
    score_log = jnp.log(sure_inverse_determinant_sub_t)
    score_add = score_matmul2 + score_log
    score_mul = jnp.float32(-0.5) * score_add
    score_sub = score_mul - jnp.float32(1.8378770664093453)
    score = jnp.where(valid_t, score_sub, jnp.float32(0.0))
    likelihood_now = likelihood_past + score
    likelihood_d_score_where = jnp.where(valid_t, jnp.float32(1.0), jnp.float32(0.0))
    likelihood_d_score_mul_mul2 = likelihood_d_score_where * jnp.float32(-0.5)
    likelihood_d_score_matmul2_mul = likelihood_d_score_mul_mul2 * surprise
    likelihood_d_score_matmul2_mul2 = likelihood_d_score_mul_mul2 * score_matmul
    likelihood_d_score_log_div = likelihood_d_score_mul_mul2 / sure_inverse_determinant_sub_t
    likelihood_d_score_matmul_einsum = jnp.matmul(sure, likelihood_d_score_matmul2_mul)
    likelihood_d_score_matmul_einsum2 = jnp.einsum("j,k->kj", likelihood_d_score_matmul2_mul, surprise)
    likelihood_d_surprise_add = likelihood_d_score_matmul2_mul2 + likelihood_d_score_matmul_einsum
    likelihood_d_score_determinant_sub_neg = -likelihood_d_score_log_div
    likelihood_d_score_determinant_mul_mul = likelihood_d_score_log_div * sure_inverse_rows_getitem_t
    likelihood_d_score_determinant_mul_mul2 = likelihood_d_score_log_div * sure_inverse_rows_getitem4_t
    likelihood_d_score_determinant_mul2_mul = likelihood_d_score_determinant_sub_neg * sure_inverse_rows_getitem3_t
    likelihood_d_score_determinant_mul2_mul2 = likelihood_d_score_determinant_sub_neg * sure_inverse_rows_getitem2_t
    likelihood_d_score_determinant_getitem_expand_dims = jnp.expand_dims(likelihood_d_score_determinant_mul_mul, 0)
    likelihood_d_score_determinant_getitem_expand_dims2 = jnp.expand_dims(likelihood_d_score_determinant_getitem_expand_dims, 1)
    likelihood_d_score_determinant_getitem_pad = lax.pad(likelihood_d_score_determinant_getitem_expand_dims2, jnp.float32(0.0), ((0, 1, 0), (0, 1, 0)))
    likelihood_d_score_determinant_getitem2_expand_dims = jnp.expand_dims(likelihood_d_score_determinant_mul_mul2, 0)
    likelihood_d_score_determinant_getitem2_expand_dims2 = jnp.expand_dims(likelihood_d_score_determinant_getitem2_expand_dims, 1)
    likelihood_d_score_determinant_getitem2_pad = lax.pad(likelihood_d_score_determinant_getitem2_expand_dims2, jnp.float32(0.0), ((1, 0, 0), (1, 0, 0)))
    likelihood_d_score_determinant_getitem3_expand_dims = jnp.expand_dims(likelihood_d_score_determinant_mul2_mul, 0)
    likelihood_d_score_determinant_getitem3_expand_dims2 = jnp.expand_dims(likelihood_d_score_determinant_getitem3_expand_dims, 1)
    likelihood_d_score_determinant_getitem3_pad = lax.pad(likelihood_d_score_determinant_getitem3_expand_dims2, jnp.float32(0.0), ((0, 1, 0), (1, 0, 0)))
    likelihood_d_score_determinant_getitem4_expand_dims = jnp.expand_dims(likelihood_d_score_determinant_mul2_mul2, 0)
    likelihood_d_score_determinant_getitem4_expand_dims2 = jnp.expand_dims(likelihood_d_score_determinant_getitem4_expand_dims, 1)
    likelihood_d_score_determinant_getitem4_pad = lax.pad(likelihood_d_score_determinant_getitem4_expand_dims2, jnp.float32(0.0), ((1, 0, 0), (0, 1, 0)))
    likelihood_d_spread_add = likelihood_d_score_determinant_getitem_pad + likelihood_d_score_determinant_getitem2_pad
    likelihood_d_spread_add2 = likelihood_d_spread_add + likelihood_d_score_determinant_getitem3_pad
    likelihood_d_spread_add3 = likelihood_d_spread_add2 + likelihood_d_score_determinant_getitem4_pad
    sure_inverse_rows_getitem = lax.dynamic_update_index_in_dim(sure_inverse_rows_getitem, sure_inverse_rows_getitem_t, t, 0)
    sure_inverse_rows_getitem2 = lax.dynamic_update_index_in_dim(sure_inverse_rows_getitem2, sure_inverse_rows_getitem2_t, t, 0)
    sure_inverse_rows_getitem3 = lax.dynamic_update_index_in_dim(sure_inverse_rows_getitem3, sure_inverse_rows_getitem3_t, t, 0)
    sure_inverse_rows_getitem4 = lax.dynamic_update_index_in_dim(sure_inverse_rows_getitem4, sure_inverse_rows_getitem4_t, t, 0)
    sure_inverse_determinant_sub = lax.dynamic_update_index_in_dim(sure_inverse_determinant_sub, sure_inverse_determinant_sub_t, t, 0)
    now = lax.dynamic_update_index_in_dim(now, now_t, t, 0)
    return gain_matmul, sure_inverse_rows_getitem, sure_inverse_rows_getitem2, sure_inverse_rows_getitem3, sure_inverse_rows_getitem4, sure_inverse_determinant_sub, sure_inverse_div, sure, gain, surprise, now, keep, now_cov, likelihood_now, likelihood_now, likelihood_d_score_matmul_einsum2, likelihood_d_surprise_add, likelihood_d_spread_add3


def guess_cov_1(at, F, now, now_cov, Q):
    """12_kalman.rt:40: guess[t+1] = F @ now
    12_kalman.rt:41: guess_cov[t+1] = F @ now_cov @ F.T + Q
    """
    t = at[0]
    now_t = now[t]
    guess_1 = jnp.matmul(F, now_t)
    guess_cov_matmul = jnp.matmul(F, now_cov)
    guess_cov_matmul2 = jnp.einsum("ij,kj->ik", guess_cov_matmul, F)
    guess_cov_1 = guess_cov_matmul2 + Q
    return guess_1, guess_cov_1


def later_cov_1(at, later, keep, H, sure, surprise, F, later_cov):
    """12_kalman.rt:54: later[t-1] = F.T @ (keep.T @ later + H.T @ sure @ surprise)
    12_kalman.rt:55: later_cov[t-1] = F.T @ (keep.T @ later_cov @ keep + H.T @ sure @ H) @ F
    """
    later_matmul = jnp.matmul(later, keep)
    later_matmul2 = jnp.einsum("ij,ik->jk", H, sure)
    later_matmul3 = jnp.matmul(later_matmul2, surprise)
    later_add = later_matmul + later_matmul3
    later_1 = jnp.matmul(later_add, F)
    later_cov_matmul = jnp.einsum("ij,ik->jk", keep, later_cov)
    later_cov_matmul2 = jnp.matmul(later_cov_matmul, keep)
    later_cov_matmul4 = jnp.matmul(later_matmul2, H)
    later_cov_add = later_cov_matmul2 + later_cov_matmul4
    later_cov_matmul5 = jnp.einsum("ij,ik->jk", F, later_cov_add)
    later_cov_1 = jnp.matmul(later_cov_matmul5, F)
    return later_1, later_cov_1


def smooth_cov(
    at, now_cov, later, now, later_cov, likelihood_d_now, gain, likelihood_d_surprise_add, valid,
    surprise, likelihood_d_now_cov, guess_cov, H, gain_matmul, likelihood_d_score_matmul_einsum2,
    sure_inverse_determinant_sub, sure_inverse_div, sure_inverse_rows_getitem,
    sure_inverse_rows_getitem4, sure_inverse_rows_getitem3, sure_inverse_rows_getitem2,
    likelihood_d_spread_add3, likelihood_d_R_sum2_past, sure, keep, smooth, smooth_cov,
    likelihood_d_guess_cov_add2,
):
    """12_kalman.rt:20: def determinant(a) = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    12_kalman.rt:24: rows = [stack([a[1, 1], -a[0, 1]]), stack([-a[1, 0], a[0, 0]])]
    12_kalman.rt:25: return stack(rows) / determinant(a)
    12_kalman.rt:35: R = exp(log_error) * one
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
    12_kalman.rt:56: smooth = now + now_cov @ later
    12_kalman.rt:57: smooth_cov = now_cov - now_cov @ later_cov @ now_cov
    12_kalman.rt:60: score = where(valid, -0.5 * (surprise @ sure @ surprise + log(determinant(spread))) - log(tau), 0.0)
    """
    t = at[0]
    smooth_matmul = jnp.matmul(now_cov, later)
    now_t = now[t]
    smooth_t = now_t + smooth_matmul
    smooth_cov_matmul = jnp.matmul(now_cov, later_cov)
    smooth_cov_matmul2 = jnp.matmul(smooth_cov_matmul, now_cov)
    smooth_cov_t = now_cov - smooth_cov_matmul2
    likelihood_d_now_matmul_einsum2 = jnp.matmul(likelihood_d_now, gain)
    likelihood_d_surprise_add2 = likelihood_d_surprise_add + likelihood_d_now_matmul_einsum2
    valid_t = valid[t]
    likelihood_d_surprise_where = jnp.where(valid_t, likelihood_d_surprise_add2, jnp.float32(0.0))
    likelihood_d_now_matmul_einsum = jnp.einsum("i,k->ik", likelihood_d_now, surprise)
    likelihood_d_now_cov_einsum = jnp.einsum("ij,kj->ik", likelihood_d_now_cov, guess_cov)
    likelihood_d_keep_neg = -likelihood_d_now_cov_einsum
    likelihood_d_keep_matmul_einsum = jnp.einsum("ij,kj->ik", likelihood_d_keep_neg, H)
    likelihood_d_gain_add = likelihood_d_now_matmul_einsum + likelihood_d_keep_matmul_einsum
    likelihood_d_gain_einsum2 = jnp.einsum("ij,ik->kj", likelihood_d_gain_add, gain_matmul)
    likelihood_d_sure_add = likelihood_d_score_matmul_einsum2 + likelihood_d_gain_einsum2
    likelihood_d_sure_where = jnp.where(valid_t, likelihood_d_sure_add, jnp.float32(0.0))
    likelihood_d_surprise_sub_neg = -likelihood_d_surprise_where
    sure_inverse_determinant_sub_t = sure_inverse_determinant_sub[t]
    likelihood_d_sure_inverse_div_div = likelihood_d_sure_where / sure_inverse_determinant_sub_t
    likelihood_d_sure_inverse_div_mul = likelihood_d_sure_inverse_div_div * sure_inverse_div
    likelihood_d_sure_inverse_div_sum_sum = jnp.sum(likelihood_d_sure_inverse_div_mul, axis=(0, 1))
    likelihood_d_sure_inverse_div_sum = -likelihood_d_sure_inverse_div_sum_sum
    likelihood_d_surprise_matmul_einsum2 = jnp.matmul(likelihood_d_surprise_sub_neg, H)
    likelihood_d_sure_inverse_rows_stack_getitem = lax.index_in_dim(lax.index_in_dim(likelihood_d_sure_inverse_div_div, 0, 1, keepdims=False), 0, 0, keepdims=False)
    likelihood_d_sure_inverse_rows_stack_getitem2 = lax.index_in_dim(lax.index_in_dim(likelihood_d_sure_inverse_div_div, 1, 1, keepdims=False), 0, 0, keepdims=False)
    likelihood_d_sure_inverse_rows_stack2_getitem = lax.index_in_dim(lax.index_in_dim(likelihood_d_sure_inverse_div_div, 0, 1, keepdims=False), 1, 0, keepdims=False)
    likelihood_d_sure_inverse_rows_stack2_getitem2 = lax.index_in_dim(lax.index_in_dim(likelihood_d_sure_inverse_div_div, 1, 1, keepdims=False), 1, 0, keepdims=False)
    sure_inverse_rows_getitem_t = sure_inverse_rows_getitem[t]
    likelihood_d_sure_inverse_determinant_mul_mul = likelihood_d_sure_inverse_div_sum * sure_inverse_rows_getitem_t
    sure_inverse_rows_getitem4_t = sure_inverse_rows_getitem4[t]
    likelihood_d_sure_inverse_determinant_mul_mul2 = likelihood_d_sure_inverse_div_sum * sure_inverse_rows_getitem4_t
    sure_inverse_rows_getitem3_t = sure_inverse_rows_getitem3[t]
    likelihood_d_sure_inverse_determinant_mul2_mul = likelihood_d_sure_inverse_div_sum_sum * sure_inverse_rows_getitem3_t
    sure_inverse_rows_getitem2_t = sure_inverse_rows_getitem2[t]
    likelihood_d_sure_inverse_determinant_mul2_mul2 = likelihood_d_sure_inverse_div_sum_sum * sure_inverse_rows_getitem2_t
    likelihood_d_guess_add = likelihood_d_surprise_matmul_einsum2 + likelihood_d_now
    likelihood_d_sure_inverse_rows_getitem_expand_dims = jnp.expand_dims(likelihood_d_sure_inverse_rows_stack_getitem, 0)
    likelihood_d_sure_inverse_rows_getitem_expand_dims2 = jnp.expand_dims(likelihood_d_sure_inverse_rows_getitem_expand_dims, 1)
    likelihood_d_sure_inverse_rows_getitem_pad = lax.pad(likelihood_d_sure_inverse_rows_getitem_expand_dims2, jnp.float32(0.0), ((1, 0, 0), (1, 0, 0)))
    likelihood_d_spread_add4 = likelihood_d_spread_add3 + likelihood_d_sure_inverse_rows_getitem_pad
    likelihood_d_sure_inverse_rows_getitem4_expand_dims = jnp.expand_dims(likelihood_d_sure_inverse_rows_stack2_getitem2, 0)
    likelihood_d_sure_inverse_rows_getitem4_expand_dims2 = jnp.expand_dims(likelihood_d_sure_inverse_rows_getitem4_expand_dims, 1)
    likelihood_d_sure_inverse_rows_getitem4_pad = lax.pad(likelihood_d_sure_inverse_rows_getitem4_expand_dims2, jnp.float32(0.0), ((0, 1, 0), (0, 1, 0)))
    likelihood_d_spread_add5 = likelihood_d_spread_add4 + likelihood_d_sure_inverse_rows_getitem4_pad
    likelihood_d_sure_inverse_determinant_getitem_expand_dims = jnp.expand_dims(likelihood_d_sure_inverse_determinant_mul_mul, 0)
    likelihood_d_sure_inverse_determinant_getitem_expand_dims2 = jnp.expand_dims(likelihood_d_sure_inverse_determinant_getitem_expand_dims, 1)
    likelihood_d_sure_inverse_determinant_getitem_pad = lax.pad(likelihood_d_sure_inverse_determinant_getitem_expand_dims2, jnp.float32(0.0), ((0, 1, 0), (0, 1, 0)))
    likelihood_d_spread_add6 = likelihood_d_spread_add5 + likelihood_d_sure_inverse_determinant_getitem_pad
    likelihood_d_sure_inverse_determinant_getitem2_expand_dims = jnp.expand_dims(likelihood_d_sure_inverse_determinant_mul_mul2, 0)
    likelihood_d_sure_inverse_determinant_getitem2_expand_dims2 = jnp.expand_dims(likelihood_d_sure_inverse_determinant_getitem2_expand_dims, 1)
    likelihood_d_sure_inverse_determinant_getitem2_pad = lax.pad(likelihood_d_sure_inverse_determinant_getitem2_expand_dims2, jnp.float32(0.0), ((1, 0, 0), (1, 0, 0)))
    likelihood_d_spread_add7 = likelihood_d_spread_add6 + likelihood_d_sure_inverse_determinant_getitem2_pad
    likelihood_d_sure_inverse_determinant_getitem3_expand_dims = jnp.expand_dims(likelihood_d_sure_inverse_determinant_mul2_mul, 0)
    likelihood_d_sure_inverse_determinant_getitem3_expand_dims2 = jnp.expand_dims(likelihood_d_sure_inverse_determinant_getitem3_expand_dims, 1)
    likelihood_d_sure_inverse_determinant_getitem3_pad = lax.pad(likelihood_d_sure_inverse_determinant_getitem3_expand_dims2, jnp.float32(0.0), ((0, 1, 0), (1, 0, 0)))
    likelihood_d_spread_add8 = likelihood_d_spread_add7 + likelihood_d_sure_inverse_determinant_getitem3_pad
    likelihood_d_sure_inverse_determinant_getitem4_expand_dims = jnp.expand_dims(likelihood_d_sure_inverse_determinant_mul2_mul2, 0)
    likelihood_d_sure_inverse_determinant_getitem4_expand_dims2 = jnp.expand_dims(likelihood_d_sure_inverse_determinant_getitem4_expand_dims, 1)
    likelihood_d_sure_inverse_determinant_getitem4_pad = lax.pad(likelihood_d_sure_inverse_determinant_getitem4_expand_dims2, jnp.float32(0.0), ((1, 0, 0), (0, 1, 0)))
    likelihood_d_spread_add9 = likelihood_d_spread_add8 + likelihood_d_sure_inverse_determinant_getitem4_pad
    likelihood_d_sure_inverse_rows_neg_neg = -likelihood_d_sure_inverse_rows_stack_getitem2
    likelihood_d_sure_inverse_rows_getitem2_expand_dims = jnp.expand_dims(likelihood_d_sure_inverse_rows_neg_neg, 0)
    likelihood_d_sure_inverse_rows_getitem2_expand_dims2 = jnp.expand_dims(likelihood_d_sure_inverse_rows_getitem2_expand_dims, 1)
    likelihood_d_sure_inverse_rows_getitem2_pad = lax.pad(likelihood_d_sure_inverse_rows_getitem2_expand_dims2, jnp.float32(0.0), ((0, 1, 0), (1, 0, 0)))
    likelihood_d_spread_add10 = likelihood_d_spread_add9 + likelihood_d_sure_inverse_rows_getitem2_pad
    likelihood_d_sure_inverse_rows_neg2_neg = -likelihood_d_sure_inverse_rows_stack2_getitem
    likelihood_d_sure_inverse_rows_getitem3_expand_dims = jnp.expand_dims(likelihood_d_sure_inverse_rows_neg2_neg, 0)
    likelihood_d_sure_inverse_rows_getitem3_expand_dims2 = jnp.expand_dims(likelihood_d_sure_inverse_rows_getitem3_expand_dims, 1)
    likelihood_d_sure_inverse_rows_getitem3_pad = lax.pad(likelihood_d_sure_inverse_rows_getitem3_expand_dims2, jnp.float32(0.0), ((1, 0, 0), (0, 1, 0)))
    likelihood_d_spread_add11 = likelihood_d_spread_add10 + likelihood_d_sure_inverse_rows_getitem3_pad
    likelihood_d_spread_matmul2_einsum = jnp.matmul(likelihood_d_spread_add11, H)
    likelihood_d_R_sum2_now = likelihood_d_R_sum2_past + likelihood_d_spread_add11
    likelihood_d_spread_matmul_einsum2 = jnp.einsum("ij,ik->kj", likelihood_d_spread_matmul2_einsum, H)
    likelihood_d_gain_einsum = jnp.einsum("ij,kj->ik", likelihood_d_gain_add, sure)
    likelihood_d_gain_matmul_einsum = jnp.matmul(likelihood_d_gain_einsum, H)
    likelihood_d_guess_cov_add = likelihood_d_spread_matmul_einsum2 + likelihood_d_gain_matmul_einsum
    likelihood_d_now_cov_einsum2 = jnp.einsum("ij,ik->kj", likelihood_d_now_cov, keep)
    likelihood_d_guess_cov_add2_t = likelihood_d_guess_cov_add + likelihood_d_now_cov_einsum2
    smooth = lax.dynamic_update_index_in_dim(smooth, smooth_t, t, 0)
    smooth_cov = lax.dynamic_update_index_in_dim(smooth_cov, smooth_cov_t, t, 0)
    likelihood_d_guess_cov_add2 = lax.dynamic_update_index_in_dim(likelihood_d_guess_cov_add2, likelihood_d_guess_cov_add2_t, t, 0)
    return smooth, smooth_cov, likelihood_d_guess_add, likelihood_d_R_sum2_now, likelihood_d_R_sum2_now, likelihood_d_guess_cov_add2


def likelihood_d_guess_cov_matmul_einsum2(
    at, likelihood_d_guess_add_next, F, likelihood_d_guess_cov_add2,
):
    """12_kalman.rt:40: guess[t+1] = F @ now
    12_kalman.rt:41: guess_cov[t+1] = F @ now_cov @ F.T + Q
    """
    t = at[0]
    likelihood_d_guess_1_einsum2 = jnp.matmul(likelihood_d_guess_add_next, F)
    likelihood_d_guess_cov_add2_next = likelihood_d_guess_cov_add2[t+1]
    likelihood_d_guess_cov_matmul2_einsum = jnp.matmul(likelihood_d_guess_cov_add2_next, F)
    likelihood_d_guess_cov_matmul_einsum2 = jnp.einsum("ij,ik->kj", likelihood_d_guess_cov_matmul2_einsum, F)
    return likelihood_d_guess_1_einsum2, likelihood_d_guess_cov_matmul_einsum2


def likelihood_d_Q_exp_mul(
    at, likelihood_d_R_sum2_now_0, R_exp, likelihood_d_guess_cov_add2, Q_matmul, Q_exp, *, T,
):
    """12_kalman.rt:29: one = eye(2)
    12_kalman.rt:33: Q = exp(log_force) * (G @ G.T)
    12_kalman.rt:35: R = exp(log_error) * one
    """
    one_2 = jnp.eye(2, 2, dtype=jnp.float32)
    likelihood_d_R_mul = likelihood_d_R_sum2_now_0 * one_2
    likelihood_d_R_sum = jnp.sum(likelihood_d_R_mul, axis=(0, 1))
    likelihood_d_R_exp_mul = likelihood_d_R_sum * R_exp
    likelihood_d_guess_cov_add2_slice = likelihood_d_guess_cov_add2[1:max(1, T)]
    likelihood_d_Q_sum2 = jnp.sum(likelihood_d_guess_cov_add2_slice, axis=0)
    likelihood_d_Q_mul = likelihood_d_Q_sum2 * Q_matmul
    likelihood_d_Q_sum = jnp.sum(likelihood_d_Q_mul, axis=(0, 1))
    likelihood_d_Q_exp_mul = likelihood_d_Q_sum * Q_exp
    return likelihood_d_R_exp_mul, likelihood_d_Q_exp_mul


def likelihood_d_now_cov_1(at):
    """12_kalman.rt:38: guess[0] = zeros([S])
    12_kalman.rt:48: now = guess + gain @ surprise
    12_kalman.rt:49: now_cov = keep @ guess_cov
    12_kalman.rt:52: later[T-1] = zeros([S])
    12_kalman.rt:53: later_cov[T-1] = zeros([S, S])
    """
    guess_0_2 = jnp.full((4,), jnp.float32(0.0))
    later_cov_0_2 = jnp.full((4, 4), jnp.float32(0.0))
    return guess_0_2, later_cov_0_2
