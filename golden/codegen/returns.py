"""Kernels of returns, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax.numpy as jnp
from jax import lax


def g_0(at, r, g, *, T):
    """case.sdg:8: %g.0 = copy %r[T-1] : [] f32"""
    g = lax.dynamic_update_index_in_dim(g, r[T-1], T-1, 0)
    return (g,)


def g_1_half(at):
    """case.sdg:9: %g.1.half = literal{value=0.5, dtype=f32} : [] f32"""
    return (jnp.float32(0.5),)


def g_1_mul(at, g, g_1_half):
    """case.sdg:10: %g.1.mul = mul %g[t+1], %g.1.half : [t | t < T-1] f32"""
    t = at[0]
    return (g[t+1] * g_1_half,)


def g_1(at, r, g_1_mul, g):
    """case.sdg:11: %g.1 = add %r, %g.1.mul : [t | t < T-1] f32"""
    t = at[0]
    g_1 = r[t] + g_1_mul
    g = lax.dynamic_update_index_in_dim(g, g_1, t, 0)
    return (g,)


def n(at, r, n, *, T, N):
    """case.sdg:13: %n = sum %r[t:min(t+N, T)] : [t] f32"""
    t = at[0]
    r_slice = jnp.take(r, t + jnp.arange(min(N, T), dtype=jnp.int32), axis=0, mode="clip")
    valid = jnp.arange(min(N, T), dtype=jnp.int32) < jnp.maximum(0, jnp.minimum(N, T-t))
    n = lax.dynamic_update_index_in_dim(n, jnp.sum(jnp.where(valid, r_slice, 0.0), axis=0), t, 0)
    return (n,)


def e(at, r, e, *, T):
    """case.sdg:14: %e = sum %r[t:T:2] : [t] f32"""
    t = at[0]
    r_slice = jnp.take(r, t + 2 * jnp.arange((T+1)//2, dtype=jnp.int32), axis=0, mode="clip")
    valid = jnp.arange((T+1)//2, dtype=jnp.int32) < jnp.maximum(0, (T-t+1)//2)
    e = lax.dynamic_update_index_in_dim(e, jnp.sum(jnp.where(valid, r_slice, 0.0), axis=0), t, 0)
    return (e,)
