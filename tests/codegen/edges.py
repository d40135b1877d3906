"""Graphs for the corners: guarded writes, meetings of cells, several axes, ragged rows, checks."""

from __future__ import annotations

from tests.codegen.build import Case, at, loop, seq

# One node writes the tensor at two shifts; each write is dropped where it leaves the domain.
TWO_TARGETS = """
sdg two
bound T
dim t < T

%x = input{dtype=f32, shape=(2,)} : [t] f32[2]
%v = exp %x : [t] f32[2]
%h = merge{targets=((t+1,), (t,))} %v[t-1] when t >= 1, %v when t == 0 : [t] f32[2]
%y = add %h, %x : [t] f32[2]

output h = %h[OUT]
output y = %y[0:T]
"""
GUARDED_AXIS = Case(
    graph=TWO_TARGETS.replace("OUT", "0:T"),
    tree=seq(loop("t", "0", "T", at("v", "t")), loop("t", "0", "T", at("y", "t"))),
)
GUARDED_CELL = Case(
    graph=TWO_TARGETS.replace("OUT", "T-1"),
    tree=seq(loop("t", "0", "T", at("v", "t")), loop("t", "0", "T", at("y", "t"))),
    roles={"h": {"t": "key"}},
)

# At t = 0 the cell read is the one written by the same call.
MEETING_GRAPH = """
sdg meeting
bound T
dim t < T

%x = input{dtype=f32, shape=(2,)} : [t] f32[2]
%v = exp %x : [t] f32[2]
%y = add %v[max(0, t-1)], %x : [t] f32[2]

output y = %y[0:T]
group y = %v, %y
"""
MEETING_CELL = Case(
    graph=MEETING_GRAPH, tree=loop("t", "0", "T", at("y", "t")), roles={"v": {"t": "key 2"}}
)
MEETING_AXIS = Case(graph=MEETING_GRAPH, tree=loop("t", "0", "T", at("y", "t")))

# Two axes in one store; points, windows, steps and futures together.
AXES = Case(
    graph="""
sdg axes
bound B
bound T
dim b < B
dim t < T

%x = input{dtype=DTYPE, shape=(3,)} : [b, t] DTYPE[3]
%v = neg %x : [b, t] DTYPE[3]
%p = add %v[b, max(0, t-1)], %v[B-1-b, t] : [b, t] DTYPE[3]
%q = sum{axes=(0,)} %v[b, t:min(t+2, T)] : [b, t] DTYPE[3]
%r = sum{axes=(0, 1)} %v[b:B:2, 0:t+1] : [b, t] DTYPE[3]
%s = sum{axes=(0, 1)} %v[0:B, T-1:T] : [] DTYPE[3]

output p = %p[0:B, 0:T]
output q = %q[0:B, 0:T]
output r = %r[0:B, T-1]
output s = %s
""",
    tree=seq(
        loop("b", "0", "B", loop("t", "0", "T", at("v", "b", "t"))),
        loop("b", "0", "B", loop("t", "0", "T", *(at(name, "b", "t") for name in ("p", "q", "r")))),
        at("s"),
    ),
)

# Rows whose extent grows with t, read one step later and at the end.
RAGGED = Case(
    graph="""
sdg ragged
bound T
dim t < T

%x = input{dtype=f32, shape=()} : [t] f32
%c = copy %x[0:t+1] : [t] f32[t+1]
%e = exp %c : [t] f32[t+1]
%d = sum %e[t-1] : [t | t >= 1] f32
%m = max %e : [t] f32

output d = %d[1:T]
output m = %m[0:T]
output e = %e[T-1]
""",
    tree=loop(
        "t",
        "0",
        "T",
        at("c", "t"),
        at("e", "t"),
        at("m", "t"),
        loop("u", "max(0, 2-t)", "min(2, t+1)", at("d", "t")),
    ),
    roles={"c": {"t": "key 1"}, "e": {"t": "key 2"}},
)

# The old contents up to t-1 and the new ones up to t, in one kernel.
OLD_AND_NEW = Case(
    graph="""
sdg old
bound T
dim t < T

%x = input{dtype=f32, shape=(2,)} : [t] f32[2]
%k = exp %x : [t] f32[2]
%new = sum{axes=(0,)} %k[0:t+1] : [t] f32[2]
%old = sum{axes=(0,)} %k[0:t] : [t] f32[2]
%y = sub %new, %old : [t] f32[2]

output y = %y[0:T]
output old = %old[0:T]
group y = %k, %new, %old, %y
""",
    tree=loop("t", "0", "T", at("y", "t")),
)

DEFAULT = Case(
    graph="""
sdg default
bound T
dim t < T

%w.0 = full{shape=(2,), value=3.0, dtype=f32} : [] f32[2]
%w = param{template="w", dtype=f32, shape=(2,), has_default=true} %w.0 : [] f32[2]
%x = input{dtype=f32, shape=(2,)} : [t] f32[2]
%y = add %x, %w : [t] f32[2]

output y = %y[0:T]
""",
    tree=seq(at("w.0"), loop("t", "0", "T", at("y", "t"))),
)

CHECKED = Case(
    graph="""
sdg checked
bound T
dim t < T

%x = input{dtype=f32, shape=()} : [t] f32
%c = copy %x[0:t+1] : [t] f32[t+1]
%e = ensure{shape=(min(3, t+1),)} %c : [t] f32[min(3, t+1)]
%s = sum %e : [t] f32

output s = %s[0:T]
group s = %c, %e, %s
""",
    tree=loop("t", "0", "T", at("s", "t")),
)
