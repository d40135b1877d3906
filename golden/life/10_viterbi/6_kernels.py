"""Kernels of 10_viterbi, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def extreme(reduction, x, axes, keepdims=False):
    """``jnp.max`` or ``jnp.min``; NaN if one is there: XLA for CPUs loses it among many elements.

    Those are compared by their bits, which as integers have the order of the numbers; if they are
    very many in rows that are reduced, NaN is looked for. What all points of jax.vmap reduce counts
    together.
    """
    def result(x):
        best = reduction(x, axes, keepdims=keepdims)
        if jax.default_backend() != "cpu" or x.size < 4096:
            return best
        if x.size >= 131072 and x.ndim - 1 in axes:
            return jnp.where(jnp.any(jnp.isnan(x), axes, keepdims=keepdims), jnp.nan, best)
        whole = jnp.dtype(f"int{8 * x.dtype.itemsize}")
        turned = lambda i: i ^ ((i >> (8 * i.dtype.itemsize - 1)) & jnp.iinfo(whole).max)
        last = lax.bitcast_convert_type(jnp.array(jnp.nan, x.dtype), whole)
        last = last if reduction is jnp.max else ~last
        keys = jnp.where(jnp.isnan(x), last, turned(lax.bitcast_convert_type(x, whole)))
        best = reduction(keys, axes, keepdims=keepdims)
        return lax.bitcast_convert_type(turned(best), x.dtype)
    call = jax.custom_batching.custom_vmap(result)
    later = [a + 1 for a in axes]
    call.def_vmap(lambda size, mapped, x: (extreme(reduction, x, later, keepdims), True))
    return call(x)


def first_lane(codes):
    """The first code that is not 0, and its place among all elements; 0 if there is none.

    Maxima of long arrays take XLA for CPUs three loops to compile, this takes it one. tempoc's
    runner looks for this scope: on CPUs it is computed when a code is not 0.
    """
    def first(a, b):
        keep = lax.lt(a[1], b[1])
        return lax.select(keep, a[0], b[0]), lax.min(a[1], b[1])
    codes, number = lax.collapse(codes, 0), codes.dtype.type
    none, size = number(0), number(codes.size)
    lanes = lax.iota(codes.dtype, codes.size)
    lanes = lax.select(lax.eq(codes, none), lax.full_like(codes, size), lanes)
    with jax.named_scope("first_code"):
        return lax.reduce((codes, lanes), (none, size), first, (0,))


def wrong_value(value, fine):
    """0 if all values are fine, else the first that is not, as a number above 0.

    tempoc's runner looks for this scope: on CPUs the number is made of a value when one is wrong.
    """
    value = lax.convert_element_type(value, jnp.int32)
    number = value.dtype.type
    value = lax.clamp(number(-2**29), value, number(2**29))
    positive = lax.convert_element_type(lax.ge(value, number(0)), jnp.int32)
    code = lax.add(lax.mul(lax.abs(value), number(2)), positive)
    with jax.named_scope("wrong_code"):
        code = lax.select(fine, lax.full_like(code, 0), code)
    return first_lane(code)[0] if code.ndim else code


def likelihood(at, emit, seen, start, score_getitem2, move, path, *, T):
    """10_viterbi.rt:16: score[0] = start + emit[seen[0]]
    10_viterbi.rt:17: score[t] = max(reach[t], axis = 0) + emit[seen[t]]
    10_viterbi.rt:21: path[T-1] = argmax(score[T-1])
    10_viterbi.rt:24: likelihood = max(score[T-1])
    """
    seen_0 = seen[0]
    score = start + jnp.take(emit, jnp.where(seen_0 < 0, seen_0 + 4, seen_0), axis=0, mode="clip")
    score_getitem2_slice = score_getitem2[1:max(1, T)]
    score_getitem2_slice2 = lax.pad(
        score_getitem2_slice, jnp.float32(0.0), ((0, max(1, T-1)-max(0, T-1), 0), (0, 0, 0)),
    )
    def step(k, rows):
        add2 = extreme(jnp.max, jnp.expand_dims(rows[k], 1) + move, (0,)) + score_getitem2_slice2[k]
        return lax.dynamic_update_index_in_dim(rows, add2, k+1, 0)
    score_rows = lax.fori_loop(0, T-1, step, jnp.broadcast_to(score, (T, 3)))
    score_at2 = lax.dynamic_index_in_dim(score_rows, T-1, 0, keepdims=False)
    path_0 = jnp.argmax(score_at2).astype(jnp.int32)
    likelihood = extreme(jnp.max, score_at2, (0,))
    path = lax.dynamic_update_index_in_dim(path, path_0, T-1, 0)
    return score_rows, path, likelihood, wrong_value(seen_0, (seen_0 >= -4) & (seen_0 < 4))


def score_getitem2(at, emit, seen, score_getitem2_2, *, T):
    """10_viterbi.rt:17: score[t] = max(reach[t], axis = 0) + emit[seen[t]]"""
    def point(seen):
        score_getitem2 = jnp.take(emit, jnp.where(seen < 0, seen + 4, seen), axis=0, mode="clip")
        return (score_getitem2, wrong_value(seen, (seen >= -4) & (seen < 4)))
    score_getitem2_rows, fault = jax.vmap(point)(seen[1:T])
    score_getitem2_2_2 = lax.dynamic_update_slice(score_getitem2_2, score_getitem2_rows, (1, 0))
    return score_getitem2_2_2, jnp.stack(first_lane(fault))


def back(at, move, score_rows, back2, *, T):
    """10_viterbi.rt:16: score[0] = start + emit[seen[0]]
    10_viterbi.rt:17: score[t] = max(reach[t], axis = 0) + emit[seen[t]]
    10_viterbi.rt:18: reach[t] = expand_dims(score[t-1], 1) + move when t >= 1
    10_viterbi.rt:19: back[t] = argmax(reach[t], axis = 0) when t >= 1
    """
    def point(score_rows_prev_t):
        reach = jnp.expand_dims(score_rows_prev_t, 1) + move
        back = jnp.argmax(reach, axis=0).astype(jnp.int32)
        return back
    back2_2 = lax.dynamic_update_slice(back2, jax.vmap(point)(score_rows[:T-1]), (1, 0))
    return (back2_2,)


def path_1(at, back, path):
    """10_viterbi.rt:22: path[t] = back[t+1][path[t+1]]"""
    t = at[0]
    path_1 = jnp.take(back[t+1], path[t+1], axis=0, mode="clip")
    path = lax.dynamic_update_index_in_dim(path, path_1, t, 0)
    return (path,)


def first_fault(fault, kernel, code, point):
    """What failed first: the kernel, its check, which of its points, the coordinates."""
    check, lane = (code[0], code[1]) if code.ndim else (code, jnp.int32(0))
    rest = [0] * (fault.size - 3 - len(point))
    new = jnp.stack([jnp.int32(kernel), check, lane, *point, *rest])
    return jnp.where(fault[1] != 0, fault, new)


def loop_t(at, path, back2, *, steps=None, T):
    """t from at[0] down, at[1] steps; the loop of path_1."""
    count = at[1] if steps is None else steps
    def step_t(i, carry):
        (path,) = carry
        t = at[0] - i
        if T >= 2:
            (path,) = path_1((t,), back2, path)
        return (path,)
    (path,) = lax.fori_loop(0, count, step_t, (path,))
    return (path,)


def block(at, emit, seen, start, move, *, T):
    """What stands between two tasks of the host: score_getitem2, likelihood, back, ..."""
    fault = jnp.zeros(3, jnp.int32)
    score_getitem2_2 = jnp.zeros((T, 3), jnp.float32)
    path = jnp.zeros((T,), jnp.int32)
    back2 = jnp.zeros((T, 3), jnp.int32)
    if T >= 2:
        score_getitem2_2, code = score_getitem2((), emit, seen, score_getitem2_2, T=T)
        fault = first_fault(fault, 1, code, ())
    score_rows, path, likelihood2, code = likelihood(
        (), emit, seen, start, score_getitem2_2, move, path, T=T,
    )
    fault = first_fault(fault, 0, code, ())
    if T >= 2:
        (back2,) = back((), move, score_rows, back2, T=T)
    def step_t(i, carry):
        (path,) = carry
        t = (T - 2) - i
        if T >= 2:
            (path,) = path_1((t,), back2, path)
        return (path,)
    (path,) = lax.fori_loop(0, T - 1, step_t, (path,))
    return (path, likelihood2, fault)
