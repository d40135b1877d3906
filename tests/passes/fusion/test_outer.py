"""What is light and as large as all pairs is computed by the loops that read it."""

from __future__ import annotations

import pytest

from tests.support.agreement import agree, all_equal, compile_text

OPTION = """
dim b < B
dim n < N
dim i < I
input strike[b]: f32
price[n, i] = exp(0.1 * (2 * i - n))
pay[b, n, i] = maximum(strike - price, 0.0)
v[b, N-1, i] = pay[b, N-1, i]
v[b, n, i] = maximum(pay, tanh(v[b, n+1, i])) when n < N - 1
output v[0:B, 0, 0:I] as v
"""
SHOWN = OPTION + "output pay[0:B, 0, 0:I] as pay\n"
SUMMED = OPTION + "total[b, i] = sum(pay[b, 0:N, i])\noutput total\n"
STORED = OPTION.replace("strike[b]", "strike[b, n, i]")
HEAVY = OPTION.replace("strike - price", "exp(strike - price)")


@pytest.mark.parametrize(
    ("text", "stored"), [(OPTION, 0), (SHOWN, 1), (SUMMED, 1), (STORED, 1), (HEAVY, 1)]
)
def test_what_is_stored(text: str, stored: int) -> None:
    """Not where others need an array, where it takes no more than an operand, or is much work."""
    stores = {s.name for s in compile_text(text, 2)[1].program.stores}
    assert len([s for s in stores if s.startswith("pay")]) == stored


@pytest.mark.parametrize("text", [OPTION, SUMMED])
def test_the_same_values(text: str) -> None:
    agree(text, *all_equal(text, 1, 3, 2))
