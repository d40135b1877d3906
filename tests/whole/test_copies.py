"""Stores are updated in place by loops on the device: no step copies one."""

from __future__ import annotations

import pytest

from tempoc.base.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.modules import load_source
from tests.support.copies import audits
from tests.support.examples import ROOT

FEEDBACK = """
import nn
dim t < T
input x[t]: f32[16]
param w: f32[4, 16, 16]
before[0] = x[0]
before[t] = x[t] + 0.1 * y[t-1] when t >= 1
k = w[0] @ before
v = w[1] @ before
y1 = before + nn.softmax(k[SEEN] @ before) @ v[SEEN]
k2 = w[2] @ y1
v2 = w[3] @ y1
y = y1 + nn.softmax(k2[SEEN] @ y1) @ v2[SEEN]
output y
"""
"""Two layers of attention over what they said themselves: XLA copies `y` if `before` is carried."""
SEQUENCES = {
    "causal": FEEDBACK.replace("SEEN", "0:t+1"),
    "window": FEEDBACK.replace("SEEN", "max(0, t-7):t+1"),
    "until": """
dim t < T until stop
input a: f32[16]
x[0] = a
y[t] = 0.5 * x[t] + 1.0
x[t+1] = sin(y[t]) + y[t]
stop = sum(x[t]) < 0.0
output x, y
""",
}
EXAMPLES = {
    "01_fibonacci": {"N": 4000},
    "09_edit_distance": {"N": 300, "M": 200},
    "11_collatz": {"T": 4000},
    "12_kalman": {"T": 1000},
    "13_lbfgs": {"N": 40, "I": 8},
}


@pytest.mark.usefixtures("as_users")
@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences(name: str) -> None:
    source = load_source(Source("m.rt", SEQUENCES[name]))
    _stays_in_place(Compilation(source, Options()), {"T": 512})


@pytest.mark.usefixtures("as_users")
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str) -> None:
    path = ROOT / "examples" / f"{name}.rt"
    _stays_in_place(Compilation.from_path(str(path), Options()), EXAMPLES[name])


def _stays_in_place(compilation: Compilation, bounds: dict[str, int]) -> None:
    found = [*audits(compilation.emitted, bounds)]
    assert found
    for audit in found:
        assert audit.copies == ()
        assert audit.in_place == audit.carried
