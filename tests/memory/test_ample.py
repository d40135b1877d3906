"""Rings have all slots of their window, so that short runs share the kernels of long ones."""

from __future__ import annotations

import pytest

from tempoc.memory.growth import ample
from tempoc.symbolic.parse import parse_expr
from tempoc.symbolic.text import show
from tests.support.agreement import agree, compile_text

STEPS = """
dim t < T
input first: f32[8]
x[0] = first
x[t] = tanh(y[t-1])
k = x * 0.5
y = x + mean(k[max(0, t-2):t+1], axis = 0)
"""
RING = f"{STEPS}output y[T-1] as last"
LAYERS = """
dim t < T
dim l < L
input first: f32[8]
x[0, 0] = first
x[t, 0] = tanh(y[t-1, L-1])
x[t, l+1] = y
k = x * 0.5
y[t, l] = x + mean(k[max(0, t-2):t+1, l], axis = 0)
output y[T-1, L-1] as last
"""
# All of `k` is stored, of T rows, of which a window of 3 must not be read where there are fewer.
WHOLE = f"{STEPS}output k"
# The input has T rows, so that kernels depend on T anyway.
INPUT = RING.replace("first: f32[8]", "first: f32[8]\ninput d[t]: f32[8]").replace("x * 0.5", "x+d")
# The window is a value of its own, whose type depends on T.
VALUE = f"{STEPS}\nseen = k[max(0, t-2):t+1]\noutput seen[T-1] as last, y[T-1] as y"
# A window of as many steps as another bound says, of which no other size depends on that bound.
OTHER = """
dim t < T
dim p < P
assume P <= T
input x[t]: f32
z[t] = 2 * x when t < P
output z[0:P] as z
"""
LARGE = RING.replace("f32[8]", "f32[200000]")


@pytest.mark.parametrize(
    ("text", "slots"),
    [(RING, "3"), (LAYERS, "3"), (WHOLE, "T"), (INPUT, "min(3, T)"), (LARGE, "min(3, T)")],
)
def test_slots_of_a_window(text: str, slots: str) -> None:
    stores = {s.name: s for s in compile_text(text, 2)[1].program.stores}
    (axis,) = (a for a in stores["k"].axes if a.dim == "t")
    assert show(axis.size) == slots


@pytest.mark.parametrize("text", [RING, LAYERS, WHOLE, INPUT, VALUE])
def test_short_runs(text: str) -> None:
    more = {"L": 2} if text == LAYERS else {}
    agree(text, *({"T": n} | more for n in (1, 3, 4, 7, 2)))


def test_a_window_of_a_bound() -> None:
    agree(OTHER, {"T": 1, "P": 1}, {"T": 3, "P": 2}, levels=(0,))


def test_bounds_on_minima() -> None:
    cases = {
        "min(3, T)": "3",
        "min(3, T, S)": "min(3, S, T)",
        "max(2, min(3, T))": "3",
        "min(S, T)": "min(S, T)",
        "T - min(3, T)": "max(0, T-3)",
    }
    assert {e: show(ample(parse_expr(e), {"T"})) for e in cases} == cases
