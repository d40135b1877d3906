"""Products in the form that suits their shapes: vectors of many points, keys of many steps."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tempoc.ops.contraction import MATVEC
from tests.support.agreement import agree, all_equal, compile_text
from tests.whole.test_buckets import emitted

MATRIX = """
dim b < B
dim i < N = 4
input W: f32[3, 5]
input x[b]: f32[5]
input y[b, i]: f32[5]
one = W @ tanh(x)
each = W @ tanh(y)
output one, each
"""

ATTENTION = """
import nn
const window = 0
const windowed = min(window, 1)
dim b < B
dim t < T
input x[b, t]: f32[8]
q = reshape(tanh(x), [2, 2, 2])
k[b, t] = reshape(sin(x + reshape(h, [8])), [2, 4])[:, 0:2]
v[b, t] = reshape(cos(x + reshape(h, [8])), [2, 4])[:, 2:4]
h[b, 0] = zeros([2, 2, 2])
h[b, t] = a[b, t-1]
a[b, t] = nn.grouped_attention(
  q,
  k[t = max(0, (t+1-window)*windowed):t+1],
  v[t = max(0, (t+1-window)*windowed):t+1],
)
output a
"""


def test_kernels_say_how_many_points_there_are() -> None:
    found = emitted(MATRIX, None).kernels
    assert "matvec(W, jnp.tanh(x), B)" in found
    assert "matvec(W, jnp.tanh(y), B*N)" in found


@pytest.mark.parametrize("count", [1, 3])
def test_any_number_of_points_will_do(count: int) -> None:
    agree(MATRIX, *all_equal(MATRIX, count))


@pytest.mark.parametrize(("points", "first"), [(1, "matrix"), (2, "vector")])
def test_a_matrix_comes_first_for_one_vector_only(points: int, first: str) -> None:
    names: dict[str, object] = {"jnp": jnp}
    exec(MATVEC, names)
    matvec, matrix, vector = names["matvec"], np.eye(3, 2), np.arange(2.0)
    assert callable(matvec)
    np.testing.assert_array_equal(matvec(matrix, vector, points), matrix @ vector)
    traced = jax.make_jaxpr(lambda m, v: matvec(m, v, points))(matrix, vector)
    product = next(e for e in traced.eqns if e.primitive.name == "dot_general")
    assert (product.invars[0].aval.ndim == 2) == (first == "matrix")


@pytest.mark.parametrize("window", [0, 3])
def test_keys_have_their_steps_last(window: int) -> None:
    text = ATTENTION.replace("window = 0", f"window = {window}")
    _, loaded = compile_text(text, 2)
    behind = {s.name: [a.behind for a in s.axes if a.behind] for s in loaded.program.stores}
    assert (behind["k"], behind["v"]) == ([2], [1])
    agree(text, *all_equal(text, 5), bucket=2)
    agree(text, *all_equal(text, 2), special=True, regions=False)
