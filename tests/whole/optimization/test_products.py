"""Products in the form that suits their shapes: vectors of many points, keys of many steps."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tempoc.driver.pipelines import O2, with_tiles
from tempoc.ops.definition.product_padding import TERM_BY_TERM
from tempoc.ops.tensor.contraction import (
    MATVEC,
    TRANSPOSED_MATMUL,
    VALID_ROWS_PRODUCT,
)
from tempoc.pipeline.spec import show_pipeline
from tests.support.agreement import agree, all_equal, compile_text
from tests.support.session.long import in_turns
from tests.whole.device.test_buckets import emitted

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


@pytest.mark.parametrize(
    ("points", "rows", "first"),
    [(1, 3, "matrix"), (16, 5, "matrix"), (16, 3, "vector"), (17, 5, "vector")],
)
def test_a_matrix_comes_first_for_few_vectors(
    points: int, rows: int, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jax, "default_backend", lambda: "cpu")
    names: dict[str, object] = {"jax": jax, "jnp": jnp, "lax": jax.lax}
    exec(MATVEC, names)
    matvec, matrix, vector = names["matvec"], np.eye(rows, 4), np.arange(4.0)
    assert callable(matvec)
    np.testing.assert_array_equal(matvec(matrix, vector, points), matrix @ vector)
    traced = jax.make_jaxpr(lambda m, v: matvec(m, v, points))(matrix, vector)
    product = next(e for e in traced.eqns if e.primitive.name == "dot_general")
    assert (product.invars[0].aval.ndim == 2) == (first == "matrix")


WIDTHS = [(3, 5), (5, 3), (2, 2), (1, 4), (32, 64), (64, 32), (33, 40)]


@pytest.mark.parametrize(
    ("widths", "rows"), in_turns(WIDTHS, [(200,), (4, 50), (7,), (1,), (0,)], "all pairs")
)
def test_outer_products_are_summed(widths: tuple[int, int], rows: tuple[int, ...]) -> None:
    names: dict[str, object] = {"jax": jax, "jnp": jnp, "lax": jax.lax}
    exec(TRANSPOSED_MATMUL, names)
    transposed_matmul = names["transposed_matmul"]
    assert callable(transposed_matmul)
    random = np.random.default_rng(0)
    x, y = (random.standard_normal((*rows, n)).astype(np.float32) for n in widths)
    transposed_matmul = jax.default_matmul_precision("highest")(transposed_matmul)
    wanted = x.reshape(-1, widths[0], 1) * y.reshape(-1, 1, widths[1])
    np.testing.assert_allclose(transposed_matmul(x, y), wanted.sum(0), rtol=1e-4, atol=1e-5)
    parts = x[..., None, :], y[..., None]
    found = transposed_matmul(*parts, len(rows))
    np.testing.assert_allclose(found, wanted.sum(0)[None, :, :, None], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("rows", "valid"), [(6000, 6000), (6000, 5999), (9, 7), (9, 0)])
def test_rows_that_are_not_valid_do_not_count(rows: int, valid: int) -> None:
    names: dict[str, object] = {"jax": jax, "jnp": jnp, "lax": jax.lax}
    exec(TRANSPOSED_MATMUL + VALID_ROWS_PRODUCT, names)
    product = names["valid_rows_product"]
    assert callable(product)
    x, y = (np.full((rows, n), 2, np.float32) for n in (3, 20))
    x[valid:] = y[valid:] = np.nan
    mask = (np.arange(rows) < valid)[:, None]
    np.testing.assert_array_equal(product(mask, x, y), np.full((3, 20), 4.0 * valid))


SHARED = """
dim b < B
dim t < T
dim s < S = T
input q[b, t, s]: f32
input v[s]: f32[3]
input h[s]: f16[2]
input m[t, s]: f32[4]
input n[s]: f32[4, 3]
row = q[b, t, 0:t+1] @ v[0:t+1]
half = einsum("s,sc->c", f16(q[b, t, 0:t+1]), h[0:t+1])
twice = einsum("sr,src->c", m[t, 0:t+1], n[0:t+1])
three = einsum("s,sc,sd->cd", q[b, t, 0:t+1], v[0:t+1], v[0:t+1])
late = einsum("s,sc->c", q[b, t, t:T], v[t:T])
output row, half, twice, three, late
"""


@pytest.mark.parametrize("special", [False, True])
def test_arrays_of_all_points_are_masked_term_by_term(special: bool) -> None:
    """What is not finite counts where it is read, and nowhere else."""
    agree(SHARED, {"B": 2, "T": 3}, {"B": 1, "T": 1}, {"B": 3, "T": 5}, special=special)
    assert emitted(SHARED, None).kernels.count(" term_by_term(\n") >= 3


COLUMNS = """
import nn
dim t < T
input q[t]: f32[4]
input k[t]: f32[4]
input v[t]: f32[5]
y = nn.attention(q, k[0:t+1], v[0:t+1])
loss = sum(y[0:T])
d = grad(loss, k)
output d
"""


TILES = show_pipeline(with_tiles(O2, 2))


def test_columns_of_rows_with_zeros_are_not_masked() -> None:
    """Rows are masked once, where they are written: what is no number there stays in its row."""
    agree(COLUMNS, {"T": 3}, special=True, levels=(2,))
    text = emitted(COLUMNS, None).kernels
    assert "wide_t_masked" not in text
    assert "jnp.sum(e_exp, " in text  # the scores are masked, not their exponentials


def test_columns_of_tiles_are_not_masked() -> None:
    """Nor are those of tiles, which are padded with zeros."""
    agree(COLUMNS, {"T": 5}, {"T": 1}, special=True, passes=TILES)
    text = emitted(COLUMNS, TILES).kernels
    assert "_tile_row" in text
    assert "_tile_row_masked" not in text


LATENT = """
import nn
dim t < T
input x[t]: f32[3]
input w: f32[2, 3]
input q: f32[2, 2, 3]
c = w @ x
s[t] = einsum("hcd,d,sc->hs", q, x[t], c[0:t+1])
a[t] = einsum("hs,sc->hc", nn.softmax(s[t]), c[0:t+1])
loss = sum(sum(a ** 2)[t = 0:T])
g = grad(loss, w)
output loss, g
"""


def test_what_meets_columns_with_zeros_is_tested_not_masked() -> None:
    """Whichever of both comes first: a masked copy for each point took five times as long."""
    text = emitted(LATENT, None).kernels
    assert "d_a_masked" not in text
    assert re.search(r"usually\(all_finite\(d_a\) & ", text)
    agree(LATENT, {"T": 1}, {"T": 4}, special=True, levels=(2,))


def test_distances_from_maxima_are_masked_where_they_are_summed() -> None:
    """The exponentials of what lies beyond the scores are zeros, the distances are -inf."""
    text = """
dim t < T
input x[t]: f32
s[t] = x[0:t+1] * x
d[t] = s - max(s, keepdims = true)
e[t] = exp(d)
y[t] = sum(e) + sum(d) + mean(e * d)
output y
"""
    agree(text, {"T": 3}, levels=(2,))


WEIGHTS = """
import nn
dim t < T
input q[t]: f32[2]
input k[t]: f32[2]
input v[t]: f32[3]
y = nn.softmax(k[0:t+1] @ q) @ v[0:t+1]
late = f16(nn.softmax(k[max(0, t-2):t+1] @ q)) @ f16(v[max(0, t-2):t+1])
output y, late
"""


@pytest.mark.parametrize("passes", [None, TILES])
def test_weights_of_masked_scores_are_not_masked(passes: str | None) -> None:
    """What lies beyond the scores has the weight 0, also in tiles in which no score counts."""
    agree(WEIGHTS, {"T": 5}, {"T": 1}, special=True, passes=passes, levels=(2,))
    agree(WEIGHTS, {"T": 1}, {"T": 5}, passes=passes, levels=(2,))
    text = emitted(WEIGHTS, passes).kernels
    assert "jnp.fmax(" in text or passes is None
    assert not re.search("(div|exp|f16)(_tile)?_masked", text)


def test_weights_divided_by_sums_along_another_axis() -> None:
    """Such sums are 0 in the padding, where weights are then NaN."""
    scores = "s = transpose(k[0:t+1], [1, 0])\ne = exp(s - max(s, axis = 1, keepdims = true))\n"
    weights = "z = sum(e, axis = 1)\ny = (e / sum(e, axis = 0, keepdims = true)) @ k[0:t+1]\n"
    agree(f"dim t < T\ninput k[t]: f32[3]\n{scores}{weights}output y, z\n", {"T": 3}, levels=(2,))


def test_terms_are_added_in_single_precision() -> None:
    names: dict[str, object] = {"jax": jax, "jnp": jnp, "lax": jax.lax}
    exec(TERM_BY_TERM, names)
    term_by_term = names["term_by_term"]
    assert callable(term_by_term)
    x, y = np.full(3000, 1, np.float16), np.full((2, 3000), 0.5, np.float16)
    found = term_by_term(lambda x, y: jnp.einsum("s,cs->c", x, y), (0, 1), x, y)
    assert found.dtype == np.float16 and found.tolist() == [1500, 1500]
    none = term_by_term(lambda x, y: jnp.einsum("s,cs->c", x, y), (0, 1), x[:0], y[:, :0])
    assert none.tolist() == [0, 0]


OUTER = """
dim t < T
input x[t]: f32[150, 3]
input y[t]: f32[150, 2]
input z[t]: f32[1, 2]
input n[t]: i32[150, 3]
input w[t]: f32[10, 15, 2, 3]
input v[t]: f32[10, 15, 4]
a = einsum("ij,ik->jk", x, y)
b = einsum("ij,ik->kj", x, y)
c = einsum("tij,tik->jk", x[t = max(0, t-3):t+1], y[t = max(0, t-3):t+1])
d = einsum("ij,ik->jk", x, z)
e = einsum("ij,ik->jk", n, n)
f = einsum("ij,ij->j", x, x)
g = einsum("aijh,aik->kjh", w, v)
output a, b, c, d, e, f, g
"""


def test_sums_of_outer_products() -> None:
    """In both orders, over a window; an axis of length 1 is one operand's alone."""
    agree(OUTER, *all_equal(OUTER, 3))
    found = emitted(OUTER, None).kernels
    calls = re.findall(r"(?<!def )transposed_matmul\((\w+), (\w+)\)", found)
    assert ("x_t", "y_t") in calls and ("y_t", "x_t") in calls and len(calls) == 3, calls
    assert re.search(r"transposed_matmul\(\w+, \w+, 2\)", found)


@pytest.mark.parametrize("window", [0, 3])
def test_keys_have_their_steps_last(window: int) -> None:
    text = ATTENTION.replace("window = 0", f"window = {window}")
    _, loaded = compile_text(text, 2)
    behind = {s.name: [a.behind for a in s.axes if a.behind] for s in loaded.program.stores}
    assert (behind["k"], behind["v"]) == ([2], [1])
    agree(text, *all_equal(text, 5), bucket=2)
    agree(text, *all_equal(text, 2), special=True, regions=False)
