"""Matrices that data choose for each of many points, and their gradients, as experts for words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.agree import agreed, compiled

TEXT = """dim s < S
dim n < N
dim e < E = 2
const D = 3
input x[s, n]: f32[D]
input who[n]: i32
param a0[e]: f32[4, D]
param b0[e]: f32[D, 4]
a[s, e] = a0 when s == 0
a[s, e] = a[s-1, e] - 0.1 * grad(loss, a)[s = s-1]
b[s, e] = b0 when s == 0
b[s, e] = b[s-1, e] - 0.1 * grad(loss, b)[s = s-1]
y[s, n] = b[e = who[n] in 0:E] @ tanh(a[e = who[n] in 0:E] @ x[s, n])
loss[s] = sum(sum(y[s, n] ** 2)[n = 0:N])
output loss, a[S-1, 0:E] as a, b[S-1, 0:E] as b
"""


def data(S: int, N: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    random = np.random.default_rng(N)
    x = random.standard_normal((S, N, 3)).astype(np.float32)
    shapes = {"a0": (2, 4, 3), "b0": (2, 3, 4)}
    params = {k: random.standard_normal(v).astype(np.float32) / 4 for k, v in shapes.items()}
    return {"x": x, "who": random.integers(0, 2, N).astype(np.int32)}, params


@pytest.mark.parametrize(("S", "N"), [(1, 1), (2, 3), (3, 16), (2, 17)])
def test_experts_of_few_and_many_words(S: int, N: int, tmp_path: Path) -> None:
    inputs, params = data(S, N)
    agreed(TEXT, tmp_path, {"S": S, "N": N}, inputs, params, levels=(2,))


def test_what_is_not_finite_stays_with_its_expert(tmp_path: Path) -> None:
    inputs, params = data(2, 20)
    inputs["x"][0, 5, 1] = np.nan
    wanted = agreed(TEXT, tmp_path, {"S": 2, "N": 20}, inputs, params, levels=(2,))
    other = 1 - inputs["who"][5]
    assert np.isfinite(wanted["a"][other]).all() and np.isnan(wanted["a"][1 - other]).any()


def test_no_matrix_is_copied_for_each_word(tmp_path: Path) -> None:
    kernels = Path(compiled(TEXT, tmp_path), "kernels.py").read_text(encoding="utf-8")
    assert kernels.count("picked_product(") == 1 + 3  # its definition as well
    assert kernels.count("scatter_products(") == 1 + 2
