"""Loops carry last steps of states of which all steps are stored: which, and which not."""

from __future__ import annotations

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.passes.context import PassContext
from tempoc.passes.fusion.fuse import Fuse
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
MADE["another state is computed of it"] = (
    f"{STATES}output u = %u[0:T, 0:Y]\noutput v = %v[T-1, 0:Y]\n"
)
MADE["another state is computed of the total of some of its elements"] = """
bound T
dim t < T
%a = input{dtype=f32, shape=(3,)} : [] f32[3]
%u.0 = copy %a : [] f32[3]
%s.0 = literal{value=0.0, dtype=f32} : [] f32
%p = getitem{entries=((0, 2, 1),)} %u : [t | t < T-1] f32[2]
%q = sum{axes=(0,)} %p : [t | t < T-1] f32
%u.1 = sin %u : [t | t < T-1] f32[3]
%s.1 = add %s, %q : [t | t < T-1] f32
%u = merge{targets=((0,), (t+1,))} %u.0 when t == 0, %u.1[t-1] when t-1 >= 0 : [t] f32[3]
%s = merge{targets=((0,), (t+1,))} %s.0 when t == 0, %s.1[t-1] when t-1 >= 0 : [t] f32
output u = %u[0:T]
output s = %s[T-1]
"""
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
BESIDE = f"""{ONE}%d = exp %u : [t] f32
%q.1 = READS : [t | t >= 1] f32
%q = merge{{targets=((0,), (t,))}} %u.0 when t == 0, %q.1 when t >= 1 : [t] f32
output d = %d[0:T]
output q = %q[0:T]
"""
MADE["what is stored beside its state"] = BESIDE.replace("READS", "mul %q[t-1], %d[t-1]")
MADE["parts of a row with equations of their own, more is stored of a step"] = """
bound Y
bound T
dim t < T
dim y < Y
%a = input{dtype=f32} : [y] f32
%u.0 = copy %a : [t, y* | t == 0] f32
%u.1 = sin %u[t-1, 0] : [t, y* | t >= 1 and y == 0] f32
%u.d = sub %u[t-1, y], %u[t-1, y-1] : [t, y* | t >= 1 and y >= 1] f32
%u.2 = sin %u.d : [t, y* | t >= 1 and y >= 1] f32
%u = merge{targets=((t, y), (t, y), (t, y))} %u.0 when t == 0, \
    %u.1 when t >= 1 and y == 0, %u.2 when t >= 1 and y >= 1 : [t, y] f32
output u = %u[0:T, 0:Y]
output d = %u.d[1:T, 1:Y]
""".replace("\\\n    ", "")
MADE["the next state is stored in another array as well"] = (
    f"{ONE}output u = %u[0:T]\noutput after = %u.1[0:T-1]\n"
)
MADE["its own loop reads all steps of what the next state is made of"] = """
bound T
dim t < T
%a = input{dtype=f32} : [] f32
%u.0 = copy %a : [] f32
%e = exp %u : [t] f32
%u.1 = sin %e : [t | t < T-1] f32
%u = merge{targets=((0,), (t+1,))} %u.0 when t == 0, %u.1[t-1] when t-1 >= 0 : [t] f32
%m = max{axes=(0,)} %e[0:t+1] : [t] f32
output u = %u[0:T]
output m = %m[T-1]
"""
LATE = f"""{ONE}%c = CONDITION : [t] bool
%w.0 = copy %u[T-1] : [] f32
%w.1 = where %c[max(t-1, 0)], %w[t+1], %a : [t | t < T-1] f32
%w = merge{{targets=((T-1,), (t,))}} %w.0 when t == T-1, %w.1 when t < T-1 : [t] f32
output w = %w[0]
"""
MADE["a later loop may compute what reads it"] = LATE.replace("CONDITION", "lt %u, %a")
LEFT = {
    "only the last is a result": f"{STATES}output u = %u[T-1, 0:Y]\noutput v = %v[T-1, 0:Y]\n",
    "one state": f"{ONE}output u = %u[0:T]\n",
    "what is stored is read in its own step": BESIDE.replace("READS", "mul %q[t-1], %d"),
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
LEFT["its own loop reads all steps of the next state"] = f"""assume T >= 2
{ONE}%m = max{{axes=(0,)}} %u.1[0:t+1] : [t | t < T-1] f32
output u = %u[0:T]
output m = %m[T-2]
"""
LEFT["not all of a row in one step"] = MADE[
    "parts of a row with equations of their own, more is stored of a step"
].replace("y*", "y")
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
JUMPS = """
dim b < B
dim t < T
input u[b, t]: f32[2]
input x0: f32[2]
x[b, 0] = x0
time[b, 0] = 0.0
rate = stack([1.5 * (x)[0], 0.1 * (x)[0] * (x)[1]])
total = sum(rate)
x[b, t+1] = x + where(cumsum(rate) >= (u)[1] * total, 1.0, -0.5)
time[b, t+1] = time + (u)[0] / maximum(total, 0.1)
output x, time[0:B, T-1] as end
"""
LOADS = """
dim n < N
dim w < W
input value[n]: f32
input weight[n]: i32
best[0, w] = 0.0
taken[n, w] = best[n = n, w = clip(w - weight[n], 0, W - 1) in 0:W] + value
after[n, w] = where(w >= weight, maximum(best, taken), best)
best[n+1, w] = after
load[N-1] = W - 1
took[n] = after[n = n, w = load[n] in 0:W] > best[n = n, w = load[n] in 0:W]
load[n] = load[n+1] - where(took[n+1], clip(weight[n+1], 0, load[n+1]), 0)
output took
"""
ROW = """
dim t < T
dim s < S
input x[t, s]: f32
a[t, s] = x when t == 0
a[t, s] = x + sin(a[t-1, s]) when s == 0
a[t, s] = x + maximum(sin(a[t-1, s]), a[t-1, s-1])
e = sum(a[t = T-1][s = 0:S])
g = grad(e, x)
output e, g
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


def test_later_loops_read_the_state() -> None:
    """What is computed there, as derivatives of maxima, reads the array of all steps."""
    compilation = Compilation(load_source(Source("m.rt", ROW)), Options())
    nodes = compilation.optimized.nodes
    assert {e.source for e in nodes["e.d.a.sin2.cos"].inputs} == {"a"}
    assert {e.source for e in nodes["a.sin2"].inputs} == {"a.last"}


def test_later_loops_read_what_is_stored_beside_states() -> None:
    before = graph("""
bound T
dim t < T
%x = input{dtype=f32} : [t] f32
%h.0 = literal{value=1.0, dtype=f32} : [] f32
%e = exp %h : [t] f32
%h.1 = sin %e : [t] f32
%h = merge{targets=((0,), (t+1,))} %h.0 when t == 0, %h.1[t-1] when t >= 1 : [t] f32
%e.last = copy %e : [t] f32
%c = add %e.last[t+1], %x : [t | t < T-1] f32
%d.0 = copy %h[T-1] : [] f32
%d.more = mul %d[t+1], %c : [t | t < T-1] f32
%d.1 = mul %d.more, %e[t+1] : [t | t < T-1] f32
%d = merge{targets=((T-1,), (t,))} %d.0 when t == T-1, %d.1 when t < T-1 : [t] f32
output d = %d[0]
""")
    after = Fuse().run(before, PassContext(Space(before.universe)))
    assert after.nodes["c"].sources == ("e", "x")
    assert_close(before, after)


def test_no_copy_of_what_is_not_stored() -> None:
    """The loop of the state computes what reads it: a copy would be as large as the state."""
    before = graph(LATE.replace("CONDITION", "lt %u, %a"))
    context = PassContext(Space(before.universe))
    carried = CarryLast().run(before, context)
    assert "u.last" in carried.nodes
    assert "u.last" not in Fuse().run(carried, context).nodes


def test_state_that_another_is_a_total_of() -> None:
    """XLA computes the total once more for the other state, after it has updated this one."""
    compilation = Compilation(load_source(Source("m.rt", JUMPS)), Options())
    assert "x.last" in compilation.optimized.nodes
    agree(JUMPS, {"B": 1, "T": 1}, {"B": 2, "T": 2}, {"B": 3, "T": 5})


def test_state_that_is_stored_as_the_result_of_its_step_too() -> None:
    """XLA computes that in a loop of its own, after it has updated the state."""
    compilation = Compilation(load_source(Source("m.rt", LOADS)), Options())
    assert "best.last" in compilation.optimized.nodes
    agree(LOADS, {"N": 1, "W": 3}, {"N": 2, "W": 2}, {"N": 5, "W": 7})


def test_whole_programs_agree() -> None:
    agree(ROW, {"T": 1, "S": 1}, {"T": 2, "S": 1}, {"T": 4, "S": 3})
    agree(STENCIL, {"I": 2, "T": 1, "Y": 1}, {"I": 1, "T": 2, "Y": 3}, {"I": 3, "T": 4, "Y": 2})
