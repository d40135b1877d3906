"""Kernels of rnn, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax.numpy as jnp


def h_0(at):
    """case.sdg:8: %h.0 = full{shape=(8,), value=0.0, dtype=f32} : [] f32[8]"""
    h_0 = jnp.zeros((8,), jnp.float32)
    return (h_0,)


def h_1(at, h, W, x):
    """case.sdg:9: %h.1.matmul = matmul %h[t], %W : [t | t+1 < T] f32[8]
    case.sdg:10: %h.1.add = add %h.1.matmul, %x : [t | t+1 < T] f32[8]
    case.sdg:11: %h.1 = tanh %h.1.add : [t | t+1 < T] f32[8]
    """
    t = at[0]
    h_1 = jnp.tanh(jnp.matmul(h, W) + x[t])
    return (h_1,)
