"""Which nodes run in the loop of a cycle."""

from __future__ import annotations

import pytest

from tempoc.passes.analysis import loop_carried
from tempoc.passes.analysis.loop_carried import loop_members
from tests.support.generators.graphs import graph

N = 30
CHAIN = "".join(f"%y{k + 1} = tanh %y{k} : [t] f32\n" for k in range(N))
TEXT = f"""
bound T
dim t < T

%x = input{{dtype=f32}} : [t] f32
%y0 = exp %x : [t] f32
{CHAIN}%s = sum %y{N}[0:T] : [] f32
%a = add %s, %y0 : [t] f32
%b = exp %y{N} : [t] f32
output s = %s
output b = %b[0:T]
output a = %a[0:T]
"""


def test_members_are_found_from_both_ends_of_a_chain() -> None:
    found, able = graph(TEXT), {f"y{k}" for k in range(N)} | {"a"}
    expected = tuple(f"y{k}" for k in range(N))
    assert loop_members(found, "t", ("y0",), able) == (*expected, "a")
    assert loop_members(found, "t", (f"y{N - 1}",), able) == (*expected, "a")


def test_operands_that_are_read_by_slices_are_left_out() -> None:
    found = graph(TEXT)
    assert loop_members(found, "t", ("b",), {*found.nodes}) == ("b",)


def test_each_read_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found, looks = graph(TEXT), []
    function = loop_carried._at_own_index
    monkeypatch.setattr(
        loop_carried, "_at_own_index", lambda *read: (looks.append(read), function(*read))[1]
    )
    loop_members(found, "t", ("y0",), {*found.nodes})
    assert len(looks) == sum(len(n.inputs) for n in found.nodes.values())
