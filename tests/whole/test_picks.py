"""Reads at points that data choose, through the whole compiler, against plain NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import DiagnosticError, RunError
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.runtime.run import run
from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.agree import agreed, compiled
from tests.support.elaborated import graph_of

TREE = """dim t < T
input x[t]: f32[2]
input far: i32
input par[t]: i32
pick = x[t = par in 0:T]
one = x[t = far in 0:T]
h[0] = tanh(x[0])
h[t] = tanh(x[t] + 0.9 * h[t = par in 0:t]) when t >= 1
output pick, one, h
"""

WINDOW = """dim b < B
dim t < T
input x[b, t]: f32
input j[t]: i32
y = x * 2.0
z[b, 0] = y[b, 0]
z[b, t+1] = 0.5 * z + y[t = t - j in max(t - 2, 0):t + 1]
late = (y + 1.0)[b = 0:B, t = T - 1 - j in T - 1 - t:T]
output z[0:B, T-1] as last, late
"""


@pytest.mark.parametrize("T", [1, 2, 9])
def test_any_earlier_step(T: int, tmp_path: Path) -> None:
    random = np.random.default_rng(T)
    x = random.standard_normal((T, 2)).astype(np.float32)
    par = np.array([random.integers(0, max(t, 1)) for t in range(T)], np.int32)
    found = agreed(TREE, tmp_path, {"T": T}, {"x": x, "far": np.int32(T - 1), "par": par})
    h = [np.tanh(x[0])]
    for t in range(1, T):
        h.append(np.tanh(x[t] + 0.9 * h[par[t]]))
    np.testing.assert_allclose(found["h"], h, atol=1e-6)
    np.testing.assert_array_equal(found["pick"], x[par])
    np.testing.assert_array_equal(found["one"], x[T - 1])


@pytest.mark.parametrize(("B", "T"), [(1, 1), (2, 3), (3, 8)])
def test_windows_and_other_slices(B: int, T: int, tmp_path: Path) -> None:
    random = np.random.default_rng(B)
    x = random.standard_normal((B, T)).astype(np.float32)
    j = np.array([random.integers(0, min(t, 2) + 1) for t in range(T)], np.int32)
    found = agreed(WINDOW, tmp_path, {"B": B, "T": T}, {"x": x, "j": j})
    z = 2 * x[:, 0]
    for t in range(T - 1):
        z = 0.5 * z + 2 * x[:, t - j[t]]
    np.testing.assert_allclose(found["last"], z, rtol=1e-6)
    np.testing.assert_allclose(found["late"], [2 * x[:, T - 1 - j[t]] + 1 for t in range(T)])


def test_a_window_stays_in_a_ring() -> None:
    lines = [line for line in WINDOW.splitlines() if "late =" not in line]
    text = "\n".join(lines).replace(", late", "") + "\n"
    options = Options(passes="canonicalize,algebra,canonicalize,accumulate,fuse")  # all steps loops
    compilation = Compilation(load_source(Source("m.rt", text)), options)
    kernels = compilation.emitted.kernels
    (reading,) = (f for f in kernels.split("\n\n\n") if f.startswith("def z_1("))
    assert "% 3]" in reading
    assert "dynamic_slice" not in reading and "jnp.take" not in reading


@pytest.mark.parametrize("par", [-1, 2, 7])
def test_a_broken_promise_is_reported_with_its_point(par: int, tmp_path: Path) -> None:
    given = {
        "x": np.zeros((4, 2), np.float32),
        "far": np.int32(0),
        "par": np.array([0, 0, par, 0], np.int32),
    }
    text = TREE.replace("pick = x[t = par in 0:T]\n", "").replace("pick, ", "")
    with pytest.raises(RunError) as broken:
        run(compiled(text, tmp_path), {"T": 4}, given)
    (problem,) = broken.value.diagnostics
    shown = str(problem)
    assert "in 0:t" in shown and "t = 2" in shown and "h[t] = tanh" in shown
    with pytest.raises(DiagnosticError, match=r"in 0:t, which is 0:2 here"):
        evaluate(graph_of(text), {"T": 4}, given, {})


TWO = """dim b < B
dim t < T
input x[b, t]: f32
input i[t]: i32
input j[t]: i32
y = x[b = i in 0:B, t = j in 0:T]
g = grad(y ** 2, x)
output y, g
"""


def test_two_picks_in_one_access(tmp_path: Path) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    i, j = np.array([1, 0, 1], np.int32), np.array([2, 1, 2], np.int32)
    given = {"x": x, "i": i, "j": j}
    found = agreed(TWO, tmp_path, {"B": 2, "T": 3}, given, levels=(0, 2))
    np.testing.assert_array_equal(found["y"], [5, 1, 5])
    np.testing.assert_array_equal(found["g"], [[0, 2, 0], [0, 0, 20]])


LIMITED = """dim t < T
input x[t]: f32[2]
input d[t]: i32
h[0] = x[0]
h[t+1] = tanh(h[t] + h[t = clip(t - d, 0, t) in 0:t+1])
last = (x + 0.0)[t = maximum(minimum(d, t), 0) in 0:t+1]
near = (x[max(t-2, 0):t+1])[clip(d, 0, min(t, 2))]
output h, last, near
"""


@pytest.mark.parametrize("T", [1, 2, 3, 9])
def test_what_is_limited_at_each_point_is_not_checked(T: int, tmp_path: Path) -> None:
    random = np.random.default_rng(T)
    x = random.standard_normal((T, 2)).astype(np.float32)
    d = random.integers(-20, 20, T).astype(np.int32)
    found = agreed(LIMITED, tmp_path, {"T": T}, {"x": x, "d": d})
    nodes = Compilation(load_source(Source("m.rt", LIMITED)), Options()).optimized.nodes
    assert not any(n.op.checks for n in nodes.values())
    h = [x[0]]
    for t in range(T - 1):
        h.append(np.tanh(h[t] + h[np.clip(t - d[t], 0, t)]))
    np.testing.assert_allclose(found["h"], h, atol=1e-6)
    np.testing.assert_array_equal(found["last"], [x[max(min(d[t], t), 0)] for t in range(T)])
    at = [max(t - 2, 0) + np.clip(d[t], 0, min(t, 2)) for t in range(T)]
    np.testing.assert_array_equal(found["near"], x[at])


@pytest.mark.parametrize("index", ["clip(d, 0, t - 1)", "clip(d, 0, t + 1)", "minimum(d, t)"])
def test_other_limits_are_checked(index: str, tmp_path: Path) -> None:
    text = f"dim t < T\ninput x[t]: f32\ninput d[t]: i32\ny = x[t = {index} in 0:t+1]\noutput y\n"
    nodes = Compilation(load_source(Source("m.rt", text)), Options()).optimized.nodes
    assert any(n.op.checks for n in nodes.values())
    x, d = np.ones(2, np.float32), np.array([9, -1], np.int32)
    if index == "clip(d, 0, t - 1)":
        d = np.array([0, 0], np.int32)
    with pytest.raises(DiagnosticError, match="is not in 0:t\\+1"):
        evaluate(graph_of(text), {"T": 2}, {"x": x, "d": d}, {})
    with pytest.raises(RunError, match="is not in 0:t\\+1"):
        run(compiled(text, tmp_path), {"T": 2}, {"x": x, "d": d})


DRAWN = """
dim t < T
input x: f32[4]
a[t] = x[i32(random.bernoulli(0.5))]
b[t] = x[i32(random.bernoulli(1.0)) + random.integers([], 0, 3)]
output a, b
"""


def test_positions_that_are_drawn(tmp_path: Path) -> None:
    """What a draw is given beside its key says nothing of its results."""
    agreed(DRAWN, tmp_path, {"T": 5}, {"x": np.arange(4, dtype=np.float32)}, levels=(1, 2))
