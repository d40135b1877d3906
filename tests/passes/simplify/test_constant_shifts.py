"""Extremes that cancel are constants for derivatives; others are not."""

from __future__ import annotations

import pytest

from tempoc.autodiff.differentiate import differentiate
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.ops.control.control import StopGradient
from tempoc.passes.simplify.constant_shifts import with_constant_shifts
from tests.support.generators.graphs import assert_close

HEAD = """dim t < T
dim e < E = 3
input x[t]: f32[3, 4]
input a[t, e]: f32
param V: f32[4, 2]
"""
CONSTANT = {
    "logsumexp": "m = max(x, axis = 1)\ny = m + log(sum(exp(x - expand_dims(m, 1)), axis = 1))",
    "softmax": """m = max(x, axis = 1, keepdims = true)
p = exp(x - m)
y = (p @ V) / sum(p, axis = 1, keepdims = true)""",
    "logarithms of it": """d = x.T - max(x, axis = -1)
y = d - log(sum(exp(d), axis = 0))""",
    "along a dimension": """p[t, e] = exp(a - max(a[t, 0:E]))
y = p / sum(p[t, 0:E])""",
    "soft minimum": """m = minimum(a, 1.5)
y = m - 0.3 * log(exp((m - a) / 0.3) + 2.0 * exp((m - 1.5) / 0.3))""",
    "mean": "m = min(x)\ny = -log(mean(exp(-(x - m)))) + m",
}
OTHERS = {
    "twice": "m = max(x)\ny = m + log(sum(exp(x - 2.0 * m)))",
    "all multiplied": "m = max(x)\ny = m + log(prod(exp(x - m)))",
    "not given back": "m = max(x)\ny = log(sum(exp(x - m)))",
    "other rows": "m = max(x, axis = 0)\ny = sum(m) + log(sum(exp(x - m)))",
    "rows that are summed": """d = exp(x - max(x, axis = 0))
y = d / sum(d, axis = 1, keepdims = true)""",
    "columns for rows": """w = (x)[:, 0:3]
m = max(w, axis = 0)
y = exp(w - m) / exp(w - expand_dims(m, 1))""",
    "another step": """m = max(x)
y = m[max(t - 1, 0)] + log(sum(exp(x - m)))""",
    "a part is read elsewhere": "m = max(x)\nd = x - m\ny = m + log(sum(exp(d))) + sum(d)",
    "scaled alike": "m = max(x)\ny = 0.5 * m + log(sum(exp(x - m)))",
    "known, then not, then the same": """m = max(x, axis = 1, keepdims = true)
rows = 1.0 * m.T - -(-(-(-(m.T))))
b = rows + -(-(-(-(-(1.0 * m)))))
y = ((1.0 + m) + b) + (1.0 - m)""",
}


def written(equations: str, by: str = "x") -> Compilation:
    """The graph, with gradients by ``x`` and ``a``."""
    by = "a" if "a -" in equations or "- a" in equations else by
    text = f"{HEAD}{equations}\nloss = sum(y * y)\ng = grad(loss, {by})\noutput g\n"
    return Compilation(load_source(Source("m.rt", text)), Options())


@pytest.mark.parametrize("name", CONSTANT)
def test_extremes_that_cancel(name: str) -> None:
    compilation = written(CONSTANT[name])
    before = compilation.elaborated.written
    after = with_constant_shifts(before)
    assert sum(isinstance(n.op, StopGradient) for n in after.nodes.values()) == 1
    space = compilation.space
    assert_close(differentiate(before, space), differentiate(after, space))


@pytest.mark.parametrize("name", OTHERS)
def test_extremes_that_matter(name: str) -> None:
    before = written(OTHERS[name]).elaborated.written
    assert with_constant_shifts(before) is before


def test_what_is_differentiated_by() -> None:
    before = written(CONSTANT["logsumexp"], by="m").elaborated.written
    assert with_constant_shifts(before) is before


def test_compiled_programs_have_them() -> None:
    graph = written(CONSTANT["softmax"]).optimized
    assert not any(n.op.name == "argmax" for n in graph.nodes.values())
