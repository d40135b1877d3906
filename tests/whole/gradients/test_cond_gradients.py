"""Derivatives of `cond`: of the branch taken alone, which is all that is computed."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.sdg.evaluation.interpret import evaluate
from tempoc.sdg.statements.branches import branch_conditions
from tests.support.agree import agreed, compiled
from tests.support.elaborated import graph_of
from tests.support.gradients import check

ROOT = """dim t < T
input x[t]: f32
input p[t]: i32
s = x * 2.0
y = cond(p > 0, sqrt(s) * s, cond(p < 0, log(s), 0.0 * s))
loss = sum(y[t = 0:T])
g = grad(loss, x)
h = grad(sum(g[t = 0:T] * x[t = 0:T]), x)
output loss, g, h
"""


def root(x: jax.Array, p: jax.Array) -> jax.Array:
    def one(x: jax.Array, p: jax.Array) -> jax.Array:
        s = x * 2
        inner = lax.cond(p < 0, jnp.log, lambda s: 0 * s, s)
        return lax.cond(p > 0, lambda s: jnp.sqrt(s) * s, lambda s: inner, s)

    return sum(one(a, b) for a, b in zip(x, p, strict=True))


def test_a_branch_that_is_not_taken_does_no_harm(tmp_path: Path) -> None:
    x = np.array([0.0, 0.5, 2.0, 0.0, 0.25], np.float32)
    p = np.array([0, 1, -1, 0, 1], np.int32)
    found = agreed(ROOT, tmp_path, {"T": 5}, {"x": x, "p": p})
    slope = jax.jit(jax.grad(root))
    wanted = jax.jit(jax.grad(lambda x: slope(x, p) @ x))(x)
    np.testing.assert_allclose(found["g"], slope(x, p), rtol=1e-5)
    np.testing.assert_allclose(found["h"], wanted, rtol=1e-5)
    assert np.isfinite(found["h"]).all()


RNN = """dim t < T
input x[t]: f32[2]
input w: f32[2, 2]
input b: f32[2]
h[0] = x[0]
h[t] = cond(sum(x[t]) > 0.0, tanh(w @ h[t-1] + b), cond(x[t][0] > 0.0, h[t-1] * b, x[t]))
       when t >= 1
loss = sum(h[0:T] ** 2)
gx = grad(loss, x)
gw = grad(loss, w)
gb = grad(loss, b)
twice = grad(sum(gb ** 2), w)
output gx, gw, gb, twice
"""


def rnn(x: jax.Array, w: jax.Array, b: jax.Array) -> jax.Array:
    h, total = x[0], jnp.sum(x[0] ** 2)
    for t in range(1, len(x)):
        p, q = jnp.sum(x[t]) > 0.0, x[t][0] > 0.0
        other = lax.cond(q, lambda h, x=x[t]: h * b, lambda h, x=x[t]: x, h)
        h = lax.cond(p, lambda h: jnp.tanh(w @ h + b), lambda h, o=other: o, h)
        total = total + jnp.sum(h**2)
    return total


def test_through_time(tmp_path: Path) -> None:
    T = 4
    random = np.random.default_rng(T)
    x, w, b = (random.standard_normal(s).astype(np.float32) for s in ((T, 2), (2, 2), 2))
    found = agreed(RNN, tmp_path, {"T": T}, {"x": x, "w": w, "b": b})
    first = jax.jit(jax.grad(rnn, argnums=(0, 1, 2)))(x, w, b)
    for name, value in zip(("gx", "gw", "gb"), first, strict=True):
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-5)
    twice = jax.jit(jax.grad(lambda w: jnp.sum(jax.grad(rnn, argnums=2)(x, w, b) ** 2)))(w)
    np.testing.assert_allclose(found["twice"], twice, rtol=1e-3, atol=1e-4)


ACCESSES = """dim t < T
input x[t]: f32
input u[t]: f32
input n[t]: i32
far = cond(u[t] > 0.5, x[t = n in 0:T] ** 2, 0.5)
past = cond(u[t] > 0.0, sum(x[0:t+1] ** 3), sum(x[t:T] * u[t:T]))
old = cond(u[max(0, t-1)] > 0.0, x[t] * x[T-1-t], sum(x[max(0, t-2):t+1] ** 2))
loss[t] = far * past + old * past
"""


def test_accesses_in_branches() -> None:
    check(ACCESSES, ["x"], bounds=[{"T": 1}, {"T": 6}])


def test_accesses_in_branches_compiled(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    x, u = (random.uniform(-1, 1, 6).astype(np.float32) for _ in "xu")
    n = np.where(u > 0.5, random.integers(0, 6, 6), -7).astype(np.int32)  # a promise broken
    text = f"{ACCESSES}g = grad(loss, x)\noutput g\n"
    agreed(text, tmp_path, {"T": 6}, {"x": x, "u": u, "n": n})


def test_only_the_branch_taken_is_differentiated() -> None:
    text = (
        "input k: f32\ninput x: f32\ninput z: f32\n"
        "y = cond(k > 0.0, exp(k) * x, sin(z) * x)\ng = grad(y, x)\noutput g\n"
    )
    graph = graph_of(text)
    given = {"k": np.float32(2.0), "x": np.float32(1.0)}
    assert evaluate(graph, {}, given, {})["g"] == pytest.approx(np.exp(2.0))
    with pytest.raises(DiagnosticError, match="`z` is not given"):
        evaluate(graph, {}, {**given, "k": np.float32(-2.0)}, {})


def test_what_the_forward_branch_computed_is_read_again(tmp_path: Path) -> None:
    text = (
        "dim t < T\ninput x[t]: f32[3]\ninput w: f32[3, 3]\nh[0] = x[0]\n"
        "h[t] = cond(x[t][0] > 0.0, tanh(exp(w @ h[t-1]) + x[t]), h[t-1]) when t >= 1\n"
        "loss = sum(h[T-1])\ng = grad(loss, w)\noutput g\n"
    )
    graph = graph_of(text)
    inner = [n for n, node in graph.nodes.items() if node.op.name in ("exp", "tanh", "einsum")]
    needed = branch_conditions(graph)
    assert len(inner) > 3
    assert sum(bool(needed[n]) for n in inner) >= len(inner) - 1  # one product sums over time
    for level in (0, 2):
        kernels = (Path(compiled(text, tmp_path, level)) / "kernels.py").read_text()
        for line in kernels.splitlines():
            if "jnp.tanh(" in line or "jnp.exp(" in line:
                assert line.startswith("        "), line  # in a branch
        assert kernels.count("jnp.tanh(") == kernels.count("jnp.exp(") == 1
