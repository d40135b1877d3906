"""Graphs with schedules and stores, one for each way in which a kernel meets its stores."""

from __future__ import annotations

from tests.codegen.build import Case, at, loop, seq, when

FIBONACCI = Case(
    graph="""
sdg fibonacci
bound T
dim t < T

%f.0 = literal{value=1.0, dtype=f32} : [] f32
%f.1 = literal{value=1.0, dtype=f32} : [] f32
%f.2 = add %f[t-1], %f[t-2] : [t | t >= 2] f32
%f = merge{targets=((0,), (1,), (t,))} MORE : [t] f32

output f = %f[T-1]
""".replace("MORE", "%f.0 when t == 0, %f.1 when t == 1, %f.2 when t >= 2"),
    tree=seq(
        at("f.0"),
        when("T >= 2", at("f.1")),
        loop("t", "2", "T", at("f.2", "t")),
    ),
    roles={"f": {"t": "key 2"}},
    donations={"f.2": ()},
)

RNN_GRAPH = """
sdg rnn
bound T
dim t < T

%x = input{dtype=f32, shape=(8,)} : [t] f32[8]
%W = param{template="W", dtype=f32, shape=(8, 8)} : [] f32[8, 8]
%h.0 = full{shape=(8,), value=0.0, dtype=f32} : [] f32[8]
%h.1.matmul = matmul %h[t], %W : [t | t+1 < T] f32[8]
%h.1.add = add %h.1.matmul, %x : [t | t+1 < T] f32[8]
%h.1 = tanh %h.1.add : [t | t+1 < T] f32[8]
%h = merge{targets=((0,), (t+1,))} %h.0 when t == 0, %h.1[t-1] when t >= 1 : [t] f32[8]

output h = %h[OUT]
group h.0 = %h.0
group h.1 = %h.1.matmul, %h.1.add, %h.1
"""
RNN_TREE = seq(at("h.0"), loop("t", "0", "T-1", at("h.1", "t")))
RNN_REGISTER = Case(
    graph=RNN_GRAPH.replace("OUT", "T-1"),
    tree=RNN_TREE,
    roles={"h": {"t": "key 1"}},
    donations={"h.1": ("h",)},
)
RNN_BLOCK = Case(graph=RNN_GRAPH.replace("OUT", "0:T"), tree=RNN_TREE)

ATTENTION_GRAPH = """
sdg attention
bound T
bound W
dim t < T

%x = input{dtype=f32, shape=(4,)} : [t] f32[4]
%k = tanh %x : [t] f32[4]
%s = matmul %k[SLICE], %x : [t] f32[EXTENT]
%p.max = max %s : [t] f32
%p.sub = sub %s, %p.max : [t] f32[EXTENT]
%p.exp = exp %p.sub : [t] f32[EXTENT]
%p.sum = sum %p.exp : [t] f32
%p = div %p.exp, %p.sum : [t] f32[EXTENT]
%a = matmul %p, %k[SLICE] : [t] f32[4]

output a = %a[0:T]
group a = %k, %s, %p.max, %p.sub, %p.exp, %p.sum, %p, %a
"""
FORWARD = loop("t", "0", "T", at("a", "t"))
CAUSAL = Case(
    graph=ATTENTION_GRAPH.replace("SLICE", "0:t+1").replace("EXTENT", "t+1"), tree=FORWARD
)
WINDOW_GRAPH = ATTENTION_GRAPH.replace("SLICE", "max(0, t+1-W):t+1").replace(
    "EXTENT", "min(W, t+1)"
)
WINDOWED = Case(graph=WINDOW_GRAPH, tree=FORWARD)
RING = Case(graph=WINDOW_GRAPH, tree=FORWARD, roles={"k": {"t": "ring min(T, W)"}})

RETURNS = Case(
    graph="""
sdg returns
bound T
bound N
dim t < T

%r = input{dtype=f32, shape=()} : [t] f32
%g.0 = copy %r[T-1] : [] f32
%g.1.half = literal{value=0.5, dtype=f32} : [] f32
%g.1.mul = mul %g[t+1], %g.1.half : [t | t < T-1] f32
%g.1 = add %r, %g.1.mul : [t | t < T-1] f32
%g = merge{targets=((T-1,), (t,))} %g.0 when t == T-1, %g.1 when t < T-1 : [t] f32
%n = sum %r[t:min(t+N, T)] : [t] f32
%e = sum %r[t:T:2] : [t] f32

output g = %g[0:T]
output n = %n[0:T]
output e = %e[0:T]
""",
    tree=seq(
        at("g.0"),
        at("g.1.half"),
        loop("c", "0", "T-1", at("g.1.mul", "T-2-c"), at("g.1", "T-2-c")),
        loop("t", "0", "T", at("n", "t"), at("e", "t")),
    ),
    roles={"g.1.mul": {"t": "key 1"}},
    releases={"g.1": (("g.1.mul", ("t",), "t == 0"),)},
)

LCS = Case(
    graph="""
sdg lcs
bound N
bound M
dim i < N
dim j < M

%x = input{dtype=i32, shape=()} : [i] i32
%y = input{dtype=i32, shape=()} : [j] i32
%d.0 = literal{value=0, dtype=i32} : [i, j | i == 0 or j == 0] i32
%d.1.one = literal{value=1, dtype=i32} : [] i32
%d.1.same = eq %x, %y : [i, j | i >= 1 and j >= 1] bool
%d.1.diag = add %d[i-1, j-1], %d.1.one : [i, j | i >= 1 and j >= 1] i32
%d.1.skip = maximum %d[i-1, j], %d[i, j-1] : [i, j | i >= 1 and j >= 1] i32
%d.1 = where %d.1.same, %d.1.diag, %d.1.skip : [i, j | i >= 1 and j >= 1] i32
%d = merge{targets=((i, j), (i, j))} MORE : [i, j] i32

output d = %d[N-1, M-1]
output row = %d[N-1, 0:M]
group d.0 = %d.0
group d.1.one = %d.1.one
group d.1 = %d.1.same, %d.1.diag, %d.1.skip, %d.1
""".replace("MORE", "%d.0 when i == 0 or j == 0, %d.1 when i >= 1 and j >= 1"),
    tree=seq(
        at("d.1.one"),
        loop(
            "i",
            "0",
            "N",
            loop(
                "j",
                "0",
                "M",
                when("i == 0 or j == 0", at("d.0", "i", "j")),
                when("i >= 1 and j >= 1", at("d.1", "i", "j")),
            ),
        ),
    ),
    roles={"d": {"i": "key 2"}},
)
