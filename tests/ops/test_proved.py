"""Derivative rules and rewrite rules of scalars, proved symbolically."""

from __future__ import annotations

import pytest
import sympy

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tests.support.elaborated import graph_of
from tests.support.symbols import formulas

x, y = sympy.symbols("x y", positive=True)
GIVEN = "input x: f64\ninput y: f64\n"
UNARY = [
    "exp", "exp2", "log", "log1p", "expm1", "sqrt", "rsqrt", "sin", "cos", "tan", "tanh", "sigmoid",
    "gelu", "silu", "softplus", "erf",
]  # fmt: skip
BINARY = ["x + y", "x - y", "x * y", "x / y", "x ** y", "x ** 3", "x ** -2", "x ** 0.5", "-x * y"]


@pytest.mark.parametrize("name", UNARY)
def test_derivatives_of_functions(name: str) -> None:
    found = formulas(graph_of(f"input x: f64\ny = {name}(x)\ng = grad(y, x)\noutput y, g\n"))
    assert is_zero(found["g"] - sympy.diff(found["y"], x))


@pytest.mark.parametrize("text", BINARY)
def test_derivatives_of_operators(text: str) -> None:
    source = (
        f"input x: f64\ninput y: f64\nz = {text}\na = grad(z, x)\nb = grad(z, y)\noutput z, a, b\n"
    )
    found = formulas(graph_of(source if "y" in text else source.replace("z = ", "z = 0.0 * y + ")))
    assert is_zero(found["a"] - sympy.diff(found["z"], x))
    assert is_zero(found["b"] - sympy.diff(found["z"], y))


SECOND = ["exp(x) * y", "tanh(x * y)", "log(x + y)", "x ** 3 / y", "sigmoid(x) - y"]


@pytest.mark.parametrize("text", SECOND)
def test_derivatives_of_derivatives(text: str) -> None:
    source = (
        f"input x: f64\ninput y: f64\nz = {text}\na = grad(z, x)\nb = grad(a, y)\noutput z, b\n"
    )
    found = formulas(graph_of(source))
    assert is_zero(found["b"] - sympy.diff(found["z"], x, y))


REWRITTEN = [
    "(x + 1.0) - 1.0", "2.0 * (3.0 * x)", "x / 2.0 / 4.0", "-(-x)", "-(x - y)",
    "x * 1.0 + y - 0.0", "exp(x) * exp(y)", "log(exp(x) / y)", "sqrt(x) * sqrt(x)",
    "1.0 / sqrt(x)", "x ** 2.0", "x * x * x", "(x + y) * 2.0 - y * 2.0", "x / y * y",
    "(x * 2.0 + 4.0) / 2.0", "log(x ** y)", "x ** 0.5 * x", "exp(log(x)) + 0.0 * y", "tanh(-x)",
    "1.0 / (1.0 + exp(-x))", "log(1.0 + exp(x))", "exp(x) - 1.0",
]  # fmt: skip


@pytest.mark.parametrize("text", REWRITTEN)
def test_rewriting_changes_no_formula(text: str) -> None:
    source = GIVEN + f"z = {text}\noutput z\n"
    options = Options(passes="canonicalize,algebra,canonicalize")
    compilation = Compilation(load_source(Source("m.rt", source)), options)
    before, after = formulas(compilation.graph)["z"], formulas(compilation.optimized)["z"]
    assert is_zero(before - after)


def test_what_is_wrong_is_not_proved() -> None:
    assert not is_zero(sympy.tanh(x) - x) and not is_zero(x * y - x * y * (1 + sympy.Float(1e-9)))


def is_zero(formula: sympy.Expr) -> bool:
    """Whether a formula is 0 for all positive numbers; a wrong one is not, at some of them."""
    if sympy.simplify(formula.rewrite(sympy.exp)) == 0 or sympy.simplify(formula) == 0:
        return True
    values = {x: sympy.Rational(7, 5), y: sympy.Rational(3, 7)}
    assert abs(sympy.N(formula.subs(values), 30)) > 1e-12, f"not proved: {formula}"
    return False
