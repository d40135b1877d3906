"""Graphs for the memory planner, and how a plan is made from one."""

from __future__ import annotations

from dataclasses import dataclass

from tempoc.memory.plan import plan
from tempoc.memory.plan_types import MemoryPlan
from tempoc.poly.relations.space import Space
from tempoc.schedule.compute import Scheduled, compute
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.statements.build import statements
from tempoc.sdg.statements.statements import Statements
from tempoc.sdg.text.parse import parse_graph

FIBONACCI = """
sdg fibonacci
bound T
dim t < T

%f.0 = literal{value=1.0, dtype=f32} : [] f32
%f.1 = literal{value=1.0, dtype=f32} : [] f32
%f.2 = add %f[t-1], %f[t-2] : [t | t >= 2] f32
%f = merge{targets=((0,), (1,), (t,))} \
%f.0 when t == 0, %f.1 when t == 1, %f.2 when t >= 2 : [t] f32

output f = %f[T-1]
"""

RNN = """
sdg rnn
bound T
dim t < T

%x = input{dtype=f32, shape=(8,)} : [t] f32[8]
%W = param{template="W", dtype=f32, shape=(8, 8)} : [] f32[8, 8]
%h.0 = full{shape=(8,), value=0.0, dtype=f32} : [] f32[8]
%h.1.matmul = matmul %h[t], %W : [t | t+1 < T] f32[8]
%h.1 = add %h.1.matmul, %x : [t | t+1 < T] f32[8]
%h = merge{targets=((0,), (t+1,))} %h.0 when t == 0, %h.1[t-1] when t >= 1 : [t] f32[8]

output h = %h[OUT]
group h.0 = %h.0
group h.1 = %h.1.matmul, %h.1
"""

STACK = """
sdg stack
bound L
bound T
dim l < L
dim t < T

%x = input{dtype=f32, shape=(8,)} : [t] f32[8]
%h.0 = copy %x : [l, t | l == 0] f32[8]
%h.1.below = copy %h[l-1, t] : [l, t | l >= 1] f32[8]
%h.1.before = full{shape=(8,), value=0.0, dtype=f32} : [] f32[8]
%h.1.old = copy %h[l, t-1] : [l, t | t >= 1 and l >= 1] f32[8]
%h.1.state = merge{targets=((l, 0), (l, t))} %h.1.zero when t == 0, %h.1.old when t >= 1 \
: [l, t | l >= 1] f32[8]
%h.1.zero = copy %h.1.before : [l, t | t == 0 and l >= 1] f32[8]
%h.1 = add %h.1.below, %h.1.state : [l, t | l >= 1] f32[8]
%h = merge{targets=((l, t), (l, t))} %h.0 when l == 0, %h.1 when l >= 1 : [l, t] f32[8]

output y = %h[L-1, T-1]
"""

ATTENTION = """
sdg attention
bound B
bound T
const
dim b < B
dim t < T

%x = input{dtype=f32, shape=(4,)} : [b, t] f32[4]
%k = tanh %x : [b, t] f32[4]
%s = matmul %k[b, SLICE], %x : [b, t] f32[EXTENT]
%a = matmul %s, %k[b, SLICE] : [b, t] f32[4]

output a = %a[B-1, 0:T]
""".replace("const\n", "")

RETURNS = """
sdg returns
bound T
dim t < T

%r = input{dtype=f32, shape=(3,)} : [t] f32[3]
%v = tanh %r : [t] f32[3]
%g.0 = copy %v[T-1] : [] f32[3]
%g.1 = add %v, %g[t+1] : [t | t < T-1] f32[3]
%g = merge{targets=((T-1,), (t,))} %g.0 when t == T-1, %g.1 when t < T-1 : [t] f32[3]
%e = exp %g : [t] f32[3]
%m = max{axes=(0,)} %e[0:T] : [] f32[3]
%y = sub %v, %m : [t] f32[3]
%z = sum{axes=(0,)} %y[0:T] : [] f32[3]

output z = %z
"""


@dataclass(frozen=True)
class Planned:
    """A program on its way to memory."""

    graph: Graph
    statements: Statements
    scheduled: Scheduled
    space: Space
    plan: MemoryPlan

    @property
    def rest(self):
        """What `verify` wants beside a plan."""
        return self.statements, self.scheduled, self.graph.outputs, self.space


def planned(text: str) -> Planned:
    """Everything up to the memory plan."""
    graph = parse_graph(text, "test.sdg")
    space = Space(graph.universe)
    found = statements(graph, space)
    scheduled = compute(found, space)
    return Planned(graph, found, scheduled, space, plan(found, scheduled, graph.outputs, space))
