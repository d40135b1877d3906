"""`cond`: one branch is computed, and only that one may fail."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import DiagnosticError, RunError
from tempoc.runtime.run import run
from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.agree import LEVELS, agreed, compiled
from tests.support.elaborated import graph_of

UPDATES = """dim t < T
input x[t]: f32[2]
param W: f32[2, 2]
h[0] = x[0]
h[t] = cond(sum(x[t]) > 0.0, tanh(W @ h[t-1] + x[t]), 0.5 * h[t-1]) when t >= 1
tree = cond(h[t][0] > 0.0, {a: h, n: 1}, {a: -h * 2.0, n: 2.5})
grown = cond(t % 2 == 0, x[0:t+1], x[0:t+1] * 2.0)
output h, tree, sum(grown[T-1]) as s
"""

SAFE = """dim t < T
input x[t]: f32
input j[t]: i32
y = cond(j >= 0, cond(j % 2 == 0, x[t = j in 0:T], x[t = j in 0:T] * 2.0 + x), -1.0)
z[t] = cond(t == 0, 0.0, exp(z[t = j in 0:t]) + y) + 0.0
output y, z
"""


@pytest.mark.parametrize("T", [1, 6])
def test_branches_of_a_recurrence(T: int, tmp_path: Path) -> None:
    random = np.random.default_rng(T)
    x = random.standard_normal((T, 2)).astype(np.float32)
    W = random.standard_normal((2, 2)).astype(np.float32)
    text = UPDATES.replace(", sum(grown[T-1]) as s", "\nlast = sum(grown[t = T-1])\noutput last")
    found = agreed(text, tmp_path, {"T": T}, {"x": x}, {"W": W})
    h = [x[0]]
    for t in range(1, T):
        h.append(np.tanh(W @ h[-1] + x[t]) if x[t].sum() > 0 else 0.5 * h[-1])
    np.testing.assert_allclose(found["h"], h, atol=1e-6)
    np.testing.assert_allclose(found["tree.a"], [a if a[0] > 0 else -2 * a for a in h], atol=1e-6)
    np.testing.assert_array_equal(found["tree.n"], [1.0 if a[0] > 0 else 2.5 for a in h])
    np.testing.assert_allclose(found["last"], x.sum() * (2 - T % 2), rtol=1e-4, atol=1e-5)


def test_a_promise_of_the_other_branch_is_not_checked(tmp_path: Path) -> None:
    x = np.arange(5, dtype=np.float32)
    j = np.array([-1, 0, 1, -7, 3], np.int32)
    text = SAFE.replace("z[t] =", "z[t] = cond(j < 0, y, ").replace("+ 0.0\n", ")\n")
    found = agreed(text, tmp_path, {"T": 5}, {"x": x, "j": j})
    np.testing.assert_array_equal(found["y"], [-1.0, 0.0, 4.0, -1.0, 10.0])


@pytest.mark.parametrize("level", LEVELS)
def test_a_promise_of_the_branch_taken_is(level: int, tmp_path: Path) -> None:
    given = {"x": np.zeros(4, np.float32), "j": np.array([-1, 0, 9, -1], np.int32)}
    text = "\n".join(line for line in SAFE.splitlines() if "z[" not in line)
    text = text.replace(", z", "") + "\n"
    with pytest.raises(RunError, match="t = 2"):
        run(compiled(text, tmp_path, level), {"T": 4}, given)
    with pytest.raises(DiagnosticError, match="index 9"):
        evaluate(graph_of(text), {"T": 4}, given, {})


def test_kernels_compute_a_branch_where_it_is_taken(tmp_path: Path) -> None:
    for level in LEVELS:
        kernels = Path(compiled(UPDATES.replace(", sum(grown[T-1]) as s", ""), tmp_path, level))
        text = (kernels / "kernels.py").read_text()
        inside = text.split("_then():")[1].split("_else():")[0]
        assert "jnp.tanh" in inside and "lax.cond(" in text


def test_the_evaluator_does_not_ask_for_the_other_branch() -> None:
    graph = graph_of("input k: f32\ninput x: f32\ny = cond(k > 0.0, k, x)\noutput y\n")
    assert evaluate(graph, {}, {"k": np.float32(2.0)}, {})["y"] == 2.0
    with pytest.raises(DiagnosticError, match="`x` is not given"):
        evaluate(graph, {}, {"k": np.float32(-2.0)}, {})


SHARED = """dim t < T
input x[t]: f32
input j[t]: i32
y = cond(j >= 0, exp(x[t = j in 0:T]), 0.0) + cond(j >= 0, exp(x[t = j in 0:T]) * x, 1.0)
z = cond(j >= 0, exp(x[t = j in 0:T]), 0.0) + cond(j < 3, cond(j >= 0, x[t = j in 0:T], 2.0), 0.0)
far = x[t = j in 0:T]
p = j >= 0
w = cond(p, far * 2.0, 0.0) - cond(p, cond(x > 1.0, 0.0, far) * far, 3.0)
output y, z, w
"""


def test_equal_branches_stay_lazy(tmp_path: Path) -> None:
    x = np.arange(5, dtype=np.float32) / 3
    j = np.array([-1, 0, 1, -7, 3], np.int32)
    found = agreed(SHARED, tmp_path, {"T": 5}, {"x": x, "j": j})
    taken, far = j >= 0, x[np.where(j >= 0, j, 0)]
    y = np.where(taken, np.exp(far) * (1 + x), 1.0)
    z = np.where(taken, np.exp(far), 0.0) + np.where(j < 3, np.where(taken, far, 2.0), 0.0)
    w = np.where(taken, far * 2 - np.where(x > 1.0, 0.0, far) * far, -3.0)
    for name, value in (("y", y), ("z", z), ("w", w)):
        np.testing.assert_allclose(found[name], value, rtol=1e-5)
