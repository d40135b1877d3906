"""Mistakes of syntax do not hide the others, and cause no others."""

from __future__ import annotations

import pytest

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.diagnostics.source import Source
from tempoc.driver.elaborate import elaborate
from tempoc.frontend.syntax.load_modules import load_source

CASES = {
    "a type": ("dim t < T\ninput x[t]: f23\ny = x + zz\noutput x, y", "RT012 2, RT020 3"),
    "entries": ("dim t < T\nx[t] = t\ny = x[t, t = 0]\nz = y[0] + q\noutput z", "RT010 3, RT020 4"),
    "a chain": ("dim t < T\nx[t] = 0 < t < 3\ny = x[t-1] + q\noutput y", "RT008 2, RT020 3"),
    "an import": ("import nope\ny = nope.f(1)\nz = q\noutput y", "RT015 1, RT020 3"),
    "an expression": ("dim t < T\nx[t] = 1 + * 2\ny = x\nz = q\noutput y", "RT001 2, RT020 4"),
    "a bracket": ("dim t < T\nx[t] = (1 + 2\ny[t] = q\nz = x\noutput y", "RT002 2, RT020 3"),
    "a string": ("x = 'abc'\ny = x + q\noutput y", "RT003 1, RT020 2"),
    "a character": ("x = $\ny = x + q\noutput y", "RT004 1, RT020 2"),
    "targets": ("a, b = 3 3\nc = a + b\noutput c, d", "RT001 1, RT020 3"),
    "no sign": ("x 3\ny = x\nz = q\noutput y", "RT001 1, RT020 3"),
    "an output": ("x = 1\noutput x y\noutput x, z", "RT001 2, RT020 3"),
    "a result": (
        "x = 1\nprint x + 1\nsave x * 2 to \"x.npz\"\ny = q\noutput y",
        "RT012 2, RT012 3, RT020 4",
    ),
    "one of two": (
        "dim t < T\nx[0] = 1\nx[t] = x[t-1] +\n  when t > 0\ny = x\nz = q", "RT001 4, RT020 6"
    ),
    "a dimension": (
        "dim t <= T\nx[t] = q\ny[t] = x[t-1]\noutput y", "RT001 1, RT020 2"
    ),
    "a function": ("def f(x) = x *\n\ny = f(1) + q\nz = r\noutput y", "RT001 1, RT020 3, RT020 4"),
    "a body": (
        "def f(x) {\n  y = x + +\n  return y\n}\nz = f(1)\nw = q\noutput z", "RT001 2, RT020 6"
    ),
    "no return": ("def f(x) {\n  y = x\n}\nz = f(1)\nw = q\noutput z", "RT009 1, RT020 5"),
    "a constant": ("const D = 3 +\nx = zeros([D])[D]\nw = q\noutput x", "RT001 1, RT020 3"),
    "after two": (
        "dim t < T\ninput x[t]: f32\ny = x\nz = x +\nw = q\noutput y", "RT001 4, RT020 5"
    ),
    "numbers": ("x = 3D\ny = 1e999\nz = x + y + q\noutput z", "RT005 1, RT017 2, RT020 3"),
    "a constant's number": (
        "const D = 0x3\ndim l < L = D\nx[l] = zeros([D]) + q\noutput x", "RT005 1, RT020 3"
    ),
    "an escape": ('x = 1\nsave x to "a\\q.safetensors"\ny = x + q', "RT003 2, RT020 3"),
    "a Python function": (
        'extern jax f(a: f23) -> (b: f32) from "m:f"\ny = f(1.0) + q\noutput y', "RT012 1, RT020 2"
    ),
    "results of a Python function": (
        'extern jax f(a: f32)\n  -> f32\n  from "m:f"\ny = f(1.0) + q\noutput y',
        "RT001 2, RT020 4",
    ),
    "a target": ("dim t < T\nx[0:t] = 1.\nw = q\noutput x", "RT011 2, RT020 3"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_reported(name: str) -> None:
    text, wanted = CASES[name]
    with pytest.raises(DiagnosticError) as caught:
        elaborate(load_source(Source("p.rt", text), tolerant=True), {})
    places = [(d.code, d.primary.span.line) for d in caught.value.diagnostics if d.primary]
    assert ", ".join(f"{code} {line}" for code, line in places) == wanted


@pytest.mark.parametrize("name", CASES)
def test_a_caller_that_is_not_tolerant_is_told(name: str) -> None:
    with pytest.raises(DiagnosticError):
        load_source(Source("p.rt", CASES[name][0]))
