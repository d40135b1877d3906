"""Functions, records, lists, loops, accesses, outputs: programs against their results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.elaborate import elaborate
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.elaborated import graph_of, value_of

T = "dim t < T\ninput x[t]: f32\n"
X = np.arange(3, dtype=np.float32)
M = np.arange(6, dtype=np.float32).reshape(2, 3)


def y_of(text: str) -> object:
    return value_of(T + text + "\noutput y\n", {"T": 3}, {"x": X})["y"]


@pytest.mark.parametrize(
    ("text", "y"),
    [
        ("def f(a, b = 1.) = a + b\ny = f(x) + f(x, b = 2.)", [3, 5, 7]),
        ("def f(x) { b = a + 1.; a = x * 2.; return b }\ny = f(x)", [1, 3, 5]),
        ("def f(x) { for k in range(3) { x = 2. * x + k }; return x }\ny = f(x)", [4, 12, 20]),
        ("def f(x) { for g in [exp, log] { x = g(x) }; return x }\ny = round(f(x))", [0, 1, 2]),
        ("def f(g, x) = g(g(x))\ndef twice(x) = 2. * x\ny = f(twice, x)", [0, 4, 8]),
        ("act = abs\ny = act(-x)", [0, 1, 2]),
        ("def f(x) { return x, x + 1. }\na, y = f(x)", [1, 2, 3]),
        ("ys = [x * k for k in range(3)]\ny = (ys)[1] + (ys)[-1]", [0, 3, 6]),
        ("r = {a: x, b: {c: 2. * x}}\ns = r + 1.\ny = s.a + s.b.c", [2, 5, 8]),
        ("def prev(p, dim d) = p[d = d-1]\ny[t] = prev(x, t) when t >= 1\ny[t] = 5.", [5, 0, 1]),
        ("def acc(x, dim d) { s[d] = x when d == 0; s[d] = s[d-1] + x when d >= 1; return s }\n"
         "y = acc(acc(x, t), t)", [0, 1, 4]),
        ("def back(x, dim d) { h[d] = x + h[d+1] when d + 1 < T; h[d] = x; return h }\n"
         "y = back(x, t)", [3, 3, 2]),
        ("y = (x * 2.)[t = T-1] - x", [4, 3, 2]),
        ("y = mean((x * x)[t = 0:T]) * 3.", 5),
        ("n = 2\ny = x[min(n, T-1)]", 2),
        ("y = max(x[0:T]) + max(t, 1) + min(2, 3)", [5, 5, 6]),
        ("q[0] = {a: 0., b: 1.}\nq[t+1] = {a: q.a + x, b: 2. * q.b}\ny = q[t].a + q.b", [1, 2, 5]),
        ("y = f32(t) ** 2 + 2. ** t", [1, 3, 8]),
        ("y = size(x[0:t+1], 0) + ndim(x[0:T]) + len([1, 2])", [4, 5, 6]),
        ("y = sum(stack([2. * e for e in leaves([{a: x, b: [x, 1.]}, x])]))", [2, 8, 14]),
        ("def f(x) { for e in leaves({b: x, a: 2. * x}) { x = x + e }; return x }\n"
         "y = f(x) + len(leaves(x))", [1, 5, 9]),
        ("def f(x) { x2 = x; y = x2 * 2.; return y }\ny = f(x)", [0, 2, 4]),
    ],
)  # fmt: skip
def test_values(text: str, y: object) -> None:
    assert y_of(text) == y


def test_recurrences_in_functions_are_computed_where_they_are_read() -> None:
    body = "m[d] = g when d == 0; m[d] = 0.5 * m[d-1] + g when d >= 1; return m"
    text = f"def mom(g, dim d) {{ {body} }}\ny[0] = 0.\ny[t+1] = y[t] - mom(x[t+1], t)"
    assert y_of(text) == [0, -1, -3.5]


def test_functions_carry_dimensions_along() -> None:
    text = """dim b < B
dim t < T
input x[b, t]: f32
def rnn(x, dim t) { h[0] = x[t = 0]; h[t] = 0.5 * h[t-1] + x when t >= 1; return h, h[T-1] }
y, last = rnn(x, t)
output y, last
"""
    found = value_of(text, {"B": 2, "T": 3}, {"x": np.ones((2, 3), np.float32)})
    assert found == {"y": [[1, 1.5, 1.75]] * 2, "last": [1.75, 1.75]}


@pytest.mark.parametrize(
    ("e", "value"),
    [
        ("M[1]", [3, 4, 5]), ("M[-1, 0]", 3), ("M[:, 1]", [1, 4]), ("M[:, ::2]", [[0, 2], [3, 5]]),
        ("M[i]", [3, 4, 5]), ("M[:, i]", [1, 4]), ("M[i][i]", 4), ("M.T[2]", [2, 5]),
        ("split(M, 3, 1)[2]", [[2], [5]]), ("M[1:][0]", [3, 4, 5]), ("(M)[0][1]", 1),
        ("top_k(M[0], 2)[1]", [2, 1]), ("argmax(M)", 5), ("cumsum(M, 1)[1]", [3, 7, 12]),
        ("take(M, i, 0)", [3, 4, 5]), ("one_hot(i, 3)", [0, 1, 0]),
        ("pad(M[0], [0, 1])", [0, 1, 2, 0]),
        ("einsum(\"ij,kj->ik\", M, M)[0]", [5, 14]), ("clip(M[1], 3.5, 4.5)", [3.5, 4, 4.5]),
        ("full([2], 7)", [7, 7]), ("arange(1, 6, 2)", [1, 3, 5]), ("eye(2)", [[1, 0], [0, 1]]),
        ("stack([i, i])", [1, 1]), ("concat([M[0], M[1]])", [0, 1, 2, 3, 4, 5]),
        ("where(M[0] > 0., 1., -1.)", [-1, 1, 1]), ("flip(M[0])", [2, 1, 0]),
        ("sum(M, axis = [0, 1])", 15), ("max(M, 0)", [3, 4, 5]),
        ("zeros_like(M[0], dtype = i32)", [0, 0, 0]),
        ("transpose(M, [1, 0])[0]", [0, 3]), ("squeeze(M[0:1])", [0, 1, 2]),
        ("sort(-M[0])", [-2, -1, 0]),
    ],
)  # fmt: skip
def test_spatial(e: str, value: object) -> None:
    text = f"input M: f32[2, 3]\ninput i: i32\ny = {e}\noutput y\n"
    assert value_of(text, {}, {"M": M, "i": np.int32(1)})["y"] == value


def test_a_spatial_index_may_be_an_index_expression() -> None:
    text = "assume T <= 5\ninput w: f32[5, 2]\ny = w[t, 1]\nr = (w[0:T])[t][0]\noutput y, r\n"
    data = {"x": X, "w": np.arange(10, dtype=np.float32).reshape(5, 2)}
    assert value_of(T + text, {"T": 3}, data) == {"y": [1, 3, 5], "r": [0, 2, 4]}


def test_outputs() -> None:
    text = """dim b < B
dim t < T
input x[b, t]: f32
r = {a: x, b: [2. * x]}
output x[0, T-1] as corner, x[0, 0:T:2] as thin, x[t = 0], r[B-1, 0] as one, r
"""
    data = {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}
    found = value_of(text, {"B": 2, "T": 3}, data)
    assert list(found) == ["corner", "thin", "x", "one.a", "one.b.0", "r.a", "r.b.0"]
    assert found["corner"] == 2 and found["thin"] == [0, 2] and found["x"] == [0, 3]
    assert found["one.b.0"] == 6 and found["r.a"] == data["x"].tolist()


def test_partial_tensors_can_be_output_where_they_are_defined() -> None:
    text = "y[t] = x when t >= 1\noutput y[1:T] as y\n"
    assert value_of(T + text, {"T": 3}, {"x": X})["y"] == [1, 2]
    assert value_of(T + text, {"T": 1}, {"x": X[:1]})["y"] == []


def test_parameters() -> None:
    text = """dim l < L = 2
def init(n) = [{w: ones([n]), b: 1.} for k in range(2)]
param net = init(3)
param g[l]: {s: f32} from "layers.{l}"
y = sum(net[0].w) + net[1].b + g.s
output y
"""
    assert value_of(text, params={"g.s": np.array([1, 2], np.float32)}) == {"y": [5, 6]}
    ops = {name: node.op for name, node in graph_of(text).nodes.items()}
    assert ops["net.1.b"].template == "net.1.b" and ops["net.1.b"].has_default  # type: ignore[attr-defined]
    assert ops["g.s"].template == "layers.{l}.s"  # type: ignore[attr-defined]


def test_imported_functions_see_their_own_module(tmp_path: Path) -> None:
    (tmp_path / "lib.rt").write_text("const k = 2.\nconst j = k * 2.\ndef f(x) = x * k + j\n")
    text = 'import "lib.rt" as lib\nconst k = lib.j\ndim t < T\ny = lib.f(f32(t)) + k\noutput y\n'
    graph = elaborate(load_source(Source("m.rt", text), tmp_path), {})
    assert np.asarray(evaluate(graph, {"T": 2}, {}, {})["y"]).tolist() == [8, 10]
