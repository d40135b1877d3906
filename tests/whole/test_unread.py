"""What nobody reads is not computed: no position there is wrong, whatever a kernel computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tempoc.codegen.steps.at_steps import items_of
from tempoc.diagnostics.diagnostic import RunError
from tempoc.program.nodes import nodes as prog
from tempoc.runtime.load.load import load
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
    agreed(TEXT, tmp_path, {"T": T}, given(T, [T - 1]), levels=(1, 2))


@pytest.mark.parametrize("T", [1, 2])
def test_positions_that_some_bounds_do_not_need(T: int, tmp_path: Path) -> None:
    agreed(TEXT, tmp_path, {"T": T}, given(T, []), levels=(1, 2))


@pytest.mark.parametrize("point", [0, 1, 3])
def test_positions_of_points_that_are_read_are_checked(point: int, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=f"t = {point}"):
        run(compiled(TEXT, tmp_path), {"T": 6}, given(6, [point]))


ROWS = """
dim t < T
input x[t]: f32[3]
input j[t]: i32
input n: i32
z = (x)[j] + f32(n)
s[0] = z[0]
s[t+1] = s * 0.5 + z
back[T-1] = z[T-1]
back[t] = back[t+1] * 0.5 + z[t+1]
output FOR
"""


@pytest.mark.parametrize(("name", "unread"), [("s", 3), ("back", 0)])
def test_rows_that_no_step_of_a_recurrence_takes_are_not_checked(
    name: str, unread: int, tmp_path: Path
) -> None:
    text = ROWS.replace("FOR", name)
    agreed(text, tmp_path, {"T": 4}, given(4, [unread]), levels=(1, 2))
    with pytest.raises(RunError, match="t = 1"):
        run(compiled(text, tmp_path), {"T": 4}, given(4, [unread, 1]))


SWEEPS = """
dim b < B
dim t < T
dim k < N
dim l < M = N
input W[k, l]: f32
input c[b, k]: f32
s[b, 0, k] = c[b, k]
s[b, t, k] = tanh(W[k, 0:k] @ s[b, t, 0:k] + 0.5 + c[0, 0]) when t >= 1
y[b, t, k] = einsum("i,i->", W[k, 0:k], s[b, t, 0:k])
output s[0:B, T-1, 0:N] as s, y
"""


@pytest.mark.parametrize(("B", "T", "N"), [(1, 2, 1), (3, 3, 5), (2, 1, 2)])
def test_elements_that_are_not_read_spread_nothing(B: int, T: int, N: int, tmp_path: Path) -> None:
    random = np.random.default_rng(N)
    c = random.standard_normal((B, N)).astype(np.float32)
    c[0, 1:], c[1:, -1] = np.nan, np.inf
    W = random.standard_normal((N, N)).astype(np.float32)
    agreed(SWEEPS, tmp_path, {"B": B, "T": T, "N": N}, {"W": W, "c": c}, levels=(2,))
    kernels = (tmp_path / "out2" / "kernels.py").read_text()
    assert "unless_nan(" in kernels and "[:N-1]" not in kernels


ENDED = """
dim i < I
dim t < T until stop
input k[i, t]: i32
input w: f32[4]
y = w[k]
h[i, 0] = 0.0
h[i, t] = h[i, t-1] + y[i, t-1]
stop = h > 1.5 + i
last = h[t = T-1]
output last
"""
COUNTED = """
dim t < T until stop
input k[t]: i32
input w: f32[4]
h[0] = 0.0
h[t+1] = h + 1.0
stop = h > 9.0
y = w[k]
total = sum(y[0:T-1])
output total
"""
BACKWARDS = COUNTED.replace("h + 1.0", "h + y").replace(
    "total = sum(y[0:T-1])", "r[T-1] = 0.0\nr[t] = r[t+1] + y\ntotal = r[0]"
)


@pytest.mark.parametrize("T", [1, 2])
@pytest.mark.parametrize(
    "text", [ENDED, COUNTED, BACKWARDS], ids=["for each", "at the end", "backwards"]
)
def test_the_last_step_that_a_loop_may_take_is_no_one_before(
    text: str, T: int, tmp_path: Path
) -> None:
    """Nothing reads it there, whether or not the data would end the loop."""
    k = np.zeros((2, T) if "dim i" in text else T, np.int32)
    k[..., T - 1] = 9
    given = {"k": k, "w": np.ones(4, np.float32)}
    bounds = {"I": 2, "T": T} if "dim i" in text else {"T": T}
    agreed(text, tmp_path, bounds, given, levels=(0, 1, 2))
    longer = given | {"k": np.concatenate([k, k[..., :1]], axis=-1)}
    with pytest.raises(RunError, match=f"index 9 .*t = {T - 1}"):
        run(compiled(text, tmp_path), bounds | {"T": T + 1}, longer)


def test_what_only_the_next_step_reads_counts_where_there_is_one(tmp_path: Path) -> None:
    """As a token that ends a text and that no table of words has."""
    text = ENDED.replace("h > 1.5 + i", "k > 3")
    given = {"k": np.array([[0, 0, 9], [9, 0, 0]], np.int32), "w": np.ones(4, np.float32)}
    agreed(text, tmp_path, {"I": 2, "T": 3}, given, levels=(0, 2))


LEAPS = """
dim c < C
dim i < I
dim l < L
input q0[c]: f32
q[c, 0] = q0
pos[c, i, 0] = q
mom[c, i, 0] = 0.0
pos[c, i, l+1] = pos + 0.1 * mom
g = 4.0 * pos ** 3
mom[c, i, l+1] = mom - 0.1 * g[c, i, l+1]
h = pos[l = L-1] ** 4
q[c, i+1] = where(h < 3.0, pos[l = L-1], q)
output q
"""


@pytest.mark.parametrize("sizes", [(1, 1), (1, 3), (3, 1), (3, 2), (2, 4)])
def test_steps_that_nobody_needs_leave_no_loop_behind(
    sizes: tuple[int, int], tmp_path: Path
) -> None:
    bounds = {"C": 2, "I": sizes[0], "L": sizes[1]}
    agreed(LEAPS, tmp_path, bounds, {"q0": np.array([0.5, 1.5], np.float32)}, levels=(1, 2))
    program = load(compiled(LEAPS, tmp_path)).program
    assert not any(isinstance(s, prog.Loop) for s in items_of(program.tree))
