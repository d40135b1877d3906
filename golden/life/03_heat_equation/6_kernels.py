"""Kernels of 03_heat_equation, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def updated(array, part, start, when=None):
    """The array with a part put in, if a condition holds; axes of length 1 are left out meanwhile.

    XLA for CPUs copies what a loop carries if an array that has such axes is updated, then read, or
    if all of it is selected.
    """
    both = zip(array.shape, part.shape)
    axes = tuple(k for k, sizes in enumerate(both) if sizes == (1, 1))
    rest = [s for k, s in enumerate(start) if k not in axes]
    array, part = lax.squeeze(array, axes), lax.squeeze(part, axes)
    if when is not None:
        old = lax.dynamic_slice(array, rest, part.shape, allow_negative_indices=False)
        part = jnp.where(when, part, old)
    new = lax.dynamic_update_slice(array, part, rest, allow_negative_indices=False)
    return lax.expand_dims(new, axes)


def ring_row(ring, step):
    """The row of a step in a ring; as no step is negative, XLA need not look for that."""
    slot = lax.rem(step, jnp.int32(ring.shape[0]))
    return lax.dynamic_index_in_dim(ring, slot, 0, False, allow_negative_indices=False)


def u_1(at, u, *, N):
    """03_heat_equation.rt:14: u[t+1, i] = u[t, i] + alpha * (u[t, i-1] - 2.0 * u[t, i] + u[t, i+1]) when i >= 1 and i < N - 1"""
    t = at[0]
    def point(u_t, u_prev_t, u_next_t):
        u_1 = u_t + 0.2 * (u_prev_t - 2.0 * u_t + u_next_t)
        return u_1
    u_1_rows = jax.vmap(point)(ring_row(u, t)[1:N-1], ring_row(u, t)[:N-2], ring_row(u, t)[2:N])
    u2 = lax.dynamic_update_slice(u, u_1_rows[None, :], (lax.rem(t+1, 2), 1))
    return (u2,)


def u_0(at, start, u):
    """03_heat_equation.rt:13: u[0, i] = start[i]"""
    u2 = updated(u, start[None, :], (0 % 2, 0))
    return (u2,)


def u_2(at, u):
    """03_heat_equation.rt:15: u[t+1, i] = u[t, i]"""
    t, i = at[0], at[1]
    u = lax.dynamic_update_slice(u, u[lax.rem(t, 2), i][None, None], (lax.rem(t+1, 2), i))
    return (u,)


def heat(at, u, heat, *, N):
    """03_heat_equation.rt:17: heat[t] = mean(u[t, 0:N])"""
    t = at[0]
    heat_t = jnp.sum(u[lax.rem(t, 2)], axis=0) / jnp.float32(N)
    heat = lax.dynamic_update_index_in_dim(heat, heat_t, t, 0)
    return (heat,)


def loop_t(at, u, heat2, *, steps=None, N):
    """t from at[0] on, at[1] steps; the loop of u_1, u_2, heat."""
    count = at[1] if steps is None else steps
    def step_t(i, carry):
        (u, heat2) = carry
        t = at[0] + i
        (u,) = u_1((t,), u, N=N)
        (u,) = u_2((t, jnp.int32(0)), u)
        (u,) = u_2((t, jnp.int32(N - 1)), u)
        (heat2,) = heat((t,), u, heat2, N=N)
        return (u, heat2)
    (u, heat2) = lax.fori_loop(0, count, step_t, (u, heat2))
    return (u, heat2)


def loop_t2(at, u, heat2, *, steps=None, N):
    """t from at[0] on, at[1] steps; the loop of u_2, heat."""
    count = at[1] if steps is None else steps
    def step_t(i2, carry):
        (u, heat2) = carry
        t = at[0] + i2
        def step_i(i, carry):
            (u,) = carry
            (u,) = u_2((t, i), u)
            return (u,)
        (u,) = lax.fori_loop(0, N, step_i, (u,))
        (heat2,) = heat((t,), u, heat2, N=N)
        return (u, heat2)
    (u, heat2) = lax.fori_loop(0, count, step_t, (u, heat2))
    return (u, heat2)


def block(at, heat2, start, *, N):
    """What stands between two tasks of the host: u_0, u_1, u_2, ..."""
    t_end = at[0]
    u = jnp.zeros((2, N), jnp.float32)
    (u,) = u_0((), start, u)
    if N >= 3:
        def step_t(t, carry):
            (u, heat2) = carry
            (u,) = u_1((t,), u, N=N)
            (u,) = u_2((t, jnp.int32(0)), u)
            (u,) = u_2((t, jnp.int32(N - 1)), u)
            (heat2,) = heat((t,), u, heat2, N=N)
            return (u, heat2)
        (u, heat2) = lax.fori_loop(0, t_end, step_t, (u, heat2))
    if N <= 2:
        def step_t2(t, carry):
            (u, heat2) = carry
            def step_i(i, carry):
                (u,) = carry
                (u,) = u_2((t, i), u)
                return (u,)
            (u,) = lax.fori_loop(0, N, step_i, (u,))
            (heat2,) = heat((t,), u, heat2, N=N)
            return (u, heat2)
        (u, heat2) = lax.fori_loop(0, t_end, step_t2, (u, heat2))
    (heat2,) = heat((t_end,), u, heat2, N=N)
    return (heat2, u)
