"""Gradients through time against differences, and compiled programs against the evaluator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tempoc.cli.main import status
from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.elaborated import graph_of
from tests.support.gradients import check, data
from tests.support.session.kernels import lengths_in_share
from tests.support.session.long import sampled

PROGRAMS: dict[str, tuple[str, str]] = {
    "rnn": (
        "dim t < T\ninput x[t]: f32[2]\ninput w: f32[3, 2]\ninput u: f32[3, 3]\ninput h0: f32[3]\n"
        "h[0] = tanh(w @ x[0] + u @ h0)\nh[t] = tanh(w @ x + u @ h[t-1]) when t >= 1\n"
        "err[t] = sum(h ** 2) * (t + 1)\nloss = mean(err[0:T])",
        "x w u h0",
    ),
    "whole_domain": (
        "dim t < T\ninput x[t]: f32\ninput w: f32\ny[0] = x[0]\ny[t+1] = w * y[t] + x[t+1]\n"
        "loss[t] = y[t] ** 2",
        "x w",
    ),
    "attention": (
        "dim t < T\ninput q[t]: f32[2]\ninput k[t]: f32[2]\ninput v[t]: f32[3]\n"
        "s[t] = k[0:t+1] @ q[t]\na[t] = exp(s - logsumexp(s)) @ v[0:t+1]\n"
        "e[t] = sum(a ** 2)\nloss = sum(e[0:T])",
        "q k v",
    ),
    "anticausal": (
        "dim t < T\ninput x[t]: f32[2]\nb[t] = max(x[t:T], axis = 0) + sum(x[t:T] ** 3, axis = 0)\n"
        "loss = sum(b[0:T] ** 2)",
        "x",
    ),
    "window": (
        "dim t < T\ninput x[t]: f32\n"
        "g[t] = sum(x[t:min(t+3, T)] * 0.9 ** arange(min(t+3, T) - t))\n"
        "m[t] = mean(x[max(0, t-2):t+1] ** 2)\nl[t] = g * m\nloss = sum(l[0:T])",
        "x",
    ),
    "constant_window": (
        "dim t < T\ninput x[t]: f32\ny[t] = sum(x[t:t+2]) when t < T-1\ny[t] = 2. * x\n"
        "z[t] = x[t:t+2] @ x[t:t+2] when t < T-1\nz[t] = 0.0\nloss = sum((y + z)[t = 0:T])",
        "x",
    ),
    "gae": (
        "dim t < T\ninput r[t]: f32\ninput v[t]: f32\n"
        "delta[t] = r + (0.9 * v[t+1] if t < T-1 else 0.0) - v\n"
        "adv[t] = delta + 0.5 * adv[t+1] when t < T-1\nadv[T-1] = delta[T-1]\n"
        "loss = mean(adv[0:T] ** 2)",
        "r v",
    ),
    "strided": (
        "dim t < T\ninput x[t]: f32\nloss = prod(x[0:T:2]) + sum(x[1:T:3] ** 2)",
        "x",
    ),
    "strided_window": (
        "dim t < T\ninput x[t]: f32\ny[t] = sum(x[t:T:2] ** 2) * x[0]\nloss = sum(y[0:T] ** 2)",
        "x",
    ),
    "constants": (
        "dim t < T\ninput x[t]: f32[2]\nz = x ** 2\ny[t] = sum(x[0] * z[T-1] * z)\n"
        "loss = sum(y[0:T])",
        "x",
    ),
    "rows": (
        "dim t < T\ninput m: f32[T, 2]\ninput w: f32\ny = sum(m[t] ** 2) * w\n"
        "loss = sum(y[t = 0:T] * sin(1.0 * arange(T)))",
        "m w",
    ),
    "remainder": (
        "dim t < T\ninput x[t]: f32\ny[t] = x[t % 3] * x[t - t % 2] when t >= 3\ny[t] = x\n"
        "loss = sum(y[0:T] ** 2)",
        "x",
    ),
    "frozen": (
        "dim t < T\ninput x[t]: f32\ny[t] = x[(t // 4) * 4] * x\nloss = sum(y[0:T] ** 2)",
        "x",
    ),
    "blocks": (
        "dim t < T\ninput x[t]: f32\ny[t] = sum(x[(t // 3) * 3:t+1] ** 2)\nloss = sum(y[0:T] ** 2)",
        "x",
    ),
    "batches": (
        "dim b < B\ndim t < T\ninput x[b, t]: f32[2]\ninput w: f32[2]\n"
        "y[b, t] = w @ sum(x[b, 0:t+1], axis = 0)\nloss = mean(y[0:B, 0:T] ** 2)",
        "x w",
    ),
    "both_slices": (
        "dim b < B\ndim t < T\ninput x[b, t]: f32\ny[t] = sum(x[0:B, t:T] ** 2) * x[0, t]\n"
        "loss = sum(y[0:T] ** 2)",
        "x",
    ),
    "triangle": (
        "dim i < N\ndim j < N\ninput w: f32\ninput x[i]: f32\n"
        "p[i, j] = sin(w * x[i] + x[i = j]) when j <= i\n"
        "r[i] = sum(p[i, 0:i+1] ** 2)\nloss = sum(r[0:N])",
        "w",
    ),
    "grid": (
        "dim i < N\ndim j < M\ninput x[i, j]: f32\ns[i, j] = x when i == 0 and j == 0\n"
        "s[i, j] = x + s[i, j-1] when i == 0\ns[i, j] = x + s[i-1, j] when j == 0\n"
        "s[i, j] = x * s[i-1, j-1] + s[i-1, j] * s[i, j-1]\nloss = s[N-1, M-1]",
        "x",
    ),
    "branches": (
        "dim t < T\ninput x[t]: f32\ny[t] = x ** 2 when t % 2 == 0\ny[t] = x * y[t-1]\n"
        "loss = sum(y[0:T] ** 2)",
        "x",
    ),
    "holes": (
        "dim t < T\ninput x[t]: f32\ninput w: f32\ny[t] = w * x when t % 2 == 0\n"
        "loss = sum(y[0:T:2] ** 2)",
        "x w",
    ),
    "gather": (
        "dim t < T\ninput x[t]: f32[4]\ninput n[t]: i32\nloss = sum(x[0:T] ** 2) + 2. * pick[T-1]\n"
        "pick[t] = x[t][n] ** 2 + (pick[t-1] if t >= 1 else 0.0)",
        "x",
    ),
    "chosen": (
        "dim t < T\ninput x[t]: f32\ninput n[t]: i32\n"
        "y[t] = x[t = n in 0:T] ** 2 * x when t >= 3\ny[t] = x\nloss = sum(y[0:T] ** 2)",
        "x",
    ),
    "stopped": (
        "dim t < T\ninput x[t]: f32\ninput w: f32\nc = w * 2.0\nd = 0.0 * stop_gradient(c) + c\n"
        "loss = sum((x * d)[t = 0:T])",
        "x w",
    ),
    "def_local": (
        "dim t < T\n"
        "input x[t]: f32\n"
        "input w: f32\n"
        "def scan(w, x, dim t) {\n"
        "  m[t] = w * x when t == 0\n"
        "  m[t] = w * m[t-1] + x when t >= 1\n"
        "  l[t] = m[t] * m[t-1] when t >= 1\n"
        "  l[t] = x\n"
        "  return m, l\n"
        "}\n"
        "m, l = scan(w, x, t)\n"
        "loss = sum(l[1:T]) + sum(m[0:T] ** 2)",
        "w x",
    ),
    "if": (
        "dim t < T\n"
        "input x[t]: f32\n"
        "y = (x ** 2 if t % 3 == 1 else x[T-1-t] * x)\n"
        "loss = sum(y[t = 0:T])",
        "x",
    ),
    "reverse": (
        "dim t < T\ninput x[t]: f32\ny[t] = x[T-1-t] * sum(x[0:T-t])\nloss = sum(y[0:T] ** 2)",
        "x",
    ),
    "double": (
        "dim t < T\n"
        "dim h < H = 3\n"
        "input x[t]: f32\n"
        "y[h] = x[min(2*h, T-1)] ** 2\n"
        "loss = sum(y[0:H])",
        "x",
    ),
    "prefix2d": (
        "dim b < B\n"
        "dim t < T\n"
        "input x[b, t]: f32\n"
        "y[b, t] = sum(x[0:b+1, 0:t+1]) * x\n"
        "loss = sum(y[0:B, 0:T] ** 2)",
        "x",
    ),
    "batched_attention": (
        "dim b < B\n"
        "dim t < T\n"
        "input x[b, t]: f32[2, 3]\n"
        's[b, t] = einsum("hd,thd->ht", x, x[b, 0:t+1])\n'
        "p = exp(s - logsumexp(s, axis = 1, keepdims = true))\n"
        'a[b, t] = einsum("ht,thd->hd", p, x[b, 0:t+1])\n'
        "loss = mean((a ** 2)[b = 0:B, t = 0:T])",
        "x",
    ),
}
TWICE = {
    "rnn": (
        "dim t < T\ninput x[t]: f32\ninput w: f32\nh[0] = sin(x[0])\n"
        "h[t+1] = sin(w * h[t] + x[t+1])\ninner = sum(h[0:T] ** 2)\n"
        "g = grad(inner, w)\nk = grad(inner, x)\nloss = g ** 2 + sum(k[0:T] ** 3)",
        "w x",
    ),
    "slices": (
        "dim t < T\ninput x[t]: f32\ny[t] = sum(x[0:t+1] ** 3) * x\ninner = sum(y[0:T] ** 2)\n"
        "g = grad(inner, x)\nloss = sum(g[0:T] ** 2)",
        "x",
    ),
    "learned_rate": (
        "dim i < I\ninput rate: f32\ninput start: f32[2]\nw[0] = start\n"
        "inner[i] = sum(sin(w[i]) ** 2)\nw[i+1] = w[i] - rate * grad(inner, w)\nloss = inner[I-1]",
        "rate start",
    ),
}


def sizes(text: str) -> list[dict[str, int]]:
    names = [n for n in "TBNMI" if f"< {n}\n" in text]
    return [{n: size - k for k, n in enumerate(names)} for size in (3, 7)] + [
        dict.fromkeys(names, 1)
    ]


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_agree_with_differences(name: str) -> None:
    text, wrt = PROGRAMS[name]
    check(text, wrt.split(), bounds=sizes(text))


@pytest.mark.parametrize("name", TWICE)
def test_gradients_of_gradients_agree_with_differences(name: str) -> None:
    text, wrt = TWICE[name]
    check(text, wrt.split(), bounds=sizes(text)[::2])


NAMES = (*PROGRAMS, *(f"twice_{k}" for k in TWICE))


@pytest.mark.parametrize("name", sampled(NAMES, "more programs", of=3))
def test_compiled_programs_agree_with_the_evaluator(name: str, tmp_path: Path) -> None:
    text, wrt = TWICE[name[6:]] if name.startswith("twice_") else PROGRAMS[name]
    lines = [f"g_{x} = grad(loss, {x})" for x in wrt.split()]
    outputs = ", ".join(["loss", *(f"g_{x}" for x in wrt.split())])
    whole = "\n".join([text, *lines, f"output {outputs}", ""])
    path = tmp_path / "m.rt"
    path.write_text(whole)
    graph = graph_of(whole)
    # Unfused operators take long to compile and are the same for all bounds.
    runs = {2: sizes(text)[1:]} | ({0: sizes(text)[:1]} if name in NAMES[::8] else {})
    for level, some in runs.items():
        out = str(tmp_path / f"out{level}")
        assert status(["compile", str(path), "-o", out, f"-O{level}"]) == 0
        for bounds in some:
            arrays = {k: narrow(v) for k, v in data(graph, bounds).items()}
            np.savez(tmp_path / "inputs.npz", **arrays)
            wanted = evaluate(graph, bounds, arrays, {}, float64=True)
            given = ",".join(f"{k}={v}" for k, v in bounds.items())
            command = ["run", out, "--bounds", given, "--input", str(tmp_path / "inputs.npz")]
            with lengths_in_share(whole):
                assert status([*command, "--output", str(tmp_path / "results.npz")]) == 0
            with np.load(tmp_path / "results.npz") as found:
                for key, value in wanted.items():
                    np.testing.assert_allclose(found[key], value, rtol=2e-4, atol=1e-4)


def narrow(array: np.ndarray) -> np.ndarray:
    return array.astype(np.int32 if array.dtype.kind == "i" else np.float32)
