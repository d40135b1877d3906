"""Scans with functions of the program: compiled, evaluated, and by hand."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tempoc.sdg.evaluation.interpret import evaluate
from tempoc.sdg.text.text import show
from tempoc.sdg.verification.check import read_graph
from tests.support.agree import agreed
from tests.support.elaborated import graph_of
from tests.support.gradients import check

LINEAR = """dim t < T
input a[t]: f32[2]
input u[t]: f32[2]
input k: f32
def step(p, q) = {f: p.f * q.f, s: q.f * p.s + q.s}
def plus(p, q) = p + q * 1 + 0.0 * (k + f32(t))
def add(p, q) = p + q
whole = associative_scan(step, {s: u[0:T], f: a[0:T]}, 0).s
past = associative_scan(step, {f: a[0:t+1], s: u[0:t+1]}, 0).s[t]
future = associative_scan(minimum, a[t:T], 0)[-1]
empty = sum(associative_scan(plus, u[0:t], 0))
across = associative_scan(plus, transpose(u[0:t+1]), -1)[:, t]
lists = associative_scan(add, [i32(u * 10.0), i32(a * 10.0)], axis = 0)[1]
output whole, past, future, empty, across, lists
"""


@pytest.mark.parametrize("T", [1, 3])
def test_scans(T: int, tmp_path: Path) -> None:
    random = np.random.default_rng(T)
    a, u = (random.standard_normal((T, 2)).astype(np.float32) for _ in "au")
    found = agreed(LINEAR, tmp_path, {"T": T}, {"a": a, "u": u, "k": np.float32(3)})
    h = [u[0]]
    for t in range(1, T):
        h.append(a[t] * h[-1] + u[t])
    sums = np.cumsum(u, axis=0)
    np.testing.assert_allclose(found["whole"], h, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found["past"], h, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found["future"], [a[t:].min(axis=0) for t in range(T)])
    partial = [np.cumsum(u[:t], axis=0).sum() for t in range(T)]
    np.testing.assert_allclose(found["empty"], partial, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found["across"], sums, rtol=1e-4, atol=1e-5)
    tens = np.trunc(a * np.float32(10)).astype(np.int32)
    np.testing.assert_array_equal(found["lists"], np.cumsum(tens, axis=1))


def test_what_is_missing_at_the_end_has_no_influence(tmp_path: Path) -> None:
    text = """dim t < T
input x[t]: f32
y = associative_scan(maximum, 1.0 / x[0:t+1], 0)
s = sum(y)
output s
"""
    x = np.array([1.0, 2.0, 0.5, 0.0], np.float32)
    found = agreed(text, tmp_path, {"T": 4}, {"x": x})
    np.testing.assert_allclose(found["s"], [1.0, 2.0, 4.0, np.inf])


def test_steps_are_text_that_parses_back() -> None:
    graph = graph_of(LINEAR)
    text = show(graph, sources=False)
    assert "(mul{}, (" in text and "(cast{dtype=f32}, (" in text
    again = read_graph(text, "m.sdg")
    assert show(again, sources=False) == text
    assert all(again.nodes[n].op == node.op for n, node in graph.nodes.items())


GRADIENTS = """dim t < T
input a[t]: f32[2]
input u[t]: f32[2]
input k: f32[2]
def step(p, q) = {f: p.f * q.f, s: q.f * p.s + q.s, n: p.n + q.n}
def scaled(p, q) = p * tanh(k) / tanh(k) + q + 0.0 * k
whole = associative_scan(step, {s: u[0:T], f: a[0:T], n: i32(a[0:T])}, 0).s
past = sum(associative_scan(maximum, a[0:t+1] * u, 0))
ahead = sum(associative_scan(scaled, sin(a[t:T]), axis = 0) ** 2)
across = sum(associative_scan(scaled, stack([u, a, u * a], 0), axis = 0)[2] ** 3)
loss = sum(whole * sin(whole)) + sum((past + ahead + across)[t = 0:T])
"""


@pytest.mark.parametrize("T", [1, 4])
def test_gradients(T: int, tmp_path: Path) -> None:
    text = GRADIENTS
    grads = "".join(f"g{x} = grad(loss, {x})\n" for x in "auk")
    random = np.random.default_rng(T)
    data = {x: random.uniform(0.2, 1.5, (T, 2)) for x in "au"} | {"k": np.array([0.5, -0.7])}
    narrow = {name: x.astype(np.float32) for name, x in data.items()}
    bounds = {"T": T}
    whole = text + grads + "output ga, gu, gk\n"
    found = agreed(whole, tmp_path, bounds, narrow, rtol=2e-3, atol=2e-3)
    graph = graph_of(text + "output loss\n")
    for name, x in data.items():
        direction = random.standard_normal(x.shape)
        ends = []
        for sign in (1, -1):
            moved = {**data, name: x + sign * 1e-5 * direction}
            ends.append(evaluate(graph, bounds, moved, {}, float64=True)["loss"])
        slope = (ends[0] - ends[1]) / 2e-5
        along = (found[f"g{name}"] * direction).sum()
        np.testing.assert_allclose(along, slope, rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("T", [1, 4])
def test_gradients_of_gradients(T: int) -> None:
    inner = GRADIENTS.replace("loss =", "inner =")
    text = inner + "ga = grad(inner, a)\ngk = grad(inner, k)\nloss = sum(ga[0:T] ** 2) + sum(gk)\n"
    check(text, ["a", "u", "k"], bounds=[{"T": T}])


THRICE = """dim t < T
input x[t]: f32[2]
input k: f32
def f(p, q) = {m: p.m * q.m, s: cond(q.s[0] > 0.0, sqrt(q.s[0] + 0.0 * k), 0.0) * k + p.s * q.m}
first = sum(associative_scan(f, {m: x[0:t+1], s: x[0:t+1]}, 0).s)
g = grad(sum(first[0:T] ** 2), x)
h = grad(sum(g[0:T] ** 2), x)
i = grad(sum(h[0:T] * x[0:T]), k)
output g, h, i
"""


@pytest.mark.long("a third derivative: the second stands below")
def test_derivatives_of_any_order(tmp_path: Path) -> None:
    x = np.array([[0.5, -1.0], [0.0, 0.7], [0.8, 0.4]], np.float32)
    given = {"x": x, "k": np.float32(0.5)}
    found = agreed(THRICE, tmp_path, {"T": 3}, given, levels=(2,), rtol=1e-3)

    def first(x: jax.Array, k: jax.Array) -> jax.Array:
        total = 0.0
        for t in range(3):
            s = x[0]
            total = total + jnp.sum(s) ** 2 if t == 0 else total
            inner = jnp.sum(s)
            for j in range(1, t + 1):
                root = lax.cond(x[j][0] > 0, jnp.sqrt, lambda v: 0 * v, x[j][0])
                s = root * k + s * x[j]
                inner = inner + jnp.sum(s)
            total = total + inner**2 if t else total
        return total

    g = jax.grad(first)
    h = jax.grad(lambda x, k: jnp.sum(g(x, k) ** 2))
    i = jax.grad(lambda k: jnp.sum(h(x, k) * x))
    derivatives = jax.jit(lambda x, k: (g(x, k), h(x, k), i(k)))(x, 0.5)
    for name, value in zip("ghi", derivatives, strict=True):
        assert np.isfinite(found[name]).all()
        np.testing.assert_allclose(found[name], value, rtol=1e-3, atol=1e-4)
