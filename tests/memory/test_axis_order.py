"""Arrays whose axes stand so that a loop steps along the one in front."""

from __future__ import annotations

import numpy as np
import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.runtime.ready import ready
from tempoc.runtime.run import run
from tests.support.agreement import agree, compile_text

PROGRAMS = {
    "rows": (
        """
dim c < C
dim t < T
input x[c, t]: f32
y[c, t] = x when t == 0
y[c, t] = tanh(y[c, t-1] * 0.5 + x) when t == 1
y[c, t] = tanh(y[c, t-1] * 0.5 - y[c, t-2] + x + x[c, t-1])
e = sum(y[c, 0:T] ** 2)
output x, y, e
""",
        {"x": ["t"], "y": ["t"]},
    ),
    "two dimensions in front": (
        """
dim a < A
dim c < C
dim t < T
input x[a, c, t]: f32
y[a, c, t] = x when t == 0
y[a, c, t] = sin(y[a, c, t-1] + x[a, c, T-1-t]) when t == 1
y[a, c, t] = sin(y[a, c, t-1] + y[a, c, t-2] * x[a, c, T-1-t])
output y, y[0:A, 0:C, T-1] as last
""",
        {"x": ["t"], "y": ["t"]},
    ),
    "between": (
        """
dim s < S
dim c < C
dim t < T
input x[s, c, t]: f32
y[s, c, t] = x when s == 0 and t == 0
y[s, c, t] = sin(y[s-1, c, T-1] * x) when t == 0
y[s, c, t] = cos(y[s, c, t-1] + x) when t == 1
y[s, c, t] = cos(y[s, c, t-1] - y[s, c, t-2] * x)
output y
""",
        {"x": ["s", "t"], "y": ["s", "t"]},
    ),
    "ranges in a loop": (
        """
dim c < C
dim t < T
input x[c, t]: f32
y[c, t] = x when t == 0
y[c, t] = tanh(max(y[c, 0:t] * x))
output y
""",
        {"x": ["t"], "y": []},
    ),
    "long rows": (
        """
dim c < C
dim t < T
input x[c, t]: f32[16]
y[c, t] = x when t == 0
y[c, t] = tanh(y[c, t-1] + x) when t == 1
y[c, t] = tanh(y[c, t-1] + x - y[c, t-2])
output y
""",
        {"x": [], "y": []},
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_loops_step_along_the_axis_in_front(name: str) -> None:
    text, ahead = PROGRAMS[name]
    _, loaded = compile_text(text, 2)
    stores = {s.name: [a.dim for a in s.axes if a.ahead] for s in loaded.program.stores}
    assert {name: stores[name] for name in ahead} == ahead
    bounds = [b for b in "ASCT" if f"< {b}\n" in text]
    for sizes in ((1, 1, 1), (2, 2, 2), (3, 1, 4), (2, 5, 3)):
        agree(text, dict(zip(bounds, sizes[-len(bounds) :], strict=True)))


@pytest.mark.parametrize("shape", [(4, 4), (2, 7)])
def test_inputs_are_given_as_they_are_declared(shape, tmp_path) -> None:
    text, _ = PROGRAMS["rows"]
    out = tmp_path / "out"
    Compilation(load_source(Source("m.rt", text)), Options()).write(out)
    step = ready(out, dict(zip("CT", shape, strict=True)))
    for seed in range(4):
        x = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
        outputs, others = step({"x": x}), run(out, {}, {"x": x}).outputs
        np.testing.assert_array_equal(outputs["x"], x)
        for name, value in others.items():
            np.testing.assert_array_equal(outputs[name], value)
        assert not any(np.may_share_memory(value, x) for value in outputs.values())
