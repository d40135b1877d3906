"""Packed weights: no store holds them unpacked, and products that unpack them are right."""

from __future__ import annotations

import pytest

from tempoc.base.cost_model import MODEL
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.pipelines import LEVELS
from tempoc.footprint.peak import peak
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.runtime.forecast.least_run import default_filled_stores
from tempoc.symbolic.walk import evaluate
from tests.support.agreement import agree, all_equal

LAYERS = """
dim t < T
dim l < L = 3
input packed[l]: {packed}
input scale[l]: f32[{n}]
input x0: f32[{n}]
{unpacked}
x[0, 0] = 0.1 * x0
x[t, 0] = y[t-1, L-1]
x[t, l+1] = y
y = tanh(w @ x)
output y[t = T-1, l = L-1] as last
"""
NIBBLES = """nib = reshape(
  stack([(packed // u32(16**k)) % u32(16) for k in range(8)], {axis}), [{n}, {n}])
w = 0.01 * (f32(nib) - 7.5) * scale"""
PACKED = {
    "a byte each": ("i8[{n}, {n}]", "w = 0.001 * f32(packed) * scale", 4),
    "of two dtypes": ("u8[{n}, {n}]", "w = (f32(packed) - 2.0) * expand_dims(scale, 1) / {n}", 4),
    "eight rows in a word": ("u32[{n} // 8, {n}]", NIBBLES.replace("{axis}", "1"), 8),
    "eight columns in a word": ("u32[{n}, {n} // 8]", NIBBLES.replace("{axis}", "2"), 8),
}


def program(name: str, n: int) -> str:
    packed, unpacked, _ = PACKED[name]
    return LAYERS.format(packed=packed.format(n=n), unpacked=unpacked.format(n=n), n=n)


def passes() -> str:
    """All passes, of which `unpack` takes values of any size."""
    return ",".join("unpack{least=1}" if p.name == "unpack" else p.name for p in LEVELS[2])


@pytest.mark.parametrize("name", PACKED)
def test_memory(name: str) -> None:
    """What is packed and at most one layer unpacked, beside some vectors of a layer."""
    n, fewer = 256, PACKED[name][2]
    source = Source("packed.rt", program(name, n))
    compiled = Compilation(load_source(source), Options()).emitted.program
    formula = peak(compiled, default_filled_stores(compiled)).formula
    packed, layer = 3 * n * n * 4 // fewer, n * n * 4
    for steps in (1, 2, 50):
        assert packed < evaluate(formula, {"T": steps, "L": 3}) < packed + layer


@pytest.mark.parametrize("name", PACKED)
def test_layers(name: str) -> None:
    text = program(name, 8)
    agree(text, *all_equal(text, 1, 2, 5), passes=passes())


MANY = """
dim b < B
dim t < T
input q: i8[4100, 300]
input s: f32[4100]
input x0[b]: f32[300]
x[b, 0] = x0
x[b, t] = tanh(y[b, t-1])[0:300]
y = (f32(q) @ x) * s * 0.001
output y
"""
PRODUCTS = """
dim b < B
dim t < T
input q: i8[5, 6]
input u: u8[7, 5]
input m[b]: i8[6, 6]
input x[b, t]: f32[6]
input z[b, t]: f32[6, 3]
a = f32(q) @ x
c = a @ f32(q)
d = f32(q) @ z
e = einsum("ij,jk,k->i", f32(u), f32(q), x)
f = f32(m) @ x
g = bf16(q) @ bf16(x)
h = i32(q) @ i32(x)
output a, c, d, e, f, g, h
"""


def test_blocks_of_a_large_matrix() -> None:
    assert MODEL.unpacked_bytes < 4100 * 300 * 4
    agree(MANY, *({"B": b, "T": 2} for b in (1, 3, MODEL.unpacked_vectors + 1)))


def test_products() -> None:
    few, many = 3, MODEL.unpacked_vectors + 2
    sizes = [{"B": b, "T": t} for b, t in ((1, 1), (few, 2), (2, many), (many, 3))]
    agree(PRODUCTS, *sizes, passes=passes())
