"""Tensors that each step of an outer loop reads at all points of an inner one."""

from __future__ import annotations

import pytest

from tempoc.passes.analysis.repeated_reads import repeatedly_read
from tempoc.poly.relations.space import Space
from tests.support.agreement import agree
from tests.support.elaborated import graph_of

PROGRAM = """
dim t < T
dim k < N
input start[k]: f32
input given[k]: f32
weight = exp(given)
s[0, k] = start[k]
s[t, k] = weight[k] * {read}
output s[T-1, 0:N] as final
"""


@pytest.mark.parametrize(
    "read",
    [
        "(sum(s[t, 0:k]) + sum(s[t-1, k:N]))",
        "(s[t-1, max(k-1, 0)] + s[t-1, min(k+1, N-1)])",
    ],
)
def test_a_cycle_that_goes_both_ways_reads_all_points_in_each_step(read: str) -> None:
    graph = graph_of(PROGRAM.format(read=read))
    assert "weight" in repeatedly_read(graph, "k", Space(graph.universe))


@pytest.mark.parametrize("read", ["s[t-1, k]", "(s[t-1, max(k-1, 0)] + sum(s[t-1, 0:k]))"])
def test_a_cycle_that_goes_one_way_may_have_its_loop_outside(read: str) -> None:
    graph = graph_of(PROGRAM.format(read=read))
    assert not repeatedly_read(graph, "k", Space(graph.universe))


FUNNEL = """
dim t < T
dim k < N
input given: i32
place[0] = given
place[k+1] = (7 * place[k] + 1) % 5
v[0] = zeros([5])
v[t+1] = 0.5 * v[t] + w
w[t] = max(take(v, place, 0)[k = 0:N])
output v[T-1] as v
"""


def test_a_step_that_takes_all_points_together_reads_all_again() -> None:
    graph = graph_of(FUNNEL)
    assert "place" in repeatedly_read(graph, "k", Space(graph.universe))
    agree(FUNNEL, {"T": 3, "N": 4}, {"T": 1, "N": 1})


def test_what_varies_with_the_outer_loop_is_read_once() -> None:
    program = PROGRAM.replace("given[k]", "given[t, k]").replace("weight[k]", "weight[t, k]")
    graph = graph_of(program.format(read="(sum(s[t, 0:k]) + sum(s[t-1, k:N]))"))
    assert "weight" not in repeatedly_read(graph, "k", Space(graph.universe))
