"""Loops on the device that find out how long they last: nothing happens after the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import RunError
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.program.analysis.traversal import regions
from tempoc.program.nodes.tuning import RunTuning
from tempoc.runtime.execution import machine
from tempoc.runtime.run import run
from tempoc.runtime.walk.region_calls import Pace
from tests.support.agree import compiled
from tests.support.agreement import agree
from tests.whole.until.test_until import COLLATZ, collatz
from tests.whole.until.test_until_each import EPISODES, MANY
from tests.whole.until.until_runs import Agreeing

HALVES = """
dim t < T until small
input a: f64
x[0] = a
x[t+1] = x[t] / 2.
small = x < 1.
last = x[T-1]
output last
"""
TWO = """
dim t < T until a
dim s < S until b
input start: i32
x[0] = start
x[t+1] = x[t] - 2
y[0] = start
y[s+1] = y[s] - 3
a = x <= 0
b = y <= 0
total = sum(x[0:T]) + sum(y[0:S])
first = T
second = S
output total, first, second
"""
ROOTS = """
dim i < I
dim k < K until small
input a[i]: f32
x[i, 0] = 1.0
x[i, k+1] = 0.5 * (x + (a + 0.1 * before) / x)
small = abs(x * x - a - 0.1 * before) < 1e-4
before[0] = 0.0
before[i+1] = root[i]
root[i] = x[i, K-1]
steps[i] = K
output root, steps
"""
"""Each step of `i` begins with what the iteration of the last one has found."""


def compilation(text: str) -> Compilation:
    return Compilation(load_source(Source("m.rt", text)), Options(verify_each=True))


@pytest.mark.parametrize(("text", "ends"), [(COLLATZ, 1), (MANY, 1), (EPISODES, 0), (TWO, 2)])
def test_the_loop_that_ends_is_on_the_device(text: str, ends: int) -> None:
    found = [*regions(compilation(text).emitted.program.tree)]
    assert sum(len(region.endings) for region in found) == ends


def test_text() -> None:
    text = compilation(COLLATZ).emitted.kernels
    loop = text[text.index("def loop_t") :]
    assert "T = jnp.where(T_end > 0, T_end, at[2])" in loop
    assert "return (t < at[0] + count) & (t < T)" in loop
    assert "lax.while_loop(more_t, step_t, carry)" in loop


def test_a_length_of_each_step_is_found_out_within_one_call() -> None:
    for text in (ROOTS, ROOTS.replace("k < K", "k < K = 3")):
        (region,) = regions(compilation(text).emitted.program.tree)
        assert (region.loop.var, region.lengths, region.endings) == ("i", (), ())
    agree(ROOTS, {"I": 3, "K": 20})


def test_a_length_that_is_needed_in_another_loop_is_told_to_the_host() -> None:
    later = "c[0] = 0.0\nc[i+1] = tanh(c[i]) + K * f32(steps[I-1])\noutput c"
    found = regions(compilation(ROOTS + later).emitted.program.tree)
    assert [(region.loop.var, len(region.endings)) for region in found] == [("k", 1)]


def test_a_loop_over_what_ends_stays_with_the_host() -> None:
    found = compilation(MANY)
    found.emitted  # noqa: B018
    said = [r.message for r in found.remarks]
    reason = "how long `t` lasts is found out for each `i`"
    assert f"the loop over `i` is not on the device: {reason}" in said


@pytest.mark.parametrize("first", [1, 3])
def test_the_end_in_any_call(first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end is found in the first, a middle, or the last step of a call, or in none."""
    monkeypatch.setattr(machine, "Pace", lambda _: Pace(RunTuning(first_steps=first)))
    out = compiled(COLLATZ, tmp_path)
    for start, most in ((1, 1), (1, 9), (2, 9), (8, 9), (16, 9), (32, 9), (7, 9), (6, 9), (6, 8)):
        result = run(out, {"T": most}, {"c0": np.int32(start)})
        wanted = collatz(start, most)
        assert result.outputs["c"].tolist() == wanted
        assert dict(result.lengths) == {"T": len(wanted)}
        assert result.outputs["total"] == sum(wanted)


def test_several_lengths(tmp_path: Path) -> None:
    program = Agreeing(TWO, tmp_path)
    for start in (0, 1, 5, 6, 40):
        found = program({"T": 7, "S": 9}, {"start": np.int32(start)})
        assert found["first"] == min(7, max(1, -(-start // 2) + 1))
        assert found["second"] == min(9, max(1, -(-start // 3) + 1))


def test_wide_numbers(tmp_path: Path) -> None:
    program = Agreeing(HALVES, tmp_path)
    for a, most in ((0.5, 1), (0.5, 4), (3.0, 4), (100.0, 3), (1e9, 60)):
        found = program({"T": most}, {"a": np.float64(a)})
        assert found["last"] < 1.0 or program.lengths == {"T": most}


CHECKED = """
dim t < T until stop
input n[t]: i32
input x: f32[5]
stop = n < 0
y[0] = 0.
y[t+1] = y[t] + x[abs(n[t])]
output y
"""


def test_checks_hold_until_the_end(tmp_path: Path) -> None:
    """What would fail after the end is never computed; what fails before it is said."""
    out = compiled(CHECKED, tmp_path)

    def at(*n: int) -> Any:
        given = {"n": np.array(n, np.int32), "x": np.arange(5, dtype=np.float32)}
        return run(out, {"T": len(n)}, given).outputs["y"].tolist()

    assert at(1, 2, -9, 9, 9) == [0.0, 1.0, 3.0]
    assert at(1, 2, 3, 4, -9) == [0.0, 1.0, 3.0, 6.0, 10.0]
    with pytest.raises(RunError, match="at t = 1"):
        at(1, 9, -1, 2, 2)


ASSUMED = """
dim t < T until stop
assume T >= 3
input n[t]: i32
stop = n < 0
total[0] = n[0]
total[t+1] = total[t] + n[t+1]
output total
"""


def test_an_assumption_about_the_length(tmp_path: Path) -> None:
    out = compiled(ASSUMED, tmp_path)
    found = run(out, {"T": 4}, {"n": np.array([1, 2, -1, 5], np.int32)})
    assert found.outputs["total"].tolist() == [1, 3, 2]
    with pytest.raises(RunError, match="does not hold for T = 2"):
        run(out, {"T": 4}, {"n": np.array([1, -2, -1, 5], np.int32)})


ONLY_ONE = """
dim i < I until stop
dim j < J
dim k < K = I + 1
input x[i, j, k]: f32
input w[i]: f32
stop = w > 0.8
y[i, j, k] = w[i-1] - x[i, j, k] when i >= 1
y[i, j, k] = w[i]
g = grad(y[i, j, k] * sin(y[i, j, k] * x[i, j, k]), x)
z = tanh(grad(g ** 2, w))
output z
"""


def test_what_is_there_only_if_the_length_is_short(tmp_path: Path) -> None:
    """The derivative for `w[0]` is another sum if `I == 1`; the loop does not know that before."""
    program = Agreeing(ONLY_ONE, tmp_path, levels=(2,))
    for w in ([0.9, 0.1], [0.1], [0.1, 0.9, 0.1]):
        size = len(w), 2, len(w) + 1
        x = np.linspace(-1, 1, num=size[0] * 2 * size[2], dtype=np.float32).reshape(size)
        program({"I": len(w), "J": 2}, {"w": np.array(w, np.float32), "x": x})


DOWNWARDS = """
dim i < I until stop
dim j < J = I + 1
input x[i, j]: f32
input w[i]: f32
stop = w > 0.8
y[i, J-1] = 0.5 * x[i, J-1]
y[i, j] = 0.6 * y[i, j+1] + tanh(w[i] + x[i, j])
output y
"""
CHOSEN = """
dim i < I until stop
input x[i]: f32
input n[i]: i32
stop = x > 0.8
y[i] = x[i] when i == 0
y[i] = 0.5 * y[i = abs(n[i]) % max(i, 1) in 0:i] + x[i]
total = sum(tanh(y)[i = 0:I])
g = grad(total, x)
output y, g
"""


@pytest.mark.parametrize("text", [DOWNWARDS, CHOSEN])
def test_loops_within_and_after(text: str, tmp_path: Path) -> None:
    """A loop down from a length that turned out short; branches for points that no run has."""
    program = Agreeing(text, tmp_path, levels=(2,))
    for w in ([0.1], [0.9], [0.1, 0.9, 0.1, 0.1], [0.1, 0.2, 0.3]):
        values = np.array(w, np.float32)
        x = np.linspace(-1, 1, num=len(w) * (len(w) + 1), dtype=np.float32)
        wide = {"w": values, "x": x.reshape(len(w), -1)}
        numbers = np.arange(7, 7 + len(w), dtype=np.int32)
        given = wide if text is DOWNWARDS else {"x": values, "n": numbers}
        program({"I": len(w)}, given)
