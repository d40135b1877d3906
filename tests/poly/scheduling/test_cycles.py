"""Components and orders of graphs."""

from __future__ import annotations

from tempoc.poly.scheduling.cycles import components, sort

GRAPH = {"a": ["b"], "b": ["c"], "c": ["a", "d"], "d": ["e"], "e": []}


def test_components_come_sinks_first() -> None:
    assert components("abcde", GRAPH) == [("e",), ("d",), ("a", "b", "c")]
    assert components("", {}) == []


def test_a_long_chain_needs_no_stack() -> None:
    chain = {k: [k + 1] for k in range(20_000)}
    assert len(components(range(20_001), chain)) == 20_001
    chain[20_000] = [0]
    assert components(range(20_001), chain) == [tuple(range(20_001))]


def test_sort_keeps_the_order_given() -> None:
    assert sort("dcba", {"a": ["d"], "c": ["b", "b"]}) == ["c", "b", "a", "d"]
