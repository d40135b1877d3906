"""Which writings of attention match the table that comes with the compiler, and which do not."""

from __future__ import annotations

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.kernel_table import own_entries
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.ops.linear.attention import Attention
from tempoc.passes.context import PassContext
from tempoc.passes.dispatch.dispatch import Dispatch
from tempoc.pipeline.manager import Outcome, run_pipeline
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.text.text import show
from tempoc.sdg.verification.verify import verify
from tests.support.generators.graphs import Story
from tests.support.golden import Golden

HEAD = """import nn
dim b < B
dim t < T
input q[b, t]: f32[2, 3, 4]
input k[b, t]: f32[2, 4]
input v[b, t]: f32[2, 5]
input n[b]: i32
input x[t]: f32[4]
input y[t]: f32[4]
"""
SOFTMAX = """e = exp(s - max(s, axis = 2, keepdims = true))
w = e / sum(e, axis = 2, keepdims = true)
"""
CAUSAL = {
    "a function of the library": "a = nn.grouped_attention(q, k[t = 0:t+1], v[t = 0:t+1])\n",
    "written out, with a factor": 's = 0.5 * einsum("skd,kgd->kgs", k[t = 0:t+1], q)\n'
    + SOFTMAX
    + 'a = einsum("ske,kgs->kge", v[t = 0:t+1], w)\n',
    "a window, queries that are scaled, no heads": """p = x / 3.0
a = nn.softmax(y[max(0, t-2):t+1] @ p) @ x[max(0, t-2):t+1]
""",
    "all rows, of which some count": """w = nn.softmax(
  where(arange(T) < n, einsum("kgd,skd->kgs", q, k[t = 0:T]), -inf))
a = einsum("kgs,ske->kge", w, v[t = 0:T]) + sum(where(arange(T) < n, 1.0, 0.0))
""",
    "where a loop does the rest": """a[t] = nn.softmax(x[0:t+1] @ y) @ y[0:t+1] when t < 3
a[t] = 0.5 * a[t-1]
""",
}
OTHERS = {
    "weights are read": "w = nn.softmax(x[0:t+1] @ y)\na = w @ y[0:t+1] + max(w)\n",
    "each step needs the one before": """a[0] = x[0]
a[t] = nn.softmax(x[0:t+1] @ a[t-1]) @ y[0:t+1]
""",
    "the past alone": "a[0] = x[0]\na[t] = nn.softmax(x[0:t] @ y) @ y[0:t]\n",
    "every second one": "a = nn.softmax(x[t%2:t+1:2] @ y) @ y[t%2:t+1:2]\n",
    "a window that grows": "a = nn.softmax(x[t//2:t+1] @ y) @ y[t//2:t+1]\n",
    "another window of values": "a = nn.softmax(x[max(0, t-2):t+1] @ y) @ y[0:min(3, t+1)]\n",
    "no softmax": "s = exp(x[0:t+1] @ y)\na = (s / sum(s)) @ y[0:t+1]\n",
    "what counts is left out": """w = nn.softmax(
  where(arange(T) < n, einsum("kgd,skd->kgs", q, k[t = 0:T]), inf))
a = einsum("kgs,ske->kge", w, v[t = 0:T])
""",
    "one key for all": "a = nn.softmax(x[0:t+1] @ y[0]) @ y[0:t+1]\n",
}


def before_dispatch(text: str) -> Graph:
    """The graph of a program as the pass gets it."""
    options = Options(device="gpu", library=False)
    compilation = Compilation(load_source(Source("m.rt", HEAD + text + "output a\n")), options)
    return compilation.passes.after("vectorize")[-1]


def dispatched(graph: Graph) -> Outcome[Graph]:
    space = Space(graph.universe)
    outcome = run_pipeline(graph, (Dispatch(entries=own_entries()),), PassContext(space))
    verify(outcome.graph, space)
    return outcome


def test_dispatch(golden: Golden) -> None:
    story = Story()
    for name, text in CAUSAL.items():
        graph = show(before_dispatch(text)).partition("\n")[2]
        outcome = story.tell(name, graph, Dispatch(entries=own_entries()), rounded=True)
        assert any(isinstance(n.op, Attention) for n in outcome.graph.nodes.values()), name
    golden("passes/dispatch.txt", story.text)


@pytest.mark.parametrize("name", OTHERS)
def test_what_stays_as_it_is_written(name: str) -> None:
    before = before_dispatch(OTHERS[name])
    assert dispatched(before).graph is before


def test_remarks_say_what_is_in_the_way() -> None:
    outcome = dispatched(before_dispatch(OTHERS["weights are read"]))
    assert [r.message for r in outcome.remarks] == [
        "`a.matmul` is not dispatched to attention: `a.max` reads `w`"
    ]


@pytest.mark.parametrize("around", ["", "bf16"])
def test_halves_are_rounded_only_where_the_program_rounds(around: str) -> None:
    """Not that the sums of `bf16`, which are in `f32`, lose half of their digits on a GPU."""
    sums = "nn.grouped_attention(g, h[t = 0:t+1], h[t = 0:t+1])"
    outcome = dispatched(before_dispatch(f"g = bf16(q)\nh = bf16(k)\na = {around}({sums})\n"))
    ops = [n.op for n in outcome.graph.nodes.values()]
    assert any(isinstance(op, Attention) for op in ops) == bool(around)
    assert any("would be rounded to bf16" in r.message for r in outcome.remarks) != bool(around)
