"""Reachability, components and orders of directed graphs, and the worklist."""

from __future__ import annotations

from tempoc.base.graphs import (
    Worklist,
    connected_components,
    cyclic_nodes,
    edges_in_cycles,
    reachable,
    strongly_connected_components,
    topological_sort,
)

GRAPH = {"a": "b", "b": "c", "c": "ad", "d": "e", "e": "", "f": "f", "g": "e"}


def test_reachable_is_breadth_first() -> None:
    assert list(reachable("c", GRAPH.__getitem__)) == ["c", "a", "d", "b", "e"]
    assert list(reachable("gf", GRAPH.__getitem__)) == ["g", "f", "e"]
    assert reachable("", GRAPH.__getitem__) == {}


def test_components_come_sinks_first() -> None:
    parts = strongly_connected_components(GRAPH, GRAPH.__getitem__)
    assert parts == [("e",), ("d",), ("a", "b", "c"), ("f",), ("g",)]
    assert strongly_connected_components("", GRAPH.__getitem__) == []


def test_components_keep_the_order_given_and_ignore_other_nodes() -> None:
    assert strongly_connected_components("cba", GRAPH.__getitem__) == [("c", "b", "a")]
    assert strongly_connected_components("ba", GRAPH.__getitem__) == [("b",), ("a",)]


def test_a_long_chain_needs_no_stack() -> None:
    chain = {k: [k + 1] for k in range(20_000)}
    parts = strongly_connected_components(range(20_000), chain.__getitem__)
    assert parts[0] == (19_999,) and len(parts) == 20_000
    chain[19_999] = [0]
    assert len(strongly_connected_components(range(20_000), chain.__getitem__)) == 1


def test_cyclic_nodes_include_those_that_follow_themselves() -> None:
    assert list(cyclic_nodes(GRAPH, GRAPH.__getitem__)) == ["a", "b", "c", "f"]


def test_edges_in_cycles() -> None:
    edges = [(a, b) for a, others in GRAPH.items() for b in others] + [("x", "a"), ("f", "x")]
    assert edges_in_cycles(GRAPH, edges, lambda e: e) == [
        (("a", "b", "c"), [("a", "b"), ("b", "c"), ("c", "a")]),
        (("f",), [("f", "f")]),
    ]


def test_connected_components_ignore_directions() -> None:
    parts = connected_components("abdefg", GRAPH.__getitem__)
    assert parts == [("a", "b"), ("d", "e", "g"), ("f",)]


def test_topological_sort_keeps_the_order_given() -> None:
    after = {"a": "d", "b": "", "c": "bb", "d": ""}
    assert topological_sort("dcba", after.__getitem__) == ["c", "b", "a", "d"]


def test_worklist_takes_the_first_in_order() -> None:
    worklist = Worklist("abc")
    for node in "cbcb":
        worklist.add(node)
    assert worklist.take() == "b"
    worklist.add("a")
    assert [worklist.take() for _ in range(3)] == ["a", "c", None]
