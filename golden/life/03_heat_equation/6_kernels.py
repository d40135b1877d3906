"""Kernels of 03_heat_equation, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def u_1(at, u, u2, *, N):
    """03_heat_equation.rt:14: u[t+1, i] = u[t, i] + alpha * (u[t, i-1] - 2.0 * u[t, i] + u[t, i+1]) when i >= 1 and i < N - 1"""
    def point(u_i, u_prev_i, u_next_i):
        u_mul = jnp.float32(2.0) * u_i
        u_sub = u_prev_i - u_mul
        u_add = u_sub + u_next_i
        u_mul2 = jnp.float32(0.2) * u_add
        u_1 = u_i + u_mul2
        return u_1
    u_1_rows = jax.vmap(point)(u[1:N-1], u[:N-2], u[2:N])
    u22 = lax.dynamic_update_slice(u2, u_1_rows, (1,))
    return (u22,)


def u_0(at, start):
    """03_heat_equation.rt:13: u[0, i] = start[i]"""
    return (start,)


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
