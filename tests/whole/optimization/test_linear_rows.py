"""Recurrences that are linear element by element: one row after the other, or in parallel."""

from __future__ import annotations

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.ops.emission import prelude
from tests.support.agreement import agree

HEAD = """dim b < B
dim t < T
input a[b, t]: f32[3]
input x[b, t]: f32[3]
input c[b, t]: f32
input done[b, t]: bool
"""
LINEAR = {
    "forwards": "h[b, 0] = x[b, 0]\nh[b, t+1] = a * h + x",
    "backwards": "h[b, T-1] = c[b, T-1]\nh[b, t] = c + where(done, 0.0, 0.9 * h[b, t+1])",
    "scalars": "h[b, 0] = c[b, 0]\nh[b, t] = c - h[b, t-1] / (1.5 + c * c) when t >= 1",
    "two": """u[b, 0] = x[b, 0]
v[b, 0] = a[b, 0]
u[b, t] = a * u[b, t-1] - x * v[b, t-1] + x when t >= 1
v[b, t] = a * v[b, t-1] + x * u[b, t-1] when t >= 1
h = u * v""",
    "with what is made from elements": "h[b, 0] = x[b, 0]\nh[b, t+1] = tanh(a + c) * h + exp(x)",
    "of one tensor, far away": "h[b, 0] = c[b, 0]\nh[b, t+1] = 0.5 * h + sum(a * x)",
}
OTHERS = {
    "no linear function": "h[b, 0] = x[b, 0]\nh[b, t+1] = tanh(h) + x",
    "a square": "h[b, 0] = x[b, 0]\nh[b, t+1] = h * h * 0.1 + x",
    "elements that meet": "h[b, 0] = x[b, 0]\nh[b, t+1] = a * sum(h) * 0.1 + x",
    "below a fraction": "h[b, 0] = x[b, 0]\nh[b, t+1] = a / (3.0 + h * h)",
}


@pytest.mark.parametrize("name", LINEAR)
def test_in_parallel(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{HEAD}{LINEAR[name]}\noutput h\n"
    assert "linear_rows(row" in kernels(text)
    agree(text, *({"B": 2, "T": n} for n in (1, 9)), levels=(2,))
    pretend(monkeypatch)
    agree(text, *({"B": 2, "T": n} for n in (1, 2, 9)), levels=(2,))


@pytest.mark.parametrize("name", ["forwards", "backwards", "two"])
def test_gradients_in_parallel(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch)
    whole = "b = 0:B, t = 0:T"
    text = f"{HEAD}{LINEAR[name]}\ncost = sum((h * h)[{whole}])\n"
    text += "d, e = grad(cost, x), grad(cost, c)\noutput cost, d, e\n"
    agree(text, *({"B": 2, "T": n} for n in (1, 7)), levels=(2,))


@pytest.mark.parametrize("name", OTHERS)
def test_others_are_not(name: str) -> None:
    text = f"{HEAD}{OTHERS[name]}\noutput h\n"
    assert "linear_rows(" not in kernels(text)
    agree(text, {"B": 2, "T": 5}, levels=(2,))


def pretend(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take this for another device than a CPU."""
    text = prelude.HELPERS["linear_rows"]
    found = text.replace('jax.default_backend() == "cpu"', "False")
    assert found != text
    monkeypatch.setitem(prelude.HELPERS, "linear_rows", found)


def kernels(text: str) -> str:
    return Compilation(load_source(Source("m.rt", text)), Options()).emitted.kernels
