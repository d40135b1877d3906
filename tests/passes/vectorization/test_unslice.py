"""Columns of tables that are computed element by element: which, and that they stay the same."""

from __future__ import annotations

import pytest

from tempoc.passes.context import PassContext
from tempoc.passes.vectorization.unslice import Unslice
from tempoc.passes.vectorization.vectorize import Vectorize
from tempoc.pipeline.step import PassStep
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph
from tests.support.generators.graphs import Story, assert_same, graph
from tests.support.golden import Golden

HEAD = """
bound I
bound J
dim i < I
dim j < J
%x = input{dtype=f32} : [i, j] f32
%y = input{dtype=f32, shape=(3,)} : [i, j] f32[3]
%a = exp %x : [i, j] f32
%b = exp %y : [i, j] f32[3]
"""
COLUMNS = {
    "a maximum that all elements are compared with": """\
%m = max{axes=(0,), keepdims=true} %a[0:I, j] : [j] f32[1]
%d = sub %a[0:I, j], %m : [j] f32[I]
%e = exp %d : [j] f32[I]
%s = sum{axes=(0,)} %e : [j] f32
output s = %s[0:J]
""",
    "vectors, of which one is read": """%c = neg %b[0:I, j] : [j] f32[I, 3]
%e = mul %c, %b[0, j] : [j] f32[I, 3]
%s = getitem{entries=(i, (1, 2, 1))} %e : [i, j] f32[2]
output s = %s[0:I, 0:J]
""",
}
ENDS = """
%least = literal{value=0.5, dtype=f32} : [] f32
%stop = gt %stopping, %least : [END] bool
%stop.until = until{bound="LENGTH"} %stop : [END]
"""
STEPS = HEAD.replace("dim i", "bound T until stop\ndim t < T\ndim i").replace("[i, j]", "[t, i, j]")
KEPT = {
    "rows": """%e = neg %a[i, 0:J] : [i] f32[J]
output s = %e[0:I]
""",
    "columns that are a result": """%e = neg %a[0:I, j] : [j] f32[I]
output s = %e[0:J]
""",
    "all columns at once, one after the other": """%e = neg %a[0:I, j] : [j] f32[I]
%s = sum{axes=(1,)} %e[0:J] : [] f32[J]
output s = %s
""",
    "a part of the columns": """%e = neg %a[1:I, j] : [j] f32[I-1]
%s = sum{axes=(0,)} %e : [j] f32
output s = %s[0:J]
""",
}


def passes(before: Graph) -> Graph:
    """The graph, vectorized, then with columns as elements."""
    context = PassContext(Space(before.universe))
    return Unslice().run(Vectorize().run(before, context), context)


def test_unslice(golden: Golden) -> None:
    story = Story()
    steps: tuple[PassStep[Graph, PassContext], ...] = (Vectorize(), Unslice())
    for name, text in COLUMNS.items():
        outcome = story.tell(name, HEAD + text, *steps)
        assert any(r.step == "unslice" for r in outcome.remarks), name
    golden("passes/unslice.txt", story.text)


@pytest.mark.parametrize("text", COLUMNS.values(), ids=COLUMNS)
def test_the_values_are_the_same(text: str) -> None:
    before = graph(HEAD + text)
    after = passes(before)
    assert_same(before, after)
    assert after.nodes["e"].domain.dims == ("i", "j")


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_other_columns_stay(text: str) -> None:
    before = graph(HEAD + text)
    assert passes(before).nodes["e"].domain == before.nodes["e"].domain


def test_columns_of_a_step_of_an_ended_loop() -> None:
    columns = COLUMNS["a maximum that all elements are compared with"]
    columns = columns.replace("[0:I, j]", "[t, 0:I, j]").replace(": [j]", ": [t, j]")
    columns = columns.replace("%s[0:J]", "%s[T-1, 0:J]")
    stop = "%stopping = input{dtype=f32} : [t] f32" + ENDS.replace("END", "t")
    before = graph(STEPS + columns + stop.replace("LENGTH", "T"))
    after = passes(before)
    assert_same(before, after)
    assert after.nodes["e"].domain.dims == ("t", "i", "j")


def test_columns_of_which_the_data_decide_the_number_stay() -> None:
    columns = COLUMNS["a maximum that all elements are compared with"]
    stop = "%stopping = input{dtype=f32} : [i] f32" + ENDS.replace("END", "i")
    text = (HEAD + columns + stop.replace("LENGTH", "I")).replace(
        "bound I\n", "bound I until stop\n"
    )
    before = graph(text)
    assert passes(before).nodes["e"].domain == before.nodes["e"].domain
