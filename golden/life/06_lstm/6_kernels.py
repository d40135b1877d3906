"""Kernels of 06_lstm, written by tempoc: one function for each statement.

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


def g_gru_cell_r_split(at, forth_w, x, retour_w, retour_b, *, T):
    """nn.rt:143: a = x @ cell.w.T + cell.b
    nn.rt:145: r = sigmoid(split(a, 3, -1)[0] + split(g, 3, -1)[0])
    nn.rt:146: z = sigmoid(split(a, 3, -1)[1] + split(g, 3, -1)[1])
    nn.rt:147: n = tanh(split(a, 3, -1)[2] + r * split(g, 3, -1)[2])
    nn.rt:154: a = x @ cell.w.T + h @ cell.u.T + cell.b
    """
    def point(x):
        a_add = matvec(retour_w, x, T) + retour_b
        r_split_1 = lax.slice_in_dim(a_add, 5, 10, axis=0)
        r_split_2 = lax.slice_in_dim(a_add, 10, 15, axis=0)
        return (matvec(forth_w, x, T), lax.slice_in_dim(a_add, 0, 5, axis=0), r_split_1, r_split_2)
    lstm_cell_a_matmul_rows, r_split_0_rows, r_split_1_rows, r_split_2_rows = jax.vmap(point)(x)
    return lstm_cell_a_matmul_rows, r_split_0_rows, r_split_1_rows, r_split_2_rows


def after_rows(
    at, a_matmul, forth_u, forth_b, split_out1, split_out2, r_split, retour_u, retour_c, *, T,
):
    """06_lstm.rt:16: hidden[0] = zeros([H])
    06_lstm.rt:17: memory[0] = zeros([H])
    06_lstm.rt:18: hidden[t+1], memory[t+1] = h, c
    06_lstm.rt:21: after[T-1] = zeros([H])
    06_lstm.rt:22: after[t-1] = g[t]
    nn.rt:148: return (1.0 - z) * n + z * h
    """
    hidden = jnp.full((5,), jnp.float32(0.0))
    def step(k, rows_0, rows_1, before_0, before_1):
        add2 = a_matmul[k] + jnp.matmul(forth_u, before_0) + forth_b
        tanh = jnp.tanh(lax.slice_in_dim(add2, 10, 15, axis=0))
        mul2 = jax.nn.sigmoid(lax.slice_in_dim(add2, 0, 5, axis=0)) * tanh
        add3 = jax.nn.sigmoid(lax.slice_in_dim(add2, 5, 10, axis=0)) * before_1 + mul2
        mul3 = jax.nn.sigmoid(lax.slice_in_dim(add2, 15, 20, axis=0)) * jnp.tanh(add3)
        return (
            lax.dynamic_update_index_in_dim(rows_0, mul3, k+1, 0),
            lax.dynamic_update_index_in_dim(rows_1, add3, k+1, 0), mul3, add3,
        )
    made = lax.fori_loop(
        0, T-1, lambda k, rows: step(k, *rows),
        (jnp.broadcast_to(hidden, (T, 5)), jnp.broadcast_to(hidden, (T, 5)), hidden, hidden),
    )
    def step2(k2, rows):
        k3 = T-2 - k2
        before = rows[k3+1]
        add4 = jnp.matmul(retour_u, before) + retour_c
        sigmoid4 = jax.nn.sigmoid(split_out1[k3+1] + lax.slice_in_dim(add4, 5, 10, axis=0))
        sigmoid5 = jax.nn.sigmoid(r_split[k3+1] + lax.slice_in_dim(add4, 0, 5, axis=0))
        tanh3 = jnp.tanh(split_out2[k3+1] + sigmoid5 * lax.slice_in_dim(add4, 10, 15, axis=0))
        add8 = (1.0 - sigmoid4) * tanh3 + sigmoid4 * before
        return lax.dynamic_update_index_in_dim(rows, add8, k3, 0)
    return made[0], made[1], lax.fori_loop(0, T-1, step2, jnp.broadcast_to(hidden, (T, 5)))


def both(
    at, forth_u, a_matmul, forth_b, retour_u, retour_c, r_split, split_out1, split_out2,
    hidden_rows, rows_out1, after_rows, *, T,
):
    """06_lstm.rt:16: hidden[0] = zeros([H])
    06_lstm.rt:17: memory[0] = zeros([H])
    06_lstm.rt:18: hidden[t+1], memory[t+1] = h, c
    06_lstm.rt:19: h, c = nn.lstm_cell(x, hidden, memory, forth)
    06_lstm.rt:21: after[T-1] = zeros([H])
    06_lstm.rt:22: after[t-1] = g[t]
    06_lstm.rt:23: g = nn.gru_cell(x, after, retour)
    06_lstm.rt:25: both = concat([h, g], 0)
    nn.rt:144: g = h @ cell.u.T + cell.c
    nn.rt:145: r = sigmoid(split(a, 3, -1)[0] + split(g, 3, -1)[0])
    nn.rt:146: z = sigmoid(split(a, 3, -1)[1] + split(g, 3, -1)[1])
    nn.rt:147: n = tanh(split(a, 3, -1)[2] + r * split(g, 3, -1)[2])
    nn.rt:148: return (1.0 - z) * n + z * h
    nn.rt:154: a = x @ cell.w.T + h @ cell.u.T + cell.b
    nn.rt:155: keep = sigmoid(split(a, 4, -1)[1]) * c
    nn.rt:156: new = keep + sigmoid(split(a, 4, -1)[0]) * tanh(split(a, 4, -1)[2])
    nn.rt:157: return sigmoid(split(a, 4, -1)[3]) * tanh(new), new
    """
    def point(hidden_rows_t, a_matmul, rows_out1_t, after_rows_t, r_split, split_out1, split_out2):
        a_add2 = a_matmul + matvec(forth_u, hidden_rows_t, T) + forth_b
        new_tanh = jnp.tanh(lax.slice_in_dim(a_add2, 10, 15, axis=0))
        new_mul = jax.nn.sigmoid(lax.slice_in_dim(a_add2, 0, 5, axis=0)) * new_tanh
        new_add = jax.nn.sigmoid(lax.slice_in_dim(a_add2, 5, 10, axis=0)) * rows_out1_t + new_mul
        h = jax.nn.sigmoid(lax.slice_in_dim(a_add2, 15, 20, axis=0)) * jnp.tanh(new_add)
        g_add = matvec(retour_u, after_rows_t, T) + retour_c
        r_sigmoid = jax.nn.sigmoid(r_split + lax.slice_in_dim(g_add, 0, 5, axis=0))
        z_sigmoid = jax.nn.sigmoid(split_out1 + lax.slice_in_dim(g_add, 5, 10, axis=0))
        n_tanh = jnp.tanh(split_out2 + r_sigmoid * lax.slice_in_dim(g_add, 10, 15, axis=0))
        g = (1.0 - z_sigmoid) * n_tanh + z_sigmoid * after_rows_t
        both = jnp.concatenate([h, g], axis=0)
        return (new_add, both)
    new_add_rows, both_rows = jax.vmap(point)(
        hidden_rows, a_matmul, rows_out1, after_rows, r_split, split_out1, split_out2,
    )
    return new_add_rows, both_rows


def block(at, forth_w, x, retour_w, retour_b, forth_u, forth_b, retour_u, retour_c, *, T):
    """What stands between two tasks of the host: g_gru_cell_r_split, after_rows, both."""
    (
        h_lstm_cell_a_matmul, g_gru_cell_r_split2, g_gru_cell_r_split_out1, g_gru_cell_r_split_out2,
    ) = g_gru_cell_r_split((), forth_w, x, retour_w, retour_b, T=T)
    hidden_rows, hidden_rows_out1, after_rows2 = after_rows(
        (), h_lstm_cell_a_matmul, forth_u, forth_b, g_gru_cell_r_split_out1,
        g_gru_cell_r_split_out2, g_gru_cell_r_split2, retour_u, retour_c, T=T,
    )
    h_lstm_cell_new_add, both2 = both(
        (), forth_u, h_lstm_cell_a_matmul, forth_b, retour_u, retour_c, g_gru_cell_r_split2,
        g_gru_cell_r_split_out1, g_gru_cell_r_split_out2, hidden_rows, hidden_rows_out1,
        after_rows2, T=T,
    )
    return (h_lstm_cell_new_add, both2)
