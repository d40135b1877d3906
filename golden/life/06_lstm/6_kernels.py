"""Kernels of 06_lstm, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def both(at, forth_w, x, forth_u, hidden, forth_b, memory, g, both):
    """06_lstm.rt:19: h, c = nn.lstm_cell(x, hidden, memory, forth)
    06_lstm.rt:25: both = concat([h, g], 0)
    nn.rt:143: a = x @ cell.w.T + h @ cell.u.T + cell.b
    nn.rt:144: keep = sigmoid(split(a, 4, -1)[1]) * c
    nn.rt:145: new = keep + sigmoid(split(a, 4, -1)[0]) * tanh(split(a, 4, -1)[2])
    nn.rt:146: return sigmoid(split(a, 4, -1)[3]) * tanh(new), new
    """
    t = at[0]
    x_t = x[t]
    h_lstm_cell_a_matmul = jnp.matmul(forth_w, x_t)
    h_lstm_cell_a_matmul2 = jnp.matmul(forth_u, hidden)
    h_lstm_cell_a_add = h_lstm_cell_a_matmul + h_lstm_cell_a_matmul2
    h_lstm_cell_a_add2 = h_lstm_cell_a_add + forth_b
    h_lstm_cell_keep_split_0 = lax.slice_in_dim(h_lstm_cell_a_add2, 0, 5, axis=0)
    h_lstm_cell_keep_split_1 = lax.slice_in_dim(h_lstm_cell_a_add2, 5, 10, axis=0)
    h_lstm_cell_keep_split_2 = lax.slice_in_dim(h_lstm_cell_a_add2, 10, 15, axis=0)
    h_lstm_cell_keep_split_3 = lax.slice_in_dim(h_lstm_cell_a_add2, 15, 20, axis=0)
    h_lstm_cell_keep_sigmoid = jax.nn.sigmoid(h_lstm_cell_keep_split_1)
    h_lstm_cell_keep_mul = h_lstm_cell_keep_sigmoid * memory
    h_lstm_cell_new_sigmoid = jax.nn.sigmoid(h_lstm_cell_keep_split_0)
    h_lstm_cell_new_tanh = jnp.tanh(h_lstm_cell_keep_split_2)
    h_lstm_cell_new_mul = h_lstm_cell_new_sigmoid * h_lstm_cell_new_tanh
    h_lstm_cell_new_add = h_lstm_cell_keep_mul + h_lstm_cell_new_mul
    h_lstm_cell_sigmoid = jax.nn.sigmoid(h_lstm_cell_keep_split_3)
    h_lstm_cell_tanh = jnp.tanh(h_lstm_cell_new_add)
    h = h_lstm_cell_sigmoid * h_lstm_cell_tanh
    both_t = jnp.concatenate([h, g], axis=0)
    both = lax.dynamic_update_index_in_dim(both, both_t, t, 0)
    return h_lstm_cell_new_add, h_lstm_cell_new_add, h, both


def hidden_0(at):
    """06_lstm.rt:16: hidden[0] = zeros([H])
    06_lstm.rt:17: memory[0] = zeros([H])
    06_lstm.rt:21: after[T-1] = zeros([H])
    """
    hidden_0 = jnp.full((5,), jnp.float32(0.0))
    return hidden_0, hidden_0, hidden_0


def g(at, retour_w, x, retour_b, retour_u, after, retour_c):
    """06_lstm.rt:23: g = nn.gru_cell(x, after, retour)
    nn.rt:132: a = x @ cell.w.T + cell.b
    nn.rt:133: g = h @ cell.u.T + cell.c
    nn.rt:134: r = sigmoid(split(a, 3, -1)[0] + split(g, 3, -1)[0])
    nn.rt:135: z = sigmoid(split(a, 3, -1)[1] + split(g, 3, -1)[1])
    nn.rt:136: n = tanh(split(a, 3, -1)[2] + r * split(g, 3, -1)[2])
    nn.rt:137: return (1.0 - z) * n + z * h
    """
    t = at[0]
    x_t = x[t]
    g_gru_cell_a_matmul = jnp.matmul(retour_w, x_t)
    g_gru_cell_a_add = g_gru_cell_a_matmul + retour_b
    g_gru_cell_g_matmul = jnp.matmul(retour_u, after)
    g_gru_cell_g_add = g_gru_cell_g_matmul + retour_c
    g_gru_cell_r_split_0 = lax.slice_in_dim(g_gru_cell_a_add, 0, 5, axis=0)
    g_gru_cell_r_split_1 = lax.slice_in_dim(g_gru_cell_a_add, 5, 10, axis=0)
    g_gru_cell_r_split_2 = lax.slice_in_dim(g_gru_cell_a_add, 10, 15, axis=0)
    g_gru_cell_r_split2_0 = lax.slice_in_dim(g_gru_cell_g_add, 0, 5, axis=0)
    g_gru_cell_r_split2_1 = lax.slice_in_dim(g_gru_cell_g_add, 5, 10, axis=0)
    g_gru_cell_r_split2_2 = lax.slice_in_dim(g_gru_cell_g_add, 10, 15, axis=0)
    g_gru_cell_r_add = g_gru_cell_r_split_0 + g_gru_cell_r_split2_0
    g_gru_cell_r_sigmoid = jax.nn.sigmoid(g_gru_cell_r_add)
    g_gru_cell_z_add = g_gru_cell_r_split_1 + g_gru_cell_r_split2_1
    g_gru_cell_z_sigmoid = jax.nn.sigmoid(g_gru_cell_z_add)
    g_gru_cell_n_mul = g_gru_cell_r_sigmoid * g_gru_cell_r_split2_2
    g_gru_cell_n_add = g_gru_cell_r_split_2 + g_gru_cell_n_mul
    g_gru_cell_n_tanh = jnp.tanh(g_gru_cell_n_add)
    g_gru_cell_sub = jnp.float32(1.0) - g_gru_cell_z_sigmoid
    g_gru_cell_mul = g_gru_cell_sub * g_gru_cell_n_tanh
    g_gru_cell_mul2 = g_gru_cell_z_sigmoid * after
    g = g_gru_cell_mul + g_gru_cell_mul2
    return g, g
