"""Who reads whom, in which order, in which cycles."""

from __future__ import annotations

from dataclasses import replace

from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.graph.query import (
    ancestors,
    of_last_nodes,
    operand_type,
    topological,
    users,
)
from tempoc.sdg.text.text import show_type
from tests.support.generators.graphs import graph

TEXT = """
bound T
dim t < T
%y = exp %h : [t] f32
%h.1 = add %h, %x : [t] f32
%h = merge{targets=((0,), (t+1,))} %h.0 when t == 0, %h.1[t-1] when t >= 1 : [t] f32
%h.0 = copy %x[0] : [] f32
%x = input{dtype=f32} : [t] f32
%c = sum %c[0:t] : [t] f32
%s = copy %z[0:t+1, t] : [t] f32[t+1, 2*t, 4]
%z = full{shape=(2*t, 4), value=0.0, dtype=f32} : [t, u] f32[2*t, 4]
output y = %y[0:T]
""".replace("dim t < T\n", "dim u < T\ndim t < T\n").replace("[t, u]", "[u, t]")


def test_users() -> None:
    found = users(graph(TEXT))
    assert found["h"] == (("y", 0), ("h.1", 0))
    assert found["x"] == (("h.1", 1), ("h.0", 0))
    assert found["y"] == ()


def test_ancestors() -> None:
    assert ancestors(graph(TEXT), ["y"]) == {"y", "h", "h.0", "h.1", "x"}


def test_topological_order() -> None:
    order = topological(graph(TEXT))
    assert sorted(order) == sorted(graph(TEXT).nodes)
    assert order.index("h") < order.index("y")
    assert order.index("x") < order.index("h.0")
    assert order.index("z") < order.index("s")
    assert "c" in order


def test_operand_types() -> None:
    found = graph(TEXT)
    (edge,) = found.nodes["s"].inputs
    assert show_type(operand_type(found, edge)) == "f32[t+1, 2*t, 4]"
    (edge,) = found.nodes["c"].inputs
    assert show_type(operand_type(found, edge)) == "f32[t]"


def test_answers_are_for_the_very_same_nodes() -> None:
    asked: list[str] = []

    @of_last_nodes
    def counted(graph: Graph, dim: str) -> int:
        asked.append(dim)
        return len(graph.nodes)

    first = graph(TEXT)
    again = replace(first, outputs=(), nodes=dict(first.nodes))
    assert counted(first, "t") == counted(again, "t") == counted(first, "t") == 8
    assert counted(again, "u") == 8 and asked == ["t", "u"]
    fewer = replace(first, nodes={name: n for name, n in first.nodes.items() if name != "y"})
    turned = replace(first, nodes=dict(reversed(first.nodes.items())))
    other = replace(first, universe=replace(first.universe, dims=first.universe.dims[:1]))
    doubtful = {**first.nodes, "y": replace(first.nodes["y"], name="y")}
    assert counted(fewer, "t") == 7
    for each in (first, turned, first, other, first, replace(first, nodes=doubtful)):
        before = len(asked)
        counted(each, "t")
        assert len(asked) == before + 1


def test_answers_of_threads_do_not_mix() -> None:
    first = graph(TEXT)
    fewer = replace(first, nodes={name: n for name, n in first.nodes.items() if name != "y"})
    meanwhile: list[int] = []

    @of_last_nodes
    def count(graph: Graph) -> int:
        # As if another thread asked about another graph while this one is looked at.
        if graph is first and not meanwhile:
            meanwhile.append(count(fewer))
        return len(graph.nodes)

    assert count(first) == 8 and count(fewer) == 7
