"""Cycles that no nest of loops carries whatever the domains are."""

from __future__ import annotations

import pytest

from tempoc.passes.analysis.uncarried_cycles import uncarried_cycles
from tests.support.generators.graphs import graph

HEAD = """
bound N
bound M
dim i < N
dim j < M
%given = input{dtype=f32, shape=()} : [j] f32
%x = neg %given : [j] f32
%y = neg %given : [i, j] f32
"""
CASES = {
    "none": ("%z = exp %y : [i, j] f32", ""),
    "carried by one loop, upwards": (
        "%z = exp %m[i, j] : [i, j] f32\n"
        "%m = merge{targets=((0, j), (i+1, j))} %x when i == 0, %z[i-1, j] when i >= 1"
        " : [i, j] f32",
        "",
    ),
    "carried by one loop, downwards": (
        "%z = exp %m[i+1, j] : [i, j | i < N-1] f32\n"
        "%m = merge{targets=((N-1, j), (i, j))} %x when i == N-1, %z when i < N-1 : [i, j] f32",
        "",
    ),
    "carried by a loop within another": (
        "%z = add %m[i-1, 0], %m[i, j-1] : [i, j | i >= 1 and j >= 1] f32\n"
        "%m = merge{targets=((i, j), (i, j))} %y when i == 0 or j == 0, %z when i >= 1 and j >= 1"
        " : [i, j] f32",
        "",
    ),
    "a slice up to the step before": (
        "%z = sum %m[0:i, j] : [i, j | i >= 1] f32\n"
        "%m = merge{targets=((0, j), (i, j))} %x when i == 0, %z when i >= 1 : [i, j] f32",
        "",
    ),
    "in both directions": (
        "%a = exp %m[i, M-1-j] : [i, j | i >= 1] f32\n"
        "%m = merge{targets=((0, j), (i, j))} %x when i == 0, %a when i >= 1 : [i, j] f32",
        "a m",
    ),
    "at the same point, but for guards": (
        "%a = exp %m : [i, j | j >= 1] f32\n"
        "%m = merge{targets=((i, j), (i, j))} %y when j == 0, %a when j >= 1 : [i, j] f32",
        "a m",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_cycles(name: str) -> None:
    text, uncarried = CASES[name]
    outputs = "output y = %y[0:N, 0:M]\noutput z = %given[0:M]\n"
    assert uncarried_cycles(graph(f"{HEAD}{text}\n{outputs}")) == {*uncarried.split()}
