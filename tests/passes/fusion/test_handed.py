"""Rows that a step stores are handed to the other kernels of the step."""

from __future__ import annotations

import re

import pytest

from tempoc.base.cost_model import MODEL
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tests.support.agreement import agree

SPIKES = """
dim t < T
const D = 3
input x[t]: f32[4]
v[0] = zeros([4])
W[0] = 0.5 * eye(4)
s = f32(v + x > 0.2)
late[t] = s[t-D] when t >= D
late[t] = zeros([4])
v[t+1] = 0.9 * v + W @ late + x - s
W[t+1] = W + 0.1 * expand_dims(s, 1) * expand_dims(x, 0)
rate[t] = sum(s)
output rate, W[T-1] as W, v[T-1] as v
"""
SHOWN = (
    SPIKES.replace("late[t] = s[t-D] when t >= D", "late[t] = x[t] when t >= D")
    .replace("W @ late", "W[t][0] * late")
    .replace("output", "output s\noutput")
)
LAST = SHOWN.replace("output s\n", "output s[T-1] as s\n")


def kernels(text: str) -> str:
    return Compilation(load_source(Source("m.rt", text)), Options(verify_each=True)).emitted.kernels


@pytest.mark.parametrize("text", [SPIKES, SHOWN, LAST])
def test_the_same_values(text: str) -> None:
    agree(text, {"T": 1}, {"T": 2}, {"T": 4}, {"T": 9})


@pytest.mark.parametrize(("text", "count"), [(SPIKES, 1), (SHOWN, 1), (LAST, 0)])
def test_which_rows_are_handed_over(text: str, count: int) -> None:
    assert bool(re.search(r"\bs_made\b", kernels(text))) == count


def test_large_rows_are_read_back() -> None:
    large = MODEL.point_bytes // 4 + 1
    text = SPIKES.replace("[4]", f"[{large}]").replace("eye(4)", f"eye({large})")
    assert "s_made" not in kernels(text)
