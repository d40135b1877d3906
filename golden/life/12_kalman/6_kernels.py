"""Kernels of 12_kalman, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def R(at, log_force, log_error, valid, *, T):
    """12_kalman.rt:29: one = eye(2)
    12_kalman.rt:30: none = zeros([2, 2])
    12_kalman.rt:31: F = concat([concat([one, dt * one], 1), concat([none, one], 1)], 0)
    12_kalman.rt:32: G = concat([0.5 * dt ** 2 * one, dt * one], 0)
    12_kalman.rt:33: Q = exp(log_force) * (G @ G.T)
    12_kalman.rt:34: H = concat([one, none], 1)
    12_kalman.rt:35: R = exp(log_error) * one
    12_kalman.rt:39: guess_cov[0] = far * eye(S)
    12_kalman.rt:41: guess_cov[t+1] = F @ now_cov @ F.T + Q
    12_kalman.rt:43: surprise = where(valid, seen - H @ guess, 0.0)
    12_kalman.rt:45: sure = where(valid, inverse(spread), 0.0)
    12_kalman.rt:47: keep = eye(S) - gain @ H
    12_kalman.rt:60: score = where(valid, -0.5 * (surprise @ sure @ surprise + log(determinant(spread))) - log(tau), 0.0)
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
    guess_cov_eye_2 = jnp.eye(4, 4, dtype=jnp.float32)
    guess_cov_0 = jnp.float32(25.0) * guess_cov_eye_2
    def step(k, rows):
        before = rows[k]
        valid_row = valid[k]
        einsum = jnp.einsum("ij,kj->ik", before, H)
        matmul = jnp.matmul(H, before)
        einsum2 = jnp.einsum("ij,kj->ik", matmul, H)
        add = einsum2 + R
        getitem = lax.index_in_dim(lax.index_in_dim(add, 1, 1, keepdims=False), 1, 0, keepdims=False)
        getitem2 = lax.index_in_dim(lax.index_in_dim(add, 1, 1, keepdims=False), 0, 0, keepdims=False)
        neg = -getitem2
        stack = jnp.stack([getitem, neg], axis=0)
        getitem3 = lax.index_in_dim(lax.index_in_dim(add, 0, 1, keepdims=False), 1, 0, keepdims=False)
        neg2 = -getitem3
        getitem4 = lax.index_in_dim(lax.index_in_dim(add, 0, 1, keepdims=False), 0, 0, keepdims=False)
        stack2 = jnp.stack([neg2, getitem4], axis=0)
        stack3 = jnp.stack([stack, stack2], axis=0)
        mul = getitem4 * getitem
        mul2 = getitem2 * getitem3
        sub = mul - mul2
        div = stack3 / sub
        where = jnp.where(valid_row, div, jnp.float32(0.0))
        matmul2 = jnp.matmul(einsum, where)
        matmul3 = jnp.matmul(matmul2, H)
        sub2 = guess_cov_eye_2 - matmul3
        matmul4 = jnp.matmul(sub2, before)
        matmul5 = jnp.matmul(F, matmul4)
        einsum3 = jnp.einsum("ij,kj->ik", matmul5, F)
        add2 = einsum3 + Q
        return lax.dynamic_update_index_in_dim(rows, add2, k+1, 0)
    guess_cov_rows = lax.fori_loop(0, T-1, step, jnp.broadcast_to(guess_cov_0, (T, 4, 4)))
    likelihood_d_R_sum2_none = jnp.full((2, 2), jnp.float32(0.0))
    return F, Q_exp, Q_matmul, H, R_exp, R, guess_cov_rows, likelihood_d_R_sum2_none


def now_cov(at, H, R, valid, guess_cov_rows):
    """12_kalman.rt:20: def determinant(a) = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    12_kalman.rt:24: rows = [stack([a[1, 1], -a[0, 1]]), stack([-a[1, 0], a[0, 0]])]
    12_kalman.rt:25: return stack(rows) / determinant(a)
    12_kalman.rt:39: guess_cov[0] = far * eye(S)
    12_kalman.rt:41: guess_cov[t+1] = F @ now_cov @ F.T + Q
    12_kalman.rt:43: surprise = where(valid, seen - H @ guess, 0.0)
    12_kalman.rt:44: spread = H @ guess_cov @ H.T + R
    12_kalman.rt:45: sure = where(valid, inverse(spread), 0.0)
    12_kalman.rt:46: gain = guess_cov @ H.T @ sure
    12_kalman.rt:47: keep = eye(S) - gain @ H
    12_kalman.rt:49: now_cov = keep @ guess_cov
    12_kalman.rt:60: score = where(valid, -0.5 * (surprise @ sure @ surprise + log(determinant(spread))) - log(tau), 0.0)
    """
    def point(guess_cov_rows_t, valid):
        gain_matmul = jnp.einsum("ij,kj->ik", guess_cov_rows_t, H)
        spread_matmul = jnp.matmul(H, guess_cov_rows_t)
        spread_matmul2 = jnp.einsum("ij,kj->ik", spread_matmul, H)
        spread = spread_matmul2 + R
        sure_inverse_rows_getitem = lax.index_in_dim(lax.index_in_dim(spread, 1, 1, keepdims=False), 1, 0, keepdims=False)
        sure_inverse_rows_getitem2 = lax.index_in_dim(lax.index_in_dim(spread, 1, 1, keepdims=False), 0, 0, keepdims=False)
        sure_inverse_rows_neg = -sure_inverse_rows_getitem2
        sure_inverse_rows_stack = jnp.stack([sure_inverse_rows_getitem, sure_inverse_rows_neg], axis=0)
        sure_inverse_rows_getitem3 = lax.index_in_dim(lax.index_in_dim(spread, 0, 1, keepdims=False), 1, 0, keepdims=False)
        sure_inverse_rows_neg2 = -sure_inverse_rows_getitem3
        sure_inverse_rows_getitem4 = lax.index_in_dim(lax.index_in_dim(spread, 0, 1, keepdims=False), 0, 0, keepdims=False)
        sure_inverse_rows_stack2 = jnp.stack([sure_inverse_rows_neg2, sure_inverse_rows_getitem4], axis=0)
        sure_inverse_stack = jnp.stack([sure_inverse_rows_stack, sure_inverse_rows_stack2], axis=0)
        sure_inverse_determinant_mul = sure_inverse_rows_getitem4 * sure_inverse_rows_getitem
        sure_inverse_determinant_mul2 = sure_inverse_rows_getitem2 * sure_inverse_rows_getitem3
        sure_inverse_determinant_sub = sure_inverse_determinant_mul - sure_inverse_determinant_mul2
        sure_inverse_div = sure_inverse_stack / sure_inverse_determinant_sub
        sure = jnp.where(valid, sure_inverse_div, jnp.float32(0.0))
        gain = jnp.matmul(gain_matmul, sure)
        keep_matmul = jnp.matmul(gain, H)
        guess_cov_eye = jnp.eye(4, 4, dtype=jnp.float32)
        keep = guess_cov_eye - keep_matmul
        now_cov = jnp.matmul(keep, guess_cov_rows_t)
        score_log = jnp.log(sure_inverse_determinant_sub)
        return (guess_cov_rows_t, gain_matmul, sure_inverse_rows_getitem, sure_inverse_rows_getitem2, sure_inverse_rows_getitem3, sure_inverse_rows_getitem4, sure_inverse_determinant_sub, sure_inverse_div, sure, gain, keep, now_cov, score_log)
    guess_cov_rows_t_rows, gain_matmul_rows, sure_inverse_rows_getitem_rows, sure_inverse_rows_getitem2_rows, sure_inverse_rows_getitem3_rows, sure_inverse_rows_getitem4_rows, sure_inverse_determinant_sub_rows, sure_inverse_div_rows, sure_rows, gain_rows, keep_rows, now_cov_rows, score_log_rows = jax.vmap(point)(guess_cov_rows, valid)
    return guess_cov_rows_t_rows, gain_matmul_rows, sure_inverse_rows_getitem_rows, sure_inverse_rows_getitem2_rows, sure_inverse_rows_getitem3_rows, sure_inverse_rows_getitem4_rows, sure_inverse_determinant_sub_rows, sure_inverse_div_rows, sure_rows, gain_rows, keep_rows, now_cov_rows, score_log_rows


def guess_rows(at, gain, valid, seen, F, H, *, T):
    """12_kalman.rt:38: guess[0] = zeros([S])
    12_kalman.rt:40: guess[t+1] = F @ now
    12_kalman.rt:43: surprise = where(valid, seen - H @ guess, 0.0)
    12_kalman.rt:45: sure = where(valid, inverse(spread), 0.0)
    12_kalman.rt:48: now = guess + gain @ surprise
    12_kalman.rt:52: later[T-1] = zeros([S])
    12_kalman.rt:60: score = where(valid, -0.5 * (surprise @ sure @ surprise + log(determinant(spread))) - log(tau), 0.0)
    """
    guess_0 = jnp.full((4,), jnp.float32(0.0))
    def step(k, rows):
        before = rows[k]
        gain_row = gain[k]
        valid_row = valid[k]
        seen_row = seen[k]
        matmul = jnp.matmul(H, before)
        sub = seen_row - matmul
        where = jnp.where(valid_row, sub, jnp.float32(0.0))
        matmul2 = jnp.matmul(gain_row, where)
        add = before + matmul2
        matmul3 = jnp.matmul(F, add)
        return lax.dynamic_update_index_in_dim(rows, matmul3, k+1, 0)
    guess_rows = lax.fori_loop(0, T-1, step, jnp.broadcast_to(guess_0, (T, 4)))
    return (guess_rows,)


def score(
    at, H, seen, valid, gain, sure, score_log, sure_inverse_determinant_sub,
    sure_inverse_rows_getitem, sure_inverse_rows_getitem4, sure_inverse_rows_getitem3,
    sure_inverse_rows_getitem2, guess_rows,
):
    """12_kalman.rt:20: def determinant(a) = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    12_kalman.rt:38: guess[0] = zeros([S])
    12_kalman.rt:40: guess[t+1] = F @ now
    12_kalman.rt:43: surprise = where(valid, seen - H @ guess, 0.0)
    12_kalman.rt:44: spread = H @ guess_cov @ H.T + R
    12_kalman.rt:45: sure = where(valid, inverse(spread), 0.0)
    12_kalman.rt:48: now = guess + gain @ surprise
    12_kalman.rt:60: score = where(valid, -0.5 * (surprise @ sure @ surprise + log(determinant(spread))) - log(tau), 0.0)
    12_kalman.rt:61: likelihood = sum(score[0:T])
    """
    def point(guess_rows_t, seen, valid, gain, sure, score_log, sure_inverse_determinant_sub, sure_inverse_rows_getitem, sure_inverse_rows_getitem4, sure_inverse_rows_getitem3, sure_inverse_rows_getitem2):
        surprise_matmul = jnp.matmul(guess_rows_t, H.T)
        surprise_sub = seen - surprise_matmul
        surprise = jnp.where(valid, surprise_sub, jnp.float32(0.0))
        now_matmul = jnp.matmul(surprise, gain.T)
        now = guess_rows_t + now_matmul
        score_matmul = jnp.matmul(surprise, sure)
        score_matmul2 = jnp.matmul(score_matmul, surprise)
        score_add = score_matmul2 + score_log
        score_mul = jnp.float32(-0.5) * score_add
        score_sub = score_mul - jnp.float32(1.8378770664093453)
        score = jnp.where(valid, score_sub, jnp.float32(0.0))
        likelihood_d_score_where = jnp.where(valid, jnp.float32(1.0), jnp.float32(0.0))
        likelihood_d_score_mul_mul2 = likelihood_d_score_where * jnp.float32(-0.5)
        likelihood_d_score_matmul2_mul = likelihood_d_score_mul_mul2 * surprise
        likelihood_d_score_matmul2_mul2 = likelihood_d_score_mul_mul2 * score_matmul
        likelihood_d_score_log_div = likelihood_d_score_mul_mul2 / sure_inverse_determinant_sub
        likelihood_d_score_matmul_einsum = jnp.matmul(likelihood_d_score_matmul2_mul, sure.T)
        likelihood_d_score_matmul_einsum2 = jnp.einsum("j,k->kj", likelihood_d_score_matmul2_mul, surprise)
        likelihood_d_score_determinant_sub_neg = -likelihood_d_score_log_div
        likelihood_d_surprise_add = likelihood_d_score_matmul2_mul2 + likelihood_d_score_matmul_einsum
        likelihood_d_score_determinant_mul_mul = likelihood_d_score_log_div * sure_inverse_rows_getitem
        likelihood_d_score_determinant_mul_mul2 = likelihood_d_score_log_div * sure_inverse_rows_getitem4
        likelihood_d_score_determinant_mul2_mul = likelihood_d_score_determinant_sub_neg * sure_inverse_rows_getitem3
        likelihood_d_score_determinant_mul2_mul2 = likelihood_d_score_determinant_sub_neg * sure_inverse_rows_getitem2
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
        return (surprise, now, score, likelihood_d_score_matmul_einsum2, likelihood_d_surprise_add, likelihood_d_spread_add3)
    surprise_rows, now_rows, score_rows, likelihood_d_score_matmul_einsum2_rows, likelihood_d_surprise_add_rows, likelihood_d_spread_add3_rows = jax.vmap(point)(guess_rows, seen, valid, gain, sure, score_log, sure_inverse_determinant_sub, sure_inverse_rows_getitem, sure_inverse_rows_getitem4, sure_inverse_rows_getitem3, sure_inverse_rows_getitem2)
    return surprise_rows, now_rows, score_rows, likelihood_d_score_matmul_einsum2_rows, likelihood_d_surprise_add_rows, likelihood_d_spread_add3_rows


def later_cov_matmul4(at, H, sure, surprise, later_matmul32, later_cov_matmul42, *, T):
    """12_kalman.rt:54: later[t-1] = F.T @ (keep.T @ later + H.T @ sure @ surprise)
    12_kalman.rt:55: later_cov[t-1] = F.T @ (keep.T @ later_cov @ keep + H.T @ sure @ H) @ F
    """
    def point(sure, surprise):
        later_matmul2 = jnp.einsum("ij,ik->jk", H, sure)
        later_matmul3 = jnp.matmul(surprise, later_matmul2.T)
        later_cov_matmul4 = jnp.matmul(later_matmul2, H)
        return (later_matmul3, later_cov_matmul4)
    later_matmul3_rows, later_cov_matmul4_rows = jax.vmap(point)(sure[1:T], surprise[1:T])
    later_matmul322 = lax.dynamic_update_slice(later_matmul32, later_matmul3_rows, (1, 0))
    later_cov_matmul422 = lax.dynamic_update_slice(later_cov_matmul42, later_cov_matmul4_rows, (1, 0, 0))
    return later_matmul322, later_cov_matmul422


def likelihood(
    at, keep, later_matmul3, F, later_cov_matmul4, score, valid, likelihood_d_surprise_add, gain, H,
    *, T,
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
    guess_0_2 = jnp.full((4,), jnp.float32(0.0))
    later_matmul3_slice = later_matmul3[1:max(1, T)]
    later_matmul3_slice2 = lax.pad(later_matmul3_slice, jnp.float32(0.0), ((0, max(1, T-1)-max(0, T-1), 0), (0, 0, 0)))
    def step(k, rows):
        k2 = T-2 - k
        before = rows[k2+1]
        keep_row = keep[k2+1]
        later_matmul3_slice2_row = later_matmul3_slice2[k2]
        matmul = jnp.matmul(before, keep_row)
        add = matmul + later_matmul3_slice2_row
        matmul2 = jnp.matmul(add, F)
        return lax.dynamic_update_index_in_dim(rows, matmul2, k2, 0)
    later_rows = lax.fori_loop(0, T-1, step, jnp.broadcast_to(guess_0_2, (T, 4)))
    later_cov_0 = jnp.full((4, 4), jnp.float32(0.0))
    later_cov_matmul4_slice = later_cov_matmul4[1:max(1, T)]
    later_cov_matmul4_slice2 = lax.pad(later_cov_matmul4_slice, jnp.float32(0.0), ((0, max(1, T-1)-max(0, T-1), 0), (0, 0, 0), (0, 0, 0)))
    def step2(k3, rows2):
        k4 = T-2 - k3
        before2 = rows2[k4+1]
        keep_row2 = keep[k4+1]
        later_cov_matmul4_slice2_row = later_cov_matmul4_slice2[k4]
        einsum = jnp.einsum("ij,ik->jk", keep_row2, before2)
        matmul3 = jnp.matmul(einsum, keep_row2)
        add2 = matmul3 + later_cov_matmul4_slice2_row
        einsum2 = jnp.einsum("ij,ik->jk", F, add2)
        matmul4 = jnp.matmul(einsum2, F)
        return lax.dynamic_update_index_in_dim(rows2, matmul4, k4, 0)
    later_cov_rows = lax.fori_loop(0, T-1, step2, jnp.broadcast_to(later_cov_0, (T, 4, 4)))
    likelihood = jnp.sum(score, axis=0)
    def step3(k5, rows3):
        k6 = T-2 - k5
        before3 = rows3[k6+1]
        valid_row = valid[k6+1]
        likelihood_d_surprise_add_row = likelihood_d_surprise_add[k6+1]
        gain_row = gain[k6+1]
        matmul5 = jnp.matmul(before3, gain_row)
        add3 = likelihood_d_surprise_add_row + matmul5
        where = jnp.where(valid_row, add3, jnp.float32(0.0))
        neg = -where
        matmul6 = jnp.matmul(neg, H)
        add4 = matmul6 + before3
        matmul7 = jnp.matmul(add4, F)
        return lax.dynamic_update_index_in_dim(rows3, matmul7, k6, 0)
    likelihood_d_now_rows = lax.fori_loop(0, T-1, step3, jnp.broadcast_to(guess_0_2, (T, 4)))
    return later_rows, later_cov_rows, likelihood, likelihood_d_now_rows


def smooth_cov(at, now_cov, now, surprise, later_rows, later_cov_rows, likelihood_d_now_rows):
    """12_kalman.rt:48: now = guess + gain @ surprise
    12_kalman.rt:52: later[T-1] = zeros([S])
    12_kalman.rt:53: later_cov[T-1] = zeros([S, S])
    12_kalman.rt:54: later[t-1] = F.T @ (keep.T @ later + H.T @ sure @ surprise)
    12_kalman.rt:55: later_cov[t-1] = F.T @ (keep.T @ later_cov @ keep + H.T @ sure @ H) @ F
    12_kalman.rt:56: smooth = now + now_cov @ later
    12_kalman.rt:57: smooth_cov = now_cov - now_cov @ later_cov @ now_cov
    """
    def point(later_rows_t, later_cov_rows_t, now_cov, now, likelihood_d_now_rows_t, surprise):
        smooth_matmul = jnp.matmul(later_rows_t, now_cov.T)
        smooth = now + smooth_matmul
        smooth_cov_matmul = jnp.matmul(now_cov, later_cov_rows_t)
        smooth_cov_matmul2 = jnp.matmul(smooth_cov_matmul, now_cov)
        smooth_cov = now_cov - smooth_cov_matmul2
        likelihood_d_now_matmul_einsum = jnp.einsum("i,k->ik", likelihood_d_now_rows_t, surprise)
        return (smooth, smooth_cov, likelihood_d_now_matmul_einsum)
    smooth_rows, smooth_cov_rows, likelihood_d_now_matmul_einsum_rows = jax.vmap(point)(later_rows, later_cov_rows, now_cov, now, likelihood_d_now_rows, surprise)
    return smooth_rows, smooth_cov_rows, likelihood_d_now_matmul_einsum_rows


def likelihood_d_guess_cov_add2(
    at, likelihood_d_now_cov, guess_cov, H, likelihood_d_now_matmul_einsum, gain_matmul,
    likelihood_d_score_matmul_einsum2, valid, sure_inverse_determinant_sub, sure_inverse_div,
    sure_inverse_rows_getitem, sure_inverse_rows_getitem4, sure_inverse_rows_getitem3,
    sure_inverse_rows_getitem2, likelihood_d_spread_add3, likelihood_d_R_sum2_past, sure, keep,
    likelihood_d_guess_cov_add2,
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
    12_kalman.rt:49: now_cov = keep @ guess_cov
    12_kalman.rt:60: score = where(valid, -0.5 * (surprise @ sure @ surprise + log(determinant(spread))) - log(tau), 0.0)
    """
    t = at[0]
    guess_cov_t = guess_cov[t]
    likelihood_d_now_cov_einsum = jnp.einsum("ij,kj->ik", likelihood_d_now_cov, guess_cov_t)
    likelihood_d_keep_neg = -likelihood_d_now_cov_einsum
    likelihood_d_keep_matmul_einsum = jnp.einsum("ij,kj->ik", likelihood_d_keep_neg, H)
    likelihood_d_now_matmul_einsum_t = likelihood_d_now_matmul_einsum[t]
    likelihood_d_gain_add = likelihood_d_now_matmul_einsum_t + likelihood_d_keep_matmul_einsum
    gain_matmul_t = gain_matmul[t]
    likelihood_d_gain_einsum2 = jnp.einsum("ij,ik->kj", likelihood_d_gain_add, gain_matmul_t)
    likelihood_d_score_matmul_einsum2_t = likelihood_d_score_matmul_einsum2[t]
    likelihood_d_sure_add = likelihood_d_score_matmul_einsum2_t + likelihood_d_gain_einsum2
    valid_t = valid[t]
    likelihood_d_sure_where = jnp.where(valid_t, likelihood_d_sure_add, jnp.float32(0.0))
    sure_inverse_determinant_sub_t = sure_inverse_determinant_sub[t]
    likelihood_d_sure_inverse_div_div = likelihood_d_sure_where / sure_inverse_determinant_sub_t
    sure_inverse_div_t = sure_inverse_div[t]
    likelihood_d_sure_inverse_div_mul = likelihood_d_sure_inverse_div_div * sure_inverse_div_t
    likelihood_d_sure_inverse_div_sum_sum = jnp.sum(likelihood_d_sure_inverse_div_mul, axis=(0, 1))
    likelihood_d_sure_inverse_div_sum = -likelihood_d_sure_inverse_div_sum_sum
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
    likelihood_d_sure_inverse_rows_getitem_expand_dims = jnp.expand_dims(likelihood_d_sure_inverse_rows_stack_getitem, 0)
    likelihood_d_sure_inverse_rows_getitem_expand_dims2 = jnp.expand_dims(likelihood_d_sure_inverse_rows_getitem_expand_dims, 1)
    likelihood_d_sure_inverse_rows_getitem_pad = lax.pad(likelihood_d_sure_inverse_rows_getitem_expand_dims2, jnp.float32(0.0), ((1, 0, 0), (1, 0, 0)))
    likelihood_d_spread_add3_t = likelihood_d_spread_add3[t]
    likelihood_d_spread_add4 = likelihood_d_spread_add3_t + likelihood_d_sure_inverse_rows_getitem_pad
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
    sure_t = sure[t]
    likelihood_d_gain_einsum = jnp.einsum("ij,kj->ik", likelihood_d_gain_add, sure_t)
    likelihood_d_gain_matmul_einsum = jnp.matmul(likelihood_d_gain_einsum, H)
    likelihood_d_guess_cov_add = likelihood_d_spread_matmul_einsum2 + likelihood_d_gain_matmul_einsum
    keep_t = keep[t]
    likelihood_d_now_cov_einsum2 = jnp.einsum("ij,ik->kj", likelihood_d_now_cov, keep_t)
    likelihood_d_guess_cov_add2_t = likelihood_d_guess_cov_add + likelihood_d_now_cov_einsum2
    likelihood_d_guess_cov_add2 = lax.dynamic_update_index_in_dim(likelihood_d_guess_cov_add2, likelihood_d_guess_cov_add2_t, t, 0)
    return likelihood_d_R_sum2_now, likelihood_d_R_sum2_now, likelihood_d_guess_cov_add2


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


def likelihood_d_guess_cov_matmul_einsum2(at, likelihood_d_guess_cov_add2, F):
    """12_kalman.rt:41: guess_cov[t+1] = F @ now_cov @ F.T + Q"""
    t = at[0]
    likelihood_d_guess_cov_add2_next = likelihood_d_guess_cov_add2[t+1]
    likelihood_d_guess_cov_matmul2_einsum = jnp.matmul(likelihood_d_guess_cov_add2_next, F)
    likelihood_d_guess_cov_matmul_einsum2 = jnp.einsum("ij,ik->kj", likelihood_d_guess_cov_matmul2_einsum, F)
    return (likelihood_d_guess_cov_matmul_einsum2,)


def likelihood_d_now_cov_1(at):
    """12_kalman.rt:49: now_cov = keep @ guess_cov
    12_kalman.rt:53: later_cov[T-1] = zeros([S, S])
    """
    later_cov_0_2 = jnp.full((4, 4), jnp.float32(0.0))
    return (later_cov_0_2,)


def loop_t(
    at, likelihood_d_R_sum2_now, likelihood_d_R_sum2_past, likelihood_d_guess_cov_add22, F,
    guess_cov, H, likelihood_d_now_matmul_einsum, gain_matmul, likelihood_d_score_matmul_einsum2,
    valid, sure_inverse_determinant_sub, sure_inverse_div, sure_inverse_rows_getitem,
    sure_inverse_rows_getitem4, sure_inverse_rows_getitem3, sure_inverse_rows_getitem2,
    likelihood_d_spread_add3, sure, keep, *, steps=None,
):
    """t from at[0] down, at[1] steps; the loop of likelihood_d_guess_cov_matmul_einsum2, likelihood_d_guess_cov_add2."""
    count = at[1] if steps is None else steps
    def step_t(i, carry):
        (likelihood_d_R_sum2_now, likelihood_d_R_sum2_past, likelihood_d_guess_cov_add22) = carry
        t = at[0] - i
        (likelihood_d_now_cov,) = likelihood_d_guess_cov_matmul_einsum2((t,),
                likelihood_d_guess_cov_add22, F)
        (likelihood_d_R_sum2_now, likelihood_d_R_sum2_past_new,
                likelihood_d_guess_cov_add22) = likelihood_d_guess_cov_add2((t,),
                likelihood_d_now_cov, guess_cov, H, likelihood_d_now_matmul_einsum, gain_matmul,
                likelihood_d_score_matmul_einsum2, valid, sure_inverse_determinant_sub,
                sure_inverse_div, sure_inverse_rows_getitem, sure_inverse_rows_getitem4,
                sure_inverse_rows_getitem3, sure_inverse_rows_getitem2, likelihood_d_spread_add3,
                likelihood_d_R_sum2_past, sure, keep, likelihood_d_guess_cov_add22)
        likelihood_d_R_sum2_past = jnp.where(t >= 1, likelihood_d_R_sum2_past_new,
                likelihood_d_R_sum2_past)
        return (likelihood_d_R_sum2_now, likelihood_d_R_sum2_past, likelihood_d_guess_cov_add22)
    carry = (likelihood_d_R_sum2_now, likelihood_d_R_sum2_past, likelihood_d_guess_cov_add22)
    (likelihood_d_R_sum2_now, likelihood_d_R_sum2_past,
            likelihood_d_guess_cov_add22) = lax.fori_loop(0, count, step_t, carry)
    return (likelihood_d_R_sum2_now, likelihood_d_R_sum2_past, likelihood_d_guess_cov_add22)


def block(at, log_force, log_error, valid, seen, *, T):
    """What stands between two tasks of the host: R, now_cov, guess_rows, ..."""
    later_matmul3 = jnp.zeros((T, 4), jnp.float32)
    later_cov_matmul42 = jnp.zeros((T, 4, 4), jnp.float32)
    likelihood_d_guess_cov_add22 = jnp.zeros((T, 4, 4), jnp.float32)
    (F, Q_exp, Q_matmul, H, R_exp, R2, guess_cov_rows, likelihood_d_R_sum2_past) = R((), log_force,
            log_error, valid, T=T)
    (guess_cov, gain_matmul, sure_inverse_rows_getitem, sure_inverse_rows_getitem2,
            sure_inverse_rows_getitem3, sure_inverse_rows_getitem4, sure_inverse_determinant_sub,
            sure_inverse_div, sure, gain, keep, now_cov2, score_log) = now_cov((), H, R2, valid,
            guess_cov_rows)
    (guess_rows2,) = guess_rows((), gain, valid, seen, F, H, T=T)
    (surprise, now, score2, likelihood_d_score_matmul_einsum2, likelihood_d_surprise_add,
            likelihood_d_spread_add3) = score((), H, seen, valid, gain, sure, score_log,
            sure_inverse_determinant_sub, sure_inverse_rows_getitem, sure_inverse_rows_getitem4,
            sure_inverse_rows_getitem3, sure_inverse_rows_getitem2, guess_rows2)
    if T >= 2:
        (later_matmul3, later_cov_matmul42) = later_cov_matmul4((), H, sure, surprise,
                later_matmul3, later_cov_matmul42, T=T)
    (later_rows, later_cov_rows, likelihood2, likelihood_d_now_rows) = likelihood((), keep,
            later_matmul3, F, later_cov_matmul42, score2, valid, likelihood_d_surprise_add, gain,
            H, T=T)
    (smooth, smooth_cov2, likelihood_d_now_matmul_einsum) = smooth_cov((), now_cov2, now, surprise,
            later_rows, later_cov_rows, likelihood_d_now_rows)
    (likelihood_d_now_cov,) = likelihood_d_now_cov_1((jnp.int32(T - 1),))
    (likelihood_d_R_sum2_now, likelihood_d_R_sum2_past_new,
            likelihood_d_guess_cov_add22) = likelihood_d_guess_cov_add2((jnp.int32(T - 1),),
            likelihood_d_now_cov, guess_cov, H, likelihood_d_now_matmul_einsum, gain_matmul,
            likelihood_d_score_matmul_einsum2, valid, sure_inverse_determinant_sub,
            sure_inverse_div, sure_inverse_rows_getitem, sure_inverse_rows_getitem4,
            sure_inverse_rows_getitem3, sure_inverse_rows_getitem2, likelihood_d_spread_add3,
            likelihood_d_R_sum2_past, sure, keep, likelihood_d_guess_cov_add22)
    if T - 1 >= 1:
        likelihood_d_R_sum2_past = likelihood_d_R_sum2_past_new
    def step_t(i, carry):
        (likelihood_d_R_sum2_now, likelihood_d_R_sum2_past, likelihood_d_guess_cov_add22) = carry
        t = (T - 2) - i
        (likelihood_d_now_cov,) = likelihood_d_guess_cov_matmul_einsum2((t,),
                likelihood_d_guess_cov_add22, F)
        (likelihood_d_R_sum2_now, likelihood_d_R_sum2_past_new2,
                likelihood_d_guess_cov_add22) = likelihood_d_guess_cov_add2((t,),
                likelihood_d_now_cov, guess_cov, H, likelihood_d_now_matmul_einsum, gain_matmul,
                likelihood_d_score_matmul_einsum2, valid, sure_inverse_determinant_sub,
                sure_inverse_div, sure_inverse_rows_getitem, sure_inverse_rows_getitem4,
                sure_inverse_rows_getitem3, sure_inverse_rows_getitem2, likelihood_d_spread_add3,
                likelihood_d_R_sum2_past, sure, keep, likelihood_d_guess_cov_add22)
        likelihood_d_R_sum2_past = jnp.where(t >= 1, likelihood_d_R_sum2_past_new2,
                likelihood_d_R_sum2_past)
        return (likelihood_d_R_sum2_now, likelihood_d_R_sum2_past, likelihood_d_guess_cov_add22)
    carry = (likelihood_d_R_sum2_now, likelihood_d_R_sum2_past, likelihood_d_guess_cov_add22)
    (likelihood_d_R_sum2_now, likelihood_d_R_sum2_past,
            likelihood_d_guess_cov_add22) = lax.fori_loop(0, T - 2 + 1, step_t, carry)
    (likelihood_d_R_exp_mul, likelihood_d_Q_exp_mul2) = likelihood_d_Q_exp_mul((),
            likelihood_d_R_sum2_now, R_exp, likelihood_d_guess_cov_add22, Q_matmul, Q_exp, T=T)
    return (now, likelihood2, smooth, smooth_cov2, likelihood_d_R_exp_mul, likelihood_d_Q_exp_mul2)
