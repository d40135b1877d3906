"""Kernels of 13_lbfgs, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def length(at, length, enough_mul2):
    """13_lbfgs.rt:43: length = 0.5 ** k
    13_lbfgs.rt:44: enough = objective(w + length * direction) <= loss + 1e-4 * length * (slope @ direction)
    """
    k = at[0]
    length_index = jnp.int32(k)
    length_k = jnp.power(jnp.float32(0.5), length_index.astype(jnp.float32))
    enough_mul2_k = jnp.float32(0.0001) * length_k
    length = lax.dynamic_update_index_in_dim(length, length_k, k, 0)
    enough_mul2 = lax.dynamic_update_index_in_dim(enough_mul2, enough_mul2_k, k, 0)
    return length, enough_mul2


def direction(at, r_0):
    """13_lbfgs.rt:40: direction[i] = -r[i, 0]"""
    direction = -r_0
    return (direction,)


def enough_mul(at, length, direction):
    """13_lbfgs.rt:44: enough = objective(w + length * direction) <= loss + 1e-4 * length * (slope @ direction)"""
    k = at[1]
    length_k = length[k]
    enough_mul = length_k * direction
    return (enough_mul,)


def enough_add(at, w, enough_mul):
    """13_lbfgs.rt:44: enough = objective(w + length * direction) <= loss + 1e-4 * length * (slope @ direction)"""
    enough_add = w + enough_mul
    return (enough_add,)


def enough_objective_matmul(at, x, enough_add):
    """13_lbfgs.rt:19: def objective(w) = mean(softplus(x[0:N] @ w) - label[0:N] * (x[0:N] @ w)) + decay * (w @ w)"""
    enough_objective_matmul = jnp.matmul(x, enough_add)
    return (enough_objective_matmul,)


def enough_objective_softplus(at, enough_objective_matmul):
    """13_lbfgs.rt:19: def objective(w) = mean(softplus(x[0:N] @ w) - label[0:N] * (x[0:N] @ w)) + decay * (w @ w)"""
    enough_objective_softplus = jax.nn.softplus(enough_objective_matmul)
    return (enough_objective_softplus,)


def enough_objective_mul(at, label, enough_objective_matmul):
    """13_lbfgs.rt:19: def objective(w) = mean(softplus(x[0:N] @ w) - label[0:N] * (x[0:N] @ w)) + decay * (w @ w)"""
    enough_objective_mul = label.astype(jnp.float32) * enough_objective_matmul
    return (enough_objective_mul,)


def enough_objective_sub(at, enough_objective_softplus, enough_objective_mul):
    """13_lbfgs.rt:19: def objective(w) = mean(softplus(x[0:N] @ w) - label[0:N] * (x[0:N] @ w)) + decay * (w @ w)"""
    enough_objective_sub = enough_objective_softplus - enough_objective_mul
    return (enough_objective_sub,)


def enough_objective_mean(at, enough_objective_sub, *, N):
    """13_lbfgs.rt:19: def objective(w) = mean(softplus(x[0:N] @ w) - label[0:N] * (x[0:N] @ w)) + decay * (w @ w)"""
    enough_objective_mean = jnp.sum(enough_objective_sub, axis=0) / jnp.float32(N)
    return (enough_objective_mean,)


def enough_objective_matmul3(at, enough_add):
    """13_lbfgs.rt:19: def objective(w) = mean(softplus(x[0:N] @ w) - label[0:N] * (x[0:N] @ w)) + decay * (w @ w)"""
    enough_objective_matmul3 = jnp.matmul(enough_add, enough_add)
    return (enough_objective_matmul3,)


def enough_objective_mul2(at, enough_objective_matmul3):
    """13_lbfgs.rt:19: def objective(w) = mean(softplus(x[0:N] @ w) - label[0:N] * (x[0:N] @ w)) + decay * (w @ w)"""
    enough_objective_mul2 = jnp.float32(0.01) * enough_objective_matmul3
    return (enough_objective_mul2,)


def enough_objective_add(at, enough_objective_mean, enough_objective_mul2):
    """13_lbfgs.rt:19: def objective(w) = mean(softplus(x[0:N] @ w) - label[0:N] * (x[0:N] @ w)) + decay * (w @ w)"""
    enough_objective_add = enough_objective_mean + enough_objective_mul2
    return (enough_objective_add,)


def loss_objective_matmul(at, x, w):
    """13_lbfgs.rt:19: def objective(w) = mean(softplus(x[0:N] @ w) - label[0:N] * (x[0:N] @ w)) + decay * (w @ w)"""
    loss_objective_matmul = jnp.matmul(x, w)
    return (loss_objective_matmul,)


def loss_objective_softplus(at, loss_objective_matmul):
    """13_lbfgs.rt:19: def objective(w) = mean(softplus(x[0:N] @ w) - label[0:N] * (x[0:N] @ w)) + decay * (w @ w)"""
    loss_objective_softplus = jax.nn.softplus(loss_objective_matmul)
    return (loss_objective_softplus,)


def loss_objective_mul(at, label, loss_objective_matmul):
    """13_lbfgs.rt:19: def objective(w) = mean(softplus(x[0:N] @ w) - label[0:N] * (x[0:N] @ w)) + decay * (w @ w)"""
    loss_objective_mul = label.astype(jnp.float32) * loss_objective_matmul
    return (loss_objective_mul,)


def loss_objective_sub(at, loss_objective_softplus, loss_objective_mul):
    """13_lbfgs.rt:19: def objective(w) = mean(softplus(x[0:N] @ w) - label[0:N] * (x[0:N] @ w)) + decay * (w @ w)"""
    loss_objective_sub = loss_objective_softplus - loss_objective_mul
    return (loss_objective_sub,)


def loss_objective_mean(at, loss_objective_sub, *, N):
    """13_lbfgs.rt:19: def objective(w) = mean(softplus(x[0:N] @ w) - label[0:N] * (x[0:N] @ w)) + decay * (w @ w)"""
    loss_objective_mean = jnp.sum(loss_objective_sub, axis=0) / jnp.float32(N)
    return (loss_objective_mean,)


def loss_objective_matmul3(at, w):
    """13_lbfgs.rt:19: def objective(w) = mean(softplus(x[0:N] @ w) - label[0:N] * (x[0:N] @ w)) + decay * (w @ w)"""
    loss_objective_matmul3 = jnp.matmul(w, w)
    return (loss_objective_matmul3,)


def loss_objective_mul2(at, loss_objective_matmul3):
    """13_lbfgs.rt:19: def objective(w) = mean(softplus(x[0:N] @ w) - label[0:N] * (x[0:N] @ w)) + decay * (w @ w)"""
    loss_objective_mul2 = jnp.float32(0.01) * loss_objective_matmul3
    return (loss_objective_mul2,)


def loss(at, loss_objective_mean, loss_objective_mul2, loss):
    """13_lbfgs.rt:23: loss = objective(w)"""
    i = at[0]
    loss_i = loss_objective_mean + loss_objective_mul2
    loss = lax.dynamic_update_index_in_dim(loss, loss_i, i, 0)
    return (loss,)


def loss_d_loss_objective_matmul3_mul(at, w):
    """13_lbfgs.rt:19: def objective(w) = mean(softplus(x[0:N] @ w) - label[0:N] * (x[0:N] @ w)) + decay * (w @ w)"""
    loss_d_loss_objective_matmul3_mul = jnp.float32(0.009999999776482582) * w
    return (loss_d_loss_objective_matmul3_mul,)


def loss_d_w_add(at, loss_d_loss_objective_matmul3_mul):
    """13_lbfgs.rt:21: w[0] = zeros([D])
    13_lbfgs.rt:22: w[i+1] = w + size * direction
    """
    loss_d_w_add = loss_d_loss_objective_matmul3_mul + loss_d_loss_objective_matmul3_mul
    return (loss_d_w_add,)


def loss_d_loss_objective_matmul2_einsum2(at, loss_d_loss_objective_mean_cast, label, x, *, N):
    """13_lbfgs.rt:19: def objective(w) = mean(softplus(x[0:N] @ w) - label[0:N] * (x[0:N] @ w)) + decay * (w @ w)
    13_lbfgs.rt:23: loss = objective(w)
    13_lbfgs.rt:31: rho = where(bend > 0.0, 1.0 / bend, 0.0)
    13_lbfgs.rt:37: scale = where(bend > 0.0, bend / (past.y @ past.y), 1.0)
    """
    loss_d_loss_objective_mean_div = jnp.float32(1.0) / loss_d_loss_objective_mean_cast
    loss_d_loss_objective_mean_expand_dims = jnp.expand_dims(loss_d_loss_objective_mean_div, 0)
    loss_d_loss_objective_mean_broadcast_to = jnp.broadcast_to(loss_d_loss_objective_mean_expand_dims, (N,))
    loss_d_loss_objective_sub_neg = -loss_d_loss_objective_mean_broadcast_to
    loss_d_loss_objective_mul_mul2 = loss_d_loss_objective_sub_neg * label.astype(jnp.float32)
    loss_d_loss_objective_matmul2_einsum2 = jnp.einsum("i,ik->k", loss_d_loss_objective_mul_mul2, x)
    return loss_d_loss_objective_mean_broadcast_to, loss_d_loss_objective_matmul2_einsum2


def loss_d_loss_objective_mean_cast(at, *, N):
    """13_lbfgs.rt:19: def objective(w) = mean(softplus(x[0:N] @ w) - label[0:N] * (x[0:N] @ w)) + decay * (w @ w)
    13_lbfgs.rt:21: w[0] = zeros([D])
    13_lbfgs.rt:29: past[i, j] = {s: zeros([D]), y: zeros([D])}
    """
    loss_d_loss_objective_mean_index = jnp.int32(N)
    loss_d_loss_objective_mean_cast = loss_d_loss_objective_mean_index.astype(jnp.float32)
    w_0 = jnp.full((5,), jnp.float32(0.0))
    return loss_d_loss_objective_mean_cast, w_0


def loss_d_loss_objective_softplus_sigmoid(at, loss_objective_matmul):
    """13_lbfgs.rt:19: def objective(w) = mean(softplus(x[0:N] @ w) - label[0:N] * (x[0:N] @ w)) + decay * (w @ w)"""
    loss_d_loss_objective_softplus_sigmoid = jax.nn.sigmoid(loss_objective_matmul)
    return (loss_d_loss_objective_softplus_sigmoid,)


def loss_d_loss_objective_softplus_mul(
    at, loss_d_loss_objective_mean_broadcast_to, loss_d_loss_objective_softplus_sigmoid,
):
    """13_lbfgs.rt:19: def objective(w) = mean(softplus(x[0:N] @ w) - label[0:N] * (x[0:N] @ w)) + decay * (w @ w)"""
    loss_d_loss_objective_softplus_mul = loss_d_loss_objective_mean_broadcast_to * loss_d_loss_objective_softplus_sigmoid
    return (loss_d_loss_objective_softplus_mul,)


def loss_d_loss_objective_matmul_einsum2(at, loss_d_loss_objective_softplus_mul, x):
    """13_lbfgs.rt:19: def objective(w) = mean(softplus(x[0:N] @ w) - label[0:N] * (x[0:N] @ w)) + decay * (w @ w)"""
    loss_d_loss_objective_matmul_einsum2 = jnp.einsum("i,ik->k", loss_d_loss_objective_softplus_mul, x)
    return (loss_d_loss_objective_matmul_einsum2,)


def loss_d_w_add2(at, loss_d_w_add, loss_d_loss_objective_matmul_einsum2):
    """13_lbfgs.rt:21: w[0] = zeros([D])
    13_lbfgs.rt:22: w[i+1] = w + size * direction
    """
    loss_d_w_add2 = loss_d_w_add + loss_d_loss_objective_matmul_einsum2
    return (loss_d_w_add2,)


def loss_d_w_add3(at, loss_d_w_add2, loss_d_loss_objective_matmul2_einsum2):
    """13_lbfgs.rt:21: w[0] = zeros([D])
    13_lbfgs.rt:22: w[i+1] = w + size * direction
    """
    loss_d_w_add3 = loss_d_w_add2 + loss_d_loss_objective_matmul2_einsum2
    return loss_d_w_add3, loss_d_w_add3


def enough_matmul(at, loss_d_w_add3, direction):
    """13_lbfgs.rt:44: enough = objective(w + length * direction) <= loss + 1e-4 * length * (slope @ direction)"""
    enough_matmul = jnp.matmul(loss_d_w_add3, direction)
    return (enough_matmul,)


def enough_mul3(at, enough_mul2, enough_matmul):
    """13_lbfgs.rt:44: enough = objective(w + length * direction) <= loss + 1e-4 * length * (slope @ direction)"""
    k = at[1]
    enough_mul2_k = enough_mul2[k]
    enough_mul3 = enough_mul2_k * enough_matmul
    return (enough_mul3,)


def enough_add2(at, loss, enough_mul3):
    """13_lbfgs.rt:44: enough = objective(w + length * direction) <= loss + 1e-4 * length * (slope @ direction)"""
    i = at[0]
    loss_i = loss[i]
    enough_add2 = loss_i + enough_mul3
    return (enough_add2,)


def enough(at, enough_objective_add, enough_add2, enough):
    """13_lbfgs.rt:44: enough = objective(w + length * direction) <= loss + 1e-4 * length * (slope @ direction)"""
    k = at[1]
    enough_k = enough_objective_add <= enough_add2
    enough = lax.dynamic_update_index_in_dim(enough, enough_k, k, 0)
    return (enough,)


def size_argmax(at, enough):
    """13_lbfgs.rt:45: size = length[k = argmax(enough[k = 0:K]) in 0:K]"""
    size_argmax = jnp.argmax(enough, axis=None).astype(jnp.int32)
    return (size_argmax,)


def size(at, length, size_argmax, *, K):
    """13_lbfgs.rt:45: size = length[k = argmax(enough[k = 0:K]) in 0:K]"""
    holds = (size_argmax >= 0) & (size_argmax < K)
    place = jnp.maximum(jnp.minimum(size_argmax, K-1), 0)
    size = length[place]
    return size, jnp.where(holds, jnp.int32(0), jnp.int32(1))


def w_mul(at, size, direction):
    """13_lbfgs.rt:22: w[i+1] = w + size * direction"""
    w_mul = size * direction
    return (w_mul,)


def w_1(at, w, w_mul):
    """13_lbfgs.rt:22: w[i+1] = w + size * direction"""
    w_1 = w + w_mul
    return (w_1,)


def y(at, loss_d_w_add3_next, loss_d_w_add3):
    """13_lbfgs.rt:27: y[i] = slope[i+1] - slope when i + 1 < I"""
    y = loss_d_w_add3_next - loss_d_w_add3
    return (y,)


def past_s_0(at, size_at, direction_at):
    """13_lbfgs.rt:28: past[i, j] = {s: size[i-1-j] * direction[i-1-j], y: y[i-1-j]} when j < i"""
    past_s_0 = size_at * direction_at
    return (past_s_0,)


def past_s_1(at):
    """13_lbfgs.rt:21: w[0] = zeros([D])
    13_lbfgs.rt:29: past[i, j] = {s: zeros([D]), y: zeros([D])}
    """
    w_0_2 = jnp.full((5,), jnp.float32(0.0))
    return w_0_2, w_0_2


def past_y_0(at, y_at):
    """13_lbfgs.rt:28: past[i, j] = {s: size[i-1-j] * direction[i-1-j], y: y[i-1-j]} when j < i"""
    return (y_at,)


def bend(at, past_s, past_y):
    """13_lbfgs.rt:30: bend = past.s @ past.y"""
    bend = jnp.matmul(past_s, past_y)
    return (bend,)


def rho_gt(at, bend):
    """13_lbfgs.rt:31: rho = where(bend > 0.0, 1.0 / bend, 0.0)
    13_lbfgs.rt:37: scale = where(bend > 0.0, bend / (past.y @ past.y), 1.0)
    """
    rho_gt = bend > jnp.float32(0.0)
    return (rho_gt,)


def rho_div(at, bend):
    """13_lbfgs.rt:23: loss = objective(w)
    13_lbfgs.rt:31: rho = where(bend > 0.0, 1.0 / bend, 0.0)
    13_lbfgs.rt:37: scale = where(bend > 0.0, bend / (past.y @ past.y), 1.0)
    """
    rho_div = jnp.float32(1.0) / bend
    return (rho_div,)


def rho(at, rho_gt, rho_div, rho):
    """13_lbfgs.rt:31: rho = where(bend > 0.0, 1.0 / bend, 0.0)
    13_lbfgs.rt:37: scale = where(bend > 0.0, bend / (past.y @ past.y), 1.0)
    """
    j = at[1]
    rho_j = jnp.where(rho_gt, rho_div, jnp.float32(0.0))
    rho = lax.dynamic_update_index_in_dim(rho, rho_j, j, 0)
    return (rho,)


def alpha_matmul(at, past_s, q):
    """13_lbfgs.rt:36: alpha = rho * (past.s @ q)"""
    alpha_matmul = jnp.matmul(past_s, q)
    return (alpha_matmul,)


def alpha(at, rho, alpha_matmul, alpha):
    """13_lbfgs.rt:36: alpha = rho * (past.s @ q)"""
    j = at[1]
    rho_j = rho[j]
    alpha_j = rho_j * alpha_matmul
    alpha = lax.dynamic_update_index_in_dim(alpha, alpha_j, j, 0)
    return (alpha,)


def q_mul(at, alpha, past_y):
    """13_lbfgs.rt:35: q[i, j+1] = q - alpha * past.y"""
    j = at[1]
    alpha_j = alpha[j]
    q_mul = alpha_j * past_y
    return (q_mul,)


def q_1(at, q, q_mul):
    """13_lbfgs.rt:35: q[i, j+1] = q - alpha * past.y"""
    q_1 = q - q_mul
    return (q_1,)


def scale_matmul(at, past_y):
    """13_lbfgs.rt:37: scale = where(bend > 0.0, bend / (past.y @ past.y), 1.0)"""
    scale_matmul = jnp.matmul(past_y, past_y)
    return (scale_matmul,)


def scale_div(at, bend, scale_matmul):
    """13_lbfgs.rt:37: scale = where(bend > 0.0, bend / (past.y @ past.y), 1.0)"""
    scale_div = bend / scale_matmul
    return (scale_div,)


def scale(at, rho_gt, scale_div, scale):
    """13_lbfgs.rt:23: loss = objective(w)
    13_lbfgs.rt:31: rho = where(bend > 0.0, 1.0 / bend, 0.0)
    13_lbfgs.rt:37: scale = where(bend > 0.0, bend / (past.y @ past.y), 1.0)
    """
    j = at[1]
    scale_j = jnp.where(rho_gt, scale_div, jnp.float32(1.0))
    scale = lax.dynamic_update_index_in_dim(scale, scale_j, j, 0)
    return (scale,)


def r_matmul(at, past_y_prev, r):
    """13_lbfgs.rt:39: r[i, j-1] = r[i, j] + past[i, j-1].s * (alpha[i, j-1] - rho[i, j-1] * (past[i, j-1].y @ r[i, j]))"""
    r_matmul = jnp.matmul(past_y_prev, r)
    return (r_matmul,)


def r_mul(at, rho, r_matmul):
    """13_lbfgs.rt:39: r[i, j-1] = r[i, j] + past[i, j-1].s * (alpha[i, j-1] - rho[i, j-1] * (past[i, j-1].y @ r[i, j]))"""
    j = at[1]
    rho_prev = rho[j-1]
    r_mul = rho_prev * r_matmul
    return (r_mul,)


def r_sub(at, alpha, r_mul):
    """13_lbfgs.rt:39: r[i, j-1] = r[i, j] + past[i, j-1].s * (alpha[i, j-1] - rho[i, j-1] * (past[i, j-1].y @ r[i, j]))"""
    j = at[1]
    alpha_prev = alpha[j-1]
    r_sub = alpha_prev - r_mul
    return (r_sub,)


def r_mul2(at, past_s_prev, r_sub):
    """13_lbfgs.rt:39: r[i, j-1] = r[i, j] + past[i, j-1].s * (alpha[i, j-1] - rho[i, j-1] * (past[i, j-1].y @ r[i, j]))"""
    r_mul2 = past_s_prev * r_sub
    return (r_mul2,)


def r_0(at, scale, q_at):
    """13_lbfgs.rt:38: r[i, J-1] = scale[i, 0] * q[i, J-1]"""
    scale_0 = scale[0]
    r_0 = scale_0 * q_at
    return (r_0,)


def r_1(at, r, r_mul2):
    """13_lbfgs.rt:39: r[i, j-1] = r[i, j] + past[i, j-1].s * (alpha[i, j-1] - rho[i, j-1] * (past[i, j-1].y @ r[i, j]))"""
    r_1 = r + r_mul2
    return (r_1,)
