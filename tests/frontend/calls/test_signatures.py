"""Signatures of functions: what is accepted and computed, what is checked and when."""

from __future__ import annotations

import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.diagnostics.source import Source
from tempoc.frontend.format.format import format_module
from tempoc.frontend.syntax.parse import parse
from tests.support.elaborated import errors_of, graph_of, value_of

HEAD = "dim t < T\ninput x[t]: f32[3]\n"
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def y_of(text: str) -> object:
    return value_of(HEAD + text + "\noutput y\n", {"T": 2}, {"x": X})["y"]


@pytest.mark.parametrize(
    ("text", "y"),
    [
        # the extent is a number in the body: a shape, a loop, a branch that is not taken
        ("def f(a: f32[n]) -> f32[2*n] = concat([a, zeros([n])], 0)\ny = sum(f(x))", [3, 12]),
        ("def f(a: f32[n]) { s = 0.0; for k in range(n) { s = s + k * a[k] }; return s }\n"
         "y = f(x)", [5, 14]),
        ("def f(a: f32[n]) = a[0] if n < 3 else a[n - 1]\ny = f(x)", [2, 5]),
        # names in later types, in earlier ones, in records, and in two calls
        ("def f(w: f32[n, m], a: f32[m]) -> f32[n] = w @ a\ny = sum(f(ones([2, 3]), x))", [6, 24]),
        ("def f(a: f32[n + 1], b: f32[n]) -> f32 = sum(a[1:]) + sum(b)\n"
         "y = f(x, (x)[1:])", [6, 18]),
        ("def f(p: {w: f32[n, m], b: f32[n]}, a: f32[m]) -> f32[n] = p.w @ a + p.b\n"
         "y = sum(f({w: ones([2, 3]), b: ones([2])}, x))", [8, 26]),
        ("def f(a: f32[n]) -> f32 = n * a[0]\ny = f(x) + f((x)[1:])", [2, 17]),
        # numbers: they have the declared dtype, fit every shape, and stay known
        ("def f(a: f32[n], b: f32[n] = 1.0) -> f32[n] = a + b\ny = sum(f(x))", [6, 15]),
        ("def f(a: f32[n], k: i32 = 2) = a[k] + len([a for j in range(k)])\ny = f(x)", [4, 7]),
        ("def f(a: f32) -> f32 = a / 2\ny = f(3) + sum(x)", [4.5, 13.5]),
        ("def f(a: i32) -> i32 = a + 1\ny = f(t)", [1, 2]),
        # a parameter is no new name, nor is a bound or a constant
        ("def f(a: f32[k], k) = sum(a) * k\ny = f(x, 3)", [9, 36]),
        ("const D = 3\ndef f(a: f32[D], b: f32[T]) -> f32[D] = a * sum(b)\n"
         "y = sum(f(x, (x)[t = 0:T][:, 0]))", [9, 36]),
        # several results; a name of the body in their types; other functions as arguments
        ("def f(a: f32[n]) -> (f32[n], f32) {\n  return 2.0 * a, a[0]\n}\nb, c = f(x)\n"
         "y = sum(b) + c", [6, 27]),
        ("def f(a: f32[n]) -> f32[m] {\n  m = n - 1\n  return a[1:]\n}\ny = sum(f(x))", [3, 9]),
        ("def f(a: f32[n], act) -> f32[n] = act(a)\ndef g(a: f32[n]) -> f32 = sum(a)\n"
         "y = g(f(x, act = abs))", [3, 12]),
        ("def f(a: f32[n], act = tanh) -> f32[n] = act(a)\ny = round(sum(f(x)))", [2, 3]),
        ("def add(a: {v: f32[n]}, b: {v: f32[n]}) -> {v: f32[n]} = {v: a.v + b.v}\n"
         "y = sum(associative_scan(add, {v: (x)[t = 0:T]}, 0).v)", 18),
        # recurrences: the signature says what the first value does not
        ("def step(h: f32[3], a: f32[n]) -> f32[n] = 0.5 * h + a\n"
         "h[0] = 0.0\nh[t] = step(h[t-1], x) when t >= 1\ny = sum(h)", [0, 12]),
        ("def step(h: f32[n], a: f32[n]) -> f32[n] = 0.5 * h + a\n"
         "h[0] = x[0]\nh[t] = step(h[t-1], x) when t >= 1\ny = sum(h)", [3, 13.5]),
        ("def total(a: f32[n], dim i) -> f32[n] {\n  s[i] = a when i == 0\n"
         "  s[i] = s[i-1] + a when i >= 1\n  return s\n}\ny = sum(total(x, t))", [3, 15]),
        # shapes that vary with the step
        ("def f(a: f32[n, 3]) -> f32[n] = sum(a, axis = 1)\ny = sum(f(x[0:t+1]))", [3, 15]),
        ("def f(a: f32[t+1, 3]) -> f32[t+1] = sum(a, axis = 1)\ny = sum(f(x[0:t+1]))", [3, 15]),
        # the derivative by a parameter
        ("def slope(w: f32[n], a: f32[n]) -> f32[n] = grad(sum(w * w * a), w)\n"
         "y = sum(slope(x, ones([3])))", [6, 24]),
    ],
)  # fmt: skip
def test_values(text: str, y: object) -> None:
    assert y_of(text) == y


def test_what_only_some_bounds_satisfy_is_checked_once_when_the_program_starts() -> None:
    text = HEAD + "def f(a: f32[n], b: f32[n]) -> f32 = sum(a * b)\ny = f(x, (x)[t = 0:T][:, 0])\n"
    text += "z = f(x, (x)[t = 0:T][:, 1])\noutput y, z\n"
    graph = graph_of(text)
    assert len(graph.universe.assumptions) == 1
    three = np.arange(9, dtype=np.float32).reshape(3, 3)
    assert value_of(text, {"T": 3}, {"x": three})["y"] == [15.0, 42.0, 69.0]
    with pytest.raises(DiagnosticError):
        value_of(text, {"T": 2}, {"x": X})


@pytest.mark.parametrize(
    ("call", "codes"),
    [
        ("f(frob)", ["RT020"]),  # one mistake is one diagnostic
        ("f(x[t-1])", ["RT200"]),
        ("f()", ["RT072"]),
        ("f(a = x, c = x)", ["RT073"]),
        ("f(random.key())", ["RT056"]),
        ("f(\"x\")", ["RT056"]),
        ("f(x, b = (x)[1:])", ["RT056"]),
        ("f({a: x})", ["RT056"]),
    ],
)  # fmt: skip
def test_one_diagnostic_for_a_call(call: str, codes: list[str]) -> None:
    text = HEAD + f"def f(a: f32[n], b: f32[n] = 1.0) -> f32[n] = a + b\ny = {call}\noutput y\n"
    assert [d.code for d in errors_of(text)] == codes


def test_help_shows_the_signature() -> None:
    text = HEAD + "def f(a: f32[n],\n  b = 1.0) -> (f32[n],\n  f32) = a\ny = f()\noutput y\n"
    (problem,) = errors_of(text)
    assert problem.help == "it is `f(a: f32[n], b = 1.0) -> (f32[n], f32)`"


def _formatted(text: str) -> str:
    source = Source("m.rt", text)
    return format_module(parse(source), source)


def test_format_keeps_signatures() -> None:
    text = (
        "def f(a:f32[n,4],dim i,k:i32=2)->(f32[n],{w:f32 [ 2*n ]})=g(a)\n"
        "def g(a)->{w : f32} {\n  return {w: a}\n}\n"
        "def h(a : {b : f32,\n c: f32}) -> (f32) = a.b # one\n"
        f"def long({', '.join(f'argument_{k}: f32[rows_{k}, 4]' for k in range(5))}) -> f32 = 1.0\n"
    )
    once = _formatted(text)
    assert once.splitlines()[:3] == [
        "def f(a: f32[n, 4], dim i, k: i32 = 2) -> (f32[n], {w: f32[2*n]}) = g(a)",
        "def g(a) -> {w: f32} {",
        "  return {w: a}",
    ]
    assert "def h(a: {b: f32, c: f32}) -> f32 = a.b  # one" in once
    assert parse(Source("m.rt", once)) == parse(Source("m.rt", text))
    assert _formatted(once) == once
    assert max(map(len, once.splitlines())) <= 100
