"""What nobody reads is not computed: no position there is wrong, whatever a kernel computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import RunError
from tempoc.runtime.run import run
from tests.support.agree import agreed, compiled

TEXT = """
dim t < T
input x[t]: f32[3]
input j[t]: i32
input n: i32
s[0] = 0.0
e = tanh(x + s)
k = j + i32(s * 0.0)
p = (e)[k] + (exp(e))[k]
s[t+1] = p * 0.5
q[t] = x[t = j in 0:T][0] + 1.0 when t % 3 == 0
q[t] = (x)[j] * 2.0 when t % 3 == 1
q[t] = sum(x)
once = x[0][n]
r[t] = f32(t) when t < 2
r[t] = once + r[t-1] when t >= 2
output e, k, q, r
"""


def given(bounds: int, wrong: list[int]) -> dict[str, np.ndarray]:
    """Positions that are right, with the exception of those at some points."""
    x = np.random.default_rng(bounds).standard_normal((bounds, 3)).astype(np.float32)
    j = np.where(np.isin(np.arange(bounds), wrong), 9 + bounds, 0).astype(np.int32)
    return {"x": x, "j": j, "n": np.array(7 if bounds < 3 else 1, np.int32)}


@pytest.mark.parametrize("T", [6])
def test_positions_of_unread_points_may_be_anything(T: int, tmp_path: Path) -> None:
    agreed(TEXT, tmp_path, {"T": T}, given(T, [T - 1]), levels=(0, 2))


@pytest.mark.parametrize("T", [1, 2])
def test_positions_that_some_bounds_do_not_need(T: int, tmp_path: Path) -> None:
    agreed(TEXT, tmp_path, {"T": T}, given(T, []), levels=(0, 2))


@pytest.mark.parametrize("point", [0, 1, 3])
def test_positions_of_points_that_are_read_are_checked(point: int, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=f"t = {point}"):
        run(compiled(TEXT, tmp_path), {"T": 6}, given(6, [point]))
