"""Loops of small steps are whole functions on CPUs, in any process, and compute the same."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tempoc.runtime.rewriting.whole_loops import compiled_whole, with_whole_loops

X = jnp.linspace(-1, 1, 64, dtype=jnp.float32)
GIVEN = X, jnp.array([0.1, 0.2, 0.3], jnp.float32)
MARK = "xla_cpu_small_call"


def steps(t, x, table):
    """Elements that are read and written at places, and a part of an array that is only read."""
    place = jnp.argmax(x).astype(jnp.int32)
    x = x.at[place].set(x[place] * 0.5)
    return jnp.where(x > table[t % 3], jnp.tanh(x), x + 0.25)


def counted(x, table):
    return lax.fori_loop(0, 5, lambda t, x: steps(t, x, table), x)


def constant(x, table):
    """All that the loop is given is known, and it does not look at it but in its only step."""
    return lax.fori_loop(0, 1, lambda t, c: (c[1] * 2, c[0] * 0 + t), (jnp.ones(64), jnp.zeros(64)))


def nested(x, table):
    """Small loops in one that is not, as it sorts, and in a branch."""

    def step(t, x):
        return lax.cond(t > 1, lambda x: counted(x, table), lambda x: x - 1.0, jnp.sort(x))

    return lax.fori_loop(0, 3, step, x)


def large(x, table):
    wide = jnp.zeros((100, 64)) + x
    return lax.fori_loop(0, 3, lambda t, x: jnp.tanh(x), wide)


def vectors(x, table):
    """A loop that finds out how long it lasts."""
    square = jnp.outer(x, x)

    def step(c):
        return c[0] + 1, jax.nn.relu(square @ c[1])

    return lax.while_loop(lambda c: (c[0] < 7) & (c[1].sum() < 9.0), step, (jnp.int32(0), x))


def small_products(x, table):
    """Of matrices, of several with several, and summed over two axes."""
    groups = jnp.reshape(x, (4, 4, 4))

    def step(t, y):
        y = jnp.tanh(groups[t % 4] @ y) + jnp.einsum("bij,bjk->ik", groups, groups)
        return y + jnp.einsum("bij,bkj->ik", groups, groups * y)

    return lax.fori_loop(0, 5, step, groups[0])


def empty_products(x, table):
    """Of matrices without rows, without columns, and summed over no elements."""
    square = jnp.reshape(x, (8, 8))

    def step(t, y):
        none = jnp.concatenate([y[:0] @ square, (square @ y[:, :0]).T])
        return jnp.tanh(square * y + y[:, :0] @ y[:0]) + jnp.sum(none)

    return lax.fori_loop(0, 5, step, square)


def halves(x, table):
    """Products whose sums would be rounded otherwise."""
    square = jnp.reshape(x, (8, 8)).astype(jnp.bfloat16)
    return lax.fori_loop(0, 5, lambda t, y: y @ square, square).astype(jnp.float32)


def product(x, table):
    square = jnp.outer(x, x)
    return lax.fori_loop(0, 3, lambda t, y: y @ square, square)


def empty(x, table):
    """With an array without elements, for which XLA ends the process if the loop is marked."""

    def step(t, c):
        return steps(t, c[0], table), c[1] * 2.0

    return lax.fori_loop(0, 5, step, (x, jnp.zeros((1, 0))))[0]


def rows(x, table):
    """Rows of several tables, each written at a place of its own; elements added at several."""
    tables = jnp.reshape(x, (4, 8, 2))

    def step(t, tables):
        places = jnp.argmax(tables[:, :, 1], axis=1).astype(jnp.int32)
        halves = jax.vmap(lambda own, k: own[k] * 0.5)(tables, places)
        tables = jax.vmap(lambda own, k, row: own.at[k].set(row))(tables, places, halves)
        # The first place is hit twice, the last one is none of the axis.
        ends = jnp.stack([places[0], places[0], places[1], places[2] + 8])
        tables = tables.at[:, ends, 0].add(tables[:, :4, 1])
        return jax.vmap(lambda own, k: own.at[:, k % 2].set(0.9), (2, 0), 2)(tables, ends[:2])

    return lax.fori_loop(0, 5, step, tables)


def each_its_steps(x, table):
    """Small loops in one that lasts as long as its points need, each another number of steps."""

    def step(c):
        return c[0] + 1, counted(jnp.sort(c[1]), table)

    def point(n):
        return lax.while_loop(lambda c: c[0] < n, step, (jnp.int32(0), x * n))[1]

    return jax.vmap(point)(jnp.arange(4))


def delayed(x, table):
    """Rows of steps; nothing reads behind the loop what it carries beside them."""

    def step(t, c):
        rows, late = c[0], c[0][t - 3]
        return rows.at[t + 1].set(rows[t] + jnp.tanh(late)), late

    rows = jnp.zeros((500, 64)) + x
    rows, late = lax.fori_loop(3, 499, step, (rows, x))
    jnp.reshape(late, (8, 8))
    return rows


def unread(x, table):
    """Rows that the loop writes and nothing reads, for which XLA ends the process if they go."""

    def step(c):
        return c[0] + 1, jnp.tanh(c[1]), c[2].at[c[0]].set(c[1])

    rows = jnp.zeros((500, 64)) + x
    return lax.while_loop(lambda c: c[0] < 7 + (c[1][0] > 2), step, (jnp.int32(0), x, rows))[1]


@pytest.mark.parametrize(
    ("function", "whole"),
    [
        (unread, 1),
        (rows, 1),
        (delayed, 1),
        (each_its_steps, 1),
        (counted, 1),
        (constant, 1),
        (nested, 1),
        (vectors, 1),
        (small_products, 1),
        (empty_products, 1),
        (halves, 0),
        (large, 0),
        (product, 0),
        (empty, 0),
    ],
)
def test_small_loops_are_marked(function, whole):
    marked = jax.jit(with_whole_loops(looped(function), 32768, 4096, 16))
    lowered = marked.lower(*GIVEN)
    assert (lowered.as_text().count("call @run") > 0) == bool(whole)
    assert lowered.as_text().count(f'{MARK} = "true"') >= whole
    for a, b in zip(*map(jax.tree.leaves, (marked(*GIVEN), function(*GIVEN))), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_what_nothing_reads_makes_no_copies():
    marked = jax.jit(with_whole_loops(looped(delayed), 32768, 4096, 16))
    text = marked.lower(*GIVEN).compile().as_text()
    assert not [line for line in text.splitlines() if "500,64" in line and " copy(" in line]


def looped(function):
    """The function, which names a loop as functions of kernels do."""

    def loop(x, table):
        return function(x, table) if lax.fori_loop else None

    return loop


def test_what_is_refused_is_compiled_without_marks():
    compiled = []

    def compile_kernel(function):
        compiled.append(function)
        refused = len(compiled) == 1

        def kernel(*arrays):
            if refused:
                raise jax.errors.JaxRuntimeError("UNIMPLEMENTED: not in such a function")
            return function(*arrays)

        return kernel

    kernel = compiled_whole(compile_kernel, looped(counted), 32768, 4096, 16)
    np.testing.assert_allclose(kernel(*GIVEN), counted(*GIVEN), rtol=1e-5)
    np.testing.assert_allclose(kernel(*GIVEN), counted(*GIVEN), rtol=1e-5)
    assert len(compiled) == 2
