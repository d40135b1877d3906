"""Kernels of 10_viterbi, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def likelihood(at, emit, seen, start, score_getitem2, move, path, *, T):
    """10_viterbi.rt:16: score[0] = start + emit[seen[0]]
    10_viterbi.rt:17: score[t] = max(reach[t], axis = 0) + emit[seen[t]]
    10_viterbi.rt:21: path[T-1] = argmax(score[T-1])
    10_viterbi.rt:24: likelihood = max(score[T-1])
    """
    seen_0 = seen[0]
    holds = (seen_0 >= -4) & (seen_0 < 4)
    score_getitem = jnp.take(emit, jnp.where(seen_0 < 0, seen_0 + 4, seen_0), axis=0, mode="clip")
    score_0 = start + score_getitem
    score_getitem2_slice = score_getitem2[1:max(1, T)]
    score_getitem2_slice2 = lax.pad(score_getitem2_slice, jnp.float32(0.0), ((0, max(1, T-1)-max(0, T-1), 0), (0, 0, 0)))
    def step(k, rows):
        before = rows[k]
        score_getitem2_slice2_row = score_getitem2_slice2[k]
        expand_dims = jnp.expand_dims(before, 1)
        add = expand_dims + move
        max2 = jnp.max(add, axis=0)
        add2 = max2 + score_getitem2_slice2_row
        return lax.dynamic_update_index_in_dim(rows, add2, k+1, 0)
    score_rows = lax.fori_loop(0, T-1, step, jnp.broadcast_to(score_0, (T, 3)))
    score_at2 = lax.dynamic_index_in_dim(score_rows, T-1, 0, keepdims=False)
    path_0 = jnp.argmax(score_at2, axis=None).astype(jnp.int32)
    likelihood = jnp.max(score_at2, axis=0)
    path = lax.dynamic_update_index_in_dim(path, path_0, T-1, 0)
    return score_rows, path, likelihood, jnp.where(holds, jnp.int32(0), jnp.int32(1))


def score_getitem2(at, emit, seen, score_getitem22, *, T):
    """10_viterbi.rt:17: score[t] = max(reach[t], axis = 0) + emit[seen[t]]"""
    def point(seen):
        holds = (seen >= -4) & (seen < 4)
        score_getitem2 = jnp.take(emit, jnp.where(seen < 0, seen + 4, seen), axis=0, mode="clip")
        return (score_getitem2, jnp.where(holds, jnp.int32(0), jnp.int32(1)))
    score_getitem2_rows, fault = jax.vmap(point)(seen[1:T])
    score_getitem222 = lax.dynamic_update_slice(score_getitem22, score_getitem2_rows, (1, 0))
    faults = jnp.ravel(fault)
    first = jnp.argmax(faults != 0)
    return score_getitem222, jnp.stack([faults[first], first.astype(jnp.int32)])


def back(at, move, score_rows, back2, *, T):
    """10_viterbi.rt:16: score[0] = start + emit[seen[0]]
    10_viterbi.rt:17: score[t] = max(reach[t], axis = 0) + emit[seen[t]]
    10_viterbi.rt:18: reach[t] = expand_dims(score[t-1], 1) + move when t >= 1
    10_viterbi.rt:19: back[t] = argmax(reach[t], axis = 0) when t >= 1
    """
    def point(score_rows_prev_t):
        reach_expand_dims = jnp.expand_dims(score_rows_prev_t, 1)
        reach = reach_expand_dims + move
        back = jnp.argmax(reach, axis=0).astype(jnp.int32)
        return back
    back_rows = jax.vmap(point)(score_rows[:T-1])
    back22 = lax.dynamic_update_slice(back2, back_rows, (1, 0))
    return (back22,)


def path_1(at, back, path):
    """10_viterbi.rt:22: path[t] = back[t+1][path[t+1]]"""
    t = at[0]
    back_next = back[t+1]
    path_next = path[t+1]
    holds = (path_next >= -3) & (path_next < 3)
    path_1 = jnp.take(back_next, jnp.where(path_next < 0, path_next + 3, path_next), axis=0, mode="clip")
    path = lax.dynamic_update_index_in_dim(path, path_1, t, 0)
    return path, jnp.where(holds, jnp.int32(0), jnp.int32(1))
