"""Gradients through reads of all kinds: the readers of a point are a slice, several, or none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tempoc.sdg.evaluation.interpret import evaluate
from tempoc.symbolic import expr as ix
from tests.support.agree import agreed, compilation
from tests.support.elaborated import graph_of
from tests.support.gradients import check, data

T = "dim t < T\ninput x[t]: f32\n"
NM = "dim i < N\ndim j < M\n"
NN = "dim i < N\ndim j < N\n"
K = "dim k < K\nassume N + M <= K\ninput x[k]: f32\n"
EQUAL = "loss = sum(y[0:N, 0:N] ** 2)"
BOX = "loss = sum(y[0:N, 0:M] ** 2)"
LINE = "loss = sum(y[0:T] ** 2)"
PROGRAMS: dict[str, str] = {
    "half": f"{T}y[t] = x[t // 2] * (t + 1)\n{LINE}",
    "odd": f"{T}y[t] = x[2*t+1] * (t + 1) when 2*t+1 < T\ny[t] = x[2*(T-1-t)]\n{LINE}",
    "clipped": f"{T}y[t] = x[min(2*t, T-1)] * x[max(t//2, t-3)] * (t + 1)\n{LINE}",
    "permuted": f"{T}y[t] = x[(3*t) % 7] * x[t//4*4 + 3 - t%4] when T >= 7 and t < T//4*4\n"
    f"y[t] = x[t % 4] * x[t//4*4] when T >= 4\ny[t] = x[T-1-t]\n{LINE}",
    "guards": f"{T}y[t] = x[t//2] * (t + 1) when t % 3 != 1\n"
    f"y[t] = x[T-1-t//3] when t % 2 == 0\ny[t] = x[0]\n{LINE}",
    "window": f"{T}y[t] = sum(x[max(0, t-3):t+1] * (1.0 + arange(t+1-max(0, t-3)))) * (t + 1)\n"
    f"z[t] = prod(x[min(t, T-1-t):max(t, T-1-t)+1])\nloss = sum(y[0:T] ** 2 * z[0:T])",
    "strides": f"{T}y[t] = sum(x[t%3:T:3] ** 2) * (t + 1) * sum(x[t//3:t//2+1] ** 2)\n{LINE}",
    "steps": f"{T}y[t] = sum(x[t//2:t+1:2] ** 2) * (t + 1)\n{LINE}",
    "sum": f"{NM}{K}y[i, j] = x[i+j] * (i + 2*j + 1) * x[(i+j)//2]\n{BOX}",
    "own": f"{NM}input x[j]: f32\ny[i, j] = x[i+j] * (i + 2*j + 1) when i + j < M\n"
    f"y[i, j] = 0.0\n{BOX}",
    "spans": f"{NM}{K}y[i, j] = sum(x[i:i+j] * sin(1.0 * arange(j))) * (i + 2*j + 1)\n{BOX}",
    "three": f"{NM}{K}dim l < L\nassume N + M + L <= K\n"
    "y[i, j, l] = x[i+j+l] * (i + 2*j + 3*l + 1)\nloss = sum(y[0:N, 0:M, 0:L] ** 2)",
    "swapped": f"{NN}input x[i, j]: f32\ny[i, j] = x[min(i, j), max(i, j)] * x[j, i] * x[i, i]\n"
    f"{EQUAL}",
    "both": f"{NN}input x[i, j]: f32\ny[i, j] = x[(i+j)//2, (i+j)//3] * (i + 2*j + 1)\n{EQUAL}",
    "holes": f"{NN}input x[i, j]: f32\n"
    "y[i, j] = sum(x[(i+j)//2, (i+j)//3:i+1]) * (i + 2*j + 1) when j <= i\n"
    f"y[i, j] = 0.0\n{EQUAL}",
    "areas": f"{NN}input x[i, j]: f32\n"
    f"y[i, j] = sum(x[min(i, j):i+1, (i+j)//2:N]) * (i + 2*j + 1)\n{EQUAL}",
    "pairs": f"{NN}input x[i]: f32\ny[i, j] = 0.0 when i == j\n"
    f"y[i, j] = (i + 2*j + 1) / (x[i] - x[j])\n{EQUAL}",
    "recurrence": f"{T}h[0] = x[0]\nh[t] = h[t//2] * 0.5 + sin(h[t-1]) + x when t >= 1\n"
    "loss = sum(h[0:T] ** 2)",
    # Two readers of the first point, one of each other: an order exists only if that is found.
    "clamped past": f"{T}h[0] = x[0]\nh[t] = sin(h[max(0, t-2)]) * 2.0 + x when t >= 1\n"
    "loss = h[T-1] * 1.0",
    # Readers of the first point begin one step, those of others two steps after it.
    "early ends": f"{T}h[0] = x[0]\nh[t] = mean(h[0:max(1, t-1)]) + sin(h[t-1])\n"
    "loss = h[T-1] * 1.0",
    "automaton": f"{NM}input x[i, j]: f32\nh[i, j] = x when i == 0\n"
    "h[i, j] = h[i-1, min(j+i%2, M-1)] * sin(h[i-1, max(0, j-1)]) + x when i >= 1\n"
    "loss = sum(h[0:N, 0:M] ** 2)",
    "ragged": f"{T}w[t] = x[0:t+1] ** 2 * x\ny[t] = sum(w[t//2] ** 2) * (t + 1)\n"
    "z[t] = sum(w[min(t, 2)] ** 3) when T >= 3\nz[t] = 1.0\nloss = sum(y[0:T] ** 2 * z[0:T])",
    "many": T
    + "".join(
        f"y{k}[t] = x[t-{k}] ** 2 * (t + {k}) when t % {k} == 1 and t >= {k}\ny{k}[t] = 2. * x\n"
        for k in range(2, 6)
    )
    + "loss = sum((y2 * y3 * y4 * y5)[t = 0:T])",
}
TWICE = ("spans",)
COMPILED = ("window", "holes", "pairs")


def sizes(text: str) -> list[dict[str, int]]:
    found = [{"T": 1}, {"T": 9}]
    if "M" in text:
        found = [{"N": 3, "M": 2}, {"N": 2, "M": 4}]
    elif "N" in text:
        found = [{"N": 1}, {"N": 4}]
    for some in found:
        some |= {"K": 6} if "K" in text else {}
        some |= {"K": 8, "L": 2} if "L" in text else {}
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_agree_with_differences(name: str) -> None:
    check(PROGRAMS[name], ["x"], bounds=sizes(PROGRAMS[name]))


@pytest.mark.parametrize("name", TWICE)
def test_second_derivatives_agree_with_differences(name: str) -> None:
    text = PROGRAMS[name].replace("loss =", "inner =")
    dims = graph_of(f"{text}\noutput inner\n").nodes["x"].domain.dims
    whole = ", ".join("0:N" if "N" in text else "0:T" for _ in dims)
    if name == "spans":
        whole = "0:K"
    text += f"\ng = grad(inner, x)\nloss = sum(g[{whole}] ** 2)"
    check(text, ["x"], bounds=sizes(text)[1:])


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_programs_agree_with_the_evaluator(name: str, tmp_path: Path) -> None:
    text = f"{PROGRAMS[name]}\ng = grad(loss, x)\noutput g\n"
    bounds = sizes(text)[1]
    arrays = {k: v.astype(np.float32) for k, v in data(graph_of(text), bounds).items()}
    agreed(text, tmp_path, bounds, arrays, rtol=1e-3, atol=1e-3)


def test_all_pairs_but_the_diagonal_are_one_sum_over_each_row() -> None:
    """Not one below the diagonal and one above, each of which takes as long."""
    graph = graph_of(f"{PROGRAMS['pairs']}\ng = grad(loss, x)\noutput g\n")
    sums = [n for n in graph.nodes.values() if n.name.startswith("loss.d.x.sum")]
    slices = [e for n in sums for e in n.inputs[0].entries if isinstance(e, ix.Slice)]
    assert [(e.lo, e.hi) for e in slices] == [(ix.ZERO, ix.Sym("N"))] * 2


def test_points_that_are_not_there() -> None:
    """Weights of some layers are read elsewhere too; none is the last and the third of four."""
    text = """dim l < L = 4
dim t < T
input x[t]: f32[3]
input W[l]: f32[3, 3]
h[0, t] = x
h[l+1, t] = tanh(W[l] @ h[l, t])
o = tanh(W[L-1] @ h[L-1, t]) + (W[0])[0] + sum(W[2], axis = 0)
loss = sum(o)
g = grad(loss, W)
output g
"""
    random = np.random.default_rng(4)
    given = {"x": random.normal(size=(2, 3)), "W": random.normal(size=(4, 3, 3))}
    given = {name: value.astype(np.float32) for name, value in given.items()}

    def loss(w: np.ndarray) -> float:
        h = given["x"].T
        for layer in w:
            h = np.tanh(layer @ h)
        return float(h.sum() + 2 * w[0, 0].sum() + 2 * w[2].sum())

    w, wanted = given["W"].astype(np.float64), np.zeros((4, 3, 3))
    for at in np.ndindex(w.shape):
        step = np.zeros_like(w)
        step[at] = 1e-6
        wanted[at] = (loss(w + step) - loss(w - step)) / 2e-6
    found = evaluate(compilation(text, 2).optimized, {"T": 2}, given, {})["g"]
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)
