"""Statements and tensors: who writes what where, what is stored, what is forwarded."""

from __future__ import annotations

from tempoc.poly.relations.space import Space
from tempoc.sdg.statements.build import statements
from tempoc.sdg.statements.statements import Read, Statements, Write
from tempoc.symbolic.text import show
from tests.support.generators.graphs import graph
from tests.symbolic.entries import show_entries


def build(text: str) -> Statements:
    found = graph(text)
    return statements(found, Space(found.universe))


def written(write: Write) -> str:
    return f"{write.member}: {write.tensor}{show_entries(write.entries)} where {show(write.where)}"


def read(read: Read) -> str:
    mark = " forwarded" if read.forwarded else ""
    return f"{read.member}: {read.tensor}{show_entries(read.entries)}{mark}"


RNN = """
bound T
dim t < T
%x = input{dtype=f32} : [t] f32
%h.0 = copy %x[0] : [] f32
%s = add %h, %x : [t] f32
%u = neg %s : [t] f32
%h.1 = exp %s : [t] f32
%h = merge{targets=((0,), (t+1,))} %h.0 when t == 0, %h.1[t-1] when t >= 1 : [t] f32
%y = sum %h[0:t+1] : [t] f32
output y = %y[0:T]
output u = %u[T-1]
"""


def test_merges_become_tensors_with_several_writers() -> None:
    found = build(RNN)
    assert [(s.name, w.member) for s, w in found.writers("h")] == [("h.0", "h.0"), ("h.1", "h.1")]
    assert [written(w) for _, w in found.writers("h")] == [
        "h.0: h[0] where true",
        "h.1: h[t+1] where t+1 < T",
    ]
    assert [read(r) for _, r in found.readers("h")] == ["s: h[t]", "y: h[0:t+1]"]
    assert list(found.tensors) == ["x", "s", "u", "h", "y"]


def test_groups_keep_to_themselves_what_only_they_read() -> None:
    found = build(RNN + "group h.0 = %h.0\ngroup s = %s, %u, %h.1, %y\n")
    assert list(found.tensors) == ["x", "u", "h", "y"]
    _, statement = found.statements
    assert [read(r) for r in statement.reads] == ["s: h[t]", "s: x[t]", "y: h[0:t+1]"]
    assert [w.tensor for w in statement.writes] == ["u", "h", "y"]


def test_a_read_of_what_the_instance_wrote_is_forwarded() -> None:
    text = """
bound T
dim t < T
%x = input{dtype=f32} : [t] f32
%k = exp %x : [t] f32
%y = sum %k[0:t+1] : [t] f32
%z = sum %k[0:t] : [t] f32
%w = sum %k[t:T:2] : [t] f32
output y = %y[0:T]
output z = %z[0:T]
output w = %w[0:T]
"""
    (statement,) = build(text + "group a = %k, %y, %z, %w").statements
    assert [read(r) for r in statement.reads] == [
        "k: x[t]",
        "y: k[0:t+1] forwarded",
        "z: k[0:t]",
        "w: k[t:T:2] forwarded",
    ]
    early = build(text + "group a = %y, %z, %w, %k").statements[0]
    assert not any(r.forwarded for r in early.reads)


def test_a_merge_in_the_same_instance() -> None:
    text = """
bound T
dim t < T
%x = input{dtype=f32} : [t] f32
%h.0 = copy %x[0] : [] f32
%h.1 = add %h, %x : [t | t+1 < T] f32
%h = merge{targets=((0,), (t+1,))} %h.0 when t == 0, %h.1[t-1] when t >= 1 : [t] f32
%y = neg %h[t+1] : [t | t+1 < T] f32
output y = %y[0:T-1]
group h.0 = %h.0
group y = %h.1, %y
"""
    _, statement = build(text).statements
    assert [read(r) for r in statement.reads] == ["h.1: h[t]", "h.1: x[t]", "y: h[t+1] forwarded"]
    assert [written(w) for w in statement.writes] == [
        "y: y[t] where true",
        "h.1: h[t+1] where true",
    ] or [written(w) for w in statement.writes] == [
        "h.1: h[t+1] where true",
        "y: y[t] where true",
    ]


def test_defaults_write_params() -> None:
    text = """
bound L
dim l < L
%d = literal{value=1.0, dtype=f32} : [l] f32
%w = param{template="w", dtype=f32, has_default=true} %d : [l] f32
%v = param{template="v", dtype=f32} : [l] f32
%y = add %w, %v : [l] f32
output y = %y[0:L]
"""
    found = build(text)
    assert [written(w) for _, w in found.writers("w")] == ["d: w[l] where true"]
    assert found.writers("v") == ()
    assert found.tensors["w"].node == "w"


def test_several_outputs_of_a_node_are_several_tensors() -> None:
    text = """
bound T
dim t < T
%x = input{dtype=f32, shape=(4,)} : [t] f32[4]
%top = top_k{k=2} %x : [t] f32[2], i32[2]
output index = %top@1[0:T]
"""
    found = build(text)
    assert [(t.name, t.node, t.out) for t in found.tensors.values()] == [
        ("x", "x", 0),
        ("top.out1", "top", 1),
    ]
    assert [written(w) for w in found.statements[0].writes] == ["top: top.out1[t] where true"]


def test_targets_on_borders() -> None:
    text = """
bound B
bound T
dim b < B
dim t < T
%x = input{dtype=f32} : [b, t] f32
%s.0 = copy %x[b, 0] : [b] f32
%s.1 = add %s, %x : [b, t] f32
%s = merge{targets=((b, T-1), (b, t-1))} %s.0 when t == T-1, %s.1[b, t+1] when t+1 < T : [b, t] f32
output s = %s[0:B, 0:T]
"""
    assert [written(w) for _, w in build(text).writers("s")] == [
        "s.0: s[b, T-1] where true",
        "s.1: s[b, t-1] where t >= 1",
    ]


def test_ends_of_vectorized_dimensions_hold_also_for_bounds_without_a_point() -> None:
    """``N-1`` is the last point of ``t < E-1``, except for ``E == 1``."""
    found = build("""
bound E
bound T
bound N = max(1, min(T, E-1))
dim t < T
%x = input{dtype=f32} : [t] f32
%y = tanh %x : [t* | t < E-1] f32
output y = %y[0:min(T, E-1)]
""")
    ((vector,),) = [s.vector for s in found.statements if s.vector]
    assert (show(vector.lower), show(vector.upper)) == ("0", "min(E-1, T)")
