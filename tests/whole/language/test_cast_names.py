"""Names of casts and signatures in compiled programs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import RunError
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.runtime.data.bindings import Given, bind
from tempoc.runtime.data.source import as_sources
from tests.support.agreement import agree

FLATTENED = """
dim n < N
input x[n]: f32[4]
input w: f32[N, 3]
flat = reshape(x[0:N], [-1]) as f32[k]
b = zeros([k]) + flat
c = reshape(b, [k//4, 4])
d = c.T @ w
half = split(flat, 2, 0)
output b, d
"""
SIGNED = """
dim t < T
input x[t]: f32[4]
input W: f32[4, 4]
def step(w: f32[n, m], h: f32[m], x: f32[n], scale: f32 = 0.5) -> f32[n] = tanh(w @ h + scale * x)
def window(x: f32[k, n]) -> (f32[n], f32[k]) {
  low = min(x, axis = 0)
  return low, x @ (low as f32[j]) / j
}
h[0] = x[0]
h[t] = step(W, h[t-1], x) when t >= 1
low, near = window(h[max(0, t-2):t+1])
g = grad(sum((near @ ones([size(near, 0)]))[t = 0:T]), W)
output low, g
"""


def test_a_flattened_input() -> None:
    agree(FLATTENED, {"N": 1}, {"N": 5}, {"N": 2})


def test_what_bounds_break_is_named(tmp_path: Path) -> None:
    source = tmp_path / "p.rt"
    source.write_text("dim n < N\ninput x[n]: f32[4]\ny = x[0:N] as f32[k, k]\noutput y\n")
    program = Compilation.from_path(str(source), Options()).emitted.program
    with pytest.raises(RunError) as caught:
        given = as_sources({"x": np.ones((3, 4), np.float32)})
        bind(program, Given(bounds={"N": 3}, inputs=given, params={}))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.notes == ("assumed at p.rt:3: y = x[0:N] as f32[k, k]",)


def test_signatures() -> None:
    agree(SIGNED, {"T": 1}, {"T": 5}, {"T": 3})
