"""First steps that stand before loops become steps of the loops, if nearly all is the same."""

from __future__ import annotations

from collections import Counter

import pytest

from tempoc.program.analysis.traversal import calls, statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.runtime.walk import blocks as blocks_of_runs
from tests.support.agreement import agree, compile_text

LEARN = """
import optim
dim i < I
input x: f32[4, 3]
input y: f32[4]
input start: f32[3]
w[0] = start
e = tanh(x @ w) - y
loss = sum(e * e)
g = grad(loss, w)
w[i+1] = optim.adam(w, g, i)
output loss[0:I] as losses, w[I-1] as last
"""
"""The averages of the gradient begin with the first one."""
DOWN = """
dim i < I
input x: f32[4, 3]
input start: f32[3]
w[I-1] = start
e = tanh(x @ w)
f = cumsum(e)
g = sin(f) @ x
m[I-1] = g[I-1]
m[i] = 0.9 * m[i+1] + g
w[i] = w[i+1] - 0.1 * m[i+1]
output w
"""

SEEN = """
import nn
dim t < T
input u[t]: f32[2]
x[0] = u[0]
x[t+1] = u + max(y[0:t+1], axis = 0) when t < T - 2
x[t+1] = x + 1.0
y[0] = u[0]
y[t+1] = tanh(nn.softmax(x[0:t+1] @ x) @ x[0:t+1])
output y
"""
"""Weights of steps among T-1 of which a loop of T-2 steps computes those of all but one."""


def test_a_first_step_is_one_of_the_loop() -> None:
    """Each kernel that both call is called once; results that differ are selected."""
    _, loaded = compile_text(LEARN, 2)
    tree = loaded.program.tree
    loops = [s for s in statements_in(tree) if isinstance(s, prog.Loop)]
    inside = [call for s in loops for call in calls(s)]
    assert len(inside) == 5
    count = Counter(call.kernel for call in calls(tree))
    assert sorted(count.values()) == [1, 1, 1, 1, 1, 2], "in a single step as well"
    assert sum(any(c.when is not None for c in call.results) for call in inside) == 2


@pytest.mark.parametrize("text", [LEARN, DOWN], ids=["up", "down"])
def test_first_steps_compute_the_same(text: str) -> None:
    """Also where the loop has no further step."""
    agree(text, {"I": 1}, {"I": 2})
    agree(text, {"I": 3}, {"I": 6})


def test_a_loop_with_its_first_step_is_a_region(monkeypatch: pytest.MonkeyPatch) -> None:
    """State that the first step makes is there before the first call, as zeros."""
    monkeypatch.setattr(blocks_of_runs, "single_call_blocks", lambda *_: frozenset())
    agree(LEARN, {"I": 5})


def test_rows_without_elements_are_not_traced() -> None:
    """If T is 1, the maximum of the weights would be one of no numbers."""
    agree(SEEN, {"T": 1}, {"T": 4}, bucket=0)
    agree(SEEN, {"T": 2}, {"T": 3}, bucket=0)
