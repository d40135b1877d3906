"""Reads around a circle of fixed size, over all its points: rotated copies, no gathers."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from tempoc.codegen.regions import prelude
from tests.codegen.stencils.test_clamped import called
from tests.support.agreement import agree
from tests.whole.device.test_buckets import emitted

HEAD = """
dim t < T
dim y < H = 5
dim x < W = 3
input a[y, x]: f32
param k = 0.3
"""
ROTATED = {
    "one axis": ("b = a - a[(y+1) % H, x]\noutput b\n", 1),
    "backwards, and far": ("b = a[(y+H-1) % H, x] * a[y, (x+7) % 3]\noutput b\n", 2),
    "a corner": ("b = a[(y+4) % H, (x+1) % W] + a\noutput b\n", 1),
    "in a loop, with its gradient": (
        "u[0, y, x] = a\n"
        "u[t+1, y, x] = u + k * sin(u[t, (y+1) % H, x] + u[t, y, (x+W-1) % W])\n"
        "total = sum((u[t = T-1] ** 2)[y = 0:H, x = 0:W])\n"
        "d = grad(total, k)\noutput d, u[T-1] as u\n",
        4,
    ),
}
OTHERS = {
    "another circle": "b = a[(y+1) % 4, x] + a\noutput b\n",
    "by a factor": "b = a[(2*y+1) % H, x] + a\noutput b\n",
    "of some points": "b[y, x] = a[(y+1) % H, x] + a when y >= 1\nb[0, x] = a[0, x]\noutput b\n",
}


@pytest.mark.parametrize("name", ROTATED)
def test_rotated_copies(name: str) -> None:
    rest, count = ROTATED[name]
    rest = rest.replace("u[T-1] as u", "u[T-1, 0:H, 0:W] as u")
    assert emitted(HEAD + rest, None).kernels.count("around(") == count + 1
    agree(HEAD + rest, {"T": 1}, {"T": 3})


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_read_otherwise(name: str) -> None:
    assert "around(" not in emitted(HEAD + OTHERS[name], None).kernels
    agree(HEAD + OTHERS[name], {"T": 2})


@pytest.mark.parametrize("moves", [[(1, 0)], [(-1, 1)], [(-2, 0), (2, 1)], [(1, 1), (-1, 0)]])
@pytest.mark.parametrize("limit", [0, 1 << 20])
def test_moves_of_small_and_of_large_arrays(moves: list[tuple[int, int]], limit: int) -> None:
    x = np.arange(20, dtype=np.int32).reshape(4, 5)
    around = called(prelude.around(limit), "around")
    steps, axes = zip(*moves, strict=True)
    wanted = np.roll(x, [-k for k in steps], axes)
    np.testing.assert_array_equal(jax.jit(lambda x: around(x, *moves))(x), wanted)
