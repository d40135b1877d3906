"""Reads at clamped distances, over all points of a dimension: moved copies, no gathers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tempoc.codegen.regions import prelude
from tests.support.agreement import agree, compile_text
from tests.whole.device.test_buckets import emitted

HEAD = """
dim t < T
dim i < I
dim j < J
input a[i, j]: f32
input b[i, j]: f32[3]
"""
CLAMPED = {
    "one axis": ("y = a + 2.0 * a[max(i-1, 0), j]\noutput y\n", 1),
    "both directions": ("y = a[max(i-1, 0), j] - a[min(i+1, I-1), j] * a\noutput y\n", 2),
    "corners": ("y = a[max(i-1, 0), min(j+1, J-1)] + a[min(i+2, I-1), max(j-2, 0)]\noutput y\n", 2),
    "beside a shift": (
        "y[i, j] = a[i+1, max(j-1, 0)] - a when i < I-1\ny[I-1, j] = 0.0\noutput y\n",
        0,
    ),
    "rows of elements": ("y = b[max(i-1, 0), j] @ b\noutput y\n", 1),
    "far": ("y = a[max(i-7, 0), j] + a[i, min(j+9, J-1)]\noutput y\n", 2),
    "in a loop": (
        "u[0, i, j] = a\n"
        "u[t+1, i, j] = 0.5 * (u[t, max(i-1, 0), j] + u[t, i, min(j+1, J-1)]) - u\n"
        "output u[T-1] as u\n",
        2,
    ),
    "another end": ("y = a[min(i+1, I-1), j] + a[max(i-1, 1 - 1), j]\noutput y\n", 2),
}
OTHERS = {
    "mirrored": "y = a[max(I-2-i, 0), j] + a\noutput y\n",
    "an end within": "y[i, j] = a[max(i-1, 1), j] + a when i >= 1\ny[0, j] = 0.0\noutput y\n",
    "extents that grow": "p[i] = cumsum(a[0:i+1, 0])\n"
    "y[i] = sum(p[max(i-1, 0)]) + sum(p)\noutput y\n",
    "of two dimensions": "y = a[max(i-1, 0), min(max(j-i, 0), J-1)] + a\noutput y\n",
}
SIZES = ((1, 1, 1), (2, 1, 3), (3, 2, 2), (2, 4, 5))


@pytest.mark.parametrize("name", CLAMPED)
def test_moved_copies(name: str) -> None:
    rest, count = CLAMPED[name]
    text = HEAD + rest.replace("output u[T-1] as u", "output u[T-1, 0:I, 0:J] as u")
    kernels = emitted(text, None).kernels if count else ""
    assert kernels.count("clamped(") == count + bool(count)
    agree(text, *(dict(zip("TIJ", size, strict=True)) for size in SIZES))


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_read_otherwise(name: str) -> None:
    text = HEAD + OTHERS[name]
    assert "clamped(" not in emitted(text, None).kernels
    agree(text, *(dict(zip("TIJ", size, strict=True)) for size in SIZES[1:]))


def test_a_fixed_bound_is_whole_as_well() -> None:
    text = "dim i < I = 5\ninput a[i]: f32\ny = a + a[max(i-1, 0)]\noutput y\n"
    compile_text(text, 2)
    agree(text, {})


CHAIN = """u[0, i, j] = a
v = sin(u[t, i, min(j+1, J-1)]) + u
u[t+1, i, j] = v[t, max(i-1, 0), j] - v
w = v[T-1, 0:I, 0:J]
output w
"""


def test_what_a_step_makes_of_neighbours_and_reads_at_others_is_computed_apart() -> None:
    kernels = emitted(HEAD + CHAIN, None).kernels
    assert re.findall(r"clamped\((\w+), .*apart=True", kernels) == ["v"]
    agree(HEAD + CHAIN, *(dict(zip("TIJ", size, strict=True)) for size in SIZES))


MOVES = [[(1, 0)], [(-1, 1)], [(-2, 0), (3, 1)], [(9, 1)], [(-9, 0), (-4, 1)]]


@pytest.mark.parametrize("moves", MOVES)
@pytest.mark.parametrize("apart", [False, True])
def test_moves_of_small_and_of_large_arrays(moves: list[tuple[int, int]], apart: bool) -> None:
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    clamped = called(prelude.clamped(1 << 20), "clamped")
    wanted = x
    for steps, axis in moves:
        size = x.shape[axis]
        wanted = wanted.take(np.clip(np.arange(size) + steps, 0, size - 1), axis)
    moved = jax.jit(lambda x: clamped(x, *moves, apart=apart))(x)
    np.testing.assert_array_equal(moved, wanted)


def called(text: str, name: str) -> Callable[..., jax.Array]:
    names: dict[str, Any] = {"jax": jax, "jnp": jnp, "lax": jax.lax}
    exec(text, names)
    function: Callable[..., jax.Array] = names[name]
    return function
