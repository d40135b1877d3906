"""Emitted programs compute what the equations say: compared with plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.codegen import programs
from tests.support.session.long import in_turns


def rng(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def softmax(s):
    e = np.exp(s - s.max())
    return e / e.sum()


@pytest.mark.parametrize("T", [1, 2, 3, 10])
def test_fibonacci(T, tmp_path):
    a, b = 1, 1
    for _ in range(T - 1):
        a, b = b, a + b
    assert programs.FIBONACCI.run(tmp_path, {"T": T})["f"] == a


@pytest.mark.parametrize("T", [1, 2, 7])
def test_rnn_in_register_and_in_block(T, tmp_path):
    x, W = rng(T, 8), rng(8, 8)
    h = [np.zeros(8, np.float32)]
    for t in range(T - 1):
        h.append(np.tanh(h[t] @ W + x[t]))
    last = programs.RNN_REGISTER.run(tmp_path / "a", inputs={"x": x}, params={"W": W})["h"]
    every = programs.RNN_BLOCK.run(tmp_path / "b", inputs={"x": x}, params={"W": W})["h"]
    np.testing.assert_allclose(last, h[-1], atol=1e-5)
    np.testing.assert_allclose(every, h, atol=1e-5)


@pytest.mark.parametrize(("T", "W"), in_turns((9, 1, 2), (3, 1, 20), "all pairs of sizes"))
@pytest.mark.parametrize("name", ["CAUSAL", "WINDOWED", "RING"])
def test_attention(T, W, name, tmp_path):
    x = rng(T, 4)
    k = np.tanh(x)
    rows = [slice(0 if name == "CAUSAL" else max(0, t + 1 - W), t + 1) for t in range(T)]
    want = [softmax(k[r] @ x[t]) @ k[r] for t, r in enumerate(rows)]
    got = getattr(programs, name).run(tmp_path, {"W": W}, {"x": x})["a"]
    np.testing.assert_allclose(got, want, atol=1e-5)


@pytest.mark.parametrize(("T", "N"), [(1, 1), (2, 5), (7, 3)])
def test_reverse_recurrence_and_slices_into_the_future(T, N, tmp_path):
    r = rng(T)
    got = programs.RETURNS.run(tmp_path, {"N": N}, {"r": r})
    g = [r[-1]]
    for t in reversed(range(T - 1)):
        g.insert(0, r[t] + 0.5 * g[0])
    np.testing.assert_allclose(got["g"], g, atol=1e-5)
    np.testing.assert_allclose(got["n"], [r[t : t + N].sum() for t in range(T)], atol=1e-5)
    np.testing.assert_allclose(got["e"], [r[t::2].sum() for t in range(T)], atol=1e-5)


@pytest.mark.parametrize(("N", "M"), [(1, 1), (2, 3), (6, 5)])
def test_two_dimensions_with_two_rows_kept(N, M, tmp_path):
    random = np.random.default_rng(1)
    x, y = (random.integers(0, 3, n, dtype=np.int32) for n in (N, M))
    d = np.zeros((N, M), np.int32)
    for i in range(1, N):
        for j in range(1, M):
            same = x[i] == y[j]
            d[i, j] = d[i - 1, j - 1] + 1 if same else max(d[i - 1, j], d[i, j - 1])
    got = programs.LCS.run(tmp_path, inputs={"x": x, "y": y})
    assert got["d"] == d[-1, -1]
    np.testing.assert_array_equal(got["row"], d[-1])
