"""Kernels of 11_collatz, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""

import jax
import jax.numpy as jnp
from jax import lax


def c_1(at, c):
    """11_collatz.rt:11: c[t+1] = where(c[t] % 2 == 0, c[t] // 2, 3 * c[t] + 1)"""
    t = at[0]
    c_t = c[t]
    c_floordiv = jnp.floor_divide(c_t, jnp.int32(2))
    c_1 = jnp.where(jnp.remainder(c_t, jnp.int32(2)) == 0, c_floordiv, 3 * c_t + 1)
    c = lax.dynamic_update_index_in_dim(c, c_1, t+1, 0)
    return (c,)


def c_0(at, start, c):
    """11_collatz.rt:10: c[0] = start
    11_collatz.rt:15: odd = sum(i32(c % 2 == 1)[t = 0:T])
    """
    c = lax.dynamic_update_index_in_dim(c, start, 0, 0)
    return c, jnp.zeros((), jnp.int32)


def one(at, c):
    """11_collatz.rt:6: dim t < T until one
    11_collatz.rt:12: one = c == 1
    11_collatz.rt:15: odd = sum(i32(c % 2 == 1)[t = 0:T])
    """
    t = at[0]
    one = c[t] == 1
    return (one,)


def peak(at, c, *, T_max):
    """11_collatz.rt:14: peak = max(c[0:T])
    11_collatz.rt:16: steps = T - 1
    """
    T = at[0]
    peak = jnp.max(jnp.where(jnp.arange(T_max, dtype=jnp.int32) < T, c, -2147483648), axis=0)
    steps = jnp.int32(T-1)
    return peak, steps


def odd_now(at, c, odd_past):
    """11_collatz.rt:12: one = c == 1
    11_collatz.rt:15: odd = sum(i32(c % 2 == 1)[t = 0:T])
    """
    t = at[0]
    odd_now = odd_past + (jnp.remainder(c[t], jnp.int32(2)) == 1).astype(jnp.int32)
    return odd_now, odd_now


def squeezed(carry, places):
    """What takes axes of length 1 from the arrays at some places, and what gives them back."""
    def narrow(carry):
        return tuple(
            jax.tree.map(jnp.squeeze, x) if k in places else x for k, x in enumerate(carry)
        )
    def wide(arrays):
        back = lambda y, x: jnp.reshape(y, jnp.shape(x))
        both = enumerate(zip(arrays, carry))
        return tuple(jax.tree.map(back, y, x) if k in places else y for k, (y, x) in both)
    return narrow, wide


def branched(condition, step, carry):
    """The step if the condition holds, else the carry; axes of length 1 stay in the branch.

    XLA for CPUs makes an array that a loop updates once more for a branch that reads it in another
    shape, and copies it for that. The barrier keeps the reshape from moving out of the branch.
    """
    leaves, tree = jax.tree.flatten(carry)
    if 1 not in {size for x in leaves for size in x.shape}:
        return lax.cond(condition, step, lambda carry: carry, carry)
    traced = jax.make_jaxpr(lambda *x: step(jax.tree.unflatten(tree, x)))(*leaves)
    count, arrays = len(leaves), (*leaves, *traced.consts)
    narrow, wide = squeezed(arrays, range(len(arrays)))
    def taken(arrays):
        arrays = wide(lax.optimization_barrier(arrays))
        new = jax.core.eval_jaxpr(traced.jaxpr, arrays[count:], *arrays[:count])
        return narrow(tuple(jax.tree.leaves(new)))
    some = lax.cond(condition, taken, lambda arrays: arrays[:count], narrow(arrays))
    return jax.tree.unflatten(tree, wide(some))


def is_brief(step):
    """Whether a traced step has no loops and moves few bytes."""
    size = lambda x: x.aval.size * x.aval.dtype.itemsize
    moved = sum(size(x) for e in step.eqns for x in (*e.invars, *e.outvars))
    text = f"{step}"
    return moved <= 4194304 and "while[" not in text and "scan[" not in text


def taken_if(condition, step, carry):
    """The step if the condition holds, else the carry.

    GPUs compute a brief step in any case: their host need not wait for the condition. They copy
    arrays that a ``lax.cond`` may give back as they are, but none that a loop carries.
    """
    if jax.default_backend() == "cpu":
        return branched(condition, step, carry)
    if is_brief(jax.make_jaxpr(step)(carry)):
        chosen = lambda new, old: jnp.where(condition, new, old)
        own = jax.tree.map(lambda x: x, carry)  # The step writes into dicts of its carry.
        return jax.tree.map(chosen, step(own), carry)
    once = lambda state: (jnp.bool_(False), step(state[1]))
    return lax.while_loop(lambda state: state[0], once, (condition, carry))[1]


def put_into(step, k):
    """The operator of a traced step by which result ``k`` is argument ``k`` with a part put in.

    ``None`` if there is none. Both arrays may lack axes of length 1 there.
    """
    reshapes = "broadcast_in_dim", "reshape", "squeeze"
    made = lambda v: next((e for e in step.eqns for x in e.outvars if x is v), None)
    def source(v):
        while (e := made(v)) and e.primitive.name in reshapes:
            v = e.invars[0]
        return v, e
    put = source(step.outvars[k])[1]
    is_put = put is not None and put.primitive.name == "dynamic_update_slice"
    return put if is_put and source(put.invars[0])[0] is step.invars[k] else None


def selected_parts(condition, traced, carry, puts):
    """The results of a traced step if the condition holds, else the carry.

    Where ``puts`` has an operator, a part is put in and selected, of others the whole array.
    """
    step = traced.jaxpr
    made = [v for v, put in zip(step.outvars, puts) for v in (put.invars if put else [v])]
    values = jax.core.eval_jaxpr(step.replace(outvars=made), traced.consts, *carry)
    for x, put in zip(carry, puts):
        array, *given = (values.pop(0) for _ in (put.invars if put else [x]))
        if not put:
            yield jnp.where(condition, array, x)
            continue
        part, *start = given  # None of these counts from the end any more.
        old = lax.dynamic_slice(array, start, part.shape, allow_negative_indices=False)
        part = jnp.where(condition, part, old)
        new = lax.dynamic_update_slice(array, part, start, allow_negative_indices=False)
        yield jnp.reshape(new, x.shape)


def selected_if(condition, step, carry):
    """``taken_if``; a small step is computed in any case, so that XLA can fuse it with others.

    So is a brief one on a CPU that puts parts into arrays.
    """
    size = lambda arrays: sum(x.size * x.dtype.itemsize for x in arrays)
    leaves, tree = jax.tree.flatten(carry)
    if size(leaves) <= 32768:
        chosen = lambda new, old: jnp.where(condition, new, old)
        own = jax.tree.map(lambda x: x, carry)  # The step writes into dicts of its carry.
        return jax.tree.map(chosen, step(own), carry)
    if jax.default_backend() == "cpu":
        flat = lambda *x: jax.tree.leaves(step(jax.tree.unflatten(tree, x)))
        traced = jax.make_jaxpr(flat)(*leaves)
        puts = [put_into(traced.jaxpr, k) for k in range(len(leaves))]
        whole = size(x for x, put in zip(leaves, puts) if not put)
        if whole <= 32768 and is_brief(traced):
            return jax.tree.unflatten(tree, [*selected_parts(condition, traced, leaves, puts)])
    return taken_if(condition, step, carry)


def loop_t(at, c, odd_now2, odd_past, *, steps=None):
    """t from at[0] on, at[1] steps; the loop of one, c_1, odd_now."""
    T_end = jnp.int32(0)
    count = at[1] if steps is None else steps
    def more_t(carry):
        t, (c, odd_now2, odd_past, T_end) = carry
        T = jnp.where(T_end > 0, T_end, at[2])
        return (t < at[0] + count) & (t < T)
    def step_t(carry):
        t, (c, odd_now2, odd_past, T_end) = carry
        T = jnp.where(T_end > 0, T_end, at[2])
        (ends,) = one((t,), c)
        T_end = jnp.where(ends, t + 1, T_end)
        T = jnp.where(T_end > 0, T_end, at[2])
        def taken(carry):
            (c,) = carry
            (c,) = c_1((t,), c)
            return (c,)
        (c,) = selected_if(t < T - 1, taken, (c,))
        odd_now2, odd_past_new = odd_now((t,), c, odd_past)
        odd_past = jnp.where(t + 1 < T, odd_past_new, odd_past)
        return t + 1, (c, odd_now2, odd_past, T_end)
    carry = at[0], (c, odd_now2, odd_past, T_end)
    _, (c, odd_now2, odd_past, T_end) = lax.while_loop(more_t, step_t, carry)
    return (c, odd_now2, odd_past, (T_end,))


def block(at, start, *, T_max):
    """What stands between two tasks of the host: c_0, one, c_1, ..."""
    T = at[0]
    T_end = jnp.int32(0)
    c = jnp.zeros((T_max,), jnp.int32)
    odd_now2 = jnp.zeros((), jnp.int32)
    c, odd_past = c_0((), start, c)
    def more_t(carry):
        t, (c, odd_now2, odd_past, T_end) = carry
        T = jnp.where(T_end > 0, T_end, at[0])
        return (t < T_max) & (t < T)
    def step_t(carry):
        t, (c, odd_now2, odd_past, T_end) = carry
        T = jnp.where(T_end > 0, T_end, at[0])
        (ends,) = one((t,), c)
        T_end = jnp.where(ends, t + 1, T_end)
        T = jnp.where(T_end > 0, T_end, at[0])
        def taken(carry):
            (c,) = carry
            (c,) = c_1((t,), c)
            return (c,)
        (c,) = selected_if(t < T - 1, taken, (c,))
        odd_now2, odd_past_new = odd_now((t,), c, odd_past)
        odd_past = jnp.where(t + 1 < T, odd_past_new, odd_past)
        return t + 1, (c, odd_now2, odd_past, T_end)
    carry = jnp.int32(0), (c, odd_now2, odd_past, T_end)
    _, (c, odd_now2, odd_past, T_end) = lax.while_loop(more_t, step_t, carry)
    T = jnp.where(T_end > 0, T_end, at[0])
    peak2, steps2 = peak((T,), c, T_max=T_max)
    return (c, odd_now2, peak2, steps2, (T_end,))
