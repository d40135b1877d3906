"""Signs of dependences, and which cycles loops can carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tempoc.passes.analysis import dependence
from tempoc.passes.analysis.dependence import Dependence, dependences, unschedulable_statements
from tempoc.poly.relations import distance
from tempoc.poly.relations.space import Space
from tests.support.generators.graphs import graph

HEAD = "bound I\nbound T\ndim i < I\ndim t < T\n%x = input{dtype=f32} : [t] f32\n"


def need(sink: str, source: str, **signs: tuple[int, ...]) -> Dependence:
    listed = tuple((d, frozenset(s)) for d, s in signs.items())
    return Dependence(sink=sink, source=source, signs=listed)


def found(text: str) -> dict[tuple[str, str], list[dict[str, list[int]]]]:
    made = graph(HEAD + text)
    result: dict[tuple[str, str], list[dict[str, list[int]]]] = {}
    for d in dependences(made, Space(made.universe)):
        signs = {dim: sorted(s) for dim, s in d.signs}
        result.setdefault((d.sink, d.source), []).append(signs)
    return result


@pytest.mark.parametrize(
    ("access", "signs"),
    [
        ("%a", [0]),
        ("%a[0:t+1]", [0, 1]),
        ("%a[0:t]", [1]),
        ("%a[t:T]", [-1, 0]),
        ("%a[0:T]", [-1, 0, 1]),
        ("%a[T-1-t]", [-1, 0, 1]),
        ("%a[max(0, t-1)]", [0, 1]),
    ],
)
def test_signs_of_an_access(access: str, signs: list[int]) -> None:
    text = f"%a = exp %x : [t] f32\n%b = sum {access} : [t] f32\n"
    assert found(text) == {("b", "a"): [{"t": signs}]}


def test_a_distance_that_an_index_states_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distance, "_possible", lambda *_: frozenset({7}))
    text = "%a = neg %x : [i, t] f32\n%b = neg %a[{}] : [i, t | t >= 1] f32\n"
    (signs,) = found(text.format("i, t-1"))["b", "a"]
    assert signs == {"i": [0], "t": [1]}
    (signs,) = found(text.format("i, t//2"))["b", "a"]
    assert signs == {"i": [0], "t": [7]}


def test_merges_are_looked_through() -> None:
    text = """
%h.0 = copy %x[0] : [] f32
%h.1 = add %h, %x : [t | t+1 < T] f32
%h = merge{targets=((0,), (t+1,))} %h.0 when t == 0, %h.1[t-1] when t >= 1 : [t] f32
%all = sum %h[0:T] : [t] f32
%first = neg %h[0] : [t] f32
"""
    assert found(text) == {
        ("h.1", "h.0"): [{}],
        ("h.1", "h.1"): [{"t": [1]}],
        ("all", "h.0"): [{}],
        ("all", "h.1"): [{"t": [-1, 0, 1]}],
        ("first", "h.0"): [{}],
    }


def test_a_slice_over_what_a_branch_fixes() -> None:
    text = """
%s.0 = full{shape=(), value=0.0, dtype=f32} : [i] f32
%s.1 = add %s[i, t], %x : [i, t | t+1 < T] f32
%s = merge{targets=((i, 0), (i, t+1))} %s.0 when t == 0, %s.1[i, t-1] when t >= 1 : [i, t] f32
%y = sum %s[i, 0:T] : [i] f32
"""
    assert found(text)["y", "s.0"] == [{"i": [0]}]


def test_slices_through_shifted_branches() -> None:
    guards = "i == 0", "i >= 1 and t == 0", "i >= 1 and t >= 1"
    text = """
%s.0 = exp %x : [t] f32
%s.1 = neg %step[i, T-1] : [i | i+1 < I] f32
%s.2 = neg %step : [i, t | t+1 < T] f32
%s = merge{targets=((0, t), (i+1, 0), (i, t+1))} BRANCHES : [i, t] f32
%step = tanh %s : [i, t] f32
%all = sum %s[i, 0:T] : [i] f32
"""
    reads = ("%s.0", "%s.1[i-1]", "%s.2[i, t-1]")
    branches = ", ".join(f"{r} when {g}" for r, g in zip(reads, guards, strict=True))
    signs = found(text.replace("BRANCHES", branches))
    assert signs["step", "s.1"] == signs["all", "s.1"] == [{"i": [1]}]
    assert signs["all", "s.2"] == [{"i": [0]}]


def test_dimensions_that_are_tied_by_their_bounds() -> None:
    text = """bound I
bound K = 4*I
dim i < I
dim k < K
%x = input{dtype=f32} : [i] f32
%w.0 = literal{value=0.0, dtype=f32} : [] f32
%w.1 = add %w, %y[k//4] : [k | k+1 < K] f32
%w = merge{targets=((0,), (k+1,))} %w.0 when k == 0, %w.1[k-1] when k >= 1 : [k] f32
%y = mul %x, %w[4*i] : [i] f32
"""
    made = graph(text)
    signs = {(d.sink, d.source): dict(d.signs) for d in dependences(made, Space(made.universe))}
    assert signs["w.1", "y"] == {"i": {0}}
    assert signs["y", "w.1"] == {"i": {1}}
    assert signs["w.1", "w.1"] == {"i": {0, 1}, "k": {1}}


def test_the_parts_that_move() -> None:
    assert need("a", "b", i=(0, 1), t=(-1, 0)).moving() == (
        need("a", "b", i=(1,), t=(-1, 0)),
        need("a", "b", i=(0,), t=(-1,)),
    )
    assert need("a", "b", i=(0,), t=(0,)).moving() == ()
    assert need("a", "b").moving() == ()


CYCLES = [
    (True, [need("a", "a", t=(1,))]),
    (True, [need("a", "a", t=(-1,))]),
    (False, [need("a", "a", t=(0,))]),
    (False, [need("a", "a", t=(0, 1))]),
    (False, [need("a", "a", t=(-1, 1))]),
    (True, [need("a", "b", t=(0,)), need("b", "a", t=(1,))]),
    (False, [need("a", "b", t=(-1,)), need("b", "a", t=(1,))]),
    (True, [need("a", "b", t=(-1, 0, 1))]),
    (True, [need("a", "a", i=(1,), t=(-1, 0, 1)), need("a", "a", i=(0,), t=(1,))]),
    (True, [need("a", "a", i=(1,), t=(-1,)), need("a", "a", i=(0,), t=(-1,))]),
    (False, [need("a", "a", i=(0, 1), t=(-1,)), need("a", "a", i=(0, 1), t=(0, 1))]),
    (False, [need("a", "b"), need("b", "a", i=(0,), t=(0,))]),
]


@pytest.mark.parametrize(("expected", "needs"), CYCLES)
def test_cycles(expected: bool, needs: list[Dependence]) -> None:
    dims = {name: ("i", "t") if "i" in dict(needs[-1].signs) else ("t",) for name in "ab"}
    assert (not unschedulable_statements(["a", "b"], needs, dims)) is expected


def test_a_loop_only_carries_what_it_encloses() -> None:
    needs = [need("a", "b", i=(0,)), need("b", "a", i=(1,))]
    assert not unschedulable_statements(["a", "b"], needs, {"a": ("i", "t"), "b": ("i",)})
    assert unschedulable_statements(["a", "b"], needs, {"a": ("i", "t"), "b": ()})


def test_calls_of_one_module_take_turns() -> None:
    types = 'arguments=("f32",), results=("f32",)'
    call = 'extern_host{{extern="{0}", module="{1}", function="{0}", {3}, turn={2}}}'
    text = "\n".join(
        f"%{name} = {call.format(name, module, turn, types)} {x} : {dims} f32"
        for name, module, turn, x, dims in (
            ("f", "m", 0, "%x", "[t]"),
            ("g", "m", 1, "%x[t]", "[i, t]"),
            ("h", "other", 2, "%x", "[t]"),
        )
    )
    assert found(text + "\n") == {
        ("f", "f"): [{"t": [1]}],
        ("g", "f"): [{"t": [-1, 0, 1]}],
        ("g", "g"): [{"i": [1], "t": [-1, 0, 1]}, {"i": [0], "t": [1]}],
        ("h", "h"): [{"t": [1]}],
    }


def test_whether_loops_carry_a_cycle_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    search = dependence.unschedulable_statements

    def counted(names: Sequence[str], *rest: Any) -> tuple[str, ...]:
        asked.append(tuple(names))
        return search(names, *rest)

    monkeypatch.setattr(dependence, "unschedulable_statements", counted)
    text = """
%h.0 = copy %x[0] : [] f32
%h.1 = add %h, %x : [t | t+1 < T] f32
%h = merge{targets=((0,), (t+1,))} %h.0 when t == 0, %h.1[t-1] when t >= 1 : [t] f32
"""
    made = graph(HEAD + text)
    space, vectors = Space(made.universe), dependence.vector_dims(made)
    for _ in range(2):  # as each run of `vectorize` has candidates of its own
        (cycle,) = dependence.DependenceCandidates.of(replace(made), space).parts()
        assert cycle.unschedulable(vectors) == ()
        assert cycle.unschedulable({**vectors, "h.1": ("t",)}) == ("h.1",)
        assert cycle.unschedulable({**vectors, "h.1": ("t",)}, {"h.1"}) == ()
    assert asked == [("h.1",), ("h.1",), ("h.1",), ()]  # the second: inside of the first one's loop
