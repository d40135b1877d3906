"""Kernels of 06_lstm, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def g_gru_cell_r_split(at, forth_w, x, retour_w, retour_b):
    """nn.rt:132: a = x @ cell.w.T + cell.b
    nn.rt:134: r = sigmoid(split(a, 3, -1)[0] + split(g, 3, -1)[0])
    nn.rt:135: z = sigmoid(split(a, 3, -1)[1] + split(g, 3, -1)[1])
    nn.rt:136: n = tanh(split(a, 3, -1)[2] + r * split(g, 3, -1)[2])
    nn.rt:143: a = x @ cell.w.T + h @ cell.u.T + cell.b
    """
    def point(x):
        h_lstm_cell_a_matmul = jnp.matmul(x, forth_w.T)
        g_gru_cell_a_matmul = jnp.matmul(x, retour_w.T)
        g_gru_cell_a_add = g_gru_cell_a_matmul + retour_b
        g_gru_cell_r_split_0 = lax.slice_in_dim(g_gru_cell_a_add, 0, 5, axis=0)
        g_gru_cell_r_split_1 = lax.slice_in_dim(g_gru_cell_a_add, 5, 10, axis=0)
        g_gru_cell_r_split_2 = lax.slice_in_dim(g_gru_cell_a_add, 10, 15, axis=0)
        return (h_lstm_cell_a_matmul, g_gru_cell_r_split_0, g_gru_cell_r_split_1, g_gru_cell_r_split_2)
    h_lstm_cell_a_matmul_rows, g_gru_cell_r_split_0_rows, g_gru_cell_r_split_1_rows, g_gru_cell_r_split_2_rows = jax.vmap(point)(x)
    return h_lstm_cell_a_matmul_rows, g_gru_cell_r_split_0_rows, g_gru_cell_r_split_1_rows, g_gru_cell_r_split_2_rows


def after_rows(
    at, h_lstm_cell_a_matmul, forth_u, forth_b, g_gru_cell_r_split_out1, g_gru_cell_r_split_out2,
    g_gru_cell_r_split, retour_u, retour_c, *, T,
):
    """06_lstm.rt:16: hidden[0] = zeros([H])
    06_lstm.rt:17: memory[0] = zeros([H])
    06_lstm.rt:18: hidden[t+1], memory[t+1] = h, c
    06_lstm.rt:21: after[T-1] = zeros([H])
    06_lstm.rt:22: after[t-1] = g[t]
    nn.rt:137: return (1.0 - z) * n + z * h
    """
    hidden_0 = jnp.full((5,), jnp.float32(0.0))
    def step(k, rows_0, rows_1, before_0, before_1):
        h_lstm_cell_a_matmul_row = h_lstm_cell_a_matmul[k]
        matmul = jnp.matmul(forth_u, before_0)
        add = h_lstm_cell_a_matmul_row + matmul
        add2 = add + forth_b
        split = lax.slice_in_dim(add2, 0, 5, axis=0)
        split2 = lax.slice_in_dim(add2, 5, 10, axis=0)
        split3 = lax.slice_in_dim(add2, 10, 15, axis=0)
        split4 = lax.slice_in_dim(add2, 15, 20, axis=0)
        sigmoid = jax.nn.sigmoid(split4)
        sigmoid2 = jax.nn.sigmoid(split2)
        mul = sigmoid2 * before_1
        sigmoid3 = jax.nn.sigmoid(split)
        tanh = jnp.tanh(split3)
        mul2 = sigmoid3 * tanh
        add3 = mul + mul2
        tanh2 = jnp.tanh(add3)
        mul3 = sigmoid * tanh2
        return (lax.dynamic_update_index_in_dim(rows_0, mul3, k+1, 0), lax.dynamic_update_index_in_dim(rows_1, add3, k+1, 0), mul3, add3)
    made = lax.fori_loop(0, T-1, lambda k, rows: step(k, *rows), (jnp.broadcast_to(hidden_0, (T, 5)), jnp.broadcast_to(hidden_0, (T, 5)), hidden_0, hidden_0))
    hidden_rows_0 = made[0]
    hidden_rows_1 = made[1]
    def step2(k2, rows):
        k3 = T-2 - k2
        before = rows[k3+1]
        g_gru_cell_r_split_out1_row = g_gru_cell_r_split_out1[k3+1]
        g_gru_cell_r_split_out2_row = g_gru_cell_r_split_out2[k3+1]
        g_gru_cell_r_split_row = g_gru_cell_r_split[k3+1]
        matmul2 = jnp.matmul(retour_u, before)
        add4 = matmul2 + retour_c
        split5 = lax.slice_in_dim(add4, 0, 5, axis=0)
        split6 = lax.slice_in_dim(add4, 5, 10, axis=0)
        split7 = lax.slice_in_dim(add4, 10, 15, axis=0)
        add5 = g_gru_cell_r_split_out1_row + split6
        sigmoid4 = jax.nn.sigmoid(add5)
        sub = jnp.float32(1.0) - sigmoid4
        add6 = g_gru_cell_r_split_row + split5
        sigmoid5 = jax.nn.sigmoid(add6)
        mul4 = sigmoid5 * split7
        add7 = g_gru_cell_r_split_out2_row + mul4
        tanh3 = jnp.tanh(add7)
        mul5 = sub * tanh3
        mul6 = sigmoid4 * before
        add8 = mul5 + mul6
        return lax.dynamic_update_index_in_dim(rows, add8, k3, 0)
    after_rows = lax.fori_loop(0, T-1, step2, jnp.broadcast_to(hidden_0, (T, 5)))
    return hidden_rows_0, hidden_rows_1, after_rows


def both(
    at, forth_u, h_lstm_cell_a_matmul, forth_b, retour_u, retour_c, g_gru_cell_r_split,
    g_gru_cell_r_split_out1, g_gru_cell_r_split_out2, hidden_rows, hidden_rows_out1, after_rows,
):
    """06_lstm.rt:16: hidden[0] = zeros([H])
    06_lstm.rt:17: memory[0] = zeros([H])
    06_lstm.rt:18: hidden[t+1], memory[t+1] = h, c
    06_lstm.rt:19: h, c = nn.lstm_cell(x, hidden, memory, forth)
    06_lstm.rt:21: after[T-1] = zeros([H])
    06_lstm.rt:22: after[t-1] = g[t]
    06_lstm.rt:23: g = nn.gru_cell(x, after, retour)
    06_lstm.rt:25: both = concat([h, g], 0)
    nn.rt:133: g = h @ cell.u.T + cell.c
    nn.rt:134: r = sigmoid(split(a, 3, -1)[0] + split(g, 3, -1)[0])
    nn.rt:135: z = sigmoid(split(a, 3, -1)[1] + split(g, 3, -1)[1])
    nn.rt:136: n = tanh(split(a, 3, -1)[2] + r * split(g, 3, -1)[2])
    nn.rt:137: return (1.0 - z) * n + z * h
    nn.rt:143: a = x @ cell.w.T + h @ cell.u.T + cell.b
    nn.rt:144: keep = sigmoid(split(a, 4, -1)[1]) * c
    nn.rt:145: new = keep + sigmoid(split(a, 4, -1)[0]) * tanh(split(a, 4, -1)[2])
    nn.rt:146: return sigmoid(split(a, 4, -1)[3]) * tanh(new), new
    """
    def point(hidden_rows_t, h_lstm_cell_a_matmul, hidden_rows_out1_t, after_rows_t, g_gru_cell_r_split, g_gru_cell_r_split_out1, g_gru_cell_r_split_out2):
        h_lstm_cell_a_matmul2 = jnp.matmul(hidden_rows_t, forth_u.T)
        h_lstm_cell_a_add = h_lstm_cell_a_matmul + h_lstm_cell_a_matmul2
        h_lstm_cell_a_add2 = h_lstm_cell_a_add + forth_b
        h_lstm_cell_keep_split_0 = lax.slice_in_dim(h_lstm_cell_a_add2, 0, 5, axis=0)
        h_lstm_cell_keep_split_1 = lax.slice_in_dim(h_lstm_cell_a_add2, 5, 10, axis=0)
        h_lstm_cell_keep_split_2 = lax.slice_in_dim(h_lstm_cell_a_add2, 10, 15, axis=0)
        h_lstm_cell_keep_split_3 = lax.slice_in_dim(h_lstm_cell_a_add2, 15, 20, axis=0)
        h_lstm_cell_keep_sigmoid = jax.nn.sigmoid(h_lstm_cell_keep_split_1)
        h_lstm_cell_keep_mul = h_lstm_cell_keep_sigmoid * hidden_rows_out1_t
        h_lstm_cell_new_sigmoid = jax.nn.sigmoid(h_lstm_cell_keep_split_0)
        h_lstm_cell_new_tanh = jnp.tanh(h_lstm_cell_keep_split_2)
        h_lstm_cell_new_mul = h_lstm_cell_new_sigmoid * h_lstm_cell_new_tanh
        h_lstm_cell_new_add = h_lstm_cell_keep_mul + h_lstm_cell_new_mul
        h_lstm_cell_sigmoid = jax.nn.sigmoid(h_lstm_cell_keep_split_3)
        h_lstm_cell_tanh = jnp.tanh(h_lstm_cell_new_add)
        h = h_lstm_cell_sigmoid * h_lstm_cell_tanh
        g_gru_cell_g_matmul = jnp.matmul(after_rows_t, retour_u.T)
        g_gru_cell_g_add = g_gru_cell_g_matmul + retour_c
        g_gru_cell_r_split2_0 = lax.slice_in_dim(g_gru_cell_g_add, 0, 5, axis=0)
        g_gru_cell_r_split2_1 = lax.slice_in_dim(g_gru_cell_g_add, 5, 10, axis=0)
        g_gru_cell_r_split2_2 = lax.slice_in_dim(g_gru_cell_g_add, 10, 15, axis=0)
        g_gru_cell_r_add = g_gru_cell_r_split + g_gru_cell_r_split2_0
        g_gru_cell_r_sigmoid = jax.nn.sigmoid(g_gru_cell_r_add)
        g_gru_cell_z_add = g_gru_cell_r_split_out1 + g_gru_cell_r_split2_1
        g_gru_cell_z_sigmoid = jax.nn.sigmoid(g_gru_cell_z_add)
        g_gru_cell_n_mul = g_gru_cell_r_sigmoid * g_gru_cell_r_split2_2
        g_gru_cell_n_add = g_gru_cell_r_split_out2 + g_gru_cell_n_mul
        g_gru_cell_n_tanh = jnp.tanh(g_gru_cell_n_add)
        g_gru_cell_sub = jnp.float32(1.0) - g_gru_cell_z_sigmoid
        g_gru_cell_mul = g_gru_cell_sub * g_gru_cell_n_tanh
        g_gru_cell_mul2 = g_gru_cell_z_sigmoid * after_rows_t
        g = g_gru_cell_mul + g_gru_cell_mul2
        both = jnp.concatenate([h, g], axis=0)
        return (h_lstm_cell_new_add, both)
    h_lstm_cell_new_add_rows, both_rows = jax.vmap(point)(hidden_rows, h_lstm_cell_a_matmul, hidden_rows_out1, after_rows, g_gru_cell_r_split, g_gru_cell_r_split_out1, g_gru_cell_r_split_out2)
    return h_lstm_cell_new_add_rows, both_rows


def block(at, forth_w, x, retour_w, retour_b, forth_u, forth_b, retour_u, retour_c, *, T):
    """What stands between two tasks of the host: g_gru_cell_r_split, after_rows, both."""
    (h_lstm_cell_a_matmul, g_gru_cell_r_split2, g_gru_cell_r_split_out1,
            g_gru_cell_r_split_out2) = g_gru_cell_r_split((), forth_w, x, retour_w, retour_b)
    (hidden_rows, hidden_rows_out1, after_rows2) = after_rows((), h_lstm_cell_a_matmul, forth_u,
            forth_b, g_gru_cell_r_split_out1, g_gru_cell_r_split_out2, g_gru_cell_r_split2,
            retour_u, retour_c, T=T)
    (h_lstm_cell_new_add, both2) = both((), forth_u, h_lstm_cell_a_matmul, forth_b, retour_u,
            retour_c, g_gru_cell_r_split2, g_gru_cell_r_split_out1, g_gru_cell_r_split_out2,
            hidden_rows, hidden_rows_out1, after_rows2)
    return (h_lstm_cell_new_add, both2)
