"""What later steps of a recurrence add to places of states becomes a running array."""

from __future__ import annotations

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tests.support.agreement import agree

TREE = """dim n < N
dim c < C
param w = 0.7
input x[n]: f32
at[n, c] = maximum(2 * n // 3 - c, 0)
got[n, c] = h[n = at[n, c] in 0:n] * (c + 1.0) when n >= 1
got[n, c] = 0.0
h[n] = sin(x + w * sum(got[c = 0:C]))
loss = h[N-1] ** 2
g = grad(loss, x)
output g
"""
MEMORY = """dim n < N
input x[n]: f32[2]
h[0] = x[0]
h[n] = tanh(0.5 * x + 0.1 * cumsum(h[0:n], axis = 0)[n // 2])
loss = sum(h[N-1])
g = grad(loss, x)
output g
"""


@pytest.mark.parametrize("text", [TREE, MEMORY])
def test_derivatives_of_ranges_are_totals(text: str) -> None:
    compilation = Compilation(load_source(Source("m.rt", text)), Options(level=2))
    assert any(name.endswith(".total") for name in compilation.optimized.nodes)


def test_totals_agree() -> None:
    agree(TREE, {"N": 5, "C": 2})
