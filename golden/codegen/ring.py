"""Kernels of attention, written by tempoc: one function for each statement.

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


def a(at, x, k, a, *, T, W):
    """case.sdg:8: %k = tanh %x : [t] f32[4]
    case.sdg:9: %s = matmul %k[max(0, t+1-W):t+1], %x : [t] f32[min(W, t+1)]
    case.sdg:10: %p.max = max %s : [t] f32
    case.sdg:11: %p.sub = sub %s, %p.max : [t] f32[min(W, t+1)]
    case.sdg:12: %p.exp = exp %p.sub : [t] f32[min(W, t+1)]
    case.sdg:13: %p.sum = sum %p.exp : [t] f32
    case.sdg:14: %p = div %p.exp, %p.sum : [t] f32[min(W, t+1)]
    case.sdg:15: %a = matmul %p, %k[max(0, t+1-W):t+1] : [t] f32[4]
    """
    t = at[0]
    x_t = x[t]
    k = lax.dynamic_update_index_in_dim(k, jnp.tanh(x_t), lax.rem(t, min(T, W)), 0)
    s = jnp.matmul(k, x_t)
    valid = jnp.arange(min(T, W), dtype=jnp.int32) < jnp.minimum(W, t+1)
    p_exp = jnp.exp(s - extreme(jnp.max, jnp.where(valid, s, -jnp.inf), (0,)))
    p = p_exp / jnp.sum(jnp.where(valid, p_exp, 0.0), axis=0)
    a = lax.dynamic_update_index_in_dim(a, jnp.matmul(jnp.where(valid, p, 0.0), k), t, 0)
    return k, a
