"""Masks are computed where they are read, and take no memory."""

from __future__ import annotations

import pytest

from tempoc.footprint.peak import peak
from tempoc.runtime.forecast.least_run import default_filled_stores
from tempoc.symbolic.text import show
from tests.support.agreement import agree, all_equal, compile_text

CHUNKS = """
dim c < C
dim l < L
const N = 2
input e[c]: f32[N, 4]
x[c, 0] = e
x[c, l+1] = y
k = tanh(x)
keys = reshape(k[c = 0:c+1], [-1, 4])
seen = expand_dims(arange(N), 1) + c*N >= arange((c+1)*N)
y = x + tanh(where(seen, x @ keys.T, 0.0)) @ keys
output y[C-1, L-1] as last
"""
TRAINED = """
dim i < I
dim t < T
input e[t]: f32[4]
w[0] = eye(4)
w[i+1] = w - 0.1 * grad(loss[i], w)
bias = where(t - arange(T) >= 0, -0.5 * f32(abs(t - arange(T))), -9.0)
y = exp(e[t = 0:T] @ (w @ e) + bias)
loss[i] = mean(sum(y[i, 0:T], axis = 1))
output loss
"""
# A product needs an array, which one of all layers is; an output is stored in any case.
PRODUCT = """
dim l < L
dim t < T
input e[t]: f32[4]
x[0, t] = e
x[l+1, t] = tanh(f32(t - arange(T) >= 0) @ x[t = 0:T])
output x[L-1, 0:T] as last
"""
# All masks are read at once, which needs an array of them.
ALL = """
dim l < L
dim t < T
input e[t]: f32[T]
seen[t] = t - arange(T) >= 0
x[0] = e[0:T]
x[l+1] = tanh(where(seen[t = 0:T], x[l] + 1.0, 0.5))
output x[L-1] as last
"""
SLOPES = """
dim b < B
dim t < T
input x[b]: f32[4]
slopes = 2.0 ** (-1.0 * arange(2))
h[b, 0] = x
h[b, t+1] = tanh(mean(e, axis = 0) @ h[t = 0:t+1])
e = exp(expand_dims(h @ (h[t = 0:t+1]).T, 0) - expand_dims(slopes, 1) * f32(t - arange(t+1)))
output h[0:B, T-1] as h
"""
SHOWN = CHUNKS.replace("output", "output seen[0] as first\noutput")


@pytest.mark.parametrize("text", [CHUNKS, TRAINED, PRODUCT, ALL, SHOWN, SLOPES])
def test_the_same_values(text: str) -> None:
    agree(text, *all_equal(text, 1, 3, 4, 2))


@pytest.mark.parametrize(
    ("text", "formula"), [(CHUNKS, "128*C"), (PRODUCT, "32*T+4*T*T"), (SHOWN, "128*C+4*C*C")]
)
def test_memory(text: str, formula: str) -> None:
    program = compile_text(text, 2)[1].program
    assert show(peak(program, default_filled_stores(program)).formula) == formula


def test_slopes_of_distances_are_no_store() -> None:
    stores = {s.name for s in compile_text(SLOPES, 2)[1].program.stores}
    assert stores.isdisjoint({"e.mul", "e.cast", "e.sub"})


def test_a_bias_is_no_store() -> None:
    assert "bias" not in {s.name for s in compile_text(TRAINED, 2)[1].program.stores}
