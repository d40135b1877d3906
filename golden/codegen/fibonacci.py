"""Kernels of fibonacci, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax.numpy as jnp


def f_0(at):
    """case.sdg:6: %f.0 = literal{value=1.0, dtype=f32} : [] f32"""
    return (jnp.float32(1.0),)


def f_1(at):
    """case.sdg:7: %f.1 = literal{value=1.0, dtype=f32} : [] f32"""
    return (jnp.float32(1.0),)


def f_2(at, f_prev, f_prev2):
    """case.sdg:8: %f.2 = add %f[t-1], %f[t-2] : [t | t >= 2] f32"""
    f_2 = f_prev + f_prev2
    return (f_2,)
