"""Dead and duplicate code, copies and constants disappear, the meaning stays."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tempoc.passes.context import PassContext
from tempoc.passes.simplify import canonicalize
from tempoc.passes.simplify.canonicalize import Canonicalize
from tempoc.passes.vectorization.vectorize import Vectorize
from tempoc.poly.relations.space import Space
from tempoc.schedule.compute import compute
from tempoc.schedule.text import show
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.statements.build import statements
from tests.support.elaborated import graph_of
from tests.support.generators.graphs import Story, graph
from tests.support.golden import Golden

CASES = {
    "dead code, also in a cycle": """
bound T
dim t < T
%x = input{dtype=f32} : [t] f32
%y = exp %x : [t] f32
%u.0 = copy %x[0] : [] f32
%u.1 = add %u, %y : [t | t+1 < T] f32
%u = merge{targets=((0,), (t+1,))} %u.0 when t == 0, %u.1[t-1] when t >= 1 : [t] f32
%z = neg %x : [t] f32
output z = %z[0:T]
""",
    "what is given stays, an unused default goes": """
bound T
dim t < T
%x = input{dtype=f32} : [t] f32
%w = param{template="w", dtype=f32} : [] f32
%d = literal{value=1.0, dtype=f32} : [] f32
%v = param{template="v", dtype=f32, has_default=true} %d : [] f32
%z = neg %w : [] f32
output z = %z
""",
    "a branch that no point takes": """
bound V = 2
dim v < V
%x = input{dtype=f32} : [v] f32
%a = exp %x[1] : [] f32
%b = sin %x[0] : [] f32
%zero = literal{value=0.0, dtype=f32} : [] f32
%g.0 = copy %a : [v | v == 1] f32
%g.1 = copy %b : [v | v == 0] f32
%g.2 = copy %zero : [v | v >= 2] f32
%g = merge{targets=((v,), (v,), (v,))} %g.0 when v == 1, %g.1 when v == 0, %g.2 when v > 1 : [v] f32
output g = %g[0:V]
""",
    "duplicates": """
bound T
dim t < T
%x = input{dtype=f32} : [t] f32
%w = input{dtype=f32} : [t] f32
%a = add %x, %w : [t] f32
%b = add %x, %w : [t] f32
%c = add %w, %x : [t] f32
%d = mul %a, %b : [t] f32
%e = mul %b, %c : [t] f32
output d = %d[0:T]
output e = %e[0:T]
output b = %b[T-1]
""",
    "duplicate recurrences": """
bound T
dim t < T
%x = input{dtype=f32} : [t] f32
%zero = literal{value=0.0, dtype=f32} : [] f32
%u.1 = add %u, %x : [t] f32
%u = merge{targets=((0,), (t+1,))} %zero when t == 0, %u.1[t-1] when t >= 1 : [t] f32
%v.1 = add %v, %x : [t] f32
%v = merge{targets=((0,), (t+1,))} %zero when t == 0, %v.1[t-1] when t >= 1 : [t] f32
%y = mul %u, %v : [t] f32
output y = %y[0:T]
output v = %v[T-1]
""",
    "duplicate recurrences whose equations and operands stand in another order": """
bound T
dim t < T
%x = input{dtype=f32} : [t] f32
%zero = literal{value=0.0, dtype=f32} : [] f32
%u.1 = add %u, %x : [t] f32
%u = merge{targets=((0,), (t+1,))} %zero when t == 0, %u.1[t-1] when t >= 1 : [t] f32
%v.1 = add %x, %v : [t] f32
%v = merge{targets=((t+1,), (0,))} %v.1[t-1] when t >= 1, %zero when t == 0 : [t] f32
%m = minimum %u, %x : [t] f32
%n = minimum %x, %v : [t] f32
%y = mul %m, %n : [t] f32
output y = %y[0:T]
""",
    "copies are looked through": """
bound T
dim t < T
%x = input{dtype=f32} : [t] f32
%c = copy %x[t-1] : [t | t >= 1] f32
%y = exp %c[t+1] : [t | t+1 < T] f32
%m = sum %c[1:t+1] : [t] f32
%last = copy %x[T-1-t] : [t] f32
%r = sum %last[0:t+1] : [t] f32
output y = %y[0:T-1]
output m = %m[0:T]
output r = %r[0:T]
output c = %c[1:T]
""",
    "a branch is written by what it was copied from": """
bound T
dim t < T
%x = input{dtype=f32} : [t] f32
%h.0 = copy %x[0] : [] f32
%s = add %h, %x : [t] f32
%h.1 = copy %s : [t | t+1 < T] f32
%h = merge{targets=((0,), (t+1,))} %h.0 when t == 0, %h.1[t-1] when t >= 1 : [t] f32
output h = %h[0:T]
""",
    "a copy that broadcasts or converts stays": """
bound I
bound T
dim i < I
dim t < T
%x = input{dtype=f32} : [t] f32
%a = copy %x : [i, t] f32
%s = sum %a[0:I, t] : [t] f32
%two = literal{value=2.0, dtype=f32, weak=true} : [] ~f32
%b = copy %two : [] f32
%y = mul %b, %s : [t] f32
output y = %y[0:T]
""",
    "numbers and index expressions": """
bound T
dim t < T
%two = literal{value=2.0, dtype=f32} : [] f32
%three = literal{value=3, dtype=i32} : [] i32
%six = mul %two, %three : [] f32
%root = sqrt %six : [] f32
%t = index{expr=t} : [t] i32
%later = add %t, %three : [t] i32
%is = gt %later, %t[t] : [t] bool
%odd = index{expr=t % 2 == 1} : [t] bool
%y = where %odd, %root, %later : [t] f32
%z = where %is, %y, %six : [t] f32
output z = %z[0:T]
""",
    "weak numbers that decide nothing": """
bound T
dim t < T
%x = input{dtype=f32} : [t] f32
%a = literal{value=0.5, dtype=f32, weak=true} : [] ~f32
%b = literal{value=0.5, dtype=f32} : [] f32
%y = mul %x, %a : [t] f32
%z = mul %x, %b : [t] f32
%s = literal{value=2.0, dtype=f32, weak=true} : [] ~f32
%c = gt %x, %b : [t] bool
%w = where %c, %s, %s : [t] ~f32
%v = add %w, %s : [t] ~f32
output y = %y[0:T]
output z = %z[0:T]
output v = %v[0:T]
""",
    "elements of an array where they are read": """
bound B
bound T
dim b < B
dim t < T
%x = input{dtype=f32} : [b, t] f32
%rows = cumsum{axis=0} %x[b, 0:T] : [b] f32[T]
%h = getitem{entries=(t,)} %rows : [b, t] f32
%y = exp %h[b, t-1] : [b, t | t >= 1] f32
%z = add %h[b, t-1], %h : [b, t | t >= 1] f32
%v = neg %h : [b, t] f32
%w = sum %h[b, 0:t+1] : [b, t] f32
output y = %y[0:B, 1:T]
output z = %z[0:B, 1:T]
output v = %v[0:B, 0:T]
output w = %w[0:B, 0:T]
output last = %h[B-1, T-1]
""",
    "elements that nobody takes at their own point": """
bound T
dim t < T
%x = input{dtype=f32, shape=(2,)} : [t] f32[2]
%rows = cumsum{axis=0} %x[0:T] : [] f32[T, 2]
%h = getitem{entries=(t, (0, 2, 1))} %rows : [t] f32[2]
%y = exp %h[T-1-t] : [t] f32[2]
%g = getitem{entries=(1,)} %h[0] : [] f32
output y = %y[0:T]
output g = %g
output last = %h[T-1]
""",
}


def test_canonicalize(golden: Golden) -> None:
    story = Story()
    for name, text in CASES.items():
        story.tell(name, text, Canonicalize())
    golden("passes/canonicalize.txt", story.text)


def test_it_is_done_after_once() -> None:
    for name, text in CASES.items():
        once = Story().tell(name, text, Canonicalize()).graph
        twice = Story().tell(name, text, Canonicalize(), Canonicalize()).graph
        assert once == twice


def test_it_ends_when_each_step_has_seen_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def counted(step: Callable[[Graph], Graph]) -> Callable[[Graph], Graph]:
        def run(graph: Graph) -> Graph:
            seen.append(step.__name__)
            return step(graph)

        return run

    names = [step.__name__ for step in canonicalize._STEPS]
    monkeypatch.setattr(canonicalize, "_STEPS", (*map(counted, canonicalize._STEPS),))
    # Copies are forwarded, then dropped: what comes before that has seen another graph.
    for case, steps in (("dead code, also in a cycle", 6), ("copies are looked through", 11)):
        seen.clear()
        before = graph(CASES[case])
        context = PassContext(Space(before.universe))
        after = Canonicalize().run(before, context)
        assert after != before and seen == (names * 3)[:steps]
        seen.clear()
        assert Canonicalize().run(after, context) is after and seen == names


def test_zeros_of_both_signs_are_two_numbers() -> None:
    text = """
%a = literal{value=0.0, dtype=f32} : [] f32
%b = literal{value=-0.0, dtype=f32} : [] f32
output a = %a
output b = %b
"""
    assert len(Story().tell("zeros", text, Canonicalize()).graph.nodes) == 2


def test_a_copy_waits_for_the_end_in_place_of_what_decides_it() -> None:
    before = graph_of("""
dim k < K until settled
dim i < N
input reward[i]: f32
v[0, i] = 0.0
better = 0.5 * v + reward
v[k+1, i] = better
settled = max(abs(better - v)[i = 0:N]) < 0.001
output v[K-1, 0:N] as value
""")
    context = PassContext(Space(before.universe))
    after = Vectorize().run(Canonicalize().run(before, context), context)
    assert after.nodes["v"].inputs[1].source == "v.1"
    found = statements(after, context.space)
    assert "better[k]" in show(compute(found, context.space, after).tree)
