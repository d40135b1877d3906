"""Kernels of 10_viterbi, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax.numpy as jnp
from jax import lax


def score_0(at, emit, seen, start):
    """10_viterbi.rt:16: score[0] = start + emit[seen[0]]"""
    seen_0 = seen[0]
    holds = (seen_0 >= -4) & (seen_0 < 4)
    score_getitem = jnp.take(emit, jnp.where(seen_0 < 0, seen_0 + 4, seen_0), axis=0, mode="clip")
    score_0 = start + score_getitem
    return score_0, jnp.where(holds, jnp.int32(0), jnp.int32(1))


def back(at, score_prev, move, emit, seen):
    """10_viterbi.rt:17: score[t] = max(reach[t], axis = 0) + emit[seen[t]]
    10_viterbi.rt:18: reach[t] = expand_dims(score[t-1], 1) + move when t >= 1
    10_viterbi.rt:19: back[t] = argmax(reach[t], axis = 0) when t >= 1
    """
    t = at[0]
    reach_expand_dims = jnp.expand_dims(score_prev, 1)
    reach = reach_expand_dims + move
    score_max = jnp.max(reach, axis=0)
    seen_t = seen[t]
    holds = (seen_t >= -4) & (seen_t < 4)
    score_getitem2 = jnp.take(emit, jnp.where(seen_t < 0, seen_t + 4, seen_t), axis=0, mode="clip")
    score_1 = score_max + score_getitem2
    back = jnp.argmax(reach, axis=0).astype(jnp.int32)
    return score_1, back, jnp.where(holds, jnp.int32(0), jnp.int32(1))


def likelihood(at, score_at, path, *, T):
    """10_viterbi.rt:21: path[T-1] = argmax(score[T-1])
    10_viterbi.rt:24: likelihood = max(score[T-1])
    """
    path_0 = jnp.argmax(score_at, axis=None).astype(jnp.int32)
    likelihood = jnp.max(score_at, axis=0)
    path = lax.dynamic_update_index_in_dim(path, path_0, T-1, 0)
    return path, likelihood


def path_1(at, back_next, path):
    """10_viterbi.rt:22: path[t] = back[t+1][path[t+1]]"""
    t = at[0]
    path_next = path[t+1]
    holds = (path_next >= -3) & (path_next < 3)
    path_1 = jnp.take(back_next, jnp.where(path_next < 0, path_next + 3, path_next), axis=0, mode="clip")
    path = lax.dynamic_update_index_in_dim(path, path_1, t, 0)
    return path, jnp.where(holds, jnp.int32(0), jnp.int32(1))
