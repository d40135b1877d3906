"""Weights of convolutions of many points: their gradient is one product, not a sum of products."""

from __future__ import annotations

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.ops.tensor.contraction import Einsum
from tempoc.symbolic.expr import Const
from tests.support.agreement import agree

TEXT = """
dim i < I
dim b < B
input x[i, b]: f32[7, 4]
input w0: f32[3, 4, 2]
w[0] = w0
y = tanh(conv(x, w))
loss[i] = mean((sum(y * y))[b = 0:B])
w[i+1] = w - 0.1 * grad(loss, w)
output loss, w[I-1] as w
"""
SHAPE = tuple(map(Const, (3, 4, 2)))
PLANES = """
dim b < B
input x[b]: f32[5, 6, 4]
input w: f32[3, 2, ROWS, 4]
loss = mean((sum(CALL ** 2))[b = 0:B])
g = grad(loss, w)
h = grad(loss, x)
output loss, g, h
"""
CALLS = {
    "one group": ("4", 'conv(x, w, stride = 2, padding = "same")'),
    "two groups": ("2", "conv(x, w, feature_group_count = 2)"),
    "transposed": ("4", "conv_transpose(x, w, stride = 2)"),
}


def test_the_sum_over_points_is_part_of_the_product() -> None:
    """No array with the weights' gradients of all points is made and then summed."""
    compiled = Compilation(load_source(Source("m.rt", TEXT)), Options())
    products = [n for n in compiled.passes.graph.nodes.values() if isinstance(n.op, Einsum)]
    of_weights = [n for n in products if [e for t in n.types for e in t.shape] == [*SHAPE]]
    assert of_weights and not any("b" in n.domain.dims for n in of_weights)
    agree(TEXT, {"I": 1, "B": 1}, {"I": 3, "B": 2})


@pytest.mark.parametrize("name", CALLS)
def test_gradients_by_weights_and_data(name: str) -> None:
    rows, call = CALLS[name]
    agree(PLANES.replace("ROWS", rows).replace("CALL", call), {"B": 1}, {"B": 3})
