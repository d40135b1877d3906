"""`extern jax`: called by kernels and by the evaluator; what goes wrong is told with the place."""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import RunError
from tempoc.diagnostics.render import render_all
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.reference import caller
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.load.load import load
from tempoc.runtime.run import Settings, run, run_given
from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.agree import LEVELS

SWING = """
dim b < B
dim t < T
extern jax swing(s: f32[n], u: f32) -> (s2: f32[n], cost: f32) from "MODULE:swing"
extern jax double(x: f32[n]) -> (y: f32[2*n]) from "MODULE:twice"
input u[b, t]: f32
s2, cost = swing(s, u)
s[b, 0] = [0.1, 0.2, 0.3]
s[b, t+1] = s2[b, t]
d = double(s)
loss = mean(cost[b = 0:B, t = 0:T])
slope = grad(loss, u)
output s, cost, loss, d, slope
"""

PYTHON = """
import jax.numpy as jnp


def swing(s, u):
    return jnp.sin(s) + u, s @ s


def twice(x):
    return jnp.concatenate([x, 2 * x])
"""


def written(folder: Path, text: str, module: str, python: str) -> Path:
    """A program and its Python module in a folder; the name of the module is its own."""
    path = folder / "model.rt"
    path.write_text(text.replace("MODULE", module).replace("[0.1, 0.2, 0.3]", "0.1 * ones([3])"))
    (folder / f"{module}.py").write_text(python)
    return path


def test_kernels_call_functions(tmp_path: Path) -> None:
    path = written(tmp_path, SWING, "ext_swing", PYTHON)
    random = np.random.default_rng(1)
    inputs = {"u": random.normal(size=(2, 5)).astype(np.float32)}
    bounds = {"B": 2, "T": 5}
    graph = Compilation.from_path(str(path), Options()).graph
    externs = caller(graph, bounds, [str(tmp_path)])
    wanted = evaluate(graph, bounds, inputs, {}, externs=externs)
    s = np.full((2, 3), 0.1)
    for t in range(5):
        np.testing.assert_allclose(wanted["s"][:, t], s, rtol=1e-4)
        np.testing.assert_allclose(wanted["d"][:, t], np.concatenate([s, 2 * s], 1), rtol=1e-4)
        s = np.sin(s) + inputs["u"][:, t, None]
    for level in LEVELS:
        compilation = Compilation.from_path(str(path), Options(level=level, verify_each=True))
        out = tmp_path / f"out{level}"
        compilation.write(str(out))
        assert (
            "\nfrom ext_swing import swing\nfrom ext_swing import twice\n"
            in (out / "kernels.py").read_text()
        )
        for name, value in run(out, bounds, inputs).outputs.items():
            np.testing.assert_allclose(value, wanted[name], rtol=1e-5, atol=1e-6)


ONE = """
dim t < T
extern jax f(x: f32[2]) -> (y: f32, z: i32) from "MODULE:f"
input x[t]: f32[2]
y, z = f(x)
output y, z
"""

LEAK = "y[0], z[0] = f(x[0])\ny[t], z[t] = f(x[t] + y[t-1]) when t >= 1"
BROKEN = {
    "shape": "return x, 1",
    "dtype": "return x[0], x[1]",
    "count": "return x[0]",
    "kind": "return 'x', 1",
    "raises": "raise ValueError('boom')",
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_promises_are_told(what: str, tmp_path: Path, golden) -> None:
    python = f"def f(x):\n    {BROKEN[what]}\n"
    path = written(tmp_path, ONE, f"ext_broken_{what}", python)
    Compilation.from_path(str(path), Options()).write(str(tmp_path / "out"))
    with pytest.raises(RunError) as error:
        run(tmp_path / "out", {"T": 2}, {"x": np.zeros((2, 2), np.float32)})
    text = render_all(error.value.diagnostics).replace(str(tmp_path), "DIR")
    golden(f"externs/{what}.txt", text)


def test_values_of_an_earlier_call_are_refused(tmp_path: Path) -> None:
    python = "kept = []\n\n\ndef f(x):\n    kept.append(x[0])\n    return kept[0], 1\n"
    path = written(tmp_path, ONE.replace("y, z = f(x)", LEAK), "ext_keeps", python)
    Compilation.from_path(str(path), Options()).write(str(tmp_path / "out"))
    with pytest.raises(RunError) as error:
        run(tmp_path / "out", {"T": 2}, {"x": np.zeros((2, 2), np.float32)})
    text = render_all(error.value.diagnostics)
    assert "RT574]: JAX cannot trace what f (ext_keeps:f) gave: UnexpectedTracerError" in text


def test_what_is_missing_is_told(tmp_path: Path, golden) -> None:
    path = written(tmp_path, ONE, "ext_missing", "def g(x):\n    pass\n")
    other = path.read_text().replace("output y, z", "a = h(y)\noutput y, a, z")
    path.write_text(other + 'extern jax h(x: f32) -> (y: f32) from "ext_nowhere:h"\n')
    Compilation.from_path(str(path), Options()).write(str(tmp_path / "out"))
    with pytest.raises(RunError) as error:
        run(tmp_path / "out", {"T": 2}, {"x": np.zeros((2, 2), np.float32)})
    golden("externs/missing.txt", render_all(error.value.diagnostics).replace(str(tmp_path), "DIR"))


def test_named_folders_come_first(tmp_path: Path) -> None:
    path = written(tmp_path, ONE, "ext_first", "def f(x):\n    return x[0], 1\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "ext_first.py").write_text("def f(x):\n    return x[1], 2\n")
    Compilation.from_path(str(path), Options()).write(str(tmp_path / "out"))
    inputs = {"x": np.array([[3, 4]], np.float32)}
    found = run(tmp_path / "out", {"T": 1}, inputs, extern_path=[tmp_path / "other"]).outputs
    assert (found["y"].tolist(), found["z"].tolist()) == ([4.0], [2])


STEEP = """
dim t < T
extern jax f(x: f32) -> (y: f32) from "MODULE:f"
input x[t]: f32
y = f(x)
g = grad(y ** 2, x)
output g
"""
NO_SLOPE = """
import jax

@jax.custom_vjp
def f(x):
    return x

def back(_, g):
    raise NotImplementedError("no slope is known.")

f.defvjp(lambda x: (x, None), back)
"""


def test_functions_without_a_derivative_are_told(tmp_path: Path, golden) -> None:
    path = written(tmp_path, STEEP, "ext_steep", NO_SLOPE)
    compilation = Compilation.from_path(str(path), Options())
    compilation.write(str(tmp_path / "out"))
    inputs = {"x": np.ones(2, np.float32)}
    with pytest.raises(RunError) as error:
        run(tmp_path / "out", {"T": 2}, inputs)
    golden("externs/derivative.txt", render_all(error.value.diagnostics))
    externs = caller(compilation.graph, {"T": 2}, [str(tmp_path)])
    with pytest.raises(RunError) as again:
        evaluate(compilation.graph, {"T": 2}, inputs, {}, externs=externs)
    assert again.value.diagnostics[0].message == error.value.diagnostics[0].message


TWICE = """
dim t < T
extern jax f(x: f32[2], n: i32, w: f32) -> (y: f32, m: i32, z: f32[2]) from "MODULE:f"
extern jax g(x: f32) -> (y: f32) from "MODULE:g"
input x[t]: f32[2]
input w: f32
y, m, z = f(x, t, w)
loss = sum((y * sum(z) + g(y))[t = 0:T])
first = grad(loss, x)
norm = sum(first[0:T] ** 2)
second = grad(norm, x)
slope = grad(norm, w)
third = grad(slope + sum(second[0:T] ** 2), w)
output second, slope, third
"""
CURVES = """
import jax.numpy as jnp


def f(x, n, w):
    return jnp.sin(x[0] * w) * x[1], n + 1, x ** 3 * (1 + n) * w


def g(x):
    return jnp.tanh(x)
"""


@pytest.mark.long("a third derivative: others stand above")
def test_derivatives_of_any_order(tmp_path: Path) -> None:
    path = written(tmp_path, TWICE, "ext_curves", CURVES)
    random = np.random.default_rng(2)
    x, w = random.uniform(-1, 1, (3, 2)).astype(np.float32), np.float32(0.7)
    graph = Compilation.from_path(str(path), Options()).graph
    bounds, inputs = {"T": 3}, {"x": x, "w": w}
    results = [evaluate(graph, bounds, inputs, {}, externs=caller(graph, bounds, [str(tmp_path)]))]
    Compilation.from_path(str(path), Options(verify_each=True)).write(str(tmp_path / "out"))
    results.append(run(tmp_path / "out", bounds, inputs).outputs)

    def loss(x: jax.Array, w: jax.Array) -> jax.Array:
        y = jnp.sin(x[:, 0] * w) * x[:, 1]
        z = x**3 * (1 + jnp.arange(3))[:, None] * w
        return jnp.sum(y * z.sum(1) + jnp.tanh(y))

    def norm(x: jax.Array, w: jax.Array) -> jax.Array:
        return jnp.sum(jax.grad(loss)(x, w) ** 2)

    def last(w: jax.Array) -> jax.Array:
        return jax.grad(norm, 1)(x, w) + jnp.sum(jax.grad(norm)(x, w) ** 2)

    second, slope = jax.jit(jax.grad(norm, (0, 1)))(x, w)
    wanted = {"second": second, "slope": slope, "third": jax.jit(jax.grad(last))(w)}
    for found in results:
        for name, value in wanted.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-3, atol=1e-4)


STEPS = """
dim t < T
extern jax f(x: f32[2]) -> (y: f32[2], z: f32[N]) from "MODULE:f"
dim n < N
input x: f32[2]
s[0] = x
last[t], rest[t] = f(s)
s[t+1] = last
total[t] = sum(rest)
output s[T-1] as state
output total
"""
COUNTED = """
import jax.numpy as jnp
traced = []


def f(x):
    traced.append(x.shape)
    return 2 * x, jnp.ones(4)
"""


def test_functions_are_traced_once_for_all_lengths(tmp_path: Path) -> None:
    """But once more where a bound says otherwise what they must give."""
    path = written(tmp_path, STEPS, "ext_steps", COUNTED)
    out = tmp_path / "out"
    Compilation.from_path(str(path), Options()).write(str(out))
    loaded, x = load(out), {"x": np.ones(2, np.float32)}

    def last(**bounds: int) -> float:
        given = Given(bounds=bounds, inputs=as_sources(x), params={})
        return float(run_given(loaded, given, Settings()).outputs["state"][0])

    assert last(T=5, N=4) == 16
    traced = sys.modules["ext_steps"].traced
    before = len(traced)
    assert last(T=7, N=4) == 64
    assert len(traced) == before
    with pytest.raises(RunError, match="expected"):
        last(T=7, N=3)
