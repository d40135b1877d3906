"""Consumers of concatenations of moving ranges are computed on the parts, and combined."""

from __future__ import annotations

import pytest

from tempoc.passes.contraction.distribute import Distribute
from tempoc.passes.simplify.canonicalize import Canonicalize
from tests.support.agreement import agree
from tests.support.generators.graphs import Story, graph
from tests.support.golden import Golden

HEAD = """
bound T
dim t < T
%x = input{dtype=f32, shape=(3,)} : [t] f32[3]
%c = input{dtype=f32, shape=()} : [t] f32
%first = param{template="first", dtype=f32, shape=(2, 3)} : [] f32[2, 3]
"""
CASES = {
    "a product with a range and a param": """
%k = concat{axis=0} %first, %x[max(0, t-2):t+1] : [t] f32[min(t+3, 5), 3]
%s = matmul %k, %x : [t] f32[min(t+3, 5)]
%m = max{axes=(0,)} %s : [t] f32
output m = %m[0:T]
""",
    "an empty part has no maximum of its own": """
%j = concat{axis=0} %c[max(0, t-2):t], %c[0:t+1] : [t] f32[min(t+3, 2*t+1)]
%m = max{axes=(0,)} %j : [t] f32
output m = %m[0:T]
""",
    "a mean of all": """
%j = concat{axis=0} %c[max(0, t-2):t], %c[0:t+1] : [t] f32[min(t+3, 2*t+1)]
%m = mean{axes=(0,)} %j : [t] f32
output m = %m[0:T]
""",
    "two joined axes, part by part": """
%j = concat{axis=0} %c[max(0, t-2):t], %c[0:t+1] : [t] f32[min(t+3, 2*t+1)]
%k = concat{axis=0} %x[max(0, t-2):t], %x[0:t+1] : [t] f32[min(t+3, 2*t+1), 3]
%y = matmul %j, %k : [t] f32[3]
output y = %y[0:T]
""",
    "a slice that is a part": """
%j = concat{axis=0} %c[max(0, t-2):t], %c[0:t+1] : [t] f32[min(t+3, 2*t+1)]
%e = exp %j : [t] f32[min(t+3, 2*t+1)]
%p = getitem{entries=((min(t, 2), t+1, 1),)} %e : [t] f32[t+1]
%y = sum{axes=(0,)} %p : [t] f32
output y = %y[0:T]
""",
    "not where parts differ in length": """
%j = concat{axis=0} %c[max(0, t-2):t], %c[0:t+1] : [t] f32[min(t+3, 2*t+1)]
%k = concat{axis=0} %c[0:t+1], %c[max(0, t-2):t] : [t] f32[min(t+3, 2*t+1)]
%y = matmul %j, %k : [t] f32
output y = %y[0:T]
""",
    "not where the whole is needed": """
%j = concat{axis=0} %c[max(0, t-2):t], %c[0:t+1] : [t] f32[min(t+3, 2*t+1)]
%m = max{axes=(0,)} %j : [t] f32
%a = argmax{axis=0} %j : [t] i32
output m = %m[0:T]
output a = %a[0:T]
""",
    "not where no range moves": """
%k = concat{axis=0} %first, %first : [] f32[4, 3]
%y = matmul %k, %x : [t] f32[4]
%m = max{axes=(0,)} %y : [t] f32
output m = %m[0:T]
""",
}


def test_distribute(golden: Golden) -> None:
    story = Story()
    for name, text in CASES.items():
        after = story.tell(name, HEAD + text, Distribute(), rounded=True).graph
        joined = any(n.op.name == "concat" for n in after.nodes.values())
        assert joined == name.startswith("not ")
    golden("passes/distribute.txt", story.text)


def test_an_operand_may_be_joined_along_an_axis_of_its_own() -> None:
    """Queries that `rope` has put together of halves, beside joined keys."""
    text = """
%low = getitem{entries=((0, 1, 1),)} %x : [t] f32[1]
%high = getitem{entries=((1, 2, 1),)} %x : [t] f32[2]
%q = concat{axis=0} %high, %low : [t] f32[3]
%k = concat{axis=0} %first, %x[max(0, t-2):t+1] : [t] f32[min(t+3, 5), 3]
%s = einsum{spec="d,sd->s"} %q, %k : [t] f32[min(t+3, 5)]
%m = max{axes=(0,)} %s : [t] f32
output m = %m[0:T]
"""
    after = Story().tell("queries of halves", HEAD + text, Distribute(), rounded=True).graph
    assert [n.name for n in after.nodes.values() if n.op.name == "concat"] == ["q"]


def test_nothing_is_left_to_do() -> None:
    for name, text in CASES.items():
        steps = (Canonicalize(), Distribute(), Canonicalize(), Distribute())
        once = Story().tell(name, HEAD + text, *steps[:3], rounded=True).graph
        assert Story().tell(name, HEAD + text, *steps, rounded=True).graph == once


def test_a_region_is_all_or_nothing() -> None:
    """What is an output is needed whole, and so is all that it is computed of."""
    name = "a product with a range and a param"
    text = HEAD + CASES[name] + "output s = %s[T-1]\n"
    assert Story().tell(name, text, Distribute()).graph == graph(text)


PREFIX = """
dim t < T
input x[t]: f32[4]
input pk: f32[3, 4]
input pv: f32[3, 4]
input w: f32[4, 4]
k = w @ x
keys = concat([pk, k[t = FIRST:t+1]], 0)
values = concat([pv, x[t = FIRST:t+1]], 0)
s = keys @ x - 0.1 * f32(arange(t + 4 - FIRST))
e = exp(s - stop_gradient(max(s)))
y = e / sum(e) @ values
loss = sum((y * y)[t = 0:T])
gk = grad(loss, pk)
gv = grad(loss, pv)
gw = grad(loss, w)
output y, gk, gv, gw
"""
"""Attention with learned keys and values before those of the words, a bias, and its gradients."""

KINDS = """
dim t < T
input c[t]: f32
input d[t]: f32
input n[t]: i32
j = concat([c[max(0, t-2):t], d[0:t+1]], 0)
k = concat([n[max(0, t-2):t], n[0:min(t, 3)], n[t:t+1]], 0)
a = sum(f16(j))
b = max(f16(j))
e = mean(f16(j))
f = prod(j * 0.5)
g = logsumexp(concat([c[max(0, t-2):t], c[0:min(t, 2)] * 2, c[0:t+1] * d], 0))
h = any(j > 0.5)
i = all(j > -0.5)
l = min(k)
m = max(k * 2)
output a, b, e, f, g, h, i, l, m
"""
"""All kinds of reductions, and parts that are empty at first."""


@pytest.mark.parametrize("first", ["0", "max(0, t-2)"])
def test_attention_and_its_gradient(first: str) -> None:
    agree(PREFIX.replace("FIRST", first), *({"T": n} for n in (1, 2, 3, 7)))


def test_reductions_of_all_kinds() -> None:
    agree(KINDS, *({"T": n} for n in (1, 2, 3, 7)))


def test_infinities_stay_in_their_part() -> None:
    agree(KINDS, {"T": 5}, special=True)
