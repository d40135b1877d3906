"""Columns of ragged tensors: which padding is left out, and that the meaning stays."""

from __future__ import annotations

import numpy as np
import pytest

from tempoc.ops.tensor.movement import Pad, Widen
from tempoc.passes.context import PassContext
from tempoc.passes.fusion.fuse import Fuse
from tempoc.passes.vectorization.vectorize import Vectorize
from tempoc.poly.relations.space import Space
from tempoc.sdg.evaluation.interpret import evaluate
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.verification.verify import verify
from tests.support.generators.graphs import data, graph

HEAD = """
bound T
dim t < T
%x = input{dtype=f32, shape=(2,)} : [t] f32[2]
%s = matmul %x[0:t+1], %x : [t] f32[t+1]
"""
COLUMN = "%c = getitem{entries=((0, T-t, 1), t)} %p[t:T] : [t] f32[T-t]\n"
SUM = "%r = max{axes=(0,)} %c : [t] f32\noutput r = %r[0:T]\n"
PADDED = "%p = pad{widths=((0, T-1-t),)} %s : [t] f32[T]\n"
TURNED = """%m = broadcast_to{shape=(3, t+1)} %s : [t] f32[3, t+1]
%q = transpose{axes=(1, 0)} %m : [t] f32[t+1, 3]
%p = pad{widths=((0, T-1-t), (0, 0))} %q : [t] f32[T, 3]
%c = getitem{entries=((0, T-t, 1), t, (0, 3, 1))} %p[t:T] : [t] f32[T-t, 3]
%r = max{axes=(0,)} %c : [t] f32[3]
output r = %r[0:T]
"""
READ = {
    "a column": f"{PADDED}{COLUMN}{SUM}",
    "a column of a transpose": TURNED,
    "a tensor that is read elsewhere, too": f"{PADDED}{COLUMN}{SUM}"
    "%z = max{axes=(0,)} %r[0:T] : [] f32\n%a = mul %s, %z : [t] f32[t+1]\n"
    "%b = sum{axes=(0,)} %a : [t] f32\noutput b = %b[0:T]\n",
}
SEEN = {
    "all of it": f"{PADDED}%c = sum{{axes=(0,)}} %p[0:T] : [] f32[T]\noutput c = %c\n",
    "columns before": f"{PADDED}%c = getitem{{entries=((0, T, 1), t)}} %p[0:T] : [t] f32[T]\n{SUM}",
    "a column and a result": f"{PADDED}{COLUMN}{SUM}output p = %p[T-1]\n",
    "padding on both sides": f"%p = pad{{widths=((1, T-1-t),)}} %s : [t] f32[T+1]\n{COLUMN}{SUM}",
}


def fused(text: str) -> tuple[Graph, Graph]:
    """A graph before and after."""
    before = graph(HEAD + text)
    context = PassContext(Space(before.universe))
    after = Fuse().run(Vectorize().run(before, context), context)
    verify(after, context.space)
    return before, after


def has(graph: Graph, op: type) -> bool:
    """Whether an operator occurs."""
    return any(isinstance(n.op, op) for n in graph.nodes.values())


@pytest.mark.parametrize("name", READ)
def test_padding_that_nobody_sees(name: str) -> None:
    before, after = fused(READ[name])
    assert has(after, Widen) and not has(after, Pad)
    for size in (1, 2, 3, 5):
        given = data(before, {"T": size})
        wanted, results = (evaluate(g, {"T": size}, given, {}) for g in (before, after))
        for output in wanted:
            np.testing.assert_array_equal(results[output], wanted[output])


@pytest.mark.parametrize("name", SEEN)
def test_padding_that_is_seen(name: str) -> None:
    assert not has(fused(SEEN[name])[1], Widen)
