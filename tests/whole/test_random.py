"""Random draws from source to result: what a draw depends on, and what not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tempoc.cli.main import status
from tempoc.diagnostics.diagnostic import RunError
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.frontend.syntax.stable_places import place_hash
from tempoc.ops.random import threefry
from tempoc.runtime.run import run
from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.session.long import sampled

HEAD = "dim b < B\ndim t < T\n"
PROGRAM = """dim b < B
dim l < L = 2
dim t < T

param W[l]: f32[2, 3] = random.normal([2, 3])
param net = stack([2, 3, 2])
input x[t]: f32[3]

def stack(sizes) = [{w: random.uniform([sizes[k+1], sizes[k]])} for k in range(len(sizes) - 1)]
def noisy(v) { e = random.uniform([3]); return v + e }
def walk(dim t, v) {
  m[0] = noisy(zeros([3]))
  m[t] = 0.5 * m[t-1] + noisy(v) when t >= 1
  return m
}

y = noisy(x)
ragged = random.uniform([2, t+1])
total = sum(ragged)
order[t] = random.permutation(t+1)
first = order[t][0]
s[b, 0] = random.normal([2])
s[b, t+1] = s[b, t] + random.normal([2])
w[b, t] = walk(t, x) + s[b, t][0]
k[t]: key = random.key()
c[b, t] = random.categorical(x)
ints[b, t] = random.integers([2], -t, 5)
picked[t] = sum(x[t][random.integers([4], 3)])
flips[t] = random.bernoulli(sigmoid(x))
once = random.normal([2])
half[t] = random.uniform([3], dtype = bf16)
double[t] = random.uniform([3], dtype = f64)
bell = random.normal([50], dtype = f64)
output y, total, first, s, w, k, c, flips, once, W, net, half, double, bell, ints, picked
"""
EXACT = ("k", "c", "flips", "ints", "first", "half", "double", "net.0.w", "net.1.w")


def graph(text: str) -> Any:
    loaded = load_source(Source("model.rt", text))
    return Compilation(loaded, Options(level=0)).graph


def drawn(text: str, seed: int = 0, **bounds: int) -> dict[str, np.ndarray]:
    return evaluate(graph(text), bounds, {}, {}, seed=seed)


def one(text: str, seed: int = 0, **bounds: int) -> np.ndarray:
    return drawn(f"{HEAD}{text}\noutput y\n", seed, **{"B": 2, "T": 3, **bounds})["y"]


@pytest.mark.parametrize("level", sampled([0, 2], "both ways", of=2))
def test_compiled_programs_draw_what_the_reference_draws(level: int, tmp_path: Path) -> None:
    source, out = tmp_path / "model.rt", str(tmp_path / "out")
    source.write_text(PROGRAM)
    x = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    assert status(["compile", str(source), "-o", out, f"-O{level}"]) == 0
    data = ["--bounds", "B=2", "--input", f"x={tmp_path / 'x.npy'}"]
    for seed in (0, 2**33 + 1):
        wanted = evaluate(graph(PROGRAM), {"B": 2, "T": 5}, {"x": x}, {}, seed=seed)
        target = tmp_path / "results.npz"
        assert status(["run", out, *data, "--seed", str(seed), "--output", str(target)]) == 0
        with np.load(target) as found:
            assert set(found) == set(wanted)
            for name, value in wanted.items():
                if name in EXACT:
                    np.testing.assert_array_equal(found[name], value.astype(found[name].dtype))
                else:
                    np.testing.assert_allclose(found[name], value, rtol=2e-6, atol=2e-6)


def test_the_key_is_that_of_the_definition() -> None:
    """The seed's, folded with the place, then with the equation's own indices in domain order."""
    found = one("y[b, 0] = zeros([4])\n# comment\ny[b, t+1] = random.uniform([4])", seed=9)
    key = threefry.fold_in(threefry.root(9), place_hash(("|Equation y 2|0",)))
    for b in range(2):
        for t in range(2):
            own = threefry.fold_in(threefry.fold_in(key, b), t)
            expected = threefry.uniform(own, (4,), np.dtype(np.float32))
            np.testing.assert_array_equal(found[b, t + 1], expected)


def test_draws_do_not_depend_on_bounds() -> None:
    text = "y[b, t] = random.normal([2]) + random.uniform([t+1])[t]"
    small, large = one(text), one(text, B=3, T=5)
    np.testing.assert_array_equal(large[:2, :3], small)


def test_seeds_points_and_places_differ() -> None:
    text = "def f() = random.uniform([1])\ny[b, t] = concat([f(), f(), random.uniform([1])])"
    values = np.concatenate([one(text, seed).ravel() for seed in (0, 1, 2**32)])
    assert len(np.unique(values)) == values.size
    np.testing.assert_array_equal(one(text), one(text))


def test_turns_of_a_loop_differ() -> None:
    text = """def f() {
      x = zeros([1])
      for k in range(3) { x = concat([x, random.uniform([1])]) }
      return x
    }
    y = f()"""
    listed = "y = stack([random.uniform([]) for k in range(4)])"
    for program in (text, listed):
        assert len(np.unique(one(program))) == 4


def test_layout_and_other_equations_do_not_matter() -> None:
    before = one("y[t] = random.uniform([2]) + random.uniform([2])")
    after = one(
        "# a comment\nz[t] = random.uniform([9])\ny[t] = (random.uniform([2])   # here\n"
        "  + random.uniform([ 2 ]))\noutput z"
    )
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize(
    "text, shape",
    [
        ("y = random.uniform([1])", (1,)),
        ("y = random.uniform([1]) + t", (3, 1)),
        ("z[b] = 1. * b\ny = z + random.uniform([1]) * w\nw = 0.1 * t", (2, 3, 1)),
        ("def f(x) = random.uniform([1])\ny[b, t] = f(0.)", (2, 3, 1)),
        ("def f(x) { u = random.uniform([1]); return u * x }\ny = f(1. + t)", (3, 1)),
        (
            "def f(x) { u = random.uniform([1]); return x + u, u + 0. }\na, y = f(t)",
            (3, 1),
        ),
        ("y = sum(random.uniform([1])) + size(x)\nx = zeros([t+1])", (3,)),
        ("def f(dim t) { m[t] = random.uniform([1]); return m }\ny[b, t] = f(t)", (2, 3, 1)),
        (
            "def f(dim t) { m[0] = random.uniform([1]); m[t] = m[t-1] + random.uniform([1]) "
            "when t >= 1; return m }\ny[b] = f(t)[t = T-1]",
            (2, 1),
        ),
        ("param y[t] = random.uniform([1])", (3, 1)),
    ],
)
def test_a_draw_has_the_domain_of_its_equation(text: str, shape: tuple[int, ...]) -> None:
    found = one(text)
    assert found.shape == shape
    assert len(np.unique(found)) == found.size


def test_double_precision_draws_the_same_numbers() -> None:
    text = f"{HEAD}y = random.uniform([9])\nz = random.categorical(y)\noutput y, z"
    single = drawn(text, B=1, T=1)
    double = evaluate(graph(text), {"B": 1, "T": 1}, {}, {}, float64=True)
    assert double["y"].dtype == np.float64
    for name, value in single.items():
        np.testing.assert_array_equal(double[name], value)


@pytest.mark.long("many draws")
def test_frequencies() -> None:
    text = """y = random.uniform([]) + 0. * t
    c[t] = random.categorical(log(arange(4, dtype = f32)))
    f[t] = random.bernoulli(0.25)
    p[t] = random.permutation(3)
    output y, c, f, p"""
    steps = 1000
    found = drawn(f"dim t < T\n{text}", T=steps)
    shares = np.bincount(found["c"], minlength=4) / steps
    np.testing.assert_allclose(shares, np.arange(4) / 6, atol=0.04)
    assert abs(found["f"].mean() - 0.25) < 0.04 and abs(found["y"].mean() - 0.5) < 0.03
    orders = np.unique(found["p"], axis=0, return_counts=True)[1] / steps
    np.testing.assert_allclose(orders, np.full(6, 1 / 6), atol=0.04)


def test_a_seed_that_is_none(tmp_path: Path) -> None:
    source = tmp_path / "model.rt"
    source.write_text("y = random.uniform([2])\noutput y\n")
    assert status(["eval", str(source), "--seed", "-1"]) == 2
    assert status(["compile", str(source), "-o", str(tmp_path / "out")]) == 0
    assert run(tmp_path / "out", seed=2**63 - 1).outputs["y"].shape == (2,)
    for wrong in (-1, 2**63):
        with pytest.raises(RunError, match="RT525"):
            run(tmp_path / "out", seed=wrong)


def test_a_key_for_a_python_function(tmp_path: Path) -> None:
    source, out = tmp_path / "model.rt", tmp_path / "out"
    (tmp_path / "draws.py").write_text(
        "import jax\n\n\ndef draw(key):\n    return jax.random.uniform(key, (2,))\n"
    )
    source.write_text(
        'dim t < T\nextern jax draw(key: key) -> (x: f32[2]) from "draws:draw"\n'
        "k[t] = random.key()\nx[t] = draw(k)\noutput k, x\n"
    )
    assert status(["compile", str(source), "-o", str(out)]) == 0
    found = run(out, {"T": 3}, extern_path=[tmp_path]).outputs
    for key, x in zip(found["k"], found["x"], strict=True):
        np.testing.assert_array_equal(x, threefry.uniform(key, (2,), np.dtype(np.float32)))
