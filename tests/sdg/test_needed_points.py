"""Where results of operators that check operands are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import pytest

from tempoc.poly.relations.space import Space
from tempoc.sdg.statements.checked_points import with_checked_points
from tempoc.sdg.statements.needed_points import needed_points
from tempoc.sdg.text.text import show_domain
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import symbols
from tests.support.generators.graphs import graph

P = ParamSpec("P")
R = TypeVar("R")

TEXT = """
bound T
bound K
dim t < T
dim k < K

%x = input{{dtype=f32, shape=(3,)}} : [t] f32[3]
%j = input{{dtype=i32}} : [t] i32
%p = getitem{{entries=("tensor",)}} %x, %j : [t] f32
{nodes}
output z = %z[{slices}]
"""
GUARDED = """
%e = exp %p : [t] f32
%q = exp %e : [t | t % 2 == 0] f32
%h = copy %e : [t | t % 2 != 0] f32
%z = merge{targets=((t,), (t,))} %q when t % 2 == 0, %h when t % 2 != 0 : [t] f32
"""
STATE = """
%s.0 = copy %j[0] : [] i32
%s.1 = cast{dtype=i32} %e : [t | t < T-1] i32
%s = merge{targets=((0,), (t+1,))} %s.0 when t == 0, %s.1[t-1] when t-1 >= 0 : [t] i32
%e = getitem{entries=("tensor",)} %x, %s : [t] f32
%z = cast{dtype=f32} %s : [t] f32
"""
CASES = {
    "everywhere": (GUARDED, "0:T", {}),
    "a branch": (GUARDED.replace("copy %e", "sum %x"), "0:T", {"p": "t % 2 == 0"}),
    "a state": (STATE, "0:T", {"e": "t < T-1", "p": "false"}),
    "later points": ("%z = sum %p[1:T] : [] f32", "", {"p": "t >= 1"}),
    "some bounds": ("%z = exp %p[0] : [k | k >= 2] f32", "2:K", {"p": "t == 0 and K >= 3"}),
}


@pytest.mark.parametrize("case", CASES)
def test_points_that_are_read(case: str) -> None:
    nodes, slices, expected = CASES[case]
    found = graph(TEXT.format(nodes=nodes.strip(), slices=slices).replace("[]\n", "\n"))
    needed = needed_points(found, Space(found.universe))
    assert {name: show(where) for name, where in needed.items()} == expected


FOUND = """
bound B
bound T until stop over b
dim b < B
dim t < T

%x = input{{dtype=f32, shape=(3,)}} : [b] f32[3]
%j = input{{dtype=i32}} : [b, t] i32
%s = input{{dtype=bool}} : [b, t] bool
%stop.until = until{{bound="T"}} %s : [b, t]
%p = getitem{{entries=("tensor",)}} %x[b], %j : [b, t] f32
%z = exp %p[b, {at}] : [b, t | t >= {first}] f32
output z = %z[0:B, {first}:T]
"""


@pytest.mark.parametrize(
    ("at", "first", "expected"),
    [
        ("t-1", 1, {"p": "t < T-1"}),
        ("t", 2, {"p": "t >= 2"}),
        ("T-1", 1, {}),
        ("T-1-t", 1, {"p": "t < T-1"}),
    ],
)
def test_a_length_may_be_the_largest(at: str, first: int, expected: dict[str, str]) -> None:
    """What a longer loop needs is needed: a kernel may not know yet where the data end it."""
    found = graph(FOUND.format(at=at, first=first))
    needed = needed_points(found, Space(found.universe))
    assert {name: show(where) for name, where in needed.items()} == expected


TILES = """
bound T
bound K
bound tiles = (T+15)//16
bound rows = 16
dim t < T
dim k < K
dim tile < tiles
dim row < rows

%x = input{dtype=f32, shape=(3,)} : [t] f32[3]
%j = input{dtype=i32} : [t, k] i32
%p = getitem{entries=("tensor",)} %x[t], %j : [t, k] f32
%z = exp %p[min(T-1, row+16*tile), k] : [k, tile, row | k < K-1 and row < T] f32
output z = %z[0:K-1, 0:tiles, 0:min(rows, T)]
"""


def test_tiles_read_all_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they read takes isl long to describe, of several dimensions seconds."""
    found, asked = graph(TILES), []
    monkeypatch.setattr(Space, "domain", counted(Space.domain, asked))
    needed = needed_points(found, Space(found.universe))
    assert {name: show(where) for name, where in needed.items()} == {"p": "k < K-1"}
    assert not asked


def test_tiles_of_other_sizes_leave_points_out() -> None:
    found = graph(TILES.replace("rows = 16", "rows = 15"))
    needed = needed_points(found, Space(found.universe))
    assert "t" in symbols(needed["p"])


def test_equal_reads_are_described_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they read may take isl long, as tiles of several dimensions do."""
    nodes = """
%q = getitem{entries=("tensor",)} %x[t], %j : [t] f32
%both = mul %p[1:T], %q[1:T] : [] f32[T-1]
%z = sum %both : [] f32
"""
    found = graph(TEXT.format(nodes=nodes.strip(), slices="").replace("[]\n", "\n"))
    space, asked = Space(found.universe), []
    monkeypatch.setattr(Space, "domain", counted(Space.domain, asked))
    assert {*map(show, needed_points(found, space).values())} == {"t >= 1"}
    assert len(asked) == 1


def counted(function: Callable[P, R], calls: list[object]) -> Callable[P, R]:
    """The function, whose calls are noted."""

    def result(*args: P.args, **options: P.kwargs) -> R:
        calls.append(args)
        return function(*args, **options)

    return result


LENGTHS = """
bound B
bound I
bound K until stop over b, i
dim b < B
dim i < I
dim k < K

%x = input{{dtype=f32, shape=(3,)}} : [b] f32[3]
%j = input{{dtype=i32}} : [b] i32
%s = input{{dtype=bool}} : [b, i, k] bool
%stop.until = until{{bound="K"}} %s : [b, i, k]
%p = getitem{{entries=("tensor",)}} %x, %j : [b] f32
%e = exp %p : [b] f32
{nodes}
output z = %x[0:B]
"""
LATE = "%z = exp %e : [b, i, k | k >= 2] f32\n"
LENGTH_CASES = {
    "a length of more dimensions": (LATE, "[b, i | K >= 3]"),
    "all points of a loop": (LATE.replace(" | k >= 2", ""), "[b]"),
    "another reader": (LATE + "%y = exp %p : [b] f32\noutput y = %y[0:B]", "[b]"),
    "another point": (LATE.replace("%e", "%e[0]"), "[b]"),
}


STEPS = """
bound B
bound K until stop over b
dim b < B
dim k < K

%x = input{{dtype=f32, shape=(3,)}} : [] f32[3]
%j = input{{dtype=i32}} : [b, k] i32
%s = input{{dtype=bool}} : [b, k] bool
%stop.until = until{{bound="K"}} %s : [b, k]
%p = getitem{{entries=("tensor",)}} %x, %j : [b, k] f32
%e = exp %p : [b, k] f32
%z = exp %e[{read}] : [b, k | {where}] f32
output x = %x
"""
STEP_CASES = {
    "the next step": ("b, k-1", "k >= 1", "[b, k | k+1 < K]"),
    "the step before": ("b, k+1", "k < K-1", "[b, k]"),
    "another run": ("b-1, k-1", "k >= 1 and b >= 1", "[b, k]"),
}


@pytest.mark.parametrize("case", STEP_CASES)
def test_points_of_steps_that_another_step_reads(case: str) -> None:
    read, where, expected = STEP_CASES[case]
    before = graph(STEPS.format(read=read, where=where))
    after = with_checked_points(before, Space(before.universe))
    assert show_domain(after.nodes["p"].domain) == expected


@pytest.mark.parametrize("case", LENGTH_CASES)
def test_points_of_loops_that_are_long_enough(case: str) -> None:
    nodes, expected = LENGTH_CASES[case]
    before = graph(LENGTHS.format(nodes=nodes.strip()))
    after = with_checked_points(before, Space(before.universe))
    assert show_domain(after.nodes["p"].domain) == expected
    assert (after == before) == (expected == "[b]")
