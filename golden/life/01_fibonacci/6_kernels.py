"""Kernels of 01_fibonacci, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def fib_0(at, fib):
    """01_fibonacci.rt:12: fib[0] = 0"""
    fib = lax.dynamic_update_index_in_dim(fib, jnp.int32(0), 0, 0)
    return (fib,)


def fib_1(at, fib):
    """01_fibonacci.rt:13: fib[1] = 1"""
    fib = lax.dynamic_update_index_in_dim(fib, jnp.int32(1), 1, 0)
    return (fib,)


def fib_2(at, fib):
    """01_fibonacci.rt:14: fib[n] = fib[n-1] + fib[n-2]"""
    n = at[0]
    fib_2 = fib[n-1] + fib[n-2]
    fib = lax.dynamic_update_index_in_dim(fib, fib_2, n, 0)
    return (fib,)


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


def loop_n(at, fib, *, steps=None):
    """n from at[0] on, at[1] steps; the loop of fib_2."""
    count = at[1] if steps is None else steps
    def step_n(i, carry):
        (fib,) = carry
        n = at[0] + i
        (fib,) = fib_2((n,), fib)
        return (fib,)
    (fib,) = lax.fori_loop(0, count, step_n, (fib,))
    return (fib,)


def block(at, fib, *, N):
    """What stands between two tasks of the host: fib_0, fib_1, fib_2."""
    n_end = at[0]
    (fib,) = fib_0((), fib)
    if N >= 2:
        (fib,) = fib_1((), fib)
    def step_n(n, carry):
        (fib,) = carry
        (fib,) = fib_2((n,), fib)
        return (fib,)
    (fib,) = strip_mined_loop(2, n_end, step_n, (fib,))
    return (fib,)
