"""Kernels of 03_heat_equation, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax.numpy as jnp
from jax import lax


def u_1(at, u, u_next):
    """03_heat_equation.rt:14: u[t+1, i] = u[t, i] + alpha * (u[t, i-1] - 2.0 * u[t, i] + u[t, i+1]) when i >= 1 and i < N - 1"""
    i = at[1]
    u_i = u[i]
    u_mul = jnp.float32(2.0) * u_i
    u_prev = u[i-1]
    u_sub = u_prev - u_mul
    u_next2 = u[i+1]
    u_add = u_sub + u_next2
    u_mul2 = jnp.float32(0.2) * u_add
    u_1 = u_i + u_mul2
    u_next = lax.dynamic_update_index_in_dim(u_next, u_1, i, 0)
    return (u_next,)


def u_0(at, start, u_0):
    """03_heat_equation.rt:13: u[0, i] = start[i]"""
    i = at[0]
    start_i = start[i]
    u_0 = lax.dynamic_update_index_in_dim(u_0, start_i, i, 0)
    return (u_0,)


def u_2(at, u, u_next):
    """03_heat_equation.rt:15: u[t+1, i] = u[t, i]"""
    i = at[1]
    u_i = u[i]
    u_next = lax.dynamic_update_index_in_dim(u_next, u_i, i, 0)
    return (u_next,)


def heat(at, u, heat, *, N):
    """03_heat_equation.rt:17: heat[t] = mean(u[t, 0:N])"""
    t = at[0]
    heat_t = jnp.sum(u, axis=0) / jnp.float32(N)
    heat = lax.dynamic_update_index_in_dim(heat, heat_t, t, 0)
    return (heat,)
