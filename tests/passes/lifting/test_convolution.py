"""Sums of products at a lag, as programs: long ones, by Fourier transforms, and their gradients."""

from __future__ import annotations

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tests.support.agreement import agree

HEAD = """
dim t < T
dim s < T
dim b < B
dim k < K
input h[t]: f32
input x[t]: f32
input u[t, b]: f32[2]
input g[t]: f32[2]
input w[k]: f32
"""
LONG = f"""{HEAD}
y[t, b] = sum(flip(g[0:t+1], axis = 0) * u[0:t+1, b], axis = 0)
z[t] = flip(w[0:min(t+1, K)], axis = 0) @ x[max(0, t-K+1):t+1]
loss[t] = z[t]**2 + sum(y[t, 0:B]**2)
dg, du, dx = grad(loss, g), grad(loss, u), grad(loss, x)
output y, z, dg, du, dx
"""
FORMS = {
    "lag": "m[t, s] = h[t-s] * x[s] when s <= t\ny[t] = sum(m[t, 0:t+1])",
    "to come": "m[t, s] = h[s-t] * x[s] when s >= t\ny[t] = sum(m[t, t:T])",
    "before": "y[t] = sum(flip(h[0:t], axis = 0) * x[0:t])",
    "turned": "y[t] = sum(h[0:t+1] * flip(x[0:t+1], axis = 0))",
    "itself": "y[t] = sum(x[0:T-t] * x[t:T])",
    "window": "y[t] = w[0:K] @ x[t-K+1:t+1] when t >= K-1",
    "logarithm": "p = abs(h)\nq = exp(-9 * x)\ny[t] = log(p[0:T-t] @ q[t:T])",
    "rows": 'y[t] = einsum("sd,sbd->bd", flip(g[0:t+1], axis = 0), u[0:t+1, 0:B])',
}


@pytest.mark.parametrize("name", FORMS)
def test_forms_are_one_convolution(name: str) -> None:
    first = "K-1" if name == "window" else "0"
    assert convolutions(f"{HEAD}{FORMS[name]}\noutput y[{first}:T] as r\nassume K <= T") == 1


def test_values_and_gradients() -> None:
    assert convolutions(LONG) == 5
    agree(LONG, {"T": 1, "B": 1, "K": 2}, {"T": 5, "B": 2, "K": 3}, {"T": 150, "B": 2, "K": 140})


def test_filters_with_a_stride() -> None:
    """Forth and back; a few weights, of which the number is known, are a window."""
    text = """
dim t < T
dim n < N = (T + 2) // 3
input x[t]: f32
input w: f32[16]
y[n] = sum(w * x[3*n:3*n+16]) when 3*n + 16 <= T
y[n] = sum(x[3*n:T])
z[n] = w @ x[T-16-3*n:T-3*n] when 3*n + 16 <= T
z[n] = 0.0
output y, z
"""
    assert convolutions(text) == 2
    assert convolutions(text.replace("16", "8")) == 0
    agree(text, {"T": 1}, {"T": 75})


def test_small_sums_of_what_is_not_negative_keep_their_logarithms() -> None:
    text = FORMS["logarithm"].replace("-9 *", "-60 *")
    agree(f"{HEAD}{text}\noutput y", {"T": 150, "B": 1, "K": 1})


def test_what_is_not_finite_stays_in_its_place() -> None:
    agree(f"{HEAD}{FORMS['lag']}\noutput y", {"T": 150, "B": 1, "K": 1}, special=True)


@pytest.mark.parametrize(
    "body",
    [
        # Values come step by step, of a loop that feeds itself.
        "y[0] = x[0]\ny[t+1] = tanh(sum(flip(h[0:t+1], axis = 0) * y[0:t+1]))",
        "y[t] = x[t:min(T, t+2)] @ h[0:min(2, T-t)]",
        "y[t] = sum(f16(h[0:T-t]) * f16(x[t:T]))",
        "y[t] = sum(h[0:T-t] * tanh(x[t:T] * x[t]))",
    ],
)
def test_what_stays(body: str) -> None:
    assert convolutions(f"{HEAD}{body}\noutput y[0:T] as r\nassume T >= 3") == 0


@pytest.mark.parametrize("weights", ["flip(w[0:min(t, K)])", "w[max(0, K-t):K]"])
@pytest.mark.parametrize("few", [False, True])
def test_gradients_of_windows_of_a_recurrence_take_no_elements_of_arrays(
    weights: str, few: bool
) -> None:
    """Each step's gradient is a product of ranges, not of elements of what later steps make."""
    text = f"""{HEAD}
y[t] = exp(x) when t < 2
y[t] = tanh({weights} @ y[max(0, t-K):t]) when t >= 2
loss = sum(y[0:T]**2)
dx = grad(loss, x)
output dx[0:T] as d
"""
    sizes = [{"T": 1, "B": 1}, {"T": 4, "B": 1}, {"T": 12, "B": 1}]
    if few:
        text = text.replace("dim k < K", "dim k < K = 3")
    else:
        sizes = [{**s, "K": k} for s, k in zip(sizes, (1, 2, 5), strict=True)]
    assert operators(text, "TakeAlong") == 0
    agree(text, *sizes)


def convolutions(text: str) -> int:
    """How many operators of the optimized program are convolutions of all points."""
    return operators(text, "LongConvolution")


def operators(text: str, name: str) -> int:
    """How many operators of a name the optimized program has."""
    compilation = Compilation(load_source(Source("m.rt", text)), Options(level=2))
    return repr(compilation.optimized.nodes).count(f"{name}(")
