"""Scans of many points: of operands, rows more than those of the steps, before, behind, or none."""

from __future__ import annotations

import pytest

from tests.support.agreement import agree

HEAD = "dim b < B\ndim t < T\ninput x[b, t]: f32\noutput s\n"


@pytest.mark.parametrize(
    "text",
    [
        "s[b, 0] = x[b, 0]\ns[b, t] = 0.5 * s[b, t-1] + x\n",
        "s[b, 0] = 1.0\ns[b, t] = 0.5 * s[b, t-1] + x[b, t-1]\n",
        "s[b, T-1] = 1.0\ns[b, t] = 0.5 * s[b, t+1] + x\n",
        "s[b, T-1] = x[b, 0]\ns[b, t] = 0.5 * s[b, t+1] + x[b, t+1]\n",
        "s[b, 0] = 1.0\ns[b, t] = 0.5 * s[b, t-1] * x[b, t-1] + x\n",
    ],
)
def test_first_rows_and_those_of_the_steps(text: str) -> None:
    agree(HEAD + text, {"T": 1, "B": 2}, {"T": 2, "B": 1}, {"T": 5, "B": 2})
