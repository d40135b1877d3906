"""What steps make beside their states is a row of their scan, where others would make it again."""

from __future__ import annotations

import pytest

from tempoc.ops.control.recurrence import Recurrence
from tempoc.sdg.graph.graph import Graph
from tests.passes.recurrences.test_recurrence_to_scan import scanned
from tests.support.generators.graphs import assert_same

BEFORE = """dim b < B
dim t < T
param u: f32[16, 16]
param v: f32[2, 16]
input x[b, t]: f32[16]
g[b, t] = h[b, t-1] when t >= 1
g[b, t] = zeros([16])
f = sigmoid(u @ g + x)
h = f * tanh(x)
y = v @ h
"""
"""The states before each step, of which the first is one of the scan."""

APART = """dim b < B
dim t < T
param u: f32[16, 16]
param v: f32[2, 16]
input x[b, t]: f32[16]
f[b, t] = sigmoid(u @ h[b, t-1] + x) when t >= 1
f[b, t] = sigmoid(x)
h = f * tanh(x)
y = v @ h
"""
"""The first step stands apart."""

BACKWARDS = """dim b < B
dim t < T
param u: f32[16, 16]
param v: f32[2, 16]
input x[b, t]: f32[16]
g[b, t] = h[b, t+1] when t < T-1
g[b, t] = zeros([16])
f = sigmoid(u @ g + x)
h = f * tanh(x)
y = v @ h
"""


def scan(graph: Graph) -> Recurrence:
    """The one scan of a graph."""
    (op,) = (n.op for n in graph.nodes.values() if isinstance(n.op, Recurrence))
    return op


def products(graph: Graph) -> list[str]:
    """The nodes that are products."""
    return [n.name for n in graph.nodes.values() if n.op.name == "matmul"]


@pytest.mark.parametrize("text", [BEFORE, APART, BACKWARDS])
def test_what_takes_a_product_of_matrices_is_not_made_again(text: str) -> None:
    before, after = scanned(text + "output f, y\n")
    assert products(after) == ["y"]
    assert_same(before, after)


def test_steps_of_which_nothing_else_is_read_hand_out_their_states_alone() -> None:
    before, after = scanned(BEFORE + "output y\n")
    assert len(scan(after).carried) == 1
    assert_same(before, after)


def test_where_the_product_is_read_too_it_is_made_of_all_states() -> None:
    """Then one product of all points gives the others as well."""
    before, after = scanned(BEFORE + "a = u @ g + 1.0\noutput a, f, y\n")
    assert products(after) == ["f.matmul", "y"] and len(scan(after).carried) == 1
    assert_same(before, after)


def test_what_is_much_larger_than_a_state_is_made_where_it_is_read() -> None:
    text = """dim b < B
dim t < T
param u: f32[128, 16]
param v: f32[16, 128]
param w: f32[2, 16]
input x[b, t]: f32[128]
g[b, t] = h[b, t-1] when t >= 1
g[b, t] = zeros([16])
f = sigmoid(u @ g + x)
h = v @ f
y = w @ h
output f, y
"""
    before, after = scanned(text)
    assert len(scan(after).carried) == 1
    assert_same(before, after)


def test_parts_of_what_steps_make_are_parts_of_rows() -> None:
    text = """dim b < B
dim t < T
param u: f32[32, 16]
param v: f32[2, 16]
input x[b, t]: f32[16]
g[b, t] = h[b, t-1] when t >= 1
g[b, t] = zeros([16])
f = sigmoid(u @ g)
h = split(f, 2)[0] * x
y = v @ h
z = split(f, 2)[1] + 1.0
output y, z
"""
    before, after = scanned(text)
    assert products(after) == ["y"]
    assert_same(before, after)


def test_a_state_that_derivatives_read_is_handed_out_once() -> None:
    text = """dim b < B
dim t < T
param u: f32[16, 16]
input x[b, t]: f32[16]
h[b, t] = tanh(u @ h[b, t-1] + x) when t >= 1
h[b, t] = tanh(x)
loss = sum(h[b = 0:B, t = 0:T])
slope = grad(loss, u)
output slope
"""
    before, after = scanned(text)
    scans = [n for n in after.nodes.values() if isinstance(n.op, Recurrence)]
    assert [len(n.types) for n in scans] == [1, 1], "one of states, one of their derivatives"
    assert products(after) == []
    assert_same(before, after)
