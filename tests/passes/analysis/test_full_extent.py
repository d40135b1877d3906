"""What is stored at full extent along a dimension, and why."""

from __future__ import annotations

import pytest

from tempoc.passes.analysis import full_extent
from tempoc.passes.analysis.full_extent import full_extent_nodes, later_rounds
from tempoc.sdg.graph.graph import Graph, Node
from tests.support.generators.graphs import graph

LOOP = """
bound T
dim t < T
%x = input{dtype=f32} : [t] f32
%h.0 = copy %x[0] : [] f32
%h.1 = add %h[t-1], %x : [t | t >= 1] f32
%h = merge{targets=((0,), (t,))} %h.0 when t == 0, %h.1 when t >= 1 : [t] f32
%e = exp %h : [t] f32
"""
CASES = {
    "what is given": ("output s = %h[T-1]", "x"),
    "what the loop itself reads is not": ("%s = neg %e : [t] f32\noutput s = %s[T-1]", "x"),
    "a result": ("output e = %e[0:T]", "e x"),
    "a slice that grows": (
        "%s = max{axes=(0,)} %e[0:t+1] : [t] f32\noutput s = %s[T-1]",
        "e x",
    ),
    "a window is not": (
        "%s = max{axes=(0,)} %e[max(0, t-3):t+1] : [t] f32\noutput s = %s[T-1]",
        "x",
    ),
    "what is added up on the way is not": (
        "%s = sum{axes=(0,)} %e[0:T] : [] f32\noutput s = %s",
        "x",
    ),
    "what is read again when all is known": (
        "%s = sum{axes=(0,)} %e[0:T] : [] f32\n%d = div %h, %s : [t] f32\noutput d = %d[T-1]",
        "h x",
    ),
    "what is added up together with what comes later": (
        "%s = sum{axes=(0,)} %e[0:T] : [] f32\n%d = div %h, %s : [t] f32\n"
        '%p = einsum{spec="t,t->"} %e[0:T], %d[0:T] : [] f32\noutput p = %p',
        "e h x",
    ),
    "its last point alone is not": ("%s = neg %e[T-1] : [] f32\noutput s = %s", "x"),
    "what a few steps ahead make needs no more": (
        "%s = sum{axes=(0,)} %e[t:min(t+3, T)] : [t] f32\n%d = mul %s, %h : [t] f32\n"
        "%p = sum{axes=(0,)} %d[0:T] : [] f32\noutput p = %p",
        "x",
    ),
    "what all steps to come make": (
        "%s = sum{axes=(0,)} %e[t:T] : [t] f32\n%d = mul %s, %h : [t] f32\n"
        "%p = sum{axes=(0,)} %d[0:T] : [] f32\noutput p = %p",
        "e h x",
    ),
    "what has one point of an earlier loop alone is not": (
        "%g.0 = neg %e : [t | t == T-1] f32\n%g.1 = sin %g[t+1] : [t | t+1 < T] f32\n"
        "%g = merge{targets=((t,), (t,))} %g.0 when t == T-1, %g.1 when t+1 < T : [t] f32\n"
        "output g = %g[0]",
        "x",
    ),
    "what has many points of an earlier loop": (
        "%g.0 = neg %e : [t | t >= T-9] f32\n%g.1 = sin %g[t+9] : [t | t+9 < T] f32\n"
        "%g = merge{targets=((t,), (t,))} %g.0 when t >= T-9, %g.1 when t+9 < T : [t] f32\n"
        "output g = %g[0]",
        "g x",
    ),
    "what a loop backwards reads": (
        "%g.0 = copy %e[T-1] : [] f32\n%g.1 = add %g[t+1], %e : [t | t+1 < T] f32\n"
        "%g = merge{targets=((T-1,), (t,))} %g.0 when t == T-1, %g.1 when t+1 < T : [t] f32\n"
        "output g = %g[0]",
        "e x",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_kept_whole(name: str) -> None:
    text, whole = CASES[name]
    assert sorted(full_extent_nodes(graph(f"{LOOP}{text}\n"), "t")) == whole.split()


WAITING = """
%g.0 = copy %f : [t | t == T-1] f32
%g.1 = add %g[t+1], %f : [t | t+1 < T] f32
%g = merge{targets=((t,), (t,))} %g.0 when t == T-1, %g.1 when t+1 < T : [t] f32
output g = %g[0]
output h = %h[0:T]
"""


def test_what_only_a_later_loop_needs_may_wait_for_it() -> None:
    both = graph(f"{LOOP}%f = neg %e : [t] f32{WAITING}")
    assert sorted(full_extent_nodes(both, "t")) == ["f", "h", "x"]
    assert sorted(full_extent_nodes(both, "t", late=("e", "f", "g.0"))) == ["h", "x"]
    # `f` alone cannot wait: then `e` would be stored instead.
    assert sorted(full_extent_nodes(both, "t", late=("f", "g.0"))) == ["f", "h", "x"]


ROWS = """
bound T
bound J
dim t < T
dim j < J
%x = input{dtype=f32} : [j] f32
%h.0 = copy %x : [JS | t == 0] f32
%h.1 = sin %h[t-1, max(j-1, 0)] : [JS | t >= 1] f32
%h = merge{targets=((t, j), (t, j))} %h.0 when t == 0, %h.1 when t >= 1 : [t, j] f32
%g.0 = copy %x : [JS | t == T-1] f32
%g.1 = mul %g[t+1, j], %h[t+1, max(j-1, 0)] : [JS | t+1 < T] f32
%g = merge{targets=((t, j), (t, j))} %g.0 when t == T-1, %g.1 when t+1 < T : [t, j] f32
output g = %g[0, 0:J]
"""


def test_rows_at_once_are_read_at_any_of_their_cells() -> None:
    """In a loop over the cells, too, others of these are no points of the same loop over `t`."""
    assert sorted(full_extent_nodes(graph(ROWS.replace("JS", "t, j*")), "t")) == ["h", "x"]
    assert sorted(full_extent_nodes(graph(ROWS.replace("JS", "t, j")), "t")) == ["x"]


OUTER = """
bound T
dim t < T
%x = input{dtype=f32, shape=(40,)} : [t] f32[40]
%h.0 = copy %x : [t | t == 0] f32[40]
%h.1 = add %h[t-1], %x : [t | t >= 1] f32[40]
%h = merge{targets=((t,), (t,))} %h.0 when t == 0, %h.1 when t >= 1 : [t] f32[40]
%f = einsum{spec="i,j->ij"} %h, %x : [t] f32[40, 40]
%g.0 = copy %f : [t | t == T-1] f32[40, 40]
%g.1 = add %g[t+1], %f : [t | t+1 < T] f32[40, 40]
%g = merge{targets=((t,), (t,))} %g.0 when t == T-1, %g.1 when t+1 < T : [t] f32[40, 40]
output g = %g[0]
"""


def test_what_makes_much_of_little_waits() -> None:
    """`h` is stored, which is 40 times as small as `f`."""
    outer = graph(OUTER)
    assert sorted(full_extent_nodes(outer, "t")) == ["h", "x"]
    assert later_rounds(outer, "t") == {"f": 1, "g.0": 1}
    small = graph(OUTER.replace("40", "4"))
    assert sorted(full_extent_nodes(small, "t")) == ["f", "x"]
    assert later_rounds(small, "t") == {}


def test_only_what_reads_points_may_add_them_up(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def is_small_sum(_: Graph, node: Node, __: int) -> bool:
        asked.append(node.name)
        return True

    monkeypatch.setattr(full_extent, "is_small_sum", is_small_sum)
    more = "%s = sum{axes=(0,)} %e[0:T] : [] f32\n%n = neg %s : [] f32\noutput n = %n"
    full_extent_nodes(graph(LOOP + more), "t")
    assert {*asked} == {"h.0", "s"}
