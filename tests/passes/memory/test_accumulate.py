"""Running sums in the place of sums over whole dimensions: which, in which loops, and the proof."""

from __future__ import annotations

import numpy as np
import pytest

from tempoc.passes.context import PassContext
from tempoc.passes.memory.accumulate import Accumulate
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.text.text import show
from tempoc.sdg.verification.verify import verify
from tests.support.generators.graphs import SIZES, graph, meaning
from tests.support.golden import Golden

HEAD = """
bound B
bound I
bound T
dim b < B
dim i < I
dim t < T
%x = input{dtype=f32, shape=(3,)} : [b, i, t] f32[3]
%y = tanh %x : [b, i, t] f32[3]
"""
MADE = {
    "a sum over two dimensions": """
%s = sum{axes=(0, 1)} %y[0:B, i, 0:T] : [i] f32[3]
output s = %s[0:I]
""",
    "a contraction is one product a step": """
%z = exp %x : [b, i, t] f32[3]
%s = einsum{spec="bto,bti->oi"} %y[0:B, i, 0:T], %z[0:B, i, 0:T] : [i] f32[3, 3]
output s = %s[0:I]
""",
    "a mean of whole tensors": """
%s = mean %y[0:B, i, 0:T] : [i | i >= 1] f32
output s = %s[1:I]
""",
    "a loop that runs backwards": """
%c = copy %y[b, i, T-1] : [b, i] f32[3]
%a = add %h[b, i, t+1], %y : [b, i, t | t < T-1] f32[3]
%h = merge{targets=((b, i, T-1), (b, i, t))} %c when t == T-1, %a when t < T-1 : [b, i, t] f32[3]
%e = exp %h : [b, i, t] f32[3]
%s = sum{axes=(0,)} %e[b, i, 0:T] : [b, i] f32[3]
output s = %s[0:B, 0:I]
""",
    "without the first step": """
%z = exp %x : [b, i, t] f32[3]
%s = einsum{spec="to,ti->oi"} %y[b, i, 1:T], %z[b, i, 1:T] : [b, i] f32[3, 3]
%r = sum{axes=(0, 1)} %y[0:B, i, 1:T] : [i] f32[3]
output s = %s[0:B, 0:I]
output r = %r[0:I]
""",
    "time goes round all rows before it goes on": """
%h.0 = full{shape=(3,), value=0.0, dtype=f32} : [b, i] f32[3]
%h.1 = add %h[B-1-b, i, t-1], %y : [b, i, t | t >= 1] f32[3]
%h = merge{targets=((b, i, 0), (b, i, t))} %h.0 when t == 0, %h.1 when t >= 1 : [b, i, t] f32[3]
%e = exp %h : [b, i, t] f32[3]
%s = sum{axes=(0, 1)} %e[0:B, i, 0:T] : [i] f32[3]
output s = %s[0:I]
""",
    "an element of what each step makes": """
%e = getitem{entries=((0, T-1, 1), i % 3)} %y[b, I-1-i, 1:T] : [b, i | T >= 2] f32[T-1]
%s.0 = sum{axes=(0,)} %e : [b, i | T >= 2] f32
%s.1 = full{shape=(), value=0.0, dtype=f32} : [b, i | T == 1] f32
%s = merge{targets=((b, i), (b, i))} %s.0 when T >= 2, %s.1 when T == 1 : [b, i] f32
output s = %s[0:B, 0:I]
""",
    "a sum of no points": """
%s.0 = sum{axes=(0,)} %y[b, i, 1:T] : [b, i | T >= 2] f32[3]
%s.1 = sum{axes=(0,)} %y[b, i, 1:T] : [b, i | T == 1] f32[3]
%s = merge{targets=((b, i), (b, i))} %s.0 when T >= 2, %s.1 when T == 1 : [b, i] f32[3]
output s = %s[0:B, 0:I]
""",
}
LEFT = {
    "what is summed is given": "%s = sum{axes=(0,)} %x[b, i, 0:T] : [b, i] f32[3]",
    "what is summed is a result too": """%s = sum{axes=(0,)} %y[b, i, 0:T] : [b, i] f32[3]
output y = %y[0:B, 0:I, 0:T]""",
    "somebody else needs all of it": """%s = sum{axes=(0,)} %y[b, i, 0:T] : [b, i] f32[3]
%m = max{axes=(0,)} %y[b, i, 0:t+1] : [b, i, t] f32[3]
output m = %m[0:B, 0:I, 0:T]""",
    "an element of what somebody else needs": """
%e = getitem{entries=((0, T, 1), 2)} %y[b, i, 0:T] : [b, i] f32[T]
%s = sum{axes=(0,)} %e : [b, i] f32
output y = %y[0:B, 0:I, 0:T]""",
    "elements of which something reads all": """
%e = getitem{entries=((0, T, 1), 2)} %y[b, i, 0:T] : [b, i] f32[T]
%s = sum{axes=(0,)} %e : [b, i] f32
output e = %e[0:B, 0:I]""",
    "an element of each other step": """
%e = getitem{entries=((0, (T+1) // 2, 2), 2)} %y[b, i, 0:T] : [b, i] f32[(T+1) // 2]
%s = sum{axes=(0,)} %e : [b, i] f32""",
    "a slice of each other step": "%s = sum{axes=(0,)} %y[b, i, 0:T:2] : [b, i] f32[3]",
    "another axis is summed": "%s = sum{axes=(1,)} %y[b, i, 0:T] : [b, i] f32[T]",
    "a maximum": "%s = max{axes=(0,)} %y[b, i, 0:T] : [b, i] f32[3]",
    "halves lose when added one by one": """%h = cast{dtype=f16} %y : [b, i, t] f16[3]
%s = sum{axes=(0,)} %h[b, i, 0:T] : [b, i] f16[3]""",
    "the axis is still there": 'OUTER einsum{spec="to,ti->toi"} %y[b, i, 0:T], %y[b, i, 0:T]'
    " : [b, i] f32[T, 3, 3]",
}

SMALL = """
%e = full{shape=(ROWS, 3), value=1.0, dtype=f32} : [] f32[ROWS, 3]
%w = add %y, %e : [b, i, t] f32[ROWS, 3]
%z = exp %x : [b, i, t] f32[3]
%m = max{axes=(0,)} %w[b, i, 0:t+1] : [b, i, t] f32[ROWS, 3]
%s = einsum{spec="to,ti->oi"} %y[b, i, 0:T], %z[b, i, 0:T] : [b, i] f32[3, 3]
output m = %m[0:B, 0:I, 0:T]
output s = %s[0:B, 0:I]
"""


def accumulated(before: Graph, limit: int = 100) -> Graph:
    """The graph after the pass, verified; it means the same up to rounding."""
    space = Space(before.universe)
    after = Accumulate(limit=limit).run(before, PassContext(space))
    verify(after, space, after="accumulate")
    for size in SIZES:
        wanted, found = meaning(before, size), meaning(after, size)
        assert list(wanted) == list(found)
        for name, value in wanted.items():
            np.testing.assert_allclose(
                found[name], value, rtol=1e-5, atol=1e-6, err_msg=f"{name}, {size}"
            )
    return after


def test_sums_that_are_cut(golden: Golden) -> None:
    parts = []
    for name, text in MADE.items():
        before = graph(HEAD + text)
        after = accumulated(before)
        assert after != before
        parts.append(f"## {name}\n\n{show(after, sources=False).split(chr(10), 1)[1]}")
    golden("passes/accumulate.txt", "\n".join(parts))


@pytest.mark.parametrize("name", LEFT)
def test_sums_that_stay(name: str) -> None:
    text = LEFT[name].replace("OUTER", "%s =")
    whole = f"{HEAD}{text}\noutput s = %s[0:B, 0:I]\n"
    before = graph(whole)
    assert accumulated(before) == before


def test_large_sums_stay() -> None:
    before = graph(HEAD + MADE["a contraction is one product a step"])
    assert accumulated(before, limit=8) == before
    assert accumulated(before, limit=9) != before


def test_contractions_of_what_is_small_beside_what_is_stored_stay() -> None:
    for rows, stays in ((8, True), (7, False)):  # 6 elements are summed, 4 times as many are stored
        before = graph(HEAD + SMALL.replace("ROWS", str(rows)))
        assert (accumulated(before) == before) == stays
