"""Programs compute the same where kernels and the runner do what they do on a GPU."""

from __future__ import annotations

import numpy as np
import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.run import Settings, run_given
from tests.support.agreement import agree, all_equal, compile_text
from tests.support.gpu.paths import gpu_paths

__all__ = ["gpu_paths"]
pytestmark = pytest.mark.usefixtures("gpu_paths")

GUARDED = """
dim b < B
dim t < T
input x[b, t]: f32[3]
h[b, 0] = x[b, 0]
h[b, t] = tanh(h[b, t-1]) + x when t % 3 == 1
h[b, t] = 0.5 * h[b, t-1] + {} when t >= 1
output h
"""
CHAIN = "dim t < T\ninput a[t]: f32\ninput x[t]: f32\nh[0] = 0.0\nh[t+1] = a * h + x\noutput h\n"
WINDOWS = """
dim t < T
input q[t]: f32[4]
input k[t]: f32[4]
e = exp(k[max(0, t-15):t+1] @ q)
a = e @ k[max(0, t-15):t+1] / sum(e)
output a
"""
COUNTED = """
dim t < T
input x: f32[3]
h[0] = x
h[t+1] = sin(h) + 0.5
best[0] = sum(x)
best[t+1] = maximum(best, sum(h))
output best[T-1] as best
"""
DRAWN = """
dim b < B
dim t < T
def noisy(v) {
  e = random.uniform([3])
  return v + e
}
y[t] = noisy(zeros([3]))
w[b, 0] = noisy(ones([3]))
w[b, t+1] = noisy(w)
output y, w
"""


@pytest.mark.parametrize("step", ["x", "sort(x)[0] * h[b, t-1]"])
def test_steps_that_some_points_take(step: str) -> None:
    agree(GUARDED.format(step), *all_equal(GUARDED, 1, 2, 7), passes="canonicalize,fuse")


@pytest.mark.parametrize("length", [1, 2, 40])
def test_prefixes_that_are_not_finite(length: int) -> None:
    """The product of all factors is infinite, and no state is: it is 0 until the last inputs."""
    loaded = compile_text(CHAIN, 2)[1]
    a, x = np.full(length, 1e10, np.float32), np.zeros(length, np.float32)
    x[-2:] = 1.5
    given = Given(bounds={"T": length}, inputs=as_sources({"a": a, "x": x}), params={})
    h = run_given(loaded, given, Settings()).outputs["h"]
    wanted = np.zeros(length, np.float32)
    for t in range(length - 1):
        wanted[t + 1] = a[t] * wanted[t] + x[t]
    np.testing.assert_allclose(h, wanted, rtol=1e-6)


def test_draws_of_loops_with_fewer_and_more_dimensions() -> None:
    """Their kernels have one text, and so are one kernel."""
    agree(DRAWN, *all_equal(DRAWN, 1, 3), levels=(0,))


def test_windows_of_many_points() -> None:
    """Parts with neighbours are computed together, the last of which begins earlier."""
    agree(WINDOWS, {"T": 1}, {"T": 150}, passes="canonicalize,vectorize,fuse")


@pytest.mark.parametrize("sizes", [(1, 64), (65, 130)])
def test_steps_of_a_passed_number(sizes: tuple[int, int]) -> None:
    """As many strips as there are, and the rest of the steps."""
    source = load_source(Source("m.rt", COUNTED))
    emitted = Compilation(source, Options(passes="canonicalize,fuse")).emitted.kernels
    assert "strip_mined_loop(0" in emitted
    agree(COUNTED, *({"T": n} for n in sizes), passes="canonicalize,fuse")


SCANNED = """
dim t < T
input a[t]: f32[2]
input x[t]: f32[2]
def after(p, q) = {a: p.a * q.a, x: q.a * p.x + q.x}
h = associative_scan(after, {a: a[0:T], x: x[0:T]}, 0).x
zero = x - stop_gradient(x)
def most(p, q) = maximum(p, q)
equal = associative_scan(most, stack([zero, 2.0 * zero, 3.0 * zero, 4.0 * zero], 0), 0)[3]
so_far = associative_scan(after, {a: a[0:t+1], x: x[0:t+1]}, 0).x
loss = sum(h ** 2) + sum(equal[0:T]) + sum((sum(so_far) * x)[0:T])
by_a = grad(loss, a)
by_x = grad(loss, x)
again = grad(sum(by_x[0:T] ** 2), a)
output by_a, by_x, again
"""


def test_derivatives_of_scans() -> None:
    """Pairs are derived in parallel, but for a function that has several derivatives."""
    source = load_source(Source("m.rt", SCANNED))
    assert "folded_pairs(" in Compilation(source, Options()).emitted.kernels
    agree(SCANNED, *all_equal(SCANNED, 1, 2, 7))


EARLY = """
dim t < T
assume T >= 2
input a[t]: f32
input x[t]: f32
def after(p, q) = {a: p.a * q.a, x: q.a * p.x + q.x}
h = associative_scan(after, {a: a[0:T], x: x[0:T]}, 0).x
loss = h[0] + h[1]
g = grad(loss, x)
output g
"""


def test_derivatives_of_scans_with_products_that_are_not_finite() -> None:
    loaded = compile_text(EARLY, 2)[1]
    data = {"a": np.full(9, 1e10, np.float32), "x": np.zeros(9, np.float32)}
    given = Given(bounds={"T": 9}, inputs=as_sources(data), params={})
    wanted = np.zeros(9, np.float32)
    wanted[:2] = 1.0 + data["a"][1], 1.0
    np.testing.assert_array_equal(run_given(loaded, given, Settings()).outputs["g"], wanted)
