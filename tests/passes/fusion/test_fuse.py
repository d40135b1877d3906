"""Fusion: what is grouped, what must not be, and the names of groups."""

from __future__ import annotations

import pytest

from tempoc.passes.fusion.fuse import Fuse
from tempoc.poly.relations.space import Space
from tempoc.sdg.statements.build import statements
from tests.support.agreement import agree
from tests.support.generators.graphs import Story
from tests.support.golden import Golden

RNN = """
bound T
dim t < T
%x = input{dtype=f32, shape=(4,)} : [t] f32[4]
%w = param{template="w", dtype=f32, shape=(4, 4)} : [] f32[4, 4]
%h.0 = full{shape=(4,), value=0.0, dtype=f32} : [] f32[4]
%s.matmul = matmul %w, %h : [t] f32[4]
%s = add %s.matmul, %x : [t] f32[4]
%h.1 = tanh %s : [t] f32[4]
%h = merge{targets=((0,), (t+1,))} %h.0 when t == 0, %h.1[t-1] when t >= 1 : [t] f32[4]
%y = sum{axes=(0,)} %s : [t] f32
output y = %y[0:T]
"""
HELD = "a later loop reads steps from the state that holds all of them"
LENGTHS = """
bound I
bound T until stop over i
dim i < I
dim t < T
%x = input{dtype=f32} : [i, t] f32
%half = literal{value=0.5, dtype=f32} : [] f32
%stop = gt %x, %half : [i, t] bool
%z = copy %x[i, 0] : [i] f32
%h = merge{targets=((i, T-1), (i, t-1))} %z when t == T-1, %n[i, t+1] when t+1 < T : [i, t] f32
%n.add = add %h, %x : [i, t] f32
%n = tanh %n.add : [i, t] f32
%d.mul = mul %d[i, t-1], %n : [i, t | t >= 1] f32
%d.more = mul %d.mul, %h : [i, t | t >= 1] f32
%d.1 = add %d.more, %h[max(0, i-1), 0] : [i, t | t >= 1] f32
%d = merge{targets=((i, 0), (i, t))} %n[i, 0] when t == 0, %d.1 when t != 0 : [i, t] f32
%o = copy %d[i, T-1] : [i] f32
%stop.until = until{bound="T"} %stop : [i, t]
output o = %o[0:I]
"""
TWO_LOOPS = """
bound I
bound T
dim i < I
dim t < T
%x = input{dtype=f32, shape=()} : [i, t] f32
%h = tanh %x : [i, t] f32
%z = full{shape=(), value=0.0, dtype=f32} : [i] f32
%s = merge{targets=((i, 0), (i, t+1))} %z when t == 0, %n[i, t-1] when t >= 1 : [i, t] f32
%n = add %s, %h : [i, t] f32
%e = exp %h : [i, t | i < I-1] f32
%k = merge{targets=((i, 0), (i, t+1))} %z when t == 0, %c[i, t-1] when t >= 1 : [i, t | i < I-1] f32
%c = add %k, %e : [i, t | i < I-1] f32
%u = mul %x, %n[i, T-1] : [i, t | i < I-1] f32
%l = merge{targets=((i, 0), (i, t+1))} %z when t == 0, %m[i, t-1] when t >= 1 : [i, t | i < I-1] f32
%m = add %l, %u : [i, t | i < I-1] f32
output c = %c[0:I-1, T-1]
output m = %m[0:I-1, T-1]
"""
"""`c` adds up what the loop of `h` computes; `m` waits for the end of that loop."""
ATTENTION = """
bound T
dim t < T
%x = input{dtype=f32, shape=(4,)} : [t] f32[4]
%w = param{template="w", dtype=f32, shape=(4, 4)} : [] f32[4, 4]
%k = matmul %w, %x : [t] f32[4]
%two = literal{value=2.0, dtype=f32, weak=true} : [] ~f32
%s.matmul = matmul %k[0:t+1], %x : [t] f32[t+1]
%s = div %s.matmul, %two : [t] f32[t+1]
%a = matmul %s, %k[0:t+1] : [t] f32[4]
%b = mul %a, %two : [t] f32[4]
output b = %b[0:T]
"""
CASES = {
    "a recurrent network is two kernels": RNN,
    "attention reads what its own instance writes": ATTENTION,
    "a path that leaves and returns within an instance": """
bound T
dim t < T
%x = input{dtype=f32} : [t] f32
%a = exp %x : [t] f32
%all = sum %a[0:T] : [] f32
%y = div %a, %all : [t] f32
output y = %y[0:T]
""",
    "two loops that run in opposite directions": """
bound T
dim t < T
%x = input{dtype=f32} : [t] f32
%zero = literal{value=0.0, dtype=f32} : [] f32
%f.1 = add %f[t-1], %x : [t | t >= 1] f32
%f = merge{targets=((0,), (t,))} %zero when t == 0, %f.1 when t >= 1 : [t] f32
%g.1 = add %g[t+1], %f : [t | t+1 < T] f32
%g.0 = copy %x[T-1] : [] f32
%g = merge{targets=((T-1,), (t,))} %g.0 when t == T-1, %g.1 when t+1 < T : [t] f32
output g = %g[0:T]
""",
    "a read of later points does not turn a loop around": """
bound T
dim t < T
%x = input{dtype=f32} : [t] f32
%a = exp %x : [t] f32
%b = sum{axes=(0,)} %a[t:min(t+3, T)] : [t] f32
%c = neg %b : [t] f32
output a = %a[0:T]
output c = %c[0:T]
""",
    "what starts a loop does not wait for what ends another": """
bound T
dim t < T
%x = input{dtype=f32} : [t] f32
%c = input{dtype=f32} : [] f32
%r = exp %x : [t] f32
%all = sum{axes=(0,)} %r[0:T] : [] f32
%g = sum{axes=(0,)} %r[t:min(t+3, T)] : [t] f32
%s.0 = exp %c : [] f32
%s.1 = mul %s[t-1], %g : [t | t >= 1] f32
%s = merge{targets=((0,), (t,))} %s.0 when t == 0, %s.1 when t >= 1 : [t] f32
output all = %all
output s = %s[0:T]
""",
    HELD: """
bound T
dim t < T
%x = input{dtype=f32} : [] f32
%h.0 = copy %x : [] f32
%h.1 = tanh %h : [t | t < T-1] f32
%h = merge{targets=((0,), (t+1,))} %h.0 when t == 0, %h.1[t-1] when t-1 >= 0 : [t] f32
%d.0 = copy %h[T-1] : [] f32
%d.m = mul %d[t+1], %h.1 : [t | t < T-1] f32
%d.1 = sub %d.m, %h : [t | t < T-1] f32
%d = merge{targets=((T-1,), (t,))} %d.0 when t == T-1, %d.1 when t < T-1 : [t] f32
output d = %d[0:T]
""",
    "a recurrence that runs backwards is one kernel": """
bound T
dim t < T
%x = input{dtype=f32} : [t] f32
%zero = literal{value=0.0, dtype=f32} : [] f32
%g.mul = mul %g[t+1], %x : [t | t+1 < T] f32
%g.1 = add %g.mul, %x : [t | t+1 < T] f32
%g = merge{targets=((T-1,), (t,))} %zero when t == T-1, %g.1 when t+1 < T : [t] f32
output g = %g[0:T]
""",
    "side by side, with constants of their own": """
bound T
dim t < T
%x = input{dtype=f32} : [t] f32
%two = literal{value=2.0, dtype=f32} : [] f32
%t = index{expr=t} : [t] i32
%a = mul %x, %two : [t] f32
%b = add %x, %t : [t] f32
%late.mul = mul %x[t-1], %two : [t | t >= 1] f32
%late = add %late.mul, %t[t-1] : [t | t >= 1] f32
output a = %a[0:T]
output b = %b[0:T]
output late = %late[1:T]
""",
    "light functions of a stored tensor are computed where they are read": """
bound T
dim t < T
%x = input{dtype=f32, shape=(4,)} : [t] f32[4]
%zero = full{shape=(4,), value=0.0, dtype=f32} : [] f32[4]
%one = literal{value=1.0, dtype=f32, weak=true} : [] ~f32
%h.add = add %h[t-1], %x : [t | t >= 1] f32[4]
%h.1 = tanh %h.add : [t | t >= 1] f32[4]
%h = merge{targets=((0,), (t,))} %zero when t == 0, %h.1 when t >= 1 : [t] f32[4]
%square = mul %h.1, %h.1 : [t | t >= 1] f32[4]
%slope = sub %one, %square : [t | t >= 1] f32[4]
%sum = add %h.add, %h.1 : [t | t >= 1] f32[4]
%g.mul = mul %g[t+1], %slope[t+1] : [t | t+1 < T] f32[4]
%g.1 = add %g.mul, %sum[t+1] : [t | t+1 < T] f32[4]
%g = merge{targets=((T-1,), (t,))} %zero when t == T-1, %g.1 when t+1 < T : [t] f32[4]
output h = %h[0:T]
output g = %g[0:T]
""",
    "defaults of params keep to themselves": """
%two = full{shape=(2,), value=2.0, dtype=f32} : [] f32[2]
%w.exp = exp %two : [] f32[2]
%w.neg = neg %w.exp : [] f32[2]
%w = param{template="w", dtype=f32, shape=(2,), has_default=true} %w.neg : [] f32[2]
%v.exp = exp %two : [] f32[2]
%v = param{template="v", dtype=f32, shape=(2,), has_default=true} %v.exp : [] f32[2]
%a = add %w, %v : [] f32[2]
%b = mul %a, %v : [] f32[2]
output b = %b
""",
    "dimensions in turn": """
bound I
bound T
dim i < I
dim t < T
%x = input{dtype=f32} : [t] f32
%zero = literal{value=0.0, dtype=f32} : [] f32
%w.next = sum{axes=(0,)} %act[i, 0:T] : [i] f32
%w = merge{targets=((0,), (i+1,))} %zero when i == 0, %w.next[i-1] when i >= 1 : [i] f32
%act.add = add %w, %x : [i, t] f32
%act = tanh %act.add : [i, t] f32
output w = %w[0:I]
""",
}


def test_fuse(golden: Golden) -> None:
    story = Story()
    for name, text in CASES.items():
        story.tell(name, text, Fuse())
    golden("passes/fuse.txt", story.text)


def groups(text: str, step: Fuse | None = None) -> list[tuple[str, ...]]:
    outcome = Story().tell("", text, step or Fuse())
    return [g.members for g in outcome.graph.groups]


def test_steps_of_which_the_state_lacks_one_are_stored_for_both() -> None:
    text = CASES[HELD].replace("%h : [t | t < T-1]", "%h : [t]", 1).replace("%h[T-1]", "%h.1[T-1]")
    graph = Story().tell("", text, Fuse()).graph
    assert [graph.nodes[n].inputs[-1].source for n in ("d.0", "d.m")] == ["h.1", "h.1"]
    assert graph.nodes["d.1"].inputs[-1].source == "h.then"
    assert graph.nodes["h.then"].sources[1:] == ("h.1", "x")


def test_states_of_which_later_loops_need_more_than_steps_are_read_themselves() -> None:
    text = CASES[HELD].replace("%h : [t | t < T-1]", "%h : [t]", 1).replace("%h[T-1]", "%h.1[T-1]")
    whole = f"{text}output h = %h[0:T]\n"
    apart = text.replace("mul %d[t+1], %h.1 :", "mul %d[t+1], %h :")  # no step of %h.1 is stored
    for others in (whole, apart):
        assert "h.then" not in Story().tell("", others, Fuse()).graph.nodes


def test_states_of_which_an_earlier_point_has_another_length_are_read_themselves() -> None:
    """Whether ``%h[i-1, 0]`` is the last step depends on the length that ``i-1`` has."""
    assert "h.then" not in Story().tell("", LENGTHS, Fuse()).graph.nodes
    here = LENGTHS.replace("%h[max(0, i-1), 0]", "%h")
    assert here != LENGTHS
    assert "h.then" in Story().tell("", here, Fuse()).graph.nodes


@pytest.mark.parametrize(
    ("names", "group"),
    [
        (("net.w.1", "net.b.1"), "net.1"),
        (("net.w.1", "net.b.early"), "net"),
        (("a.f.x", "a.f.y"), "a.f"),
        (("x.f", "x.g"), "x.g"),  # there is an x already
        (("l.d.u.mul", "l.d.w"), "l.d.w"),  # all cotangents begin so
        (("a.f", "b.f"), "b.f"),
        (("a.f", "c"), "c"),
    ],
)
def test_names_of_groups(names: tuple[str, str], group: str) -> None:
    a, b = names
    text = f"""
bound T
dim t < T
%x = input{{dtype=f32}} : [t] f32
%{a} = exp %x : [t] f32
%{b} = sin %x : [t] f32
output p = %{a}[0:T]
output q = %{b}[0:T]
"""
    assert [g.name for g in Story().tell("", text, Fuse()).graph.groups] == [group]


def test_what_reads_a_loop_step_by_step_is_not_fused_with_what_waits_for_its_end() -> None:
    assert {("e", "c"), ("u", "m")} <= {*groups(TWO_LOOPS)}


def test_a_limit() -> None:
    assert max(map(len, groups(RNN, Fuse(limit=2)))) == 2
    assert max(map(len, groups(RNN))) > 2


def test_side_by_side_can_be_switched_off() -> None:
    text = CASES["side by side, with constants of their own"]
    assert len(groups(text, Fuse(horizontal=False))) > len(groups(text))


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_statements_of_groups(text: str) -> None:
    graph = Story().tell("", text, Fuse()).graph
    found = statements(graph, Space(graph.universe))
    assert [s.name for s in found.statements] == [g.name for g in graph.groups]
    for statement in found.statements:
        for read in statement.reads:
            assert read.tensor in found.tensors
            own = {w.tensor for w in statement.writes}
            assert read.tensor in own or not read.forwarded


def test_a_forwarded_read() -> None:
    graph = Story().tell("", ATTENTION, Fuse()).graph
    (statement,) = statements(graph, Space(graph.universe)).statements
    assert [(r.tensor, r.forwarded) for r in statement.reads if r.tensor == "k"] == [
        ("k", True),
        ("k", True),
    ]


def test_what_calls_need_is_not_fused_with_what_later_calls_give() -> None:
    call = 'extern_host{extern="f", module="m", function="f", arguments=("f32",), results=("f32",)'
    text = f"""
bound T
dim t < T
%x = input{{dtype=f32}} : [t] f32
%k = sin %x : [t] f32
%a = {call}, turn=0}} %k : [t] f32
%b = {call}, turn=1}} %x : [t] f32
%w = cos %b : [t] f32
%v = exp %x : [t] f32
output a = %a[0:T]
output w = %w[0:T]
output v = %v[0:T]
"""
    assert groups(text) == [("k", "v"), ("a",), ("b",), ("w",)]


def test_domains_are_spelled_so_that_ranges_can_be_read() -> None:
    text = """
bound J
bound K
dim j < J
dim k < K
%x = input{dtype=f32} : [j, k] f32
%a = exp %x : [j, k | j != 0 and (j < 1 or k != K-1)] f32
%b = sin %x : [j, k* | k < K-1 and j >= 1] f32
output a = %a[1:J, 0:K-1]
output b = %b[1:J, 0:K-1]
"""
    graph = Story().tell("", text, Fuse()).graph
    assert [s.name for s in statements(graph, Space(graph.universe)).statements] == ["a", "b"]


def test_what_is_delayed_reads_only_what_is_there() -> None:
    agree(
        """dim n < N
input x[n]: f32[2]
h[0] = x[0]
h[n] = tanh(x + 0.1 * sum(h[0:n], axis = 0))
loss = sum(h[N-1])
g = grad(loss, x)
output g
""",
        {"N": 3},
    )


def test_what_is_delayed_reads_its_points_along_another_dimension() -> None:
    agree(
        """dim t < T
dim p < P
assume P <= T
input x[t]: f32
k[p] = 2 * x[t = p]
s[t, p] = x * k
total = sum(s[t, 0:P])
output total
""",
        {"T": 3, "P": 2},
        passes="canonicalize,fuse",
    )


def test_what_ends_a_dimension_is_not_fused_with_what_needs_its_length() -> None:
    text = """
bound S until stop
dim s < S
%x = input{dtype=f32} : [s] f32
%y = exp %x : [s] f32
%stop.half = literal{value=0.5, dtype=f32} : [s] f32
%stop = gt %y, %stop.half : [s] bool
%stop.until = until{bound="S"} %stop : [s]
%n = index{expr=S} : [] i32
%share = cast{dtype=f32} %n : [] f32
%d = div %y, %share : [s] f32
output d = %d[0:S]
"""
    assert groups(text) == [("y", "stop.half", "stop", "stop.until"), ("n", "share"), ("d",)]
