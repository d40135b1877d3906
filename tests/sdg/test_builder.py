"""New nodes: names, types, spans and vectorized dimensions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tempoc.ops.definition.operator import OperandError
from tempoc.ops.tensor.arithmetic import Add
from tempoc.ops.tensor.contraction import MatMul
from tempoc.ops.tensor.reduction import Sum
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.text.text import show_type
from tempoc.symbolic.domain import Domain
from tests.support.generators.graphs import graph

TEXT = """
bound T
dim t < T
%x = input{dtype=f32, shape=(8,)} : [t] f32[8]
%y.sum = copy %x : [t] f32[8]
%y = add %x, %y.sum : [t] f32[8]
output y = %y[0:T]
"""


def builder() -> NodeBuilder:
    before = graph(TEXT)
    node = replace(before.nodes["y"], vector=("t",))
    return NodeBuilder(graph=before, space=Space(before.universe), node=node)


def test_parts_get_fresh_names_and_inferred_types() -> None:
    build = builder()
    x = build.graph.nodes["x"]
    first, second = build.put("sum", Sum(axes=(0,)), (x,)), build.put("sum", Sum(axes=(0,)), (x,))
    assert list(build.nodes) == [first.name, second.name] == ["y.sum2", "y.sum3"]
    assert show_type(first.types[0]) == "f32"
    assert first.inputs == (read_of(x),) and first.vector == ("t",)
    both = build.put("both", Add(), (first, read_of(x)))
    assert show_type(build.type_of(read_of(both))) == "f32[8]"


def test_a_smaller_domain_drops_vectorized_dimensions() -> None:
    build = builder()
    build.node = replace(build.node, vector=("t",))
    point = replace(read_of(build.graph.nodes["x"]), entries=(build.graph.outputs[0].entries[0],))
    assert build.put("all", Sum(axes=(0,)), (point,), Domain(())).vector == ()


def test_operands_that_do_not_fit_add_nothing() -> None:
    build = builder()
    scalar = build.put("sum", Sum(axes=(0,)), (build.graph.nodes["x"],))
    with pytest.raises(OperandError):
        build.put("product", MatMul(), (scalar, scalar))
    assert list(build.nodes) == [scalar.name]


def test_the_last_part_takes_the_place_of_the_node() -> None:
    build = builder()
    x = build.graph.nodes["x"]
    scalar = build.put("sum", Sum(axes=(0,)), (x,))
    assert build.finish(scalar) is None
    result = build.finish(build.put("total", Add(), (scalar, x)))
    assert result is not None
    assert [n.name for n in result] == ["y.sum2", "y"] and result[-1].sources == ("y.sum2", "x")
