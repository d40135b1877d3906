"""Kernels of 07_causal_attention, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def all_finite(x):
    """Whether all elements are finite. If their sum overflows, they count as if they were not."""
    return jnp.isfinite(jnp.sum(x, dtype=jnp.promote_types(x.dtype, jnp.float32)))


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


def usually(right, usual, rare):
    """usual() if that is right, else rare().

    tempoc's runner has another one of this name for CPUs: rare() is traced when data need it.
    """
    return lax.cond(right, usual, rare)


def term_by_term(product, axes, *arrays):
    """A product as the sum of those of parts, which are one position of an axis of some arrays.

    Under jax.vmap each point may mask a part of an array that all of them have in common.
    """
    lengths = [x.shape[a] for x, a in zip(arrays, axes) if a is not None]
    if 0 in lengths:
        return product(*arrays)
    result = jax.eval_shape(product, *arrays)
    dtype = jnp.promote_types(result.dtype, jnp.float32)
    wide = lambda x: x if x.dtype != result.dtype else x.astype(dtype)

    def step(k, total):
        cut = lambda x, a: x if a is None else lax.dynamic_slice_in_dim(x, k, 1, a)
        return total + product(*(wide(cut(x, a)) for x, a in zip(arrays, axes)))

    total = lax.fori_loop(0, max(lengths), step, jnp.zeros(result.shape, dtype))
    return total.astype(result.dtype)


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


def surprise(at, Wq, x, k, v, *, T):
    """07_causal_attention.rt:15: q = Wq @ x
    07_causal_attention.rt:19: score: f32[t+1] = (k[0:t+1] @ q[t]) / sqrt(D)
    07_causal_attention.rt:20: weight = nn.softmax(score)
    07_causal_attention.rt:21: a = weight @ v[0:t+1]
    07_causal_attention.rt:22: surprise = -log(max(weight))
    nn.rt:8: e = exp(x - stop_gradient(max(x, axis = axis, keepdims = true)))
    nn.rt:9: return e / sum(e, axis = axis, keepdims = true)
    """
    def rows(finite):
        def point(t, x):
            q = matvec(Wq, x, T)
            score = matvec(k, q, T) / 2.8284271247461903
            valid = jnp.arange(T, dtype=jnp.int32) < t+1
            score_masked = jnp.where(valid, score, -jnp.inf)
            e_exp = jnp.exp(score_masked - jnp.max(score_masked, axis=0, keepdims=True))
            weight = e_exp / jnp.sum(e_exp, axis=0, keepdims=True)
            valid2 = (jnp.arange(T, dtype=jnp.int32) < t+1)[:, None]
            a = jnp.matmul(weight, v) if finite else term_by_term(
                lambda v, weight, valid2: jnp.matmul(weight, jnp.where(valid2, v, 0.0)), (0, 0, 0),
                v, weight, valid2,
            )
            surprise = -jnp.log(extreme(jnp.max, jnp.where(valid, weight, -jnp.inf), (0,)))
            return (a, surprise)
        return jax.vmap(point)(jnp.arange(T, dtype=jnp.int32), x)
    a_rows, surprise_rows = usually(all_finite(v), lambda: rows(True), lambda: rows(False))
    return a_rows, surprise_rows


def v(at, Wk, x, Wv, *, T):
    """07_causal_attention.rt:16: k = Wk @ x
    07_causal_attention.rt:17: v = Wv @ x
    """
    def point(x):
        k = matvec(Wk, x, T)
        v = matvec(Wv, x, T)
        return (k, v)
    k_rows, v_rows = jax.vmap(point)(x)
    return k_rows, v_rows


def block(at, Wk, x, Wv, Wq, *, T):
    """What stands between two tasks of the host: v, surprise."""
    k, v2 = v((), Wk, x, Wv, T=T)
    a, surprise2 = surprise((), Wq, x, k, v2, T=T)
    return (a, surprise2)
