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


def h_lstm_cell_new_add_at(
    at, a_matmul, forth_u, forth_b, split_out1, split_out2, r_split, retour_u, retour_c, *, T,
):
    """06_lstm.rt:16: hidden[0] = zeros([H])
    06_lstm.rt:17: memory[0] = zeros([H])
    06_lstm.rt:18: hidden[t+1], memory[t+1] = h, c
    06_lstm.rt:21: after[T-1] = zeros([H])
    06_lstm.rt:22: after[t-1] = g[t]
    nn.rt:148: return (1.0 - z) * n + z * h
    nn.rt:156: new = keep + sigmoid(split(a, 4, -1)[0]) * tanh(split(a, 4, -1)[2])
    """
    hidden = jnp.zeros((5,), jnp.float32)
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
        0, T, lambda k, rows: step(k, *rows),
        (jnp.broadcast_to(hidden, (T+1, 5)), jnp.broadcast_to(hidden, (T+1, 5)), hidden, hidden),
    )
    def step2(k2, rows):
        k3 = T-1 - k2
        before = rows[k3+1]
        add4 = jnp.matmul(retour_u, before) + retour_c
        sigmoid4 = jax.nn.sigmoid(split_out1[k3] + lax.slice_in_dim(add4, 5, 10, axis=0))
        sigmoid5 = jax.nn.sigmoid(r_split[k3] + lax.slice_in_dim(add4, 0, 5, axis=0))
        tanh3 = jnp.tanh(split_out2[k3] + sigmoid5 * lax.slice_in_dim(add4, 10, 15, axis=0))
        add8 = (1.0 - sigmoid4) * tanh3 + sigmoid4 * before
        return lax.dynamic_update_index_in_dim(rows, add8, k3, 0)
    add_at = lax.dynamic_index_in_dim(made[1], T, 0, keepdims=False)
    return made[0], lax.fori_loop(0, T, step2, jnp.broadcast_to(hidden, (T+1, 5))), add_at


def both(at, hidden_rows, after_rows, *, T):
    """06_lstm.rt:19: h, c = nn.lstm_cell(x, hidden, memory, forth)
    06_lstm.rt:23: g = nn.gru_cell(x, after, retour)
    06_lstm.rt:25: both = concat([h, g], 0)
    """
    def point(hidden_rows_next_t, after_rows_t):
        both = jnp.concatenate([hidden_rows_next_t, after_rows_t], axis=0)
        return both
    return (jax.vmap(point)(hidden_rows[1:T+1], after_rows[:T]),)


def block(at, forth_w, x, retour_w, retour_b, forth_u, forth_b, retour_u, retour_c, *, T):
    """What stands between two tasks of the host: g_gru_cell_r_split, h_lstm_cell_new_add_at, both."""
    (
        h_lstm_cell_a_matmul, g_gru_cell_r_split2, g_gru_cell_r_split_out1, g_gru_cell_r_split_out2,
    ) = g_gru_cell_r_split((), forth_w, x, retour_w, retour_b, T=T)
    (
        hidden_rows, after_rows, h_lstm_cell_new_add_at2,
    ) = h_lstm_cell_new_add_at(
        (), h_lstm_cell_a_matmul, forth_u, forth_b, g_gru_cell_r_split_out1,
        g_gru_cell_r_split_out2, g_gru_cell_r_split2, retour_u, retour_c, T=T,
    )
    (both2,) = both((), hidden_rows, after_rows, T=T)
    return (h_lstm_cell_new_add_at2, both2)
