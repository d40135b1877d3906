"""Kernels of 03_heat_equation, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def clamped(array, *moves, apart=False):
    """What stands so many steps further along axes: past their ends, what stands there.

    The last move of large arrays, and of those to compute `apart` from what reads them, updates a
    new array: XLA for CPUs concatenates element by element, each computed anew. It updates an array
    in place by what it reads of it at other places, which may be overwritten.
    """
    apart = apart or array.size * array.dtype.itemsize >= 131072
    for k, (steps, axis) in enumerate(moves):
        size = array.shape[axis]
        count = min(max(steps, -steps), size)
        low, high, end = (count, size, size - 1) if steps > 0 else (0, size - count, 0)
        inside = lax.slice_in_dim(array, low, high, axis=axis)
        end = lax.slice_in_dim(array, end, end + 1, axis=axis)
        if apart and k == len(moves) - 1 and jax.default_backend() == "cpu":
            ends = jnp.broadcast_to(end, array.shape)
            return lax.dynamic_update_slice_in_dim(ends, inside, count - low, axis)
        ends = jnp.repeat(end, count, axis)
        array = jnp.concatenate([inside, ends] if steps > 0 else [ends, inside], axis)
    return array


def u_select(at, u, *, N):
    """03_heat_equation.rt:13: u[0, i] = start[i]
    03_heat_equation.rt:14: u[t+1, i] = u[t, i] + alpha * (u[t, i-1] - 2.0 * u[t, i] + u[t, i+1]) when i >= 1 and i < N - 1
    03_heat_equation.rt:15: u[t+1, i] = u[t, i]
    """
    def point(i, u_i, u_at_i, u_at_i_):
        u_1 = u_i + 0.2 * (u_at_i - 2.0 * u_i + u_at_i_)
        return jnp.where(jnp.bool_((i < N-1) & (i >= 1)), u_1, u_i)
    u_select_rows = jax.vmap(point)(
        jnp.arange(N, dtype=jnp.int32), u, clamped(u, (-1, 0)), clamped(u, (1, 0)),
    )
    return (u_select_rows,)


def u_0(at, start):
    """03_heat_equation.rt:13: u[0, i] = start[i]"""
    return (start,)


def heat(at, u, heat, *, N):
    """03_heat_equation.rt:17: heat[t] = mean(u[t, 0:N])"""
    t = at[0]
    heat = lax.dynamic_update_index_in_dim(heat, jnp.sum(u, axis=0) / jnp.float32(N), t, 0)
    return (heat,)


def strip_mined_loop(lower, upper, step, carry):
    """``lax.fori_loop`` for a number of steps that is passed.

    After each step of such a loop the host of a GPU waits to know whether there is another one, so
    there 64 steps are one of a loop around them.
    """
    if jax.default_backend() == "cpu":
        return lax.fori_loop(lower, upper, step, carry)
    rest = lower + 64 * (jnp.maximum(upper - lower, 0) // 64)
    def strip(k, carry):
        first = lower + 64 * k
        return lax.fori_loop(0, 64, lambda n, carry: step(first + n, carry), carry)
    carry = lax.fori_loop(0, (rest - lower) // 64, strip, carry)
    return lax.fori_loop(rest, upper, step, carry)


def loop_t(at, heat2, u, *, steps=None, N):
    """t from at[0] on, at[1] steps; the loop of heat, u_select."""
    count = at[1] if steps is None else steps
    def step_t(i, carry):
        (heat2, u) = carry
        t = at[0] + i
        (heat2,) = heat((t,), u, heat2, N=N)
        (u,) = u_select((t,), u, N=N)
        return (heat2, u)
    (heat2, u) = lax.fori_loop(0, count, step_t, (heat2, u))
    return (heat2, u)


def block(at, heat2, start, *, N):
    """What stands between two tasks of the host: u_0, heat, u_select."""
    t_end = at[0]
    (u,) = u_0((), start)
    def step_t(t, carry):
        (heat2, u) = carry
        (heat2,) = heat((t,), u, heat2, N=N)
        (u,) = u_select((t,), u, N=N)
        return (heat2, u)
    (heat2, u) = strip_mined_loop(0, t_end, step_t, (heat2, u))
    (heat2,) = heat((t_end,), u, heat2, N=N)
    return (heat2, u)
