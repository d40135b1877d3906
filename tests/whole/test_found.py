"""Programs that once went wrong, found by generating programs and cut down by hand."""

from __future__ import annotations

import pytest

from tests.support.agreement import agree, all_equal

# A slice that is empty where the axis is shorter than the window.
SHORT_AXIS = """
dim i < I
y[i] = 1.0 + sum(y[max(0, i-3):i-1])
output y
"""

# Without `i < I - 2`, which no point fulfils if `I` is 1, the tensor of the guard has no element.
NEGATIVE_EXTENT = """
dim i < I
input w[i]: f32
y[i] = y[i+1] - 0.3 * y[i+2] + (w - w[i = I - 1 - i]) when i < I - 2
y[i] = i
output y
"""

# `max(0, I-1-i)` elements are `I-1-i`, also as a factor.
PRODUCT_OF_EXTENTS = """
dim i < I = 3
dim j < J
input x[i, j]: f32
y[i] = sum(reshape(x[i:I-1, 1:J], [-1]))
output y
"""

PROGRAMS = {
    name: text
    for name, text in globals().items()
    if name.isupper() and isinstance(text, str) and name != "PROGRAMS"
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_agrees_with_the_evaluator(name: str) -> None:
    text = PROGRAMS[name]
    agree(text, *all_equal(text, 1, 2, 5))
