"""Chains of contractions are taken in the order that costs least, wherever that is known."""

from __future__ import annotations

from collections import Counter

import pytest

from tempoc.passes.contraction.chain import chains
from tempoc.passes.contraction.reassociate import Reassociate
from tempoc.passes.simplify.algebra import Algebra
from tempoc.passes.simplify.canonicalize import Canonicalize
from tempoc.sdg.graph.query import all_reads
from tests.support.agreement import agree
from tests.support.generators.graphs import Story, graph
from tests.support.golden import Golden

CASES = {
    "a part of a sum is a product of the program": """
bound T
dim t < T
%w = input{dtype=f32, shape=(4,)} : [t] f32[4]
%d = input{dtype=f32, shape=(2,)} : [t] f32[2]
%A = input{dtype=f32, shape=(4, 2)} : [t] f32[4, 2]
%y = matmul %w, %A : [t] f32[2]
%c = matmul %A, %d : [t] f32[4]
%m = mul %c, %w : [t] f32[4]
%s = sum{axes=(0,), keepdims=true} %m : [t] f32[1]
output y = %y[0:T]
output s = %s[0:T]
""",
    "a vector comes first": """
bound T
dim t < T
%A = input{dtype=f32, shape=(4, 4)} : [t] f32[4, 4]
%B = input{dtype=f32, shape=(4, 4)} : [t] f32[4, 4]
%x = input{dtype=f32, shape=(4,)} : [t] f32[4]
%m = matmul %A, %B : [t] f32[4, 4]
%y = matmul %m, %x : [t] f32[4]
output y = %y[0:T]
""",
    "a narrow matrix between wide ones": """
bound T
dim t < T
%A = input{dtype=f32, shape=(8, 2)} : [t] f32[8, 2]
%B = input{dtype=f32, shape=(2, 8)} : [t] f32[2, 8]
%C = input{dtype=f32, shape=(8, 3)} : [t] f32[8, 3]
%D = input{dtype=f32, shape=(3, 9)} : [t] f32[3, 9]
%m = matmul %A, %B : [t] f32[8, 8]
%p = matmul %C, %D : [t] f32[8, 9]
%q = matmul %m, %p : [t] f32[8, 9]
output q = %q[T-1]
""",
    "what does not vary is multiplied once": """
bound T
dim t < T
%A = param{template="A", dtype=f32, shape=(3, 3)} : [] f32[3, 3]
%B = param{template="B", dtype=f32, shape=(3, 3)} : [] f32[3, 3]
%x = input{dtype=f32, shape=(3, 5)} : [t] f32[3, 5]
%m = matmul %B, %x : [t] f32[3, 5]
%y = matmul %A, %m : [t] f32[3, 5]
output y = %y[0:T]
""",
    "once, if there are enough points": """
bound T
dim t < T
%A = param{template="A", dtype=f32, shape=(3, 3)} : [] f32[3, 3]
%B = param{template="B", dtype=f32, shape=(3, 3)} : [] f32[3, 3]
%x = input{dtype=f32, shape=(3,)} : [t] f32[3]
%m = matmul %B, %x : [t] f32[3]
%y = matmul %A, %m : [t] f32[3]
output y = %y[0:T]
""",
    "not once, if the product is larger than its factors": """
bound T
dim t < T
%A = param{template="A", dtype=f32, shape=(64, 2)} : [] f32[64, 2]
%B = param{template="B", dtype=f32, shape=(2, 64)} : [] f32[2, 64]
%x = input{dtype=f32, shape=(64, 99)} : [t] f32[64, 99]
%m = matmul %B, %x : [t] f32[2, 99]
%y = matmul %A, %m : [t] f32[64, 99]
output y = %y[0]
""",
    "linear attention": """
bound T
dim t < T
%q = input{dtype=f32, shape=(2, 2)} : [t] f32[2, 2]
%k = input{dtype=f32, shape=(2,)} : [t] f32[2]
%v = input{dtype=f32, shape=(2,)} : [t] f32[2]
%s = einsum{spec="ij,kj->ik"} %q, %k[0:t+1] : [t] f32[2, t+1]
%y = matmul %s, %v[0:t+1] : [t] f32[2, 2]
output y = %y[0:T]
""",
    "linear attention with one query": """
bound T
dim t < T
%q = input{dtype=f32, shape=(2,)} : [t] f32[2]
%k = input{dtype=f32, shape=(2,)} : [t] f32[2]
%v = input{dtype=f32, shape=(3,)} : [t] f32[3]
%c = einsum{spec="sd,se->de"} %k[0:t+1], %v[0:t+1] : [t] f32[2, 3]
%y = matmul %q, %c : [t] f32[3]
output y = %y[0:T]
""",
    "of a batch, and in a window, which no running value is": """
bound B
bound T
dim b < B
dim t < T
%q = input{dtype=f32, shape=(2,)} : [b, t] f32[2]
%k = input{dtype=f32, shape=(2,)} : [b, t] f32[2]
%v = input{dtype=f32, shape=(3,)} : [b, t] f32[3]
%c = einsum{spec="sd,se->de"} %k[b, 0:t+1], %v[b, 0:t+1] : [b, t] f32[2, 3]
%y = matmul %q, %c : [b, t] f32[3]
%d = einsum{spec="sd,se->de"} %k[b, t-3:t+1], %v[b, t-3:t+1] : [b, t | t >= 3] f32[2, 3]
%z = matmul %q, %d : [b, t | t >= 3] f32[3]
output y = %y[0:B, 0:T]
output z = %z[0:B, 3:T]
""",
    "a product that somebody else reads": """
bound T
dim t < T
%A = input{dtype=f32, shape=(4, 4)} : [t] f32[4, 4]
%B = input{dtype=f32, shape=(4, 4)} : [t] f32[4, 4]
%x = input{dtype=f32, shape=(4,)} : [t] f32[4]
%m = matmul %A, %B : [t] f32[4, 4]
%y = matmul %m, %x : [t] f32[4]
output y = %y[0:T]
output m = %m[T-1]
""",
    "a recurrence is not split": """
bound T
dim t < T
%A = param{template="A", dtype=f32, shape=(2, 2)} : [] f32[2, 2]
%B = param{template="B", dtype=f32, shape=(2, 2)} : [] f32[2, 2]
%x = input{dtype=f32, shape=(2,)} : [t] f32[2]
%m = matmul %B, %h : [t] f32[2]
%y = matmul %A, %m : [t] f32[2]
%h.0 = copy %x[0] : [] f32[2]
%h = merge{targets=((0,), (t+1,))} %h.0 when t == 0, %y[t-1] when t >= 1 : [t] f32[2]
output h = %h[0:T]
""",
    "sizes of two bounds": """
bound B
bound N
bound T
dim b < B
dim n < N
dim t < T
%A = input{dtype=f32} : [b, n] f32
%C = input{dtype=f32} : [n, t] f32
%x = input{dtype=f32} : [t] f32
%m = matmul %A[0:B, 0:N], %C[0:N, 0:T] : [] f32[B, T]
%y = matmul %m, %x[0:T] : [] f32[B]
output y = %y
""",
}


def test_reassociate(golden: Golden) -> None:
    story = Story()
    for name, text in CASES.items():
        story.tell(name, text, Reassociate(), rounded=True)
    golden("passes/reassociate.txt", story.text)


def test_nothing_is_left_to_do() -> None:
    for name, text in CASES.items():
        steps = (Reassociate(), Canonicalize(), Reassociate())
        once = Story().tell(name, text, *steps[:2], rounded=True).graph
        assert Story().tell(name, text, *steps, rounded=True).graph == once


def test_an_assumption_decides() -> None:
    name = "once, if there are enough points"
    text = CASES[name].replace("dim t < T", "assume T > 3\ndim t < T")
    after = Story().tell(name, text, Reassociate(), rounded=True).graph
    assert all(node.op.name != "merge" for node in after.nodes.values())
    assert after.nodes["y.product"].domain.dims == ()
    assert after != graph(text)


ATTENTION = """
dim t < T
input q[t]: f32[2, 3]
input k[t]: f32[3]
input v[t]: f32[3]
y[t] = (q @ transpose(k[0:t+1])) @ v[0:t+1]
output y
"""
WEIGHTS = """
dim t < T
input A: f32[3, 3]
input B: f32[3, 3]
input x[t]: f32[3]
y = A @ (B @ x)
z = (A @ B @ B) @ (x + 1)
output y, z
"""


@pytest.mark.parametrize("text", [ATTENTION, WEIGHTS])
@pytest.mark.parametrize("vectorize", ["", "vectorize,"])
def test_both_orders_run(text: str, vectorize: str) -> None:
    """Below, at and above the point from which on the other order is the better one."""
    passes = f"canonicalize,algebra,reassociate,canonicalize,{vectorize}fuse"
    agree(text, *({"T": n} for n in (1, 3, 8)), passes=passes)


def test_algebra_comes_first() -> None:
    """Transposes between the factors of a chain are no longer in the way."""
    story = Story()
    text = """
bound T
dim t < T
%A = input{dtype=f32, shape=(4, 4)} : [t] f32[4, 4]
%B = input{dtype=f32, shape=(4, 4)} : [t] f32[4, 4]
%x = input{dtype=f32, shape=(4,)} : [t] f32[4]
%m = matmul %A, %B : [t] f32[4, 4]
%n = transpose %m : [t] f32[4, 4]
%y = matmul %n, %x : [t] f32[4]
output y = %y[0:T]
"""
    after = story.tell("transposed", text, Algebra(), Reassociate(), rounded=True).graph
    made = [n for n in after.nodes.values() if n.op.name in ("matmul", "einsum")]
    assert [n.types[0].ndim for n in made] == [1, 1]


def test_chains_that_are_too_long_go_on_in_another_one() -> None:
    """All sets of factors are looked at, also where each product is the next one's first factor."""
    text = "bound T\ndim t < T\n%m0 = input{dtype=f32, shape=(4, 4)} : [t] f32[4, 4]\n"
    for k in range(1, 20):
        text += f"%a{k} = input{{dtype=f32, shape=(4, 4)}} : [t] f32[4, 4]\n"
        text += f"%m{k} = matmul %m{k - 1}, %a{k} : [t] f32[4, 4]\n"
    before = graph(text + "output y = %m19[T-1]\n")
    found = chains(before, Counter(e.source for e in all_reads(before)))
    assert [len(c.factors) for c in found] == [7, 7, 7]
