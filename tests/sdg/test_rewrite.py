"""Accesses composed, uses redirected, dead nodes dropped."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tempoc.sdg.graph.graph import Edge, Node
from tempoc.sdg.graph.query import all_reads
from tempoc.sdg.graph.rewrite import (
    compose,
    drop_dead,
    redirect,
    replace_nodes,
    replace_operand,
    rewrite_reads,
    with_changes,
)
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.parse import parse
from tests.support.generators.graphs import graph
from tests.symbolic.entries import show_entries


def entries(text: str) -> tuple:
    return tuple(parse(part) for part in text.split(";") if part)


@pytest.mark.parametrize(
    ("outer", "dims", "inner", "expected"),
    [
        ("t-1", "t", "t+1", "[t]"),
        ("0:t+1", "t", "t-1", "[-1:t]"),
        ("0:T:2", "t", "t+3", "[3:T+3:2]"),
        ("i; 0:T", "it", "t;i", "[0:T, i]"),
        ("0:I; 0:T", "it", "i;t", "[0:I, 0:T]"),
        ("0:I; 0:T", "it", "t;i", None),  # the axes would change places
        ("0:I; t", "it", "t", None),  # the axis would be lost
        ("0:T", "t", "T-1-t", None),  # would run backwards
        ("0:T", "t", "2*t", None),
        ("0:T", "t", "t//2", None),
        ("0:T", "t", "0:t", None),
        ("0:T", "t", "t; 0:I", "[0:T, 0:I]"),
        ("0:T", "t", "0:I; t", None),
        ("t+1", "t", "0:t; t-1", "[0:t+1, t]"),
        ("0:T", "t", "t;t", None),
        ("", "", "3; 0:T", "[3, 0:T]"),
    ],
)
def test_compose(outer: str, dims: str, inner: str, expected: str | None) -> None:
    found = compose(entries(outer), tuple(dims), entries(inner), Universe())
    assert (None if found is None else show_entries(found)) == expected
    assert compose(entries(outer), tuple(dims), entries(inner), Universe()) is found  # kept


TEXT = """
bound T
dim t < T
%x = input{dtype=f32} : [t] f32
%a = exp %x : [t] f32
%b = exp %x : [t] f32
%y = add %a, %b : [t] f32
output y = %y[0:T]
output b = %b[0]
group one = %a, %b
group two = %y
"""


def test_redirect_and_drop() -> None:
    redirected = redirect(graph(TEXT), {("b", 0): ("a", 0)})
    assert [e.source for e in redirected.nodes["y"].inputs] == ["a", "a"]
    assert [o.source for o in redirected.outputs] == ["y", "a"]
    left = drop_dead(redirected)
    assert list(left.nodes) == ["x", "a", "y"]
    assert [g.members for g in left.groups] == [("a",), ("y",)]
    assert drop_dead(left) is left


def test_replace_operand() -> None:
    node = graph(TEXT).nodes["y"]
    changed = replace_operand(node, 1, node.inputs[0])
    assert changed.sources == ("a", "a")
    assert node.sources == ("a", "b")


def test_replace_nodes() -> None:
    before = graph(TEXT)
    a = before.nodes["a"]
    after = replace_nodes(before, {"a": (replace(a, name="new"), a), "y": ()})
    assert list(after.nodes) == [
        n for name in before.nodes for n in {"a": ("new", "a"), "y": ()}.get(name, (name,))
    ]


def test_rewrite_reads_of_nodes_and_outputs() -> None:
    before = graph(TEXT)
    readers = []

    def rewrite(edge: Edge, reader: Node | None) -> Edge:
        readers.append(None if reader is None else reader.name)
        return replace(edge, source="a") if edge.source == "b" else edge

    after = rewrite_reads(before, rewrite)
    assert "b" not in {edge.source for edge in all_reads(after)}
    assert len(readers) == len([*all_reads(before)]) and readers.count(None) == 2
    assert after.nodes["a"] is before.nodes["a"]


def test_nothing_rewritten_is_the_very_graph() -> None:
    before = graph(TEXT)
    assert rewrite_reads(before, lambda edge, _: replace(edge)) is before
    outputs = before.outputs[:1]
    assert with_changes(before, before.nodes, outputs).outputs == outputs
    turned = dict(reversed(before.nodes.items()))
    assert [*with_changes(before, turned, before.outputs).nodes] == [*turned]
    fewer = {name: n for name, n in before.nodes.items() if name != "y"}
    assert with_changes(before, fewer, before.outputs).nodes == fewer
