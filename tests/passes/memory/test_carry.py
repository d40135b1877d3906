"""Loops carry last steps of states of which all steps are stored: which, and which not."""

from __future__ import annotations

import pytest

from tempoc.passes.context import PassContext
from tempoc.passes.memory.carry import CarryLast
from tempoc.poly.relations.space import Space
from tempoc.sdg.text.text import show
from tempoc.sdg.verification.verify import verify
from tests.support.agreement import agree
from tests.support.generators.graphs import assert_close, graph
from tests.support.golden import Golden

STATES = """
bound Y
bound T
dim t < T
dim y < Y
%a = input{dtype=f32} : [y] f32
%u.0 = copy %a : [y*] f32
%u.1 = sub %u, %v[t, 0] : [t, y* | t < T-1] f32
%u = merge{targets=((0, y), (t+1, y))} %u.0 when t == 0, %u.1[t-1, y] when t-1 >= 0 : [t, y] f32
%v.1 = mul %v, %u[t, 0] : [t, y* | t < T-1] f32
%v = merge{targets=((0, y), (t+1, y))} %u.0 when t == 0, %v.1[t-1, y] when t-1 >= 0 : [t, y] f32
"""
ONE = """
bound T
dim t < T
%a = input{dtype=f32} : [] f32
%u.0 = copy %a : [] f32
%u.1 = sin %u : [t | t < T-1] f32
%u = merge{targets=((0,), (t+1,))} %u.0 when t == 0, %u.1[t-1] when t-1 >= 0 : [t] f32
"""
MADE = {
    "two states": f"{STATES}output u = %u[0:T, 0:Y]\noutput v = %v[0:T, 0:Y]\n",
    "read beside": f"{ONE}%q = exp %u : [t] f32\noutput u = %u[0:T]\noutput q = %q[0:T]\n",
}
MADE["more is stored of a step, of a loop that goes down"] = """
bound T
dim t < T
%a = input{dtype=f32} : [] f32
%u.0 = copy %a : [t | t == T-1] f32
%u.e = exp %u[t+1] : [t | t < T-1] f32
%u.1 = sin %u.e : [t | t < T-1] f32
%u = merge{targets=((t,), (t,))} %u.0 when t == T-1, %u.1 when t < T-1 : [t] f32
output u = %u[0:T]
output e = %u.e[0:T-1]
"""
LEFT = {
    "only the last is a result": f"{STATES}output u = %u[T-1, 0:Y]\noutput v = %v[T-1, 0:Y]\n",
    "one state": f"{ONE}output u = %u[0:T]\n",
    "what is stored is made of more than elements": f"""{ONE}%w.0 = copy %u[T-1] : [] f32
%s = sum{{axes=(0,)}} %u[max(0, t-2):t+1] : [t] f32
output u = %u[0:T]
output s = %s[0:T]
""",
    "a later loop reads beside it": f"""{ONE}%w.0 = copy %u[T-1] : [] f32
%w.1 = add %w[t+1], %u : [t | t < T-1] f32
%w = merge{{targets=((T-1,), (t,))}} %w.0 when t == T-1, %w.1 when t < T-1 : [t] f32
output w = %w[0]
""",
}
STENCIL = """
dim i < I
dim t < T
dim y < Y
input a[y]: f32
param k = 0.3
u[i, 0, y] = a
v[i, 0, y] = a
u[i, t+1, y] = u + p * (v[i, t, max(y-1, 0)] - u)
v[i, t+1, y] = v - p * u[i, t, min(y+1, Y-1)] * v
e = sum((u[t = T-1] * v[t = T-1])[y = 0:Y])
p[0] = k
p[i+1] = p - 0.1 * grad(e, p)
output e
"""


def test_last_steps_are_carried(golden: Golden) -> None:
    parts = []
    for name, text in MADE.items():
        before = graph(text)
        space = Space(before.universe)
        after = CarryLast().run(before, PassContext(space))
        verify(after, space, after="carry")
        assert_close(before, after)
        parts.append(f"# {name}\n{show(after, sources=False).split(chr(10), 1)[1]}")
    golden("passes/carry.txt", "\n".join(parts))


@pytest.mark.parametrize("name", LEFT)
def test_left_as_it_is(name: str) -> None:
    before = graph(LEFT[name])
    assert CarryLast().run(before, PassContext(Space(before.universe))) == before


def test_whole_programs_agree() -> None:
    agree(STENCIL, {"I": 2, "T": 1, "Y": 1}, {"I": 1, "T": 2, "Y": 3}, {"I": 3, "T": 4, "Y": 2})
